"""More points between two, solved on the training data, which must be the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import InputError
from ..objectives import Array
from ..problems import LinearProblem, Setup, blas_threads, linear_problem
from ..problems.bounds import check_points
from ..solvers import Knot, Status, Target
from ..solvers.aiming import sided, tops, working_problem
from ..solvers.newton import solve_knot
from ..solvers.path import MOST
from ..validation import MOST_POINTS, check_count, refuse
from .points import LinearPoints

if TYPE_CHECKING:
    from .frontier import Frontier


def same_problem(front: Frontier, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> Setup:
    """Lay out the frontier's problem on these data, and refuse data that give its first point other objectives."""
    if not front.facts.recipe:
        raise InputError(
            "the settings of this frontier are not known (it was saved with a class of your own, or was not traced "
            "here), expected a traced one; trace it again."
        )
    setup = linear_problem(
        X, y, sensitive_features=sensitive_features, sample_weight=sample_weight, **front.facts.recipe
    )
    setup = sided(setup, front.facts.newton)
    W = weights_of(front)
    found = setup.problem.algebra.objectives(setup.problem.values(W[:1]))[0] if W.shape[2] == setup.problem.d else None
    known = front.objectives[0]
    if found is None or found.shape != known.shape or not np.allclose(found, known, rtol=1e-7, atol=1e-9 * known[0]):
        raise InputError(
            "these are not the data that the frontier was traced on (its first point has other objectives here), "
            "expected the same rows, features, labels, groups and weights; trace a new frontier on them."
        )
    return setup


def weights_of(front: Frontier) -> Array:
    """Return the weights (N, K, d) of a frontier of linear models, the intercept last."""
    points = front.points
    if not isinstance(points, LinearPoints):
        raise InputError("this needs a frontier of linear models that was traced by fairfront.")
    if not points.fit_intercept:
        return points.coef
    return np.concatenate([points.coef, points.intercept[:, :, None]], axis=2)


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
    setup = same_problem(front, X, y, sensitive_features, sample_weight)
    newton = replace(front.facts.newton, overshoot=0.0)
    problem = working_problem(setup, newton)
    check_points(problem, n, MOST)
    first, second = ends
    caps_of = path_caps_of(front, problem)
    W = problem.from_user(weights_of(front))
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
    return _joined(front, setup, knots)


def _ends(front: Frontier, between: Any) -> tuple[int, int]:
    """Return the rows of the two points that new ones are to lie between."""
    if not isinstance(between, (tuple, list)) or len(between) != 2:
        raise refuse("between", between, "two ids such as (3, 4)")
    first, second = (front.place(each) for each in between)
    if first == second:
        raise refuse("between", between, "two different ids")
    return first, second


def _joined(front: Frontier, setup: Setup, knots: list[Any]) -> Frontier:
    """Return the frontier with the new points in their places; evaluations cover the old points only and go."""
    from .assembling import assemble_knots

    if not knots:
        return front
    more = assemble_knots(setup, front.facts.newton, knots, front.facts.path)
    order = np.argsort(np.concatenate([front.loss, more.loss]), kind="stable")
    mine, its = front.points, more.points
    assert isinstance(mine, LinearPoints)
    assert isinstance(its, LinearPoints)
    points = replace(
        mine,
        coef=np.concatenate([mine.coef, its.coef])[order],
        intercept=np.concatenate([mine.intercept, its.intercept])[order],
    )
    status: list[Status] = [*front.status, *more.status]
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(front, name), getattr(more, name)])[order]
        for name in ("objectives", "gaps", "signed_gaps", "preferences", "kkt", "certified")
    }
    same = front.multipliers.shape[1] == more.multipliers.shape[1]
    multipliers = np.concatenate([front.multipliers, more.multipliers])[order] if same else np.zeros((len(order), 0))
    ids = np.concatenate([front.ids, front.ids.max() + 1 + np.arange(len(more))])[order]
    return replace(
        front,
        points=points,
        status=tuple(status[i] for i in order),
        multipliers=multipliers,
        ids=ids,
        evaluations={},
        **arrays,
    )
