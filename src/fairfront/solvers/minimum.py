"""The minimum that `minimize` found, with SciPy's words."""

from __future__ import annotations

from dataclasses import dataclass

from ..objectives import Array
from ..records import Record
from .base import Status


@dataclass(frozen=True, repr=False)
class MinimizeResult(Record):
    """What `minimize` found, with SciPy's words.

    Attributes
    ----------
    x, fun : arrays of shape (d,) and (m,), the point and its objectives
    status, message, success : why it stopped, the same in words, and whether the point is solved
    nit, nfev : int, accepted steps and evaluations
    history : array of shape (T, m), the objectives of every accepted step
    """

    x: Array
    fun: Array
    status: Status
    message: str
    success: bool
    nit: int
    nfev: int
    history: Array
