"""Assembly of a frontier from what any solver found on a linear problem."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import FairfrontWarning
from ..objectives import Array
from ..objectives.losses import Squared
from ..pareto import nondominated
from ..problems import LinearProblem
from ..problems.base import check_finite
from ..solvers import Solver, Status
from ..solvers.base import Mask, Solved
from .frontier import Frontier
from .models import LinearModels
from .points import Facts, Points, multipliers_of

ROUGH = 1e-4
"""How far scores may be off without a word; values, as a share of their standard deviation."""
STATED = 1e-6
"""How much of the loss the users' units may cost a certified point: an intercept next to large offsets loses digits."""


def assemble(problem: LinearProblem, solver: Solver, solved: list[Solved]) -> Frontier:
    """Make a frontier of what a solver found, by loss; what lies past zero keeps its place at the end."""
    algebra, status = problem.algebra, [point.status for point in solved]
    W, pi = np.stack([point.W for point in solved]), np.stack([point.pi for point in solved])
    L = problem.values(W)
    past, ended = np.array([(each is Status.PAST, each is not Status.VISITED) for each in status]).T
    axes = np.column_stack([algebra.loss(L), algebra.worst(L), past])
    kept = _distinct(axes, nondominated(axes) | ended, ended, ~np.isnan(pi[:, 0]))
    kept = kept[np.lexsort((kept, axes[kept, 0], past[kept]))]
    known: dict[str, Any] = {"preferences": pi[kept]}
    exact = [(point.L, point.multipliers) for point in solved if point.L is not None and point.multipliers is not None]
    if len(exact) == len(solved):
        sure = _stated(problem, W, L, np.stack([cells for cells, _ in exact]))
        status = [_status(each, stated) for each, stated in zip(status, sure, strict=True)]
        certified = np.array([point.certified for point in solved]) & sure & ~past
        known |= {"kkt": np.array([point.kkt for point in solved])[kept], "certified": certified[kept]}
        known |= multipliers_of(algebra, np.stack([each for _, each in exact])[kept])
    points = Points.from_values(algebra, L[kept], tuple(status[i] for i in kept), **known)
    return _frontier(problem, W[kept], L[kept], points, Facts.of(problem.objectives, solver, solver.path))


def _status(found: Status, stated: bool) -> Status:
    """Return the status of a point; a gap that the users' units do not keep is not the smallest one."""
    return Status.STALLED if found is Status.FLOOR and not stated else found


def _stated(problem: LinearProblem, W: Array, L: Array, solved: Array) -> Mask:
    """Tell which points have the loss and the gaps that were solved for when their weights are in the users' units.

    X @ coef + intercept loses digits to large values. Where scores may be off by more than a share of what they usually
    are, that is a warning; those of a stated point must not be off by what its loss would notice.
    """
    algebra, squared = problem.algebra, isinstance(problem.loss, Squared)
    off = np.zeros(len(W)) if problem.frame is None else np.asarray(problem.frame.rounding(W).max(axis=1))
    if (off > ROUGH * (np.sqrt(problem.target_variance()) if squared else 1.0)).any():
        warnings.warn(
            f"scores computed from the coefficients may be off by up to {off.max():.2g}, so that stated losses and "
            "gaps are not exactly those of the models: columns are nearly collinear next to large values; subtract "
            "each column's mean, drop one of the columns, or give a ridge.",
            FairfrontWarning,
            stacklevel=3,
        )
    size = STATED * np.abs(algebra.loss(solved))
    lost = np.abs(algebra.loss(L) - algebra.loss(solved))
    wider = (algebra.violation(algebra.gaps(L)) - algebra.violation(algebra.gaps(solved))).max(axis=1, initial=0.0)
    rough = 0.5 * problem.target_variance() if squared else 1.0
    loss = np.maximum(np.abs(algebra.loss(solved)), 1e-6 * rough)
    pull = np.sqrt(2.0 * loss) if squared else loss  # what a score may be off for that loss
    return np.asarray((lost <= size) & (wider <= size) & (off <= STATED * pull))


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


def _distinct(axes: Array, mask: Mask, ended: Mask, asked: Mask) -> NDArray[np.intp]:
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
        key = fine.tobytes() if ended[place] else rough.tobytes()
        if key not in seen or asked[place]:
            kept.append(place)
        seen.update((fine.tobytes(), rough.tobytes()))
    return np.array(kept, dtype=np.intp)
