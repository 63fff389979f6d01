"""The level step: down the largest of all pi_i h_i, whichever that is.

The level of a point is M = max_i pi_i h_i. With values v_i = pi_i h_i and their gradients a_i, the
step y and the change tau <= 0 of the level solve

    min  tau + |y|^2 / (2 eta)    subject to   v_i + a_i.y <= M + tau  for all i        (1)

(a prox-linear step for a maximum; Burke 1985). Its multipliers lambda lie on the simplex, and

    y = -eta sum_i lambda_i a_i,    tau <= -|y|^2 / (2 eta).                            (2)

So y = 0 only where a convex combination of the gradients of the largest pi_i h_i vanishes: at a
point whose level cannot be lowered to first order. No objective has a part of its own in it, not
even the first.

(1) becomes least distance programming in (y / sqrt(eta), sqrt(e) (tau + 1 / e)) with the term
e tau^2 / 2 added for e = 1 / (2 M). As (2) shows, that only scales eta by 1 + e tau, a factor
between 1/2 and 1 for objectives of at least 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..objectives import Array
from .base import TINY
from .least_distance import shortest_vector


@dataclass(frozen=True, eq=False)
class LevelStep:
    """lambda (m,) on the simplex, the step size eta that (2) holds with, and the level after it."""

    weights: Array
    eta: float
    level: float


def level_step(values: Array, gradients: Array, eta: float) -> LevelStep:
    """Solve (1) for one run: values (m,) of at least 0, gradients (m, r) in orthonormal coordinates."""
    level = float(values.max())
    curvature = 0.5 / max(level, TINY)
    rows = np.column_stack([-np.sqrt(eta) * gradients, np.full(len(values), curvature**-0.5)])
    bounds = 1.0 / curvature + values - level
    norms = np.linalg.norm(rows, axis=1)
    found = shortest_vector(rows / norms[:, None], bounds / norms)
    multipliers = found.multipliers / norms
    total = float(multipliers.sum())
    if not total > 0.0:  # rounding left nothing to step along
        return LevelStep(np.eye(len(values))[int(values.argmax())], eta, level)
    weights = multipliers / total
    scaled_eta = eta * total  # the multipliers sum to 1 + e tau
    y = -scaled_eta * weights @ gradients  # (2)
    return LevelStep(weights, scaled_eta, float((values + gradients @ y).max()))
