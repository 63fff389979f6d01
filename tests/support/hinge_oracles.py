"""What a point of the hinge has to satisfy, written without the solver's own quantities, and data that are hard."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import lsq_linear

import fairfront as ff
from fairfront.solvers.hinge import HingePoint
from fairfront.solvers.hinge_problem import HingeProblem

AT_KINK = 1e-5  # shortfall of rows that may have any slope between 0 and 1


@dataclass(frozen=True)
class People:
    """Columns, labels of 0 and 1, and groups."""

    X: np.ndarray
    y: np.ndarray
    group: np.ndarray

    def problem(self, **question: object) -> ff.problems.LinearProblem:
        """Return the problem of a hinge on these people."""
        groups = ff.Groups(min_size=1)
        return ff.linear_problem(self.X, self.y, sensitive_features=self.group, loss="hinge", groups=groups, **question)

    def traced(self, **options: object) -> ff.Frontier:
        """Return the frontier of a hinge on these people."""
        known = {"sensitive_features": self.group, "loss": "hinge", "groups": ff.Groups(min_size=1)}
        return ff.trace(self.X, self.y, progress=False, **{**known, **options})


def people(seed: int = 0, n: int = 300, d: int = 5, n_groups: int = 2, noise: float = 1.0) -> People:
    """Return standardised columns, labels and groups; groups differ in their columns and labels."""
    rng = np.random.default_rng(seed)
    group = np.append(np.repeat(np.arange(n_groups), 2), rng.integers(n_groups, size=n - 2 * n_groups))
    X = rng.normal(size=(n, d)) + 0.5 * group[:, None]
    score = X @ rng.normal(size=d) / np.sqrt(d) - 0.8 * group + noise * rng.normal(size=n)
    y = (score > np.median(score)).astype(np.intp)
    y[: 2 * n_groups] = np.tile([0, 1], n_groups)
    return People((X - X.mean(axis=0)) / X.std(axis=0), y, group)


def one_hot(seed: int = 0, n: int = 400, n_groups: int = 2) -> People:
    """Return columns most of which few people have, as categories are encoded."""
    rng = np.random.default_rng(seed)
    known = people(seed, n, n_groups=n_groups)
    category = np.minimum(rng.geometric(0.12, size=n), 40)
    dummies = (category[:, None] == np.unique(category)).astype(float)
    return People(np.hstack([known.X, dummies]), known.y, known.group)


def hard(seed: int) -> People:
    """Return people with rare, integer, doubled and badly scaled columns, tiny groups, maybe separable."""
    rng = np.random.default_rng(seed)
    n, n_groups = int(rng.integers(40, 200)), int(rng.integers(2, 5))
    known = people(seed, n, int(rng.integers(1, 5)), n_groups, noise=float(rng.choice([0.0, 1.0])))
    rare = (rng.random((n, 2)) < 0.03).astype(float)
    integers = rng.integers(0, 3, (n, 1)).astype(float)
    columns = [
        known.X,
        rare,
        integers,
        known.X[:, :1],
        1e4 * known.X[:, :1] + rng.normal(size=(n, 1)),
    ]
    kept = [columns[0], *(column for column in columns[1:] if rng.random() < 0.6)]
    return People(np.hstack(kept), known.y, known.group)


def stationarity(problem: HingeProblem, point: HingePoint) -> float:
    """Return the least residual of the Lagrangian's gradient that slopes in [0, 1] at the kink leave, per loss."""
    w = point.W[0]
    v = 1.0 - problem.terms @ w
    kink = np.abs(v) <= AT_KINK
    omega = (problem.algebra.p + point.multipliers @ problem.algebra.B) @ problem.mixing
    weight = problem.share * omega[problem.cell]
    steep = weight * (v > 0) * ~kink
    ridge = problem.algebra.p[-1] * problem.penalised
    left = ridge * w + omega @ problem.slope - steep @ problem.terms
    rows = (problem.terms[kink] * weight[kink, None]).T
    scale = np.abs(rows).max(initial=1e-300)
    exact = lsq_linear(rows / scale, left / scale, bounds=(0, 1), tol=1e-14).x if kink.any() else np.zeros(0)
    residuals = [np.abs(left - rows @ slopes).max() for slopes in (exact, point.slopes[kink])]
    return float(min(residuals)) / loss(problem, w)


def loss(problem: HingeProblem, w: np.ndarray) -> float:
    """Return the loss with its ridge."""
    hinges = problem.share * np.maximum(0.0, 1.0 - problem.terms @ w)
    hinges = np.bincount(problem.cell, hinges, problem.mixing.shape[1])
    cells = problem.mixing @ (hinges + problem.slope @ w)
    return float(problem.algebra.p[:-1] @ cells[:-1] + 0.5 * problem.algebra.p[-1] * problem.penalised @ w**2)


def duality_gap(problem: HingeProblem, point: HingePoint) -> float:
    """Return the loss less the value of the dual at the point's slopes, per loss.

    Where omega >= 0, every alpha with 0 <= alpha_t <= q_t omega_c(t) that leaves no pull on free weights bounds the
    optimum from below.
    """
    algebra, q, w = problem.algebra, len(point.caps), point.W[0]
    omega = (algebra.p + point.multipliers @ algebra.B) @ problem.mixing
    assert omega[problem.cell].min() >= -1e-12
    alpha = problem.share * omega[problem.cell] * point.slopes
    pull = alpha @ problem.terms - omega @ problem.slope
    ridge = algebra.p[-1] * problem.penalised
    bound = alpha.sum() - 0.5 * (pull[ridge > 0] ** 2 / ridge[ridge > 0]).sum()
    bound -= np.abs(pull[ridge == 0] @ w[ridge == 0])
    bound -= np.abs(point.multipliers[:q]) @ point.caps + point.multipliers @ algebra.b
    return (loss(problem, w) - float(bound)) / loss(problem, w)
