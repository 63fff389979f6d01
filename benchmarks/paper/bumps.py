"""Example 1: objectives, gradients and curvature, the front in closed form, and the desired points on it."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from fairfront.problems import FunctionProblem, Point

D, S = 20, 1.5
NU = np.full(D, np.sqrt(2.0 / D))
"""The paper prints nu = 1 and s = 1.5 for two dimensions; here |nu| = sqrt(2) as there."""
PI = np.array([1.0, 2.0])
"""The preference of the trajectories."""


def example(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return h_i(w) = 1 - exp(-|w -+ nu|^2 / s^2), (..., 2), and their gradients, (..., 2, d), at points (..., d)."""
    away = np.stack([w - NU, w + NU], axis=-2)
    height = np.exp(-(away**2).sum(axis=-1) / S**2)
    return 1.0 - height, 2.0 * away * height[..., None] / S**2


def curvature(w: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return the Hessian of a.h at w, (d, d)."""
    away = np.stack([w - NU, w + NU])
    scale = a * np.exp(-(away**2).sum(axis=-1) / S**2) * 2.0 / S**2
    return np.asarray(scale.sum() * np.eye(len(w)) - 2.0 / S**2 * (away.T * scale) @ away)


class Example(FunctionProblem):
    """Example 1 for many runs at once."""

    def __init__(self) -> None:
        super().__init__(example, NU, jac=True)

    def cells(self, W: np.ndarray) -> Point:
        L, G = example(W[:, 0])
        return Point(W, L, np.einsum("rid,rjd->rij", G, G), G)


def on_front(share: np.ndarray | float) -> np.ndarray:
    """Return the objectives at w = share * nu, efficient for shares from -1 to 1."""
    length = float(NU @ NU)
    share = np.asarray(share)
    return np.stack([1.0 - np.exp(-((share - k) ** 2) * length / S**2) for k in (1.0, -1.0)], axis=-1)


def to_front(h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distance of points (N, 2) to the front, and the share t of the nearest point t nu, from -1 to 1.

    The nearest of 401 places on the front is improved by a root of the slope of the squared distance.
    """
    grid = np.linspace(-1.0, 1.0, 401)
    distance, share = np.empty(len(h)), np.empty(len(h))
    for i, point in enumerate(h):
        k = int(np.linalg.norm(on_front(grid) - point, axis=1).argmin())
        low, high = grid[max(k - 1, 0)], grid[min(k + 1, len(grid) - 1)]
        ends = [_towards(low, point), _towards(high, point)]
        inside = ends[0] < 0.0 < ends[1]
        share[i] = brentq(_towards, low, high, args=(point,), xtol=1e-15) if inside else grid[k]
        distance[i] = np.linalg.norm(on_front(share[i]) - point)
    return distance, share


def _towards(t: float, point: np.ndarray) -> float:
    """Return half the slope of the squared distance between a point and the front's place t."""
    away, length = np.array([t - 1.0, t + 1.0]), float(NU @ NU)
    speed = 2.0 * away * length / S**2 * np.exp(-(away**2) * length / S**2)
    return float((on_front(t) - point) @ speed)


def desired(pi: np.ndarray = PI) -> np.ndarray:
    """Return the efficient point with pi_1 h_1 = pi_2 h_2, by a root in one unknown."""
    share = brentq(lambda t: float(pi[0] * on_front(t)[0] - pi[1] * on_front(t)[1]), -1.0, 1.0, xtol=1e-14)
    return share * NU
