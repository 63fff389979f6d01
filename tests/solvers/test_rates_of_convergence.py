"""Section 4: both rates of Algorithm 1 on problems made to show them, by their bounds and by log-log slopes.

Each pair shares a function f(u) that is slow to descend and pulls one more weight v in opposite directions. For v
between the two pulls the inner level balances them, so that the common direction is (grad f, 0) and the outer
level Psi falls as f does. Weights are mixed by a random rotation, so that nothing is aligned with an axis.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

import fairfront as ff
from fairfront.problems import FunctionProblem, Point
from tests.support.twins import Function, assert_common_descent, assert_never_rises, smallest_in_hull

Array = NDArray[np.float64]
TOLERANCE = 0.1


@dataclass(frozen=True)
class Trajectory:
    """Iterates (T + 1, d) of a run from w_0, and the functions it ran on."""

    f: Function
    w: Array
    eta: float

    def psi(self, w: Array, alpha: Array) -> float:
        """Return the outer objective sum_i alpha_i h_i(w)."""
        return float(alpha @ self.f(w)[0])

    def directions(self) -> Array:
        """Return grad Psi(w_t, alpha*(w_t)), solved again by brute force."""
        return np.array([smallest_in_hull(self.f(w)[1]) for w in self.w])


def run(f: Function, w: Array, eta: float, T: int, inner: str = "exact") -> Trajectory:
    """Run Algorithm 1 with a constant step and record where it goes."""
    seen: list[Array] = []

    def record(iteration: int, ids: NDArray[np.intp], point: Point) -> None:
        seen.append(point.W[0, 0].copy())

    solver = ff.PaperPDO(T=T, eta=eta, inner=inner, K=200)
    outcome = ff.solve(FunctionProblem(f, w, jac=True), solver, w[None, None], on_iterate=record)
    assert_never_rises(outcome.history[0].objectives)
    return Trajectory(f, np.array(seen), eta)


def slope(T: Array, value: Array) -> float:
    """Return the least-squares slope of log value over log T."""
    return float(np.polyfit(np.log(T), np.log(value), 1)[0])


def rotation(d: int) -> Array:
    return np.linalg.qr(np.random.default_rng(0).normal(size=(d, d)))[0]


def pair(shared: Function, pull: Function, d: int) -> Function:
    """Return h_i(w) = shared(u) + pull(v -+ 1) with (u, v) = R w."""
    R = rotation(d)

    def f(w: Array) -> tuple[Array, Array]:
        x = R @ w
        value, slopes = shared(x[:-1])
        towards = [pull(x[-1:] - 1.0), pull(x[-1:] + 1.0)]
        J = np.array([np.append(slopes, g) for _, g in towards]) @ R
        return np.array([value + float(p) for p, _ in towards]), J

    return f


def spread_quadratic(n: int) -> Function:
    """Return f(u) = sum_i lambda_i u_i^2 / 2 with n curvatures spread evenly over (0, 1]: convex, L = 1."""
    curvature = np.arange(1, n + 1) / n
    return lambda u: (0.5 * curvature @ u**2, curvature * u)


def square(v: Array) -> tuple[Array, Array]:
    return 0.5 * v[0] ** 2, v


def test_convex_objectives() -> None:
    """Theorem "Convex Objectives": Psi - Psi* <= |w_0 - w*|^2 / (2 eta T), and about that: slope -1 over T = 10 to 160.

    With u_i^2 = 1 / (n lambda_i) at the start, f after T steps is near the integral of exp(-2 eta lambda T) / 2.
    """
    n, v, eta = 400, 0.3, 0.5
    start = np.append(np.sqrt(1.0 / np.arange(1, n + 1)), v)
    R = rotation(n + 1)
    f = pair(spread_quadratic(n), square, n + 1)
    path = run(f, start @ R, eta, 160)
    best = np.append(np.zeros(n), v) @ R
    alpha = np.array([1.0 + v, 1.0 - v]) / 2.0
    np.testing.assert_allclose(alpha @ f(best)[1], 0.0, atol=1e-12)  # best is efficient, with these weights
    T = np.arange(10, 161, 10)
    gap = np.array([path.psi(path.w[t], alpha) - path.psi(best, alpha) for t in T])
    assert slope(T, gap) <= -1.0 + TOLERANCE
    assert slope(T, gap) >= -1.0 - TOLERANCE
    averages = np.array([path.w[1 : t + 1].mean(axis=0) for t in T])
    bound = np.sum((path.w[0] - best) ** 2) / (2.0 * eta * T)
    assert (np.array([path.psi(w, alpha) - path.psi(best, alpha) for w in averages]) <= bound).all()
    assert (gap <= bound).all()


@pytest.mark.parametrize("K", [1, 5, 200])
def test_convex_objectives_with_an_inexact_inner_level(K: int) -> None:
    """The second term of that theorem: with the inner weights off by less and less, the same rate comes back."""
    n, eta = 100, 0.5
    f = pair(spread_quadratic(n), square, n + 1)
    w = np.append(np.sqrt(1.0 / np.arange(1, n + 1)), 0.3) @ rotation(n + 1)
    solver = ff.PaperPDO(T=60, eta=eta, K=K, warm_alpha=True)
    outcome = ff.minimize(f, w, jac=True, solver=solver)
    v = float((rotation(n + 1) @ outcome.x)[-1])
    alpha = np.array([1.0 + v, 1.0 - v]) / 2.0
    gap = outcome.history.objectives[10:] @ alpha - (1.0 - v**2) / 2.0
    assert abs(v) < 1.0
    assert slope(np.arange(10, 61), gap) <= -1.0 + TOLERANCE


def slow_tail(q: float) -> Function:
    """Return f(u) = mean_i (1 + u_i^2)^(-q / 2): concave at 0, convex far out, falling ever more slowly to 0."""

    def f(u: Array) -> tuple[float, Array]:
        base = 1.0 + u**2
        return float((base ** (-q / 2)).mean()), -q * u * base ** (-q / 2 - 1.0) / len(u)

    return f


def bump(v: Array) -> tuple[Array, Array]:
    """1 - exp(-v^2 / 2.25), as in Example 1: not convex."""
    height = np.exp(-(v[0] ** 2) / 2.25)
    return 1.0 - height, 2.0 * v * height / 2.25


def test_non_convex_objectives() -> None:
    """Theorem "Non-convex Objectives": the mean of |grad Psi|^2 is at most 2 (Psi_0 - Psi*) / (eta T).

    On the tail u grows as T^(1 / (q + 2)): the least one falls with slope -2 (q + 1) / (q + 2), near -1 for small q.
    """
    q, v, eta, T = 0.2, 0.4, 1.0, 1500
    f = pair(slow_tail(q), bump, 4)
    start = np.array([0.6, 0.8, 1.1, v]) @ rotation(4)
    path = run(f, start, eta, T)
    squared = (path.directions() ** 2).sum(axis=1)
    alpha = smallest_weights(f(path.w[0])[1])
    floor = alpha @ [bump(np.array([v - 1.0]))[0], bump(np.array([v + 1.0]))[0]]  # f tends to 0, v stays
    window = np.arange(100, T + 1, 50)
    least = np.minimum.accumulate(squared)
    assert slope(window, least[window]) <= -1.0 + TOLERANCE
    bound = 2.0 * (path.psi(path.w[0], alpha) - floor) / (eta * window)
    assert (np.array([squared[:t].mean() for t in window]) <= bound).all()
    for w, d in zip(path.w[::100], path.directions()[::100], strict=True):
        assert_common_descent(f(w)[1], d)


def smallest_weights(J: Array) -> Array:
    """Return alpha* of two gradients from their smallest combination."""
    first = (smallest_in_hull(J) - J[1]) @ (J[0] - J[1]) / ((J[0] - J[1]) @ (J[0] - J[1]))
    return np.array([first, 1.0 - first])
