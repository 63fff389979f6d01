"""Results that can be returned: finite numbers, and matrices that can be decomposed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from ..exceptions import InputError
from ..objectives import Array

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
