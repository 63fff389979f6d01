"""Assembling: from where runs ended and what they saw on the way to a frontier."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from ..pareto import nondominated
from ..problems import Setup
from ..solvers import Outcome, Status, Target
from .archive import Archive
from .frontier import Facts, Frontier
from .points import LinearPoints


def assemble(setup: Setup, solver: Any, outcome: Outcome, target: Target, archive: Archive) -> Frontier:
    """Join the ends of all runs with what was seen on the way, and sort by loss."""
    _, seen, _ = archive.points()
    W = np.concatenate([outcome.W, seen])
    L = setup.problem.values(W)
    algebra = setup.problem.algebra
    axes = np.column_stack([algebra.loss(L), algebra.worst(L)])
    ended = np.arange(len(W)) < len(outcome.W)
    kept = _distinct(axes, nondominated(axes) | ended, len(outcome.W))
    kept = kept[np.lexsort((kept, axes[kept, 0]))]
    status = [outcome.status[i] if ended[i] else Status.VISITED for i in kept]
    pi = np.concatenate([target.pi, np.full((len(seen), algebra.m), np.nan)])[kept]
    problem = setup.problem
    points = LinearPoints.from_weights(
        W[kept],
        problem.fit_intercept,
        task=setup.task,
        loss=problem.loss.name,
        ridge=setup.ridge,
        total=float(problem.layout.cells.weight.sum()),
        feature_names=setup.feature_names,
    )
    return Frontier(
        points=points,
        objectives=algebra.objectives(L[kept]),
        gaps=algebra.worst(L[kept]),
        signed_gaps=algebra.gaps(L[kept]),
        objective_names=algebra.names,
        status=tuple(status),
        preferences=pi,
        facts=facts_of(setup, solver),
    )


def _distinct(axes: Array, mask: NDArray[np.bool_], ended: int) -> NDArray[np.intp]:
    """Return the places in the mask, without points on the way that lie within 1/1000 of another kept one."""
    places = np.flatnonzero(mask)
    low, high = axes[places].min(axis=0), axes[places].max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    exact = np.round((axes[places] - low) / span, 10)
    coarse = np.round((axes[places] - low) / span, 3)
    seen: set[bytes] = set()
    kept = []
    for place, fine, rough in zip(places, exact, coarse, strict=True):
        key = fine.tobytes() if place < ended else rough.tobytes()
        if key not in seen:
            kept.append(place)
        seen.update((fine.tobytes(), rough.tobytes()))
    return np.array(kept, dtype=np.intp)


def facts_of(setup: Setup, solver: Any) -> Facts:
    problem = setup.problem
    return Facts(
        task=setup.task,
        notions=problem.algebra.notions,
        sentences=setup.sentences(),
        surrogate=setup.surrogate,
        loss=problem.loss.name,
        gap=problem.algebra.gap.name,
        ridge=setup.ridge,
        sensitive=tuple((a.name, a.levels) for a in setup.attributes),
        left_out=tuple((a.name, tuple(level for level, _ in a.left_out)) for a in setup.attributes if a.left_out),
        solver=repr(solver),
        favourable_was_given=setup.favourable_was_given,
    )
