"""Independent optima: plain NumPy logistic losses, SciPy's SLSQP, no code of the package.

Variables are whitened by X^T X / n, which changes SLSQP's path and not its optimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize


@dataclass(frozen=True)
class Reference:
    """Logistic loss with ridge 1/n (intercept free) and mean losses of groups among the positive labels."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray

    def __post_init__(self) -> None:
        n = len(self.y)
        ones = np.column_stack([self.X, np.ones(n)])
        M = ones.T @ ones / n + 1e-8 * np.eye(ones.shape[1])
        set_ = object.__setattr__
        set_(self, "n", n)
        set_(self, "Z", ones)
        set_(self, "C", np.linalg.inv(np.linalg.cholesky(M)).T)
        set_(self, "sign", np.where(self.y == np.unique(self.y)[1], 1.0, -1.0))
        names = list(np.unique(self.groups))
        set_(self, "names", names)
        set_(self, "rows", [np.flatnonzero((self.groups == g) & (self.sign > 0)) for g in names])

    def losses(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return [loss, group means ...] and their gradients in whitened variables."""
        w = self.C @ v
        u = self.sign * (self.Z @ w)
        value = np.logaddexp(0.0, -u)
        slope = -self.sign / (1.0 + np.exp(np.clip(u, -700, 700)))
        flat = w.copy()
        flat[-1] = 0.0
        values = [value.mean() + flat @ flat / (2 * self.n)]
        grads = [self.Z.T @ slope / self.n + flat / self.n]
        for r in self.rows:
            values.append(value[r].mean())
            grads.append(self.Z[r].T @ slope[r] / len(r))
        return np.array(values), np.array(grads) @ self.C

    def to_whitened(self, w: np.ndarray) -> np.ndarray:
        return np.linalg.solve(self.C, w)

    def plain(self) -> np.ndarray:
        """Return the minimiser of the loss alone, by L-BFGS."""

        def loss(v: np.ndarray) -> tuple[float, np.ndarray]:
            values, grads = self.losses(v)
            return values[0], grads[0]

        start = np.zeros(self.Z.shape[1])
        options = {"maxiter": 5000, "ftol": 1e-16, "gtol": 1e-10}
        return minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x

    def at_gap(self, cap: float, start: np.ndarray) -> float:
        """Return the smallest loss with |first group - second group| <= cap, by SLSQP."""
        memo = _Memo(self)
        rows = [
            {
                "type": "ineq",
                "fun": lambda v, s=s: cap - s * (memo(v)[0][1] - memo(v)[0][2]),
                "jac": lambda v, s=s: -s * (memo(v)[1][1] - memo(v)[1][2]),
            }
            for s in (1.0, -1.0)
        ]
        found = minimize(
            lambda v: memo(v)[0][0],
            start,
            jac=lambda v: memo(v)[1][0],
            constraints=rows,
            method="SLSQP",
            options={"maxiter": 400, "ftol": 1e-13},
        )
        return float(found.fun)

    def chebyshev(self, pi: np.ndarray, start: np.ndarray) -> float:
        """Return the smallest largest pi_i h_i with h_ij = z_ij^2 / 2, by SLSQP in (w, t)."""
        memo = _Memo(self)
        pairs = [(i, j) for i in range(len(self.names)) for j in range(i + 1, len(self.names))]

        def slack(x: np.ndarray) -> np.ndarray:
            L, _ = memo(x[:-1])
            z = np.array([L[1 + i] - L[1 + j] for i, j in pairs])
            return np.concatenate([[x[-1] - pi[0] * L[0]], x[-1] - pi[1:] * z**2 / 2])

        def slopes(x: np.ndarray) -> np.ndarray:
            L, G = memo(x[:-1])
            z = np.array([L[1 + i] - L[1 + j] for i, j in pairs])
            dz = np.array([G[1 + i] - G[1 + j] for i, j in pairs])
            rows = np.vstack([-pi[0] * G[0], -(pi[1:] * z)[:, None] * dz])
            return np.column_stack([rows, np.ones(len(rows))])

        L, _ = self.losses(start)
        z = np.array([L[1 + i] - L[1 + j] for i, j in pairs])
        first = np.append(start, max(pi[0] * L[0], (pi[1:] * z**2 / 2).max()))
        unit = np.append(np.zeros(len(start)), 1.0)
        found = minimize(
            lambda x: x[-1],
            first,
            jac=lambda x: unit,
            method="SLSQP",
            constraints=[{"type": "ineq", "fun": slack, "jac": slopes}],
            options={"maxiter": 600, "ftol": 1e-13},
        )
        return float(found.x[-1]) if slack(found.x).min() > -1e-7 else np.inf


class _Memo:
    """Remembers the last evaluation, which SLSQP asks for several times."""

    def __init__(self, problem: Reference) -> None:
        self.problem, self.last, self.found = problem, None, None

    def __call__(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.last is None or not np.array_equal(v, self.last):
            self.last, self.found = v.copy(), self.problem.losses(v)
        return self.found
