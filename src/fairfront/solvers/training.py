"""Training without caps: the end of the path where the loss is smallest, and the constraints after it.

Its Newton steps are those of every other point, without caps. Of many rows, some lead near the
optimum first.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..exceptions import InputError
from ..objectives import Algebra, Array
from ..problems import LinearProblem
from ..problems.samples import on_few
from .points import PathPoint, judged
from .sqp import ExactTolerances, FixedCaps, Iterate, PointSolver, Units

SMALLEST_LOSS = 1e-6  # share of the loss without weights below which a loss is no unit: separated labels
START_KKT = 1e-2  # KKT residual of the model that training starts from, on a part of the rows


def train(
    problem: LinearProblem,
    tolerances: ExactTolerances,
    no_group_worse: float | None = None,
    start: Array | None = None,
) -> tuple[PointSolver, PathPoint]:
    """Train without caps.

    Parameters
    ----------
    problem : LinearProblem on framed columns
    tolerances : ExactTolerances
    no_group_worse : float, optional
        How much worse than here any compared group may get on the path.
    start : array of shape (K, d), optional

    Returns
    -------
    The solver of points after training, with all constraints, and the trained model as a point whose
    caps are the gaps it has.
    """
    problem = problem.without_metric()
    at, free = _minimise(problem, _first_weights(problem, tolerances, start), tolerances)
    constraints = with_constraints(problem, at.L, no_group_worse)
    n_gaps, n_signs = len(problem.algebra.b), len(problem.terms)
    units = Units.of(problem, constraints, free.units.loss)
    solver = PointSolver(problem, constraints, units, tolerances)
    multipliers = np.zeros(len(constraints.b))
    multipliers[len(multipliers) - n_signs :] = at.multipliers
    sizes = solver.sizes(at.L)
    caps = solver.with_guard_caps(np.maximum(sizes[:n_gaps], 0.0))
    plain = replace(at, multipliers=multipliers, caps=caps, factor=None)
    plain = replace(plain, kkt=solver.residual(at.L, at.G, multipliers, caps))
    if at.factor is not None and solver.forms_hessians:
        plain = solver.with_hessian(plain, free.hessian_of(at))
    return solver, judged(solver, PathPoint(1.0, plain))


def _first_weights(problem: LinearProblem, tolerances: ExactTolerances, start: Array | None) -> Array:
    """Return where training starts: the optimum on some of the rows, where there are plenty."""
    if start is not None:
        return np.array(start, dtype=np.float64)
    W = np.zeros((problem.K, problem.d))
    if problem.fit_intercept and problem.loss.link:
        W[:, -1] = problem.loss.begin(problem.rows.target_mean)
    few = on_few(problem)
    if few is None or len(problem.terms):
        return W
    # The ridge stays as strong against fewer rows: otherwise weights of rare columns start far off.
    p = few.algebra.p.copy()
    p[-1] *= problem.rows.n / few.rows.n
    few = few.with_algebra(replace(few.algebra, p=p))
    return _minimise(few, W, replace(tolerances, kkt=START_KKT))[0].W


def _minimise(problem: LinearProblem, W: Array, tolerances: ExactTolerances) -> tuple[Iterate, PointSolver]:
    """Minimise the loss within the signs of weights; its unit is the loss reached, known only then."""
    rows = _signs_alone(problem.algebra, len(problem.terms))
    if not problem.has_curvature:
        W = problem.fit(problem.algebra.p, W)
    W = problem.terms.kept(W)
    first_loss = abs(float(rows.p @ problem.values(W[None])[0]))
    solver = _solver_of(problem, rows, tolerances, first_loss)
    no_caps = np.zeros(len(rows.b))
    (start,) = solver.evaluate(W[None], no_caps[None], no_caps[None])
    at = solver.solve(start, FixedCaps(no_caps))
    if not solver.is_solved(at):
        fitted = problem.terms.kept(problem.fit(problem.algebra.p, at.W))
        (start,) = solver.evaluate(fitted[None], at.multipliers[None], no_caps[None])
        again = solver.solve(start, FixedCaps(no_caps))
        at = again if again.kkt < at.kkt else at
    solver = _solver_of(problem, rows, tolerances, abs(solver.loss(at)))
    return solver.solve(at, FixedCaps(no_caps)), solver


def _solver_of(problem: LinearProblem, rows: Algebra, tolerances: ExactTolerances, loss: float) -> PointSolver:
    """Return the solver whose unit is a loss, if labels are not separated at it."""
    unit = max(loss, SMALLEST_LOSS * problem.loss_size)
    return PointSolver(problem, rows, Units.of(problem, rows, unit), tolerances)


def _signs_alone(algebra: Algebra, n_signs: int) -> Algebra:
    """Return the algebra without its gaps, with one row for each weight whose sign is bound."""
    assert algebra.signs is not None
    none = replace(
        algebra,
        B=algebra.B[:0],
        b=algebra.b[:0],
        two_sided=algebra.two_sided[:0],
        signs=algebra.signs[:, :0],
        names=algebra.names[:1],
    )
    return none.bounded(n_signs)


def with_constraints(problem: LinearProblem, plain: Array, no_group_worse: float | None) -> Algebra:
    """Return caps on gaps, guards of groups, and signs, after training with the cells ``plain`` (k,)."""
    rows = problem.algebra
    if no_group_worse is not None:
        rows = _with_guards(problem, rows, plain, no_group_worse)
    return rows.bounded(len(problem.terms))


def _with_guards(problem: LinearProblem, rows: Algebra, plain: Array, allowed: float) -> Algebra:
    """Add one row per compared average: it may not get worse than in training by more than allowed.

    Better is a smaller loss, a smaller smooth error, or a larger share decided as the label in
    question; where all rows are compared on every class, only the favourable one has a better side.
    """
    averages = problem.layout.averages
    if any(average.quantity.kind in ("score", "prediction") for average in averages):
        raise InputError(
            "no_group_worse has no meaning for mean predictions, which have no better side; "
            "use notion='disparate_mistreatment'."
        )
    assert rows.means is not None
    assert rows.signs is not None
    favourable = problem.task.favourable
    columns = []
    for number, average in enumerate(averages):
        quantity = average.quantity
        if average.labels is None and quantity.label not in (None, favourable):
            continue
        larger_is_better = quantity.kind == "rate" and quantity.label is not None
        column = np.zeros(len(rows.means))
        column[number] = -1.0 if larger_is_better else 1.0
        columns.append(column)
    signs = np.column_stack(columns)
    guards = signs.T @ rows.means
    return replace(
        rows,
        B=np.vstack([rows.B, guards]),
        b=np.append(rows.b, guards @ plain + allowed),
        two_sided=np.append(rows.two_sided, np.zeros(len(guards), dtype=bool)),
        signs=np.hstack([rows.signs, signs]),
    )
