"""Points of a frontier: one table of what is known of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Algebra, Array
from ..solvers import Status
from .models import Places

ARRAYS = ("objectives", "gaps", "signed_gaps", "preferences", "kkt", "certified", "multipliers", "ids")
"""Fields with one row per point; ``status`` has one too, and is a tuple."""


@dataclass(frozen=True, eq=False)
class Points:
    """What is known of N points, one row each: objectives (N, m), worst gap per notion, signed gaps per pair.

    ``preferences`` (N, m) and ``kkt`` (N,) are NaN where there are none, ``multipliers`` (N, 0) likewise.
    """

    ids: NDArray[np.intp]
    objectives: Array
    gaps: Array
    signed_gaps: Array
    status: tuple[Status, ...]
    preferences: Array
    kkt: Array
    certified: NDArray[np.bool_]
    multipliers: Array
    objective_names: tuple[str, ...]
    multiplier_names: tuple[str, ...] = ()

    @classmethod
    def new(
        cls,
        objectives: Array,
        gaps: Array,
        signed_gaps: Array,
        objective_names: tuple[str, ...],
        status: tuple[Status, ...],
        **known: Any,
    ) -> Points:
        """Return a table with ids from 0; what is not ``known`` of its points says so."""
        N = len(objectives)
        unknown = {
            "ids": np.arange(N),
            "preferences": np.full(objectives.shape, np.nan),
            "kkt": np.full(N, np.nan),
            "certified": np.zeros(N, dtype=bool),
            "multipliers": np.zeros((N, 0)),
        }
        fields = {"objectives": objectives, "gaps": gaps, "signed_gaps": signed_gaps, "status": status}
        return cls(**{**unknown, **fields, **known}, objective_names=objective_names)

    @classmethod
    def from_values(cls, algebra: Algebra, L: Array, status: tuple[Status, ...], **known: Any) -> Points:
        """Return the table of points whose cells have the mean losses L (N, cells)."""
        return cls.new(algebra.objectives(L), algebra.worst(L), algebra.gaps(L), algebra.names, status, **known)

    def __len__(self) -> int:
        return len(self.objectives)

    @property
    def loss(self) -> Array:
        """Return the training loss with its ridge, (N,)."""
        return np.asarray(self.objectives[:, 0])

    def take(self, places: Places) -> Points:
        """Return some of the points, in the order of the places."""
        rows = np.asarray(places, dtype=np.intp)
        some = {name: getattr(self, name)[rows] for name in ARRAYS}
        return replace(self, status=tuple(self.status[i] for i in rows), **some)

    def concat(self, other: Points) -> Points:
        """Return these points and then the other's, which get new ids; multipliers go where theirs are not alike."""
        parts = [self, replace(other, ids=self.ids.max() + 1 + np.arange(len(other)))]
        if self.multipliers.shape[1] != other.multipliers.shape[1]:
            parts = [replace(part, multipliers=np.zeros((len(part), 0))) for part in parts]
        joined: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in ARRAYS}
        return replace(self, status=(*self.status, *other.status), **joined)
