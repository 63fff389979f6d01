"""Rows for the tests of modules: two groups, for which the first column says different things."""

from __future__ import annotations

import numpy as np


def people(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, labels and groups."""
    rng = np.random.default_rng(seed)
    X, group = rng.normal(size=(n, 4)), rng.integers(0, 2, n).astype(str)
    y = (X[:, 0] * np.where(group == "1", 2.0, -0.5) + X[:, 1] + rng.logistic(size=n) > 0).astype(int)
    return X, y, group
