"""Assembling: from where runs ended and what they saw on the way to a frontier."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import FairfrontWarning
from ..objectives import Algebra, Array
from ..objectives.losses import Squared
from ..pareto import nondominated
from ..problems import LinearProblem
from ..problems.units import check_finite
from ..solvers import Knot, Newton, Outcome, Status, Target
from ..solvers.base import Path
from .facts import Facts
from .frontier import Frontier
from .models import LinearModels
from .points import Archive, Points

ROUGH = 1e-4
"""How far scores may be off without a word; values, as a share of their standard deviation."""
STATED = 1e-6
"""How much of the loss the users' units may cost a certified point: an intercept next to large offsets loses digits."""


def assemble(
    problem: LinearProblem, solver: Any, work: LinearProblem, outcome: Outcome, target: Target, archive: Archive
) -> Frontier:
    """Join the ends of all runs on ``work`` with what was seen on the way, and sort by loss."""
    _, seen = archive.points()
    W = work.to_user(np.concatenate([outcome.W, seen]))
    L = problem.values(W)
    algebra = problem.algebra
    axes = np.column_stack([algebra.loss(L), algebra.worst(L)])
    ended = np.arange(len(W)) < len(outcome.W)
    kept = _distinct(axes, nondominated(axes) | ended, len(outcome.W), target.by_preference)
    kept = kept[np.lexsort((kept, axes[kept, 0]))]
    status = [outcome.status[i] if ended[i] else Status.VISITED for i in kept]
    pi = np.concatenate([target.pi, np.full((len(seen), algebra.m), np.nan)])[kept]
    points = Points.from_values(algebra, L[kept], tuple(status), preferences=pi)
    return _frontier(problem, W[kept], L[kept], points, Facts.of(problem.objectives, solver))


def assemble_knots(problem: LinearProblem, solver: Newton, knots: list[Knot], path: Path = "worst_gap") -> Frontier:
    """Make a frontier of points solved on framed columns, by loss; what lies past zero keeps its place at the end."""
    algebra = problem.algebra
    W = problem.framed().to_user(np.stack([knot.at.W for knot in knots]))
    L = problem.values(W)
    past = np.array([knot.status is Status.PAST for knot in knots])
    axes = np.column_stack([algebra.loss(L), algebra.worst(L), past])
    asked = np.array([knot.pi is not None for knot in knots])
    kept = _distinct(axes, np.ones(len(W), dtype=bool), len(W), asked)
    kept = kept[np.lexsort((kept, axes[kept, 0], past[kept]))]
    pi = np.array([np.full(algebra.m, np.nan) if knot.pi is None else knot.pi for knot in knots])[kept]
    off = _rounding(problem, W)
    _warn_of_rough_scores(problem, off)
    sure = _stated(problem, L, knots, off)[kept]
    raw = np.stack([knot.at.multipliers[: len(algebra.b)] for knot in knots])[kept]
    multipliers, names = _named(algebra, raw)
    points = Points.from_values(
        algebra,
        L[kept],
        tuple(_status(knots[i].status, known) for i, known in zip(kept, sure, strict=True)),
        preferences=pi,
        kkt=np.array([knots[i].at.kkt for i in kept]),
        certified=np.array([knots[i].certified for i in kept]) & sure & ~past[kept],
        multipliers=multipliers,
        multiplier_names=names,
    )
    return _frontier(problem, W[kept], L[kept], points, Facts.of(problem.objectives, solver, path))


def _status(found: Status, stated: bool) -> Status:
    """Return the status of a point; a gap that the users' units do not keep is not the smallest one."""
    return Status.STALLED if found is Status.FLOOR and not stated else found


def _rounding(problem: LinearProblem, W: Array) -> Array:
    """Return how far scores may be off, (N,): X @ coef + intercept loses digits to large values."""
    return np.zeros(len(W)) if problem.frame is None else np.asarray(problem.frame.rounding(W).max(axis=1))


def _warn_of_rough_scores(problem: LinearProblem, off: Array) -> None:
    """Warn where scores may be off by more than a share of what they usually are."""
    if (off > ROUGH * (np.sqrt(problem.target_variance()) if isinstance(problem.loss, Squared) else 1.0)).any():
        warnings.warn(
            f"scores computed from the coefficients may be off by up to {off.max():.2g}, so that stated losses and "
            "gaps are not exactly those of the models: columns are nearly collinear next to large values; subtract "
            "each column's mean, drop one of the columns, or give a ridge.",
            FairfrontWarning,
            stacklevel=3,
        )


def _stated(problem: LinearProblem, L: Array, knots: list[Knot], off: Array) -> NDArray[np.bool_]:
    """Tell which points have the loss and the gaps that were solved for when their weights are in the users' units.

    Scores that are computed there must not be ``off`` by more, either.
    """
    algebra, solved = problem.algebra, np.stack([knot.at.L for knot in knots])
    size = STATED * np.abs(algebra.loss(solved))
    lost = np.abs(algebra.loss(L) - algebra.loss(solved))
    wider = (algebra.violation(algebra.gaps(L)) - algebra.violation(algebra.gaps(solved))).max(axis=1, initial=0.0)
    squared = isinstance(problem.loss, Squared)
    rough = 0.5 * problem.target_variance() if squared else 1.0
    loss = np.maximum(np.abs(algebra.loss(solved)), 1e-6 * rough)
    pull = np.sqrt(2.0 * loss) if squared else loss  # what a score may be off for that loss
    return np.asarray((lost <= size) & (wider <= size) & (off <= STATED * pull))


def _named(algebra: Algebra, pairs: Array) -> tuple[Array, tuple[str, ...]]:
    """Return multipliers per pair for two groups, per group for more, where pairs are not unique."""
    assert algebra.signs is not None
    if (np.abs(algebra.signs).sum(axis=1) <= 1).all():
        return pairs, algebra.names[1:]
    return pairs @ algebra.signs.T, algebra.mean_names


def _frontier(problem: LinearProblem, W: Array, L: Array, points: Points, facts: Facts) -> Frontier:
    """Return the frontier of linear models with the weights W and the mean losses of cells L."""
    check_finite(W, L, points.objectives)
    models = LinearModels.from_weights(
        W,
        problem.fit_intercept,
        task=problem.task,
        loss=problem.loss.name,
        ridge=problem.objectives.question.ridge,
        total=float(problem.layout.cells.weight.sum()),
        feature_names=problem.feature_names,
    )
    return Frontier(models, points, facts)


def _distinct(
    axes: Array, mask: NDArray[np.bool_], ended: int, asked: NDArray[np.bool_] | None = None
) -> NDArray[np.intp]:
    """Return the places in the mask, without points on the way that lie within 1/1000 of another kept one.

    Ends of runs go only if they are equal, and what was asked for by preference stays in any case.
    """
    places = np.flatnonzero(mask)
    low, high = axes[places].min(axis=0), axes[places].max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    exact = np.round((axes[places] - low) / span, 10)
    coarse = np.round((axes[places] - low) / span, 3)
    seen: set[bytes] = set()
    kept = []
    for place, fine, rough in zip(places, exact, coarse, strict=True):
        key = fine.tobytes() if place < ended else rough.tobytes()
        if key not in seen or (asked is not None and place < len(asked) and asked[place]):
            kept.append(place)
        seen.update((fine.tobytes(), rough.tobytes()))
    return np.array(kept, dtype=np.intp)
