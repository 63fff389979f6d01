"""Exposures: how long or how much each row was at risk, or how many trials it stands for.

A loss of y events in an exposure e is e times that of y / e events per unit: rates per unit, weighted by exposure.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..exceptions import InputError
from ..validation.inputs import as_numbers, check_weights, shape_of
from .losses import Array


def per_exposure(y: Any, sample_weight: Any, exposure: Any) -> tuple[Any, Any]:
    """Return values per unit of exposure, and weights times exposure; both as they are where there is none.

    Parameters
    ----------
    y : array of shape (n,), counts or totals
    sample_weight : array of shape (n,), or None for 1
    exposure : array of shape (n,) of numbers above 0, or None
    """
    if exposure is None:
        return y, sample_weight
    found: Array = as_numbers(exposure, "exposure").reshape(-1)
    n = shape_of(y, "y")[0]
    if len(found) != n:
        raise InputError(f"exposure has {len(found)} values, expected {n}, one per row.")
    if not (np.isfinite(found).all() and (found > 0.0).all()):
        raise InputError(
            f"exposure has values down to {found.min():g}, expected finite numbers above 0; leave out rows that were "
            "never at risk."
        )
    weight = check_weights(sample_weight, n)
    return as_numbers(y, "y").reshape(-1) / found, found if weight is None else weight * found
