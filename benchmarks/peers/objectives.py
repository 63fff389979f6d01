"""The paper's objectives of a linear model in plain NumPy: logistic loss with ridge 1/n, and z^2 / 2 of every pair."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from .base import Rows


class Objectives:
    """Losses of many linear models at once: loss (N,), mean loss of each group's favourable labels (N, c)."""

    def __init__(self, rows: Rows) -> None:
        self.n = len(rows.y)
        self.Z = np.column_stack([rows.X, np.ones(self.n)])
        self.sign = 2.0 * rows.y - 1.0
        c = int(rows.groups.max()) + 1
        self.cells = [np.flatnonzero((rows.groups == g) & (rows.y == 1)) for g in range(c)]
        self.pairs = list(combinations(range(c), 2))

    def losses(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return loss (N,) and losses per group (N, c) of weights (N, d + 1)."""
        value = np.logaddexp(0.0, -(W @ self.Z.T) * self.sign)
        loss = value.mean(axis=1) + (W[:, :-1] ** 2).sum(axis=1) / (2 * self.n)
        return loss, np.stack([value[:, rows].mean(axis=1) for rows in self.cells], axis=1)

    def vector(self, W: np.ndarray) -> np.ndarray:
        """Return h = [loss, z_ij^2 / 2 ...], (N, m)."""
        loss, each = self.losses(W)
        return np.column_stack([loss, *[(each[:, i] - each[:, j]) ** 2 / 2 for i, j in self.pairs]])

    def worst_gap(self, W: np.ndarray) -> np.ndarray:
        """Return the worst difference between the losses of two groups, (N,)."""
        return np.ptp(self.losses(W)[1], axis=1)
