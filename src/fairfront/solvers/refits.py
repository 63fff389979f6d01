"""Refits: the path of caps again on many samples of the rows, all samples side by side.

Every sample follows a path of its own, from plain training down the caps, by the steps of `sqp`. Three things make
them cheap. One pass over the rows evaluates all samples. The Lagrangian's Hessian is put together from the cells'
with the multipliers of the moment, so that it ages with the weights only. And the cells' Hessians are taken in full
once per sample: later it is their change that is taken, on a part of the rows. Residuals are exact all the while.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array, Cells
from ..problems import LinearProblem
from ..problems.point import convexified, gram
from ..problems.samples import Samples
from .base import Status, tops
from .constraints import constraints, true_multipliers
from .hard_points import approach
from .knots import first_knot, knot_solver, plain_training
from .newton import Newton, follow
from .quadratic import capped_step
from .sqp import Knot

Which = NDArray[np.intp]
FOLDS = 10  # of the rows, one of which is left out each time; five are too few where the path is steep

TOL = 1e-5
"""Largest KKT residual of a refit, relative to the loss. Drawing rows again moves the residual of a point by 1e-2 and
more, so what is left is a thousandth of what a sample does; bands of 20 samples vary by a fifth of their width."""
SLOW, ASTRAY = 0.1, 0.3
"""A step that leaves more than these shares of the residual asks for new Hessians, and, where they are new, for full
ones."""
MOST = 12  # steps to a point: those that take more are solved alone, with every safeguard
THIN = 128
"""Rows per column on which the change of a cell's Hessian is taken; a quarter of that where there are many columns."""
FEW, MANY = 512, 4096  # rows that are always taken, and those above which there are many
ROOM = 1 << 28
"""Bytes for the cells' Hessians: as many samples go side by side as have room. Where four times as much is too little
for one of them, points are solved one by one."""
FREE = 1e200  # a cap that nothing reaches


@dataclass(frozen=True)
class Refit:
    """All points (N) on all samples (S): weights, cell values on the sample and on all rows, and what converged."""

    W: Array
    L: Array
    everyone: Array
    solved: NDArray[np.bool_]


def refit(
    problem: LinearProblem,
    newton: Newton,
    samples: Samples,
    W: Array,
    caps: Array,
    plain: int,
    on_points: Callable[[int], None] = lambda done: None,
) -> Refit:
    """Solve the points with weights W (N, K, d) and caps (N, q) on every sample; ``plain`` is the one without caps."""
    N, S, k = len(W), len(samples), len(problem.algebra.p)
    bytes_each = 16 * k * (problem.K * problem.d) ** 2  # the Hessians of a sample's cells, twice
    found = Refit(np.empty((S, *W.shape)), np.empty((S, N, k)), np.empty((S, N, k)), np.ones((S, N), dtype=bool))
    done = 0
    for part in np.array_split(np.arange(S), -(-S // max(1, ROOM // bytes_each))):
        together = bytes_each <= 4 * ROOM and problem.algebra.psi is None  # curves have a slope per sample
        paths = _Paths(problem, newton, samples.take(part), W[plain], caps.max(axis=0), together)
        for place in [plain, *(i for i in range(N) if i != plain)]:
            paths.solve_plain() if place == plain else paths.solve(caps[place])
            found.W[part, place], found.L[part, place] = paths.W, paths.L
            found.everyone[part, place], found.solved[part, place] = paths.everyone, paths.solved
            done += len(part)
            on_points(done)
    return found


def dealt(cell: Which, person: Which | None) -> Which:
    """Return a fold for every row: people, or rows, of each cell are shuffled and dealt out like cards."""
    first = np.arange(len(cell)) if person is None else np.unique(person, return_index=True)[1]
    order = np.lexsort((np.random.default_rng(0).random(len(first)), cell[first]))
    fold = np.empty(len(first), dtype=np.intp)
    fold[order] = np.arange(len(first)) % FOLDS
    return fold if person is None else fold[person]


def folds_of(cells: Cells, person: Which | None) -> Which:
    """Return a fold for every sorted row; ``person`` (n,) in the order of the data. Shares count as the largest."""
    cell = cells.of_sorted if cells.shares is None else cells.shares.argmax(axis=0)
    return dealt(cell, None if person is None else person[cells.order])


def too_few_people(cells: Cells, fold: Which) -> str:
    """Say that some cell is whole in one fold, without which it would be empty; empty where none is."""
    inside = np.arange(cells.count)[:, None] == cells.of_sorted if cells.shares is None else cells.shares > 0.0
    alone = min(len(np.unique(fold[rows])) for rows in inside) < 2
    return "expected two people or more of every group and label that are compared" if alone else ""


def fold_scores(
    problem: LinearProblem, newton: Newton, W: Array, sizes: Array, plain: int, person: Which | None
) -> tuple[Array, int]:
    """Return scores (N, K, n), in the order of the data, of rows by points W (N, K, d) refitted without their fold.

    And the number of folds: `FOLDS`, or as many as there are people.

    ``sizes`` (N, q) are the gaps of the points, whose caps are kept, but for the ``plain`` one, which has none;
    ``person`` (n,) are codes of who stays together.
    """
    cells, piece = problem.layout.cells, problem.piece
    fold = folds_of(cells, person)
    folds = int(fold.max()) + 1
    caps = np.stack([tops(problem.algebra, row, newton.path) for row in sizes])
    found = refit(problem, newton, Samples.without(problem, fold, folds), W, caps, plain)
    scores = np.empty((len(W), problem.K, cells.n))
    for each in range(folds):
        rows = np.flatnonzero(fold == each)
        models = np.asarray(piece.design.X[rows] @ found.W[each].reshape(-1, problem.d).T)
        scores[:, :, cells.order[rows]] = models.T.reshape(len(W), problem.K, -1)
    return scores, folds


class _Paths:
    """Where every sample is on its path: W, L, G, multipliers x, KKT residual, caps, and the Hessians of its cells.

    ``rest`` is what the Hessians on a part of the rows leave out, as it was at the start.
    """

    def __init__(
        self, problem: LinearProblem, newton: Newton, samples: Samples, plain: Array, top: Array, side_by_side: bool
    ) -> None:
        self.newton, self.samples, self.top = newton, samples, top
        self.solver = knot_solver(newton, problem, plain)
        self.rows = self.solver.rows
        S = len(samples)
        self.all = np.arange(S)
        self.W = np.repeat(plain[None], S, axis=0)
        self.x, self.kkt, self.b = np.zeros((S, len(self.rows.b))), np.full(S, np.inf), np.tile(self.rows.b, (S, 1))
        self.L, self.G, self.everyone = samples.cells(self.W, self.all)
        self.thin, self.H, self.rest = samples, np.empty(0), np.empty(0)
        if side_by_side:
            size = problem.K * problem.d
            self.thin = samples.thinned(min(max(THIN * size, FEW), max(THIN // 4 * size, MANY)))
            self.H = np.stack([samples.hessians(plain, s) for s in range(S)])
            self.rest = self.H - np.stack([self.thin.hessians(plain, s) for s in range(S)])
        self.solved, self.floor = np.ones(S, dtype=bool), np.zeros(S, dtype=bool)
        self.caps = np.tile(top, (S, 1))
        self.plain = self.W.copy()

    def solve_plain(self) -> None:
        signed = len(self.solver.problem.terms) > 0
        for s in (self.all if signed else self._descend(self.all, np.full(len(self.rows.b), FREE))).tolist():
            self._place(s, *plain_training(self.newton, self.samples.single(s), self.W[s]))
        self.plain, algebra = self.W.copy(), self.solver.algebra
        self.caps = np.maximum(algebra.violation(algebra.gaps(self.L)), self.top)
        if self.newton.no_group_worse is not None:
            for s in range(len(self.samples)):
                self.b[s] = constraints(self.newton, self.samples.single(s), self.W[s]).b

    def solve(self, row: Array) -> None:
        """Go to the caps of a point; a sample that has ended at its floor has nothing below it."""
        runs = self.all[~self.floor | (row >= self.caps).all(axis=1)]
        before = self.W.copy(), self.L.copy(), self.G.copy(), self.x.copy()
        guarded = np.concatenate([row, np.zeros(len(self.rows.b) - len(row))])
        lost = self._descend(runs, guarded)
        there = np.setdiff1d(runs, lost)
        self.caps[there], self.floor[there], self.solved[there] = row, False, True
        for s in lost.tolist():
            self._alone(s, row, *(each[s] for each in before))

    def _alone(self, s: int, row: Array, W: Array, L: Array, G: Array, x: Array) -> None:
        """Solve one sample's point with every safeguard of the tracer, or find its floor."""
        single = self.samples.single(s)
        solver = knot_solver(self.newton, single, self.plain[s])
        if np.any(x):
            none = np.full(solver.algebra.m, np.nan)
            knot = Knot(W, Status.EFFICIENT, none, L=L, multipliers=x, G=G, caps=self.caps[s])
        else:
            knot = replace(first_knot(solver, W), caps=self.caps[s])
        found = approach(solver, knot, row) if self.H.size else follow(solver, knot, row[None])[-1]
        self._place(s, found.W, found.multipliers)
        self.caps[s] = found.caps
        self.solved[s], self.floor[s] = found.status.solved, found.status is Status.FLOOR

    def _place(self, s: int, W: Array, x: Array) -> None:
        where = np.array([s])
        self.W[s], self.x[s] = W, x
        self.L[where], self.G[where], self.everyone[where] = self.samples.cells(W[None], where)
        if self.H.size:
            self._refresh(s)

    def _refresh(self, s: int, full: bool = False) -> None:
        """Take the Hessians of a sample's cells here: in full, or their change since that was last done."""
        thin = self.thin.hessians(self.W[s], s)
        if full:
            self.rest[s] = self.samples.hessians(self.W[s], s) - thin
        self.H[s] = self.rest[s] + thin

    def _descend(self, runs: Which, caps: Array) -> Which:
        """Take steps until all runs are solved for these caps; return those that do not get there."""
        if not self.H.size:
            return runs
        self.kkt[runs] = self._residuals(runs, self.G[runs], self.L[runs], self.x[runs], caps)
        age = np.ones(len(self.all), dtype=np.intp)  # steps since the Hessians were taken
        todo, begun = runs[self.kkt[runs] > TOL], self.kkt.copy()
        for iteration in range(MOST):
            if iteration == MOST // 2:  # by now caps that can be met are nearly met
                todo = todo[self.kkt[todo] < ASTRAY * begun[todo]]
            if not len(todo):
                break
            with np.errstate(over="ignore", invalid="ignore"):  # a step may land where losses overflow
                W, x = self._step(todo, caps)
                L, G, everyone = self.samples.cells(W, todo)
                kkt = self._residuals(todo, G, L, x, caps)
                left = kkt / self.kkt[todo]
            young = age[todo] == 0
            taken = (left <= 1.0) | ((left <= 10.0) & (young | (iteration == 0)))
            gone = todo[taken]
            self.W[gone], self.x[gone], self.kkt[gone] = W[taken], x[taken], kkt[taken]
            self.L[gone], self.G[gone], self.everyone[gone] = L[taken], G[taken], everyone[taken]
            age[todo] += 1
            for i in np.flatnonzero((self.kkt[todo] > TOL) & ~(left <= SLOW)):
                self._refresh(todo[i], full=bool(young[i]) and not left[i] <= ASTRAY)
                age[todo[i]] = 0
            todo = todo[self.kkt[todo] > TOL]
        return runs[~(self.kkt[runs] <= TOL)]

    def _step(self, runs: Which, caps: Array) -> tuple[Array, Array]:
        omega, B = self.rows.p + self.x[runs] @ self.rows.B, self.rows.B
        factors = []
        for s, each in zip(runs, omega, strict=True):
            active = np.abs(self.x[s]) > 0
            H = np.tensordot(each, self.H[s], 1)
            factors.append(convexified(H, B[active] @ self.G[s], active))
        D = np.stack([factor.solve(self.G[s]) for s, factor in zip(runs, factors, strict=True)])
        Q = gram(self.G[runs], D)
        z, limits = self._gaps(runs, self.L[runs]), np.tile(caps, (len(runs), 1))
        step = capped_step(self.rows, Q, z, limits, np.ones(len(runs)))
        move = (step.beta[:, None] @ D)[:, 0]
        ahead = z - np.einsum("rk,rkl,ql->rq", step.beta, Q, B)
        known = zip(factors, step.x, move, z, ahead, strict=True)
        x = np.stack([true_multipliers(self.rows, *each, caps) for each in known])
        move = move.reshape(len(runs), *self.W.shape[1:])
        if move.shape[1] > 1:  # a shift of all classes' intercepts changes no decision and would add up
            free = self.solver.problem.penalised == 0
            move[:, :, free] -= move[:, :, free].mean(axis=1, keepdims=True)
        return self.W[runs] - move, x

    def _gaps(self, runs: Which, L: Array) -> Array:
        return np.asarray(L @ self.rows.B.T - self.b[runs])

    def _residuals(self, runs: Which, G: Array, L: Array, x: Array, caps: Array) -> Array:
        gradient = ((self.rows.p + x @ self.rows.B)[:, None] @ G)[:, 0]
        return self.solver.residuals(gradient, L, self._gaps(runs, L), x, caps)[0]
