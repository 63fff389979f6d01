"""Frontiers of linear models, made of what a solver found."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import FairfrontWarning, InputError
from ..objectives import Array
from ..objectives.losses import Squared
from ..pareto import nondominated
from ..problems import LinearProblem
from ..problems.point import check_finite
from ..solvers import Solver, Status
from ..solvers.base import Mask, Solved
from ..validation import check_number, check_positive
from .frontier import Frontier
from .held_out import HeldOut
from .linear_models import LinearModels
from .points import Facts, Points, multipliers_of

ROUGH = 1e-4
"""How far scores may be off without a word; values, as a share of their standard deviation."""
STATED = 1e-6
"""How much of the loss the users' units may cost a certified point: an intercept next to large offsets loses digits."""


def assemble(problem: LinearProblem, solver: Solver, solved: list[Solved], held_out: HeldOut | None = None) -> Frontier:
    """Make a frontier of what a solver found, by loss; what lies past zero keeps its place at the end."""
    algebra, status = problem.algebra, [point.status for point in solved]
    W, pi = np.stack([point.W for point in solved]), np.stack([point.pi for point in solved])
    L = problem.values(W)
    past, ended = np.array([(each is Status.PAST, each is not Status.VISITED) for each in status]).T
    axes = np.column_stack([algebra.loss(L), algebra.worst(L), past])
    best = ended if ended.all() else nondominated(axes) | ended
    kept = _distinct(axes, best, ended, ~np.isnan(pi[:, 0]))
    kept = kept[np.lexsort((kept, axes[kept, 0], past[kept]))]
    known: dict[str, Any] = {"preferences": pi[kept]}
    exact = [(point.L, point.multipliers) for point in solved if point.L is not None and point.multipliers is not None]
    if len(exact) == len(solved):
        sure = _stated(problem, W, L, np.stack([cells for cells, _ in exact]))
        # a gap that the users' units do not keep is not the smallest one
        status = [Status.STALLED if s is Status.FLOOR and not sure[i] else s for i, s in enumerate(status)]
        certified = np.array([point.certified for point in solved]) & sure & ~past
        known |= {"kkt": np.array([point.kkt for point in solved])[kept], "certified": certified[kept]}
        known |= multipliers_of(algebra, np.stack([each for _, each in exact])[kept, : len(algebra.b)])
    points = Points.from_values(algebra, L[kept], tuple(status[i] for i in kept), **known)
    check_finite(W[kept], L[kept], points.objectives)
    models = LinearModels.from_weights(
        W[kept],
        problem.fit_intercept,
        task=problem.task,
        loss=problem.loss.name,
        ridge=problem.objectives.question.ridge,
        total=float(problem.layout.cells.weight.sum()),
        feature_names=problem.feature_names,
        power=getattr(problem.loss, "power", None),
    )
    front = Frontier(models, points, Facts.of(problem.objectives, solver))
    return front if held_out is None else held_out.judged(front, problem, [solved[i] for i in kept])


def _stated(problem: LinearProblem, W: Array, L: Array, solved: Array) -> Mask:
    """Tell which points have the loss and the gaps that were solved for when their weights are in the users' units.

    X @ coef + intercept loses digits to large values. Where scores may be off by more than a share of what they usually
    are, that is a warning; those of a stated point must not be off by what its loss would notice.
    """
    algebra, squared = problem.algebra, isinstance(problem.loss, Squared)
    off = np.asarray(problem.frame.rounding(W).max(axis=1))
    if (off > ROUGH * problem.score_size).any():
        warnings.warn(
            f"scores computed from the coefficients may be off by up to {off.max():.2g}, so that stated losses and "
            "gaps are not exactly those of the models: columns are nearly collinear next to large values; subtract "
            "each column's mean, drop one of the columns, or give a ridge.",
            FairfrontWarning,
            stacklevel=3,
        )
    loss = np.abs(algebra.loss(solved))
    lost = np.abs(algebra.loss(L) - loss)
    floored = np.maximum(loss, 1e-6 * problem.loss_size)
    pull = np.sqrt(2.0 * floored) if squared else floored  # what a score may be off for that loss
    unit = np.repeat(loss[:, None], len(algebra.b), axis=1)
    unit[:, _gaps_of_scores(problem)] = pull[:, None]
    wider = algebra.violation(algebra.gaps(L)) - algebra.violation(algebra.gaps(solved))
    gaps_kept = (wider <= STATED * unit).all(axis=1)
    return np.asarray((lost <= STATED * loss) & gaps_kept & (off <= STATED * pull))


def _gaps_of_scores(problem: LinearProblem) -> Mask:
    """Tell which gaps are in units of scores (mean predictions), not of losses."""
    B = problem.algebra.B
    of_scores = np.zeros(len(B), dtype=bool)
    for measure, cells in problem.measures:
        if measure.linear:
            of_scores |= np.any(B[:, cells[cells >= 0]] != 0.0, axis=1)
    return of_scores


def _distinct(axes: Array, mask: Mask, ended: Mask, asked: Mask) -> NDArray[np.intp]:
    """Return the places in the mask, without points on the way that lie within 1/1000 of another kept one.

    Ends of runs go only if they are equal, and what was asked for by preference stays in any case.
    """
    places = np.flatnonzero(mask)
    low, high = axes[places].min(axis=0), axes[places].max(axis=0)
    scaled = (axes[places] - low) / np.where(high > low, high - low, 1.0)
    seen: set[bytes] = set()
    kept = []
    for place, row in zip(places, scaled, strict=True):
        fine, rough = np.round(row, 10).tobytes(), np.round(row, 3).tobytes()
        if asked[place] or (fine if ended[place] else rough) not in seen:
            kept.append(place)
        seen.update((fine, rough))
    return np.array(kept, dtype=np.intp)


def point_at(front: Frontier, gap: float | None, loss: float | None) -> Frontier:
    """Return the point of a frontier just traced at a gap or a loss, as a frontier of one model."""
    if (gap is None) == (loss is None):
        raise InputError(f"at takes a gap or a loss, found {'neither' if gap is None else 'both'}; give one of them.")
    source = front.source
    if source is None:
        raise InputError(
            "at needs the rows that a frontier was traced on, found one that was loaded, copied, or not traced by "
            "Newton's path; trace it again, with n_points for more points."
        )
    if gap is not None:
        point = source.at_gap(check_positive(gap, "gap", zero=True))
    else:
        point = source.at_loss(check_number(loss, "loss"))
    return assemble(source.problem, source.newton, [source.solved(point)])
