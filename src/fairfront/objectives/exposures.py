"""Exposures: how long or how much each row was at risk, or how many trials it stands for.

A loss of y events in an exposure e is e times that of y / e events per unit: rates per unit, weighted by exposure.
"""

from __future__ import annotations

from typing import Any

from ..exceptions import InputError, setting, spelled, spelling
from ..validation.inputs import as_numbers, as_weights, check_labels, check_weights, shape_of


def per_exposure(y: Any, sample_weight: Any, exposure: Any, *, regression: bool = True) -> tuple[Any, Any]:
    """Return values per unit of exposure, and weights times exposure; both as they are where there is none.

    Parameters
    ----------
    y : array of shape (n,), counts or totals
    sample_weight : array of shape (n,), or None for 1
    exposure : array of shape (n,) of numbers above 0, or None
    regression : bool, whether y are values, of which there is so much per unit
    """
    if exposure is None:
        return y, sample_weight
    if not regression:
        what, use = spelled("exposure"), setting("loss", "poisson")
        raise InputError(f"{what} is for counts and totals, found labels; give {use}, or leave it out.")
    n = (*shape_of(y, "y"), 0)[0]
    with spelling({"sample_weight": "exposure"}):
        found = as_weights(exposure, n)
    if not found.all():
        raise InputError("exposure is 0 in some rows, expected numbers above 0; leave out rows never at risk.")
    weight = check_weights(sample_weight, n)
    values = as_numbers(check_labels(y, n), "y")
    return values / found, found if weight is None else weight * found
