"""What all solvers share: why runs stop, where they should end, what they remember, and what may be asked of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import StrEnum
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..objectives import Algebra, Array

Mask = NDArray[np.bool_]
Path = Literal["worst_gap", "proportional"]
S = TypeVar("S", bound="State")


class Status(StrEnum):
    """Reasons to stop; the value says what was reached and, where it helps, what to do."""

    RUNNING = "running"
    EFFICIENT = "efficient: no direction lowers one objective without raising another"
    LINE = "efficient and on the preference line"
    CHEBYSHEV = (
        "efficient: weighted Chebyshev point, the smallest largest pi_i h_i "
        "(the preference line does not meet the frontier)"
    )
    NEAREST = "preference not reachable: nearest point (the gaps are below what the preference asks without any effort)"
    OUT_OF_REACH = "not reachable: nearest point (the gaps cannot be made as small as asked)"
    FLOOR = "efficient: the smallest gap that these models can reach on these data"
    PAST = "solved with the gaps past zero, on the other side of what plain training has"
    WEAK = (
        "weakly efficient: some objectives are at their smallest but another could still fall; "
        "use normalised gradients or another start"
    )
    STALLED = "stalled: no step lowers the objectives any more, although the point is not known to be efficient"
    LIMIT = "stopped at the iteration limit before it converged; raise max_iter"
    WEIGHTED = "weighted fit, not certified: a learner of any kind, fitted with row weights of the frontier"
    POSTERIOR = (
        "from posteriors, not certified: what would have the least weighted error if a learner's probabilities of "
        "label and group were right"
    )
    GIVEN = "given: no other candidate is at least as good on every axis and better on one"
    DOMINATED = "given: another candidate is at least as good on every axis and better on one"
    VISITED = "visited on the way: not dominated by any other point, not solved to tolerance"

    @property
    def solved(self) -> bool:
        """Tell whether the point is finished: solved to tolerance, fitted, or given."""
        return self in SOLVED


SOLVED = frozenset(
    {
        Status.EFFICIENT,
        Status.LINE,
        Status.CHEBYSHEV,
        Status.NEAREST,
        Status.FLOOR,
        Status.PAST,
        Status.WEIGHTED,
        Status.POSTERIOR,
        Status.GIVEN,
        Status.DOMINATED,
    }
)
"""Finished models, which rules may choose among."""


@dataclass(frozen=True)
class Target:
    """Where each run should end: on its preference line, or at fixed caps on the gaps.

    pi (R, m)    preferences; rows of NaN for runs with fixed caps
    caps (R, q)  fixed caps; rows of NaN for runs with a preference
    """

    pi: Array
    caps: Array

    @classmethod
    def from_preferences(cls, pi: Array) -> Target:
        """Aim at preference lines."""
        return cls(pi, np.full((len(pi), pi.shape[1] - 1), np.nan))

    @classmethod
    def from_caps(cls, caps: Array) -> Target:
        """Aim at fixed caps."""
        return cls(np.full((len(caps), caps.shape[1] + 1), np.nan), caps)

    @property
    def by_preference(self) -> Mask:
        """Return the mask of runs that follow a preference."""
        return ~np.isnan(self.pi[:, 0])

    def take(self, runs: Mask) -> Target:
        """Return the chosen runs."""
        return Target(self.pi[runs], self.caps[runs])

    def caps_at(self, algebra: Algebra, level: Array) -> Array:
        """Return the caps phi^-1(level / pi_j) of the preference runs, the fixed caps of the others."""
        wanted = algebra.gap.inverse(np.maximum(level, 1e-300)[:, None] / self.pi[:, 1:])
        return np.where(self.by_preference[:, None], wanted, self.caps)

    def next_level(self, algebra: Algebra, level: Array, loss: Array, caps: Array, price: Array) -> Array:
        """Take a Newton step on pi_1 loss(level) = level, where the loss falls by ``price`` per unit of cap."""
        slope = self.pi[:, 1:] * algebra.gap.slope(np.maximum(caps, 1e-12))
        rate = self.pi[:, 0] * (np.abs(price) / np.maximum(slope, 1e-300)).sum(axis=1)
        moved = level + (self.pi[:, 0] * loss - level) / (1.0 + rate)
        return np.where(self.by_preference, moved, level)


def tops(algebra: Algebra, z: Array, path: Path) -> Array:
    """Return the caps that plain training just meets."""
    if path == "proportional":
        return z
    assert algebra.notion_of is not None
    return np.array([z[algebra.notion_of == i].max() for i in algebra.notion_of])


@dataclass(frozen=True)
class State:
    """What a solver remembers per run; every field is an array with the runs first, or a record of such arrays."""

    def take(self: S, runs: Mask) -> S:
        """Return the chosen runs."""
        picked: dict[str, Any] = {}
        for field in fields(self):
            value: Any = getattr(self, field.name)
            inside = is_dataclass(value)
            picked[field.name] = value.take(runs) if inside else value[runs]
        return replace(self, **picked)

    def stored(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name."""
        return _arrays(self, "state")

    def restored(self: S, arrays: Mapping[str, NDArray[Any]]) -> S:
        """Return a state of the same kind with the arrays of `stored`."""
        found: S = _filled(self, "state", arrays)
        return found


def _arrays(record: Any, name: str) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {}
    for field in fields(record):
        value, inner = getattr(record, field.name), f"{name}.{field.name}"
        found |= _arrays(value, inner) if is_dataclass(value) else {inner: value}
    return found


def _filled(record: Any, name: str, arrays: Mapping[str, NDArray[Any]]) -> Any:
    filled: dict[str, Any] = {}
    for field in fields(record):
        value, inner = getattr(record, field.name), f"{name}.{field.name}"
        filled[field.name] = _filled(value, inner, arrays) if is_dataclass(value) else arrays[inner]
    return replace(record, **filled)


@dataclass(frozen=True)
class Outcome:
    """Where R runs ended: weights, cells, objectives (R, m), status, steps.

    ``history`` holds the objectives of every accepted iterate of each run, ``passes`` counts passes over the data,
    ``certificate`` (R,) is the largest certificate of any direction taken (NaN where directions have none). Where a gap
    is one of fewer than `FEWEST` rows, a checkpoint keeps no history: in a resumed run, steps before it are NaN.
    """

    W: Array
    L: Array
    objectives: Array
    status: tuple[Status, ...]
    n_iter: NDArray[np.intp]
    history: tuple[Array, ...]
    passes: int
    certificate: Array | None = None


@dataclass(frozen=True)
class Plan:
    """The next move of every run, and the status of those that stop here instead.

    ``certificate`` (R,) of a common descent direction is at most 0, up to rounding, when no objective rises along it
    (Lemma 1): the paper's |d|^2 - min_i <d, g_i> in paper mode, the worst -cos(d, g_i) in `PDO`.
    """

    beta: Array
    status: list[Status]
    memo: Any = None
    certificate: Array | None = None
