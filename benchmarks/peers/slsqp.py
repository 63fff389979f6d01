"""The epsilon-constraint method by SciPy's SLSQP: least loss at a ladder of caps on the loss gap, warm started."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from ..reference import Reference
from .base import Candidates, Fitting, Peer, exact_plain_weights, linear_candidates

MOST_POINTS = 6


def fit(fitting: Fitting) -> Candidates:
    problem = Reference(fitting.train.X, fitting.train.y, fitting.train.groups)
    v = problem.to_whitened(exact_plain_weights(fitting.train))
    losses = problem.losses(v)[0]
    widest = abs(losses[1] - losses[2])
    found = [problem.C @ v]
    for cap in np.linspace(widest, 0.0, min(fitting.n_points, MOST_POINTS))[1:]:
        v = capped(problem, cap, v)
        found.append(problem.C @ v)
    return linear_candidates(np.stack(found))


def capped(problem: Reference, cap: float, start: np.ndarray) -> np.ndarray:
    """Return the whitened weights with the least loss at |z| <= cap."""

    last: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}

    def both(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        key = v.tobytes()
        if key not in last:
            last.clear()  # SLSQP asks for values and slopes at one point after the other
            last[key] = problem.losses(v)
        return last[key]

    def slack(v: np.ndarray) -> np.ndarray:
        L = both(v)[0]
        return np.array([cap - (L[1] - L[2]), cap + (L[1] - L[2])])

    def slope(v: np.ndarray) -> np.ndarray:
        G = both(v)[1]
        return np.stack([G[2] - G[1], G[1] - G[2]])

    rows = {"type": "ineq", "fun": slack, "jac": slope}
    return minimize(
        lambda v: both(v)[0][0],
        start,
        jac=lambda v: both(v)[1][0],
        constraints=[rows],
        method="SLSQP",
        options={"maxiter": 200, "ftol": 1e-10},
    ).x


def limits(fitting: Fitting) -> str | None:
    """Two groups only, as written here."""
    return f"{fitting.n_groups} groups: written for two here" if fitting.n_groups > 2 else None


PEER = Peer("SLSQP, epsilon-constraint", fit, limits=limits, note=f"{MOST_POINTS} caps", most_splits=3)
