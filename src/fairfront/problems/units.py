"""Units: sizes of numbers that can be computed with, and of results that can be returned."""

from __future__ import annotations

import numpy as np

from ..exceptions import InputError
from ..objectives import Array
from ..validation import LARGEST, SMALLEST


def check_targets(largest: float) -> None:
    """Refuse targets of a regression whose powers are not numbers; ``largest`` is their largest size."""
    if largest > LARGEST or 0.0 < largest < SMALLEST:
        raise InputError(
            f"y has values up to {largest:g} in size, expected {SMALLEST:g} to {LARGEST:g}, whose powers are numbers "
            "too; give them in another unit."
        )


def check_finite(*results: Array) -> None:
    """Refuse to return numbers of a result that are not finite."""
    if not all(np.isfinite(each).all() for each in results):
        raise InputError(
            "the solved models have weights or losses that are not finite numbers, expected data that leave the range "
            "of floating-point numbers nowhere; give X and y in other units, or a larger ridge."
        )
