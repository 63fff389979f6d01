"""Methods with one answer: minimax Pareto fairness, ALMO, and every group against the best it could reach alone.

Minimax Pareto fairness (Martinez et al. 2020), APStar: the efficient point whose worst objective is smallest.

Weights mu are moved towards the objectives that are at or above the best maximum so far; every point is the minimiser
of a weighted sum, so it is efficient where the weights are positive.

ALMO (Cortes et al. 2020): min over w of max over lambda on the simplex of sum_i lambda_i h_i(w), convex objectives.

Descent in w and exponentiated ascent in lambda, answered by the mean iterate; no point of the front but this one.

Balashankar et al. (2019) as a notion: every group's loss against the best that it could reach alone.

The gap of a group is its mean loss minus the loss of a model fitted to that group only (same penalty); one-sided,
each group on its own. It is bounded group loss with one floor per group, which the algebra's offset b holds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import fairfront as ff
from fairfront.objectives.notions import GroupLoss

from .base import Array, Counted, Found, Function
from .scalar import weighted_sum


def minimax_pareto(f: Function, m: int, start: Array, rounds: int = 200, alpha: float = 0.5, least: int = 20) -> Found:
    """Return the best point of ``rounds`` weighted fits, each from the last one's end."""
    mu, level, k = np.full(m, 1.0 / m), np.inf, 1
    w, best, total = np.array(start, dtype=np.float64), None, 0
    worst: list[Array] = []
    for _ in range(rounds):
        found = weighted_sum(f, mu, w)
        w, total = found.w, total + found.evaluations
        worst.append(found.h)
        if best is None or found.h.max() < level:
            best, level, k = found, float(found.h.max()), min(k, least)
        above = (found.h >= level).astype(np.float64)
        mu = (alpha * mu + (1.0 - alpha) / (k * above.sum()) * above) * k / ((k - 1.0) * alpha + 1.0)
        k += 1
    assert best is not None
    return Found(best.w, best.h, total, np.array(worst))


def almo(f: Function, m: int, start: Array, eta: float = 0.5, eta_lambda: float = 0.5, steps: int = 2000) -> Found:
    """Take ``steps`` simultaneous steps of size eta / sqrt(t + 1) and return the mean of the second half."""
    counted, w = Counted(f), np.array(start, dtype=np.float64)
    logs, mean, half = np.zeros(m), np.zeros_like(w), steps // 2
    for t in range(steps):
        h, J = counted(w)
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        damp = 1.0 / np.sqrt(t + 1.0)
        w = w - eta * damp * (weights @ J)
        logs = logs + eta_lambda * damp * h
        if t >= half:
            mean += (w - mean) / (t - half + 1)
    return counted.found(mean)


def against_own_best(X: Any, y: Any, *, sensitive_features: Any, **options: Any) -> tuple[Any, Array]:
    """Return fairfront's problem with the notion, and the best loss of each group alone."""
    problem = ff.linear_problem(X, y, sensitive_features=sensitive_features, notion=GroupLoss(), **options)
    best = own_best(problem)
    return problem.with_algebra(replace(problem.algebra, b=best)), best


def own_best(problem: Any) -> Array:
    """Return the mean loss of each group under the model that is fitted to that group only."""
    best = []
    for row in problem.algebra.B:
        omega = row.copy()
        omega[-1] = problem.algebra.p[-1]
        best.append(float(row @ problem.values(problem.fit(omega)[None])[0]))
    return np.array(best)
