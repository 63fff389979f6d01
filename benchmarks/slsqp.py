"""SLSQP on a problem's own cells: an independent solver on functions whose derivatives the tests check."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize


def capped_optimum(problem: Any, caps: np.ndarray, start: np.ndarray, max_iter: int = 500) -> tuple[float, float]:
    """Return the smallest loss with every gap within its cap, and the largest violation SLSQP left.

    Variables are scaled by the Cholesky factor of the loss's Hessian at the start, for SLSQP's sake.
    """
    algebra = problem.algebra
    plain = problem.without_metric()
    H = problem.metric(start)
    C = np.linalg.inv(np.linalg.cholesky(H + 1e-9 * np.trace(H) / len(H) * np.eye(len(H)))).T
    memo: dict[str, Any] = {}

    def at(v: np.ndarray) -> Any:
        if "v" not in memo or not np.array_equal(v, memo["v"]):
            memo["v"] = v.copy()
            memo["point"] = plain.cells((start.reshape(-1) + C @ v).reshape(1, *start.shape))
        return memo["point"]

    def loss(v: np.ndarray) -> float:
        return float(algebra.p @ at(v).L[0])

    def slope(v: np.ndarray) -> np.ndarray:
        return (algebra.p @ at(v).D[0]) @ C

    two = algebra.two_sided

    def slack(v: np.ndarray) -> np.ndarray:
        z = algebra.gaps(at(v).L)[0]
        return np.concatenate([caps - z, (caps + z)[two]])

    def slack_slope(v: np.ndarray) -> np.ndarray:
        dz = (algebra.B @ at(v).D[0]) @ C
        return np.vstack([-dz, dz[two]])

    found = minimize(
        loss,
        np.zeros(start.size),
        jac=slope,
        constraints=[{"type": "ineq", "fun": slack, "jac": slack_slope}],
        method="SLSQP",
        options={"maxiter": max_iter, "ftol": 1e-14},
    )
    return float(found.fun), float(max(0.0, -slack(found.x).min()))
