"""Refinement: more points between two, and all points again on bootstrap samples, both on the training data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..exceptions import InputError
from ..objectives import Array
from ..problems import LinearProblem, blas_threads, problem_of
from ..problems.resources import check_memory, check_points
from ..problems.samples import Samples
from ..progress import progress_bar
from ..solvers import Knot, Status, Target
from ..solvers.base import tops
from ..solvers.knots import solve_knot
from ..solvers.newton import solved_points
from ..solvers.path import MOST
from ..solvers.refits import refit
from ..validation import MOST_POINTS, check_confidence, check_count, check_progress, check_seed, refuse
from .cutoffs import decide_at
from .models import LinearModels

if TYPE_CHECKING:
    from .frontier import Frontier


MOST_REFITS = 100_000
USUAL = 100


def same_problem(front: Frontier, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> LinearProblem:
    """Lay out the frontier's problem on these data, and refuse data that give its first point other objectives."""
    if front.facts.question is None:
        raise InputError(
            "the settings of this frontier are not known (it was saved with a class of your own, or was not traced "
            "here), expected a traced one; trace it again."
        )
    problem = problem_of(front.facts.question, X, y, sensitive_features, sample_weight)
    problem = front.facts.newton.stated(problem)
    W = front.models.weights
    found = problem.algebra.objectives(problem.values(W[:1]))[0] if W.shape[2] == problem.d else None
    known = front.objectives[0]
    if found is None or found.shape != known.shape or not np.allclose(found, known, rtol=1e-7, atol=1e-9 * known[0]):
        raise InputError(
            "these are not the data that the frontier was traced on (its first point has other objectives here), "
            "expected the same rows, features, labels, groups and weights; trace a new frontier on them."
        )
    return problem


def path_caps_of(front: Frontier, problem: LinearProblem) -> Array:
    """Return the caps (N, q) that every point of the frontier was solved for; refuse points past zero."""
    if Status.PAST in front.status:
        raise InputError(
            "this frontier goes on past zero (overshoot), where points have no caps; trace it without overshoot first."
        )
    sizes = problem.algebra.violation(front.signed_gaps)
    return np.stack([tops(problem.algebra, row, front.facts.path) for row in sizes])


@blas_threads(1)
def refine_between(
    front: Frontier, X: Any, y: Any, sensitive_features: Any, between: tuple[int, int], n: int, sample_weight: Any
) -> Frontier:
    """Solve n points with caps between those of two points; new points get new ids."""
    check_count(n, "n", most=MOST_POINTS)
    ends = _ends(front, between)
    stated = same_problem(front, X, y, sensitive_features, sample_weight)
    newton = replace(front.facts.newton, overshoot=0.0)
    problem = newton.working(stated)
    check_points(problem, n, MOST)
    first, second = ends
    caps_of = path_caps_of(front, problem)
    W = problem.from_user(front.models.weights)
    solver = newton.solver(problem, W[int(np.argmin(front.loss))])
    none = np.zeros(len(solver.rows.b))
    last, end = (Knot(solver.evaluate(W[i], none), caps_of[i], Status.RUNNING, False) for i in (first, second))
    knots = []
    for share in np.linspace(0.0, 1.0, n + 2)[1:-1]:
        target = Target.from_caps(((1.0 - share) * caps_of[first] + share * caps_of[second])[None])
        knot = solve_knot(solver, last, target)
        knot = knot if knot.status.solved else solve_knot(solver, end, target)
        if knot.status.solved:
            last = knot
            knots.append(knot)
    return _joined(front, stated, knots)


def _ends(front: Frontier, between: Any) -> tuple[int, int]:
    """Return the rows of the two points that new ones are to lie between."""
    if not isinstance(between, (tuple, list)) or len(between) != 2:
        raise refuse("between", between, "two ids such as (3, 4)")
    first, second = (front.place(each) for each in between)
    if first == second:
        raise refuse("between", between, "two different ids")
    return first, second


def _joined(front: Frontier, problem: LinearProblem, knots: list[Any]) -> Frontier:
    """Return the frontier with the new points in their places; evaluations cover the old points only and go."""
    from .assembly import assemble

    if not knots:
        return front
    more = assemble(problem, front.facts.newton, solved_points(problem.framed(), knots))
    assert isinstance(front.models, LinearModels)
    assert isinstance(more.models, LinearModels)
    points = front.points.concat(more.points)
    order = np.argsort(points.loss, kind="stable")
    models = front.models.concat(more.models).take(order)
    return replace(front, models=models, points=points.take(order), evaluations={})


@dataclass(frozen=True)
class Stability:
    """Bands from n refits, point by point (N points).

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


@blas_threads(1)
def bootstrap_frontier(
    front: Frontier,
    X: Any,
    y: Any,
    sensitive_features: Any,
    n: int,
    confidence: float,
    sample_weight: Any,
    random_state: int | None,
    progress: bool | Literal["auto"],
) -> Stability:
    """Refit all points n times, rows drawn with replacement inside each (group, label) cell."""
    check_count(n, "n", most=MOST_REFITS)
    check_confidence(confidence)
    check_seed(random_state)
    check_progress(progress)
    stated = same_problem(front, X, y, sensitive_features, sample_weight)
    newton = replace(front.facts.newton, tol=1e-7)
    problem = newton.working(stated)
    if problem.layout.cells.shares is not None:
        raise InputError("stability draws rows inside groups, expected group labels, found probabilities.")
    W = problem.from_user(front.models.weights)
    caps = path_caps_of(front, problem)
    check_memory(2.0 * n * problem.rows.n, f"{n} samples of {problem.rows.n} rows")
    check_points(problem, n * len(W), USUAL * len(W), "refits of points")
    samples = Samples.draw(problem, n, np.random.default_rng(random_state))
    with progress_bar(progress, "bootstrap", n * len(W)) as bar:

        def on_points(done: int) -> None:
            bar.update(done, f"{done} of {n * len(W)} points")

        found = refit(problem, newton, samples, W, caps, int(np.argmin(front.loss)), on_points)
    tails = [(1.0 - confidence) / 2, (1.0 + confidence) / 2]

    def band(values: Array) -> Array:
        return np.moveaxis(np.quantile(values, tails, axis=0), 0, -1)

    worst = problem.algebra.worst(found.everyone.reshape(n * len(W), -1)).max(axis=1)
    return Stability(
        loss=band(found.L @ problem.algebra.p),
        gap=band(worst.reshape(n, -1)),
        coef=band(problem.to_user(found.W)),
        flips=_flips(front, problem, W, found.W) if problem.task.classes else np.full(len(W), np.nan),
        n=int(found.solved.all(axis=1).sum()),
        confidence=confidence,
    )


def _flips(front: Frontier, problem: LinearProblem, W: Array, refits: Array) -> Array:
    """Return the mean share of rows whose decision differs between a point (N, K, d) and its refits (S, N, K, d)."""
    S, N, K, d = refits.shape
    models = np.concatenate([W[None], refits]).reshape(-1, d)
    operating = front.operating()
    if operating is not None:
        operating = operating.take(np.tile(np.arange(N), S + 1))
    changed = np.zeros((S, N))
    size = max(64, problem.design.rows_per_chunk(len(models)))
    for start in range(0, problem.design.n, size):
        stop = min(start + size, problem.design.n)
        scores = problem.design.scores(start, stop, models).reshape((S + 1) * N, K, -1)
        decided = decide_at(scores, problem.task, operating).reshape(S + 1, N, -1)
        changed += (decided[1:] != decided[0]).sum(axis=2)
    return np.asarray(changed.mean(axis=0) / problem.design.n)
