"""Independent optima by SciPy's SLSQP: of any function, and of logistic losses in plain NumPy without the package."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from .cases import Rows

Function = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""x -> (values (m,), Jacobian (m, d))"""


class Counted:
    """A function that remembers its last answer, counts what it computes, and keeps the values seen."""

    def __init__(self, f: Function) -> None:
        self.f, self.evaluations = f, 0
        self.last: np.ndarray | None = None
        self.seen: list[np.ndarray] = []

    def __call__(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.last is None or not np.array_equal(w, self.last):
            self.last = np.array(w, dtype=np.float64)
            self.answer = self.f(self.last)
            self.evaluations += 1
            self.seen.append(self.answer[0])
        return self.answer


def slsqp(
    objective: Callable[[np.ndarray], tuple[float, np.ndarray]],
    constraint: Function,
    start: np.ndarray,
    kind: str = "ineq",
    max_iter: int = 500,
    ftol: float = 1e-13,
) -> OptimizeResult:
    """Minimise a value (value, slope) with constraints (slacks, slopes) that have to be at least 0, or 0 for "eq"."""
    rows = {"type": kind, "fun": lambda x: constraint(x)[0], "jac": lambda x: constraint(x)[1]}
    return minimize(
        lambda x: objective(x)[0],
        start,
        jac=lambda x: objective(x)[1],
        constraints=[rows],
        method="SLSQP",
        options={"maxiter": max_iter, "ftol": ftol},
    )


def whitening(H: np.ndarray, floor: float = 1e-9) -> np.ndarray:
    """Return C with C^T H C = I, up to a share of the mean diagonal that keeps H definite: x = C v scales variables."""
    return np.linalg.inv(np.linalg.cholesky(H + floor * np.trace(H) / len(H) * np.eye(len(H)))).T


def capped_optimum(problem: Any, caps: np.ndarray, start: np.ndarray, max_iter: int = 500) -> tuple[float, float]:
    """Return the smallest loss of a problem's own cells with every gap within its cap, and the largest violation.

    The derivatives are those that the tests check. Variables are scaled by the loss's Hessian at the start, for
    SLSQP's sake.
    """
    algebra, plain, C = problem.algebra, problem.without_metric(), whitening(problem.metric(start))
    two = algebra.two_sided

    def at(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        point = plain.cells((start.reshape(-1) + C @ v).reshape(1, *start.shape))
        return np.append(algebra.p @ point.L[0], algebra.gaps(point.L)[0]), np.vstack([algebra.p, algebra.B]) @ (
            point.D[0] @ C
        )

    counted = Counted(at)

    def slack(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        (_, *gaps), (_, *slopes) = counted(v)
        z, dz = np.array(gaps), np.array(slopes)
        return np.concatenate([caps - z, (caps + z)[two]]), np.vstack([-dz, dz[two]])

    def loss(v: np.ndarray) -> tuple[float, np.ndarray]:
        values, slopes = counted(v)
        return float(values[0]), slopes[0]

    found = slsqp(loss, slack, np.zeros(start.size), max_iter=max_iter, ftol=1e-14)
    return float(found.fun), float(max(0.0, -slack(found.x)[0].min()))


class Logistic:
    """Logistic loss of linear models with ridge 1/n (intercept free), and mean losses of groups' favourable labels.

    Single models are also given in whitened variables v (w = C v), which changes SLSQP's path and not its optimum.
    """

    def __init__(self, rows: Rows) -> None:
        self.n = len(rows.y)
        self.Z = np.column_stack([rows.X, np.ones(self.n)])
        self.sign = np.where(rows.good, 1.0, -1.0)
        self.cells = [np.flatnonzero((rows.groups == g) & rows.good) for g in np.unique(rows.groups)]
        self.pairs = list(combinations(range(len(self.cells)), 2))
        M = self.Z.T @ self.Z / self.n
        self.C = np.linalg.inv(np.linalg.cholesky(M + 1e-8 * np.eye(len(M)))).T

    def losses(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return loss (N,) and losses per group (N, c) of weights (N, d + 1)."""
        value = np.logaddexp(0.0, -(W @ self.Z.T) * self.sign)
        loss = value.mean(axis=1) + (W[:, :-1] ** 2).sum(axis=1) / (2 * self.n)
        return loss, np.stack([value[:, cell].mean(axis=1) for cell in self.cells], axis=1)

    def worst_gap(self, W: np.ndarray) -> np.ndarray:
        """Return the worst difference between the losses of two groups, (N,)."""
        return np.ptp(self.losses(W)[1], axis=1)

    def whitened(self, w: np.ndarray) -> np.ndarray:
        """Return v with w = C v."""
        return np.linalg.solve(self.C, w)

    def __call__(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return [loss, group losses ...] and their gradients in whitened variables."""
        w = self.C @ v
        u = self.sign * (self.Z @ w)
        value, slope = np.logaddexp(0.0, -u), -self.sign / (1.0 + np.exp(np.clip(u, -700, 700)))
        flat = np.append(w[:-1], 0.0)
        values = [value.mean() + flat @ flat / (2 * self.n), *(value[cell].mean() for cell in self.cells)]
        grads = [self.Z.T @ slope / self.n + flat / self.n]
        grads += [self.Z[cell].T @ slope[cell] / len(cell) for cell in self.cells]
        return np.array(values), np.array(grads) @ self.C

    def at_gap(self, cap: float, start: np.ndarray, max_iter: int = 400, ftol: float = 1e-13) -> OptimizeResult:
        """Minimise the loss with |first group's loss - second group's| <= cap, in whitened variables."""
        counted = Counted(self)

        def slack(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            (_, first, second), (_, one, two) = counted(v)
            return np.array([cap - (first - second), cap + (first - second)]), np.stack([two - one, one - two])

        def loss(v: np.ndarray) -> tuple[float, np.ndarray]:
            return counted(v)[0][0], counted(v)[1][0]

        return slsqp(loss, slack, start, max_iter=max_iter, ftol=ftol)

    def chebyshev(self, pi: np.ndarray, start: np.ndarray) -> float:
        """Return the smallest largest pi_i h_i with h_ij = z_ij^2 / 2, in variables (v, t)."""
        counted, unit = Counted(self), np.append(np.zeros(len(start)), 1.0)
        first, second = (np.array(ends) + 1 for ends in zip(*self.pairs, strict=True))

        def slack(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            L, G = counted(x[:-1])
            z, dz = L[first] - L[second], G[first] - G[second]
            rows = np.vstack([-pi[0] * G[0], -(pi[1:] * z)[:, None] * dz])
            values = np.append(x[-1] - pi[0] * L[0], x[-1] - pi[1:] * z**2 / 2)
            return values, np.column_stack([rows, np.ones(len(rows))])

        level = -slack(np.append(start, 0.0))[0].min()
        found = slsqp(lambda x: (x[-1], unit), slack, np.append(start, level), max_iter=600)
        return float(found.x[-1]) if slack(found.x)[0].min() > -1e-7 else np.inf
