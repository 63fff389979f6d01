"""From extraction to tracing: the points that runs pass on their way (paper, section 3).

Runs with different preferences slide along different parts of the frontier. The points of all
their steps that no other point dominates are the extracted frontier.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..objectives import Algebra, Array
from ..pareto import nondominated
from ..problems import Point
from .base import Ids

PILE = 20_000
"""Points that are collected before dominated ones are dropped: often enough for memory, seldom
enough for time."""


@dataclass(frozen=True, eq=False)
class Visited:
    """Non-dominated points that runs passed, by rising loss.

    Attributes
    ----------
    loss : array of shape (N,)
    gaps : array of shape (N, notions), the worst gap of each notion
    weights : array of shape (N, K, d), coefficients in the user's units, the intercept last
    run : array of shape (N,), the run that passed the point
    step : array of shape (N,), after how many steps
    """

    loss: Array
    gaps: Array
    weights: Array
    run: Ids
    step: Ids

    def __len__(self) -> int:
        return len(self.loss)


@dataclass(eq=False)
class Trajectory:
    """Collects every accepted step; give it as ``on_iterate``."""

    algebra: Algebra
    _points: list[Visited] = field(default_factory=list)
    _pile: int = 0

    def __call__(self, iteration: int, runs: Ids, point: Point) -> None:
        steps = np.full(len(runs), iteration, dtype=np.intp)
        loss, gaps = self.algebra.loss(point.L), self.algebra.worst(point.L)
        self._points.append(Visited(loss, gaps, point.W.copy(), runs.copy(), steps))
        self._pile += len(runs)
        if self._pile > PILE:
            self._points = [self.visited()]
            self._pile = 0

    def visited(self) -> Visited:
        """Return the points that no other point of any run dominates."""
        names = ("loss", "gaps", "weights", "run", "step")
        parts = {name: np.concatenate([getattr(each, name) for each in self._points]) for name in names}
        axes = np.column_stack([parts["loss"], parts["gaps"]])
        finite = np.flatnonzero(np.isfinite(axes).all(axis=1))  # runs at too long a step overflow
        efficient = finite[nondominated(axes[finite])]
        order = efficient[np.argsort(parts["loss"][efficient], kind="stable")]
        return Visited(**{name: part[order] for name, part in parts.items()})
