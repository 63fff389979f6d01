"""Narrow columns: a small code per row and the values that codes stand for, a byte instead of a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Codes:
    """Codes (n,) that index ``values``, of which the last may be None for missing; or numbers, without values."""

    codes: NDArray[Any]
    values: NDArray[Any] | None = None

    @classmethod
    def of(cls, codes: NDArray[np.intp], values: NDArray[Any]) -> Codes:
        """Make the codes as small as they can be; -1 stands for the last value."""
        small = np.min_scalar_type(len(values))
        return cls(np.where(codes < 0, len(values) - 1, codes).astype(small), values)

    def take(self, rows: Any = slice(None)) -> NDArray[Any]:
        """Return the values of some rows."""
        return np.asarray(self.codes[rows] if self.values is None else self.values[self.codes[rows]])

    def where(self, rows: NDArray[np.bool_]) -> Codes:
        """Return the column of some rows."""
        return Codes(self.codes[rows], self.values)


def dense(codes: NDArray[Any]) -> NDArray[np.intp]:
    """Number values from 0 on, in their order, without a gap."""
    whole = len(codes) and codes.dtype.kind in "iu" and codes.min() >= 0
    if not whole or codes.max() > max(len(codes), 1 << 20):
        return np.unique(codes, return_inverse=True)[1].astype(np.intp)
    seen = np.bincount(codes) > 0  # counting takes less time and memory than sorting
    numbered: NDArray[np.intp] = (np.cumsum(seen) - 1)[codes]
    return numbered
