"""From a frontier of linear models to weights (N, d + 1)."""

from __future__ import annotations

import numpy as np

import fairfront as ff


def frontier_weights(front: ff.Frontier) -> np.ndarray:
    """Return coefficients and intercept of every point, the intercept last."""
    return np.column_stack([front.points.coef[:, 0], front.points.intercept[:, 0]])
