"""Frontiers of linear models: made of what a solver found, refined between two points, and bootstrapped."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..exceptions import FairfrontWarning, InputError, progress_bar
from ..measures.decisions import decide
from ..objectives import Array
from ..objectives.losses import Squared
from ..pareto import nondominated
from ..problems import LinearProblem, blas_threads, problem_of
from ..problems.point import check_finite
from ..problems.resources import check_memory, check_points
from ..problems.samples import Samples
from ..records import Record, html_record, html_table
from ..solvers import Solver, Status
from ..solvers.base import Mask, Solved, tops
from ..solvers.hard_points import at_kinks
from ..solvers.knots import MOST, knot_solver, solve_caps
from ..solvers.newton import solved_points
from ..solvers.refits import refit
from ..validation import MOST_POINTS, check_confidence, check_count, check_progress, check_seed, refuse
from .frontier import Frontier
from .frontier_columns import FrontierColumns
from .held_out import HeldOut
from .linear_models import LinearModels
from .models import responses_of
from .points import Facts, Points, multipliers_of

ROUGH = 1e-4
"""How far scores may be off without a word; values, as a share of their standard deviation."""
STATED = 1e-6
"""How much of the loss the users' units may cost a certified point: an intercept next to large offsets loses digits."""
MOST_REFITS = 100_000
USUAL = 100
"""Refits of every point that the defaults may make."""
Rows = tuple[Any, Any, Any, Any]
"""The training data as they were given: X, y, sensitive features and weights."""
Front = TypeVar("Front", bound=FrontierColumns)
REFIT_TOL = 1e-7
"""Bands of refits are wider than what a tighter tolerance would change."""


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
    front = Frontier(models, points, Facts.of(problem.objectives, solver, solver.path))
    return front if held_out is None else held_out.judged(front, problem, [solved[i] for i in kept])


def _stated(problem: LinearProblem, W: Array, L: Array, solved: Array) -> Mask:
    """Tell which points have the loss and the gaps that were solved for when their weights are in the users' units.

    X @ coef + intercept loses digits to large values. Where scores may be off by more than a share of what they usually
    are, that is a warning; those of a stated point must not be off by what its loss would notice.
    """
    algebra, squared = problem.algebra, isinstance(problem.loss, Squared)
    off = np.asarray(problem.frame.rounding(W).max(axis=1))
    if (off > ROUGH * (np.sqrt(problem.rows.target_variance) if squared else 1.0)).any():
        warnings.warn(
            f"scores computed from the coefficients may be off by up to {off.max():.2g}, so that stated losses and "
            "gaps are not exactly those of the models: columns are nearly collinear next to large values; subtract "
            "each column's mean, drop one of the columns, or give a ridge.",
            FairfrontWarning,
            stacklevel=3,
        )
    loss = np.abs(algebra.loss(solved))
    lost = np.abs(algebra.loss(L) - loss)
    rough = 0.5 * problem.rows.target_variance if squared else 1.0
    floored = np.maximum(loss, 1e-6 * rough)
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


def same_problem(front: FrontierColumns, rows: Rows) -> LinearProblem:
    """Lay out the frontier's problem on these data, and refuse data that give its first point other objectives."""
    if front.facts.question is None:
        raise InputError(
            "the settings of this frontier are not known (it was saved with a class of your own, or was not traced "
            "here), expected a traced one; trace it again."
        )
    problem = problem_of(front.facts.question, *rows)
    problem = front.facts.newton.stated(problem)
    W, known = front.models.weights, front.objectives[0]
    found = problem.algebra.objectives(problem.values(W[:1]))[0] if W.shape[2] == problem.d else None
    if found is None or found.shape != known.shape or not np.allclose(found, known, rtol=1e-7, atol=1e-9 * known[0]):
        raise InputError(
            "these are not the data that the frontier was traced on (its first point has other objectives here), "
            "expected the same rows, features, labels, groups and weights; trace a new frontier on them."
        )
    return problem


def path_caps_of(front: FrontierColumns, problem: LinearProblem) -> Array:
    """Caps (N, q) that every point was solved for; those of points past zero, which have none, mean nothing."""
    sizes = problem.algebra.violation(front.signed_gaps)
    return np.stack([tops(problem.algebra, row, front.facts.path) for row in sizes])


@blas_threads(1)
def refine_between(front: Front, rows: Rows, between: tuple[int, int], n: int) -> Front:
    """Solve n points with caps between those of two points; new points get new ids and their places by loss."""
    check_count(n, "n", most=MOST_POINTS)
    if not isinstance(between, (tuple, list)) or len(between) != 2:
        raise refuse("between", between, "two ids such as (3, 4)")
    first, second = (front.place(each) for each in between)
    if first == second:
        raise refuse("between", between, "two different ids")
    stated = same_problem(front, rows)
    if Status.PAST in front.status:
        raise InputError(
            "this frontier goes on past zero (overshoot), where points have no caps; trace it without overshoot first."
        )
    newton = replace(front.facts.newton, overshoot=0.0)
    problem = newton.working(stated)
    check_points(problem, n, MOST)
    caps = path_caps_of(front, problem)
    W = problem.from_user(front.models.weights)
    solver = knot_solver(newton, problem, W[front.plain])
    none = np.zeros(len(solver.rows.b))
    last, end = (solver.evaluate(W[i], none) for i in (first, second))
    knots = []
    for share in np.linspace(0.0, 1.0, n + 2)[1:-1]:
        between_them = (1.0 - share) * caps[first] + share * caps[second]
        knot = solve_caps(solver, last, between_them)
        knot = knot if knot.status.solved else solve_caps(solver, end, between_them)
        if knot.status.solved:
            last = knot
            knots.append(knot if problem.loss == stated.loss else at_kinks(solver, stated.framed(), knot))
    if not knots:
        return front
    more = assemble(stated, front.facts.newton, solved_points(stated.framed(), knots))
    assert isinstance(front.models, LinearModels)
    assert isinstance(more.models, LinearModels)
    points = front.points.concat(more.points)
    order = np.argsort(points.loss, kind="stable")
    models = front.models.concat(more.models).take(order)
    return replace(front, models=models, points=points.take(order), evaluations={})


@dataclass(frozen=True, repr=False)
class Stability(Record):
    """Bands from n refits, point by point (N points); NaN of points past zero, which have no caps.

    loss, gap (N, 2)     band of the refitted loss on its sample, and of the refit's worst gap on all training rows
    coef (N, K, d, 2)    band of every coefficient
    flips (N,)           mean share of training rows whose decision differs between the point and its refit, both at
                         the point's own cut-off where there is an operating point; NaN for regression
    n                    refits in which every point converged, ``confidence`` of the bands
    """

    loss: Array
    gap: Array
    coef: Array
    flips: Array
    n: int
    confidence: float

    def _repr_html_(self) -> str:
        """Show the bands of every point."""
        bands = [(f"{low:.4f} to {high:.4f}" for low, high in each) for each in (self.loss, self.gap)]
        share = (f"{each:.1%}" if np.isfinite(each) else "" for each in self.flips)
        rows = zip(map(str, range(len(self.flips))), *bands, share, strict=True)
        table = html_table(("point", "loss", "worst gap", "decisions that differ"), list(rows))
        said = f"{self.confidence:.0%} bands of {self.n} bootstrap refits, in the order of the points"
        return html_record("Stability", said, table, "front.plot(stability=...) draws the bands.")


@blas_threads(1)
def bootstrap_frontier(
    front: FrontierColumns,
    rows: Rows,
    n: int,
    confidence: float,
    random_state: int | None,
    progress: bool | Literal["auto"],
) -> Stability:
    """Rows are drawn with replacement inside each (group, label) cell."""
    check_count(n, "n", most=MOST_REFITS)
    check_confidence(confidence)
    check_seed(random_state)
    check_progress(progress)
    stated = same_problem(front, rows)
    newton = replace(front.facts.newton, tol=REFIT_TOL, overshoot=0.0)
    problem = newton.working(stated)
    if problem.layout.cells.shares is not None:
        raise InputError("stability draws rows inside groups, expected group labels, found probabilities.")
    W = problem.from_user(front.models.weights)
    inside = np.flatnonzero([status is not Status.PAST for status in front.status])
    N, W, caps, plain = len(W), W[inside], path_caps_of(front, problem)[inside], int(inside.searchsorted(front.plain))
    check_memory(2.0 * n * problem.rows.n, f"{n} samples of {problem.rows.n} rows")
    check_points(problem, n * len(W), USUAL * len(W), "refits of points")
    samples = Samples.draw(problem, n, np.random.default_rng(random_state))
    with progress_bar(progress, "bootstrap", n * len(W)) as bar:

        def on_points(done: int) -> None:
            bar.update(done, f"{done} of {n * len(W)} points")

        found = refit(problem, newton, samples, W, caps, plain, on_points)
    tails = [(1.0 - confidence) / 2, (1.0 + confidence) / 2]

    def placed(values: Array) -> Array:
        every = np.full((N, *values.shape[1:]), np.nan)
        every[inside] = values
        return every

    def band(values: Array) -> Array:
        return placed(np.moveaxis(np.quantile(values, tails, axis=0), 0, -1))

    worst = problem.algebra.worst(found.everyone.reshape(n * len(W), -1)).max(axis=1)
    return Stability(
        loss=band(found.L @ problem.algebra.p),
        gap=band(worst.reshape(n, -1)),
        coef=band(problem.to_user(found.W)),
        flips=placed(_flips(front, inside, problem, W, found.W)) if problem.task.classes else np.full(N, np.nan),
        n=int(found.solved.all(axis=1).sum()),
        confidence=confidence,
    )


def _flips(front: FrontierColumns, places: NDArray[np.intp], problem: LinearProblem, W: Array, refits: Array) -> Array:
    """Mean share of rows whose decision differs between points at places (N, K, d) and their refits (S, N, K, d)."""
    S, N, K, d = refits.shape
    models = np.concatenate([W[None], refits]).reshape(-1, d)
    operating = front.operating()
    if operating is not None:
        operating = operating.take(np.tile(places, S + 1))
    changed = np.zeros((S, N))
    design = problem.piece.design
    size = max(64, design.rows_per_chunk(len(models)))
    for start in range(0, design.n, size):
        stop = min(start + size, design.n)
        scores = design.scores(start, stop, models).reshape((S + 1) * N, K, -1)
        if operating is None:
            decided = decide(scores, problem.task)
        else:
            decided = operating.favoured(responses_of(scores[:, 0], problem.task, operating.probability))
        decided = decided.reshape(S + 1, N, -1)
        changed += (decided[1:] != decided[0]).sum(axis=2)
    return np.asarray(changed.mean(axis=0) / design.n)
