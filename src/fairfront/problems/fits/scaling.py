"""Scaling: probabilities of an over-sure learner made as sure as they are right on rows it has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from ...objectives import Array
from .learners import SURE


@dataclass(frozen=True, eq=False)
class Scaling:
    """P_j to the power of ``slope``, times exp(``bias_j``), normalised: a slope below 1 says that P was too sure."""

    slope: float
    bias: Array

    @classmethod
    def none(cls, size: int) -> Scaling:
        """Return the scaling that changes nothing."""
        return cls(1.0, np.zeros(size))

    def apply(self, P: Array) -> Array:
        """Return scaled probabilities, (n, K)."""
        if self.slope == 1.0 and not self.bias.any():
            return P
        return np.asarray(softmax(self.slope * _logs(P) + self.bias, axis=1))


def fit_scaling(P: Array, codes: NDArray[np.intp], weight: Array | None = None) -> Scaling:
    """Return the scaling with the smallest log loss on labels (n,), held near none by as much as one row tells."""
    logs, n, size = _logs(P), len(codes), P.shape[1]
    share = np.full(n, 1.0) if weight is None else weight * (n / weight.sum())
    hit = np.zeros((n, size))
    hit[np.arange(n), codes] = 1.0

    def loss(theta: Array) -> tuple[float, Array]:
        away = theta - start
        logged = log_softmax(theta[0] * logs + theta[1:], axis=1)
        slope = share[:, None] * (np.exp(logged) - hit)
        value = -float((share[:, None] * hit * logged).sum()) + 0.5 * float(away @ away)
        return value / n, (np.concatenate([[(slope * logs).sum()], slope.sum(axis=0)]) + away) / n

    start = np.concatenate([[1.0], np.zeros(size)])
    found: Any = minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] + [(None, None)] * size, options={"gtol": 1e-8}
    )
    return Scaling(float(found.x[0]), np.asarray(found.x[1:]))


def _logs(P: Array) -> Array:
    return np.asarray(np.log(np.maximum(P, SURE)))
