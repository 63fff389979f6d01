"""Units: sizes of numbers that can be computed with, and of results that can be returned."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from ..exceptions import InputError
from ..objectives import Array
from ..validation import LARGEST, SMALLEST

TOGETHER = 1e-8
"""Smallest spread of a regression's targets, as a share of their size: residuals are differences of such numbers."""


def check_targets(size: float, apart: float) -> None:
    """Refuse targets of a regression whose powers are not numbers, or whose residuals would lose their digits.

    ``size`` is that of the largest, ``apart`` the difference between the largest and the smallest.
    """
    if not size <= LARGEST or 0.0 < size < SMALLEST:
        raise InputError(
            f"y has values up to {size:g} in size, expected {SMALLEST:g} to {LARGEST:g}, whose powers are numbers "
            "too; give them in another unit."
        )
    if 0.0 < apart < TOGETHER * size:
        raise InputError(
            f"y has values near {size:g} that differ by about {apart:.3g} at most, expected at least {TOGETHER:g} of "
            "their size, or residuals lose their digits; subtract a constant from them."
        )


WITHIN = (
    "expected data and steps that stay within the range of floating-point numbers; give X and y in other units, a "
    "larger ridge, or shorter steps."
)


def check_finite(*results: Array) -> None:
    """Refuse to return numbers of a result that are not finite."""
    if not all(np.isfinite(each).all() for each in results):
        raise InputError(f"the solved models have weights or objectives that are not finite numbers, {WITHIN}")


@contextmanager
def decomposable() -> Iterator[None]:
    """Refuse in a sentence what cannot be decomposed: because it is not finite, or singular for rounding."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise InputError(f"a matrix that is solved with cannot be decomposed ({error}), {WITHIN}") from error
