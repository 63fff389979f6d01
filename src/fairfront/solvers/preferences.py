"""Preferences: how far a point is from the line pi_1 h_1 = ... = pi_m h_m, and the caps that lead to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..objectives import Algebra, Array

Balance = Literal["softmax", "ratio"]


def imbalance(pi: Array, h: Array, balance: Balance) -> tuple[Array, Array]:
    """Return KL(sigma || uniform), (R,), and its derivatives lambda with respect to h, (R, m).

    ``softmax`` is the paper's: sigma = softmax(pi h), lambda as in Proposition 1.
    ``ratio`` differs from the paper: sigma = pi h / sum(pi h), which has the same zeros and is scale free.
    """
    y = pi * h
    m = h.shape[1]
    if balance == "softmax":
        sigma = np.exp(y - y.max(axis=1, keepdims=True))
        sigma /= sigma.sum(axis=1, keepdims=True)
        outer = pi * sigma
    else:
        total = y.sum(axis=1, keepdims=True)
        total = np.where(total > 0, total, np.inf)  # all objectives 0: on the line
        sigma = y / total
        outer = pi / total
    logs = np.log(np.maximum(m * sigma, 1e-300))
    kl = (sigma * logs).sum(axis=1)
    return kl, outer * (logs - kl[:, None])


@dataclass(frozen=True)
class Target:
    """Where each run should end: on its preference line, or at fixed caps on the gaps.

    pi (R, m)    preferences; rows of NaN for runs with fixed caps
    caps (R, q)  fixed caps; rows of NaN for runs with a preference
    """

    pi: Array
    caps: Array

    @classmethod
    def from_preferences(cls, pi: Array) -> Target:
        """Aim at preference lines."""
        return cls(pi, np.full((len(pi), pi.shape[1] - 1), np.nan))

    @classmethod
    def from_caps(cls, caps: Array) -> Target:
        """Aim at fixed caps."""
        return cls(np.full((len(caps), caps.shape[1] + 1), np.nan), caps)

    @property
    def by_preference(self) -> NDArray[np.bool_]:
        """Return the mask of runs that follow a preference."""
        return ~np.isnan(self.pi[:, 0])

    def take(self, runs: NDArray[np.bool_]) -> Target:
        """Return the chosen runs."""
        return Target(self.pi[runs], self.caps[runs])

    def caps_at(self, algebra: Algebra, level: Array) -> Array:
        """Return the caps phi^-1(level / pi_j) of the preference runs, the fixed caps of the others."""
        wanted = algebra.gap.inverse(np.maximum(level, 1e-300)[:, None] / self.pi[:, 1:])
        return np.where(self.by_preference[:, None], wanted, self.caps)

    def next_level(self, algebra: Algebra, level: Array, loss: Array, caps: Array, price: Array) -> Array:
        """Take a Newton step on pi_1 loss(level) = level, where the loss falls by ``price`` per unit of cap."""
        slope = self.pi[:, 1:] * algebra.gap.slope(np.maximum(caps, 1e-12))
        rate = self.pi[:, 0] * (np.abs(price) / np.maximum(slope, 1e-300)).sum(axis=1)
        moved = level + (self.pi[:, 0] * loss - level) / (1.0 + rate)
        return np.where(self.by_preference, moved, level)
