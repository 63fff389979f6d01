"""`ff.minimize` on the paper's examples: preferred points, efficient points, unbounded functions, bad input."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds

import fairfront as ff
from tests.support.twins import Function, assert_never_rises, assert_on_line, slsqp

D, WIDTH = 20, 1.5
NU = np.ones(D) / np.sqrt(D)
Status = ff.Status


def bump(w: np.ndarray, centre: np.ndarray) -> tuple[float, np.ndarray]:
    away = w - centre
    height = np.exp(-(away @ away) / WIDTH**2)
    return 1.0 - height, 2.0 * height * away / WIDTH**2


def example_1(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Example 1 of the paper: two bumps at nu and -nu."""
    (h1, g1), (h2, g2) = bump(w, NU), bump(w, -NU)
    return np.array([h1, h2]), np.array([g1, g2])


def across(seed: int, length: float) -> np.ndarray:
    """Return a vector of this length at right angles to nu."""
    v = np.random.default_rng(seed).normal(size=D)
    v -= (v @ NU) * NU
    return length * v / np.linalg.norm(v)


STARTS = {
    "case I: on the line of equal objectives, far from the front": across(0, 1.5),
    "case II: near the front, far from the line": 0.95 * NU + across(1, 0.05),
    "case II, at the other end": -0.98 * NU + across(2, 0.02),
    "both far": 0.8 * NU + across(3, 2.0),
    "so far that gradients are 1e-6": across(4, 6.0) + NU,
}
STYLES: dict[str, dict[str, Any]] = {
    "one callable, jac=True": {"functions": example_1, "jac": True},
    "one callable, jac callable": {"functions": lambda w: example_1(w)[0], "jac": lambda w: example_1(w)[1]},
    "one callable, no jac": {"functions": lambda w: example_1(w)[0]},
    "list, jac=True": {"functions": [lambda w: bump(w, NU), lambda w: bump(w, -NU)], "jac": True},
    "list, jac callable": {
        "functions": [lambda w: bump(w, NU)[0], lambda w: bump(w, -NU)[0]],
        "jac": lambda w: example_1(w)[1],
    },
    "list, jac list": {
        "functions": [lambda w: bump(w, NU)[0], lambda w: bump(w, -NU)[0]],
        "jac": [lambda w: bump(w, NU)[1], lambda w: bump(w, -NU)[1]],
    },
    "list, no jac": {"functions": [lambda w: bump(w, NU)[0], lambda w: bump(w, -NU)[0]]},
}


def assert_on_segment(x: np.ndarray) -> None:
    """The front of Example 1 is the segment from -nu to nu."""
    along = x @ NU
    assert abs(along) <= 1.0 + 1e-9
    assert np.linalg.norm(x - along * NU) <= 1e-4


@pytest.mark.parametrize("preference", [[1, 1], [1, 3], [4, 1]])
@pytest.mark.parametrize("start", STARTS)
def test_preferred_points_of_example_1(start: str, preference: list[float]) -> None:
    found = ff.minimize(example_1, STARTS[start], preference, jac=True)
    assert found.status is Status.LINE
    assert found.success
    assert found.message == str(Status.LINE)
    assert_on_line(np.array(preference), found.fun, 1e-5)
    assert_on_segment(found.x)
    assert found.nfev <= 200
    np.testing.assert_allclose(found.fun, example_1(found.x)[0])
    np.testing.assert_allclose(found.history.objectives[[0, -1]], [example_1(STARTS[start])[0], found.fun])
    assert len(found.history) == found.nit + 1
    np.testing.assert_allclose(found.alpha.sum(), 1.0)
    assert np.linalg.norm(found.alpha @ example_1(found.x)[1]) <= 1e-3
    np.testing.assert_allclose(found.direction_norm, np.linalg.norm(found.alpha @ example_1(found.x)[1]), atol=1e-6)


@pytest.mark.parametrize("start", STARTS)
def test_without_a_preference_the_end_is_efficient(start: str) -> None:
    found = ff.minimize(example_1, STARTS[start], jac=True)
    assert found.status is Status.EFFICIENT
    assert found.success
    assert_never_rises(found.history.objectives)
    assert_on_segment(found.x)
    assert ff.pareto.is_efficient(example_1, found.x, jac=True, tol=1e-5)


@pytest.mark.parametrize("style", STYLES)
def test_functions_and_gradients_come_in_many_forms(style: str) -> None:
    x0 = across(5, 1.0) + 0.3 * NU
    for preference in (None, [1, 3]):
        expected = ff.minimize(example_1, x0, preference, jac=True)
        found = ff.minimize(x0=x0, preference=preference, **STYLES[style])
        np.testing.assert_allclose(found.x, expected.x, atol=1e-4)
        assert found.status is expected.status


@pytest.mark.parametrize("preference", [None, [1, 1], [1, 3], [4, 1]])
@pytest.mark.parametrize("x0", [1.0, -5.0])
def test_unbounded_functions_have_no_efficient_point(preference: list[float] | None, x0: float) -> None:
    """Example (a) of the appendix: h_1 = 2 w + 3 and h_2 = 4 w - 2 fall together for ever."""
    error, message = (ff.UnboundedError, "fall without bound")
    if preference is not None:  # which compares objectives of at least 0
        error, message = (ff.InputError, "at least 0")
    with pytest.raises(error, match=message):
        ff.minimize(lambda w: [2.0 * w[0] + 3.0, 4.0 * w[0] - 2.0], [x0], preference)


@pytest.mark.parametrize("x0", [0.2, 1.0, 3.0, -2.0])
def test_contradicting_functions_are_efficient_everywhere(x0: float) -> None:
    """Example (b) of the appendix: w^2 and 1 / w^2; a preference picks pi_1 w^2 = pi_2 / w^2."""
    inverse = [lambda w: w[0] ** 2, lambda w: w[0] ** -2.0]
    stays = ff.minimize(inverse, [x0])
    assert stays.status is Status.EFFICIENT
    np.testing.assert_array_equal(stays.x, [x0])
    for preference in ([1, 1], [1, 16], [9, 1]):
        found = ff.minimize(inverse, [x0], preference)
        assert found.status is Status.LINE
        np.testing.assert_allclose(found.x**2, np.sqrt(preference[1] / preference[0]), rtol=1e-5)


@pytest.mark.parametrize("preference", [None, [1, 1], [1, 2], [3, 1]])
@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_an_infimum_that_is_not_attained_is_no_efficient_point(preference: list[float] | None, scale: float) -> None:
    """(exp(-w), 2 exp(-w)) is bounded below, and every point is dominated by a larger one."""

    def falling(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        h = np.array([1.0, 2.0]) * np.exp(-scale * w[0])
        return h, -scale * h[:, None]

    found = ff.minimize(falling, [0.0], preference, jac=True)
    assert found.status in (Status.UNATTAINED, Status.LIMIT)
    assert not found.success


def test_a_common_minimum_is_attained() -> None:
    for power in (2, 4):
        found = ff.minimize(lambda w, power=power: [w[0] ** power, 2.0 * w[0] ** power], [3.0])
        assert found.status is Status.EFFICIENT
        flat = ff.minimize(
            lambda w, power=power: [max(0.0, 1.0 - w[0]) ** power, 2.0 * max(0.0, 1.0 - w[0]) ** power], [0]
        )
        assert flat.success, "where the objectives are 0 on a whole ray, they attain it"


@pytest.mark.parametrize("seed", range(10))
def test_starts_on_a_plateau_leave_it(seed: int) -> None:
    """Example 1 with nu = (1, ..., 1) in R^20: every line meets the front, and slopes are lost between the bumps."""
    nu = np.ones(D)

    def far_apart(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        heights = np.array([np.exp(-((w - nu) @ (w - nu))), np.exp(-((w + nu) @ (w + nu)))])
        return 1.0 - heights, 2.0 * heights[:, None] * np.stack([w - nu, w + nu])

    x0 = 0.4 * np.random.default_rng(seed).normal(size=D)
    found = ff.minimize(far_apart, x0, jac=True)
    if found.success:
        along = found.x @ nu / D
        assert np.linalg.norm(found.x - along * nu) <= 0.05 * np.linalg.norm(x0)


def test_a_printed_run_without_slopes_is_stuck() -> None:
    """So far from both bumps the direction is shorter than any step, and both could fall all the same."""
    x0 = across(4, 9.0) + NU
    for solver in (ff.PaperPDO(T=10), ff.PaperPBPDO(T=10)):
        found = ff.minimize(example_1, x0, None if type(solver) is ff.PaperPDO else [1, 1], solver, jac=True)
        assert found.status is Status.STUCK
        assert not found.success
        assert (example_1(0.5 * x0)[0] < found.fun).all()


def quadratics(seed: int) -> tuple[Function, np.ndarray, np.ndarray]:
    """Return three convex functions of four weights, a start and a preference."""
    rng = np.random.default_rng(seed)
    curvature, centre, lowest = rng.uniform(0.3, 2.0, (3, 4)), rng.normal(size=(3, 4)), rng.uniform(0.05, 1.0, 3)

    def f(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        slopes = curvature * (w - centre)
        return lowest + 0.5 * (slopes * (w - centre)).sum(axis=1), slopes

    return f, 3.0 * rng.normal(size=4), np.exp(0.7 * rng.normal(size=3))


@pytest.mark.parametrize("seed", range(12))
def test_three_functions_end_at_the_chebyshev_point(seed: int) -> None:
    """On the line, beside it, or at its nearest point: always at the smallest max_i pi_i h_i."""
    f, x0, pi = quadratics(seed)

    def room(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        h, J = f(v[:-1])
        return v[-1] - pi * h, np.column_stack([-pi[:, None] * J, np.ones(3)])

    found = ff.minimize(f, x0, pi, jac=True)
    best = slsqp(lambda v: (v[-1], np.eye(5)[-1]), room, [np.append(x0, (pi * f(x0)[0]).max())])[-1]
    np.testing.assert_allclose((pi * found.fun).max(), best, rtol=1e-6)
    assert found.status in (Status.LINE, Status.CHEBYSHEV, Status.NEAREST)
    if found.status is Status.LINE:
        assert_on_line(pi, found.fun)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
@pytest.mark.parametrize("preference", [None, [1.0, 1.0, 1.0]])
def test_the_scale_of_the_functions_does_not_matter(factor: float, preference: list[float] | None) -> None:
    f, x0, _ = quadratics(3)
    plain = ff.minimize(f, x0, preference, jac=True)
    scaled = ff.minimize(lambda w: tuple(factor * part for part in f(w)), x0, preference, jac=True)
    assert scaled.status is plain.status
    np.testing.assert_allclose(scaled.x, plain.x, atol=1e-3)


@pytest.mark.parametrize("x0", [1.0, -1.0])
def test_starts_at_the_minimum_of_one_function(x0: float) -> None:
    f = [lambda w: (w[0] - 1.0) ** 2, lambda w: (w[0] + 1.0) ** 2]
    assert ff.minimize(f, [x0]).status is Status.EFFICIENT
    found = ff.minimize(f, [x0], [1, 1])
    assert found.status is Status.LINE
    np.testing.assert_allclose(found.x, 0.0, atol=1e-5)


TWO = [lambda w: w @ w, lambda w: (w - 1.0) @ (w - 1.0)]
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "empty x0": ({"x0": []}, r"x0 has shape \(0,\) or is not finite, expected \(d,\): at least one"),
    "NaN in x0": ({"x0": [1.0, np.nan]}, r"x0 has shape \(2,\) or is not finite, expected \(d,\): at least one finite"),
    "no number": ({"functions": 3}, "functions is 3, expected a callable or a sequence of callables"),
    "one objective": ({"functions": TWO[:1]}, "minimize got 1 objective, expected 2 or more; use scipy"),
    "NaN at x0": ({"functions": lambda w: [np.nan, 1.0]}, r"functions give \[nan  1.\] at x0"),
    "wide jac": ({"jac": lambda w: np.ones((2, 3))}, r"jac has shape \(2, 3\), expected \(2, 2\): one row per"),
    "turned jac": (
        {"x0": np.ones(3), "jac": lambda w: np.ones((3, 2))},
        r"jac has shape \(3, 2\), expected \(2, 3\): one row per objective",
    ),
    "three preferences": (
        {"preference": [1, 2, 3]},
        r"preferences has shape \(3,\), expected \(n_runs, 2\): one column per objective \(h_1, h_2\)",
    ),
    "preference 0": ({"preference": [1, 0]}, "preferences must be positive and finite, found 0 to 1"),
    "negative preference": ({"preference": [1, -2]}, "preferences must be positive and finite, found -2 to 1"),
    "preference for pdo": ({"preference": [1, 1], "solver": "pdo"}, "'pdo' takes no preference .* use solver='pb_pdo'"),
    "pb_pdo without": ({"solver": "pb_pdo"}, "'pb_pdo' needs a preference, found None; give one, or use solver='pdo'"),
    "unknown solver": ({"solver": "pbpdo"}, "unknown solver 'pbpdo'.*did you mean 'pb_pdo'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_words(case: str) -> None:
    given, message = BAD[case]
    with pytest.raises(ff.InputError, match=message):
        ff.minimize(**{"functions": TWO, "x0": [1.0, 2.0]} | given)


def with_logarithms(log: Any) -> list[Any]:
    return [lambda x: (x[0] - 1) ** 2 + log(x[0]) ** 2, lambda x: (x[0] - 3) ** 2 + log(x[0])]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("log", [math.log, np.log])
@pytest.mark.parametrize("x0", [10.0, 2.0, 0.5])
def test_functions_are_left_where_they_are_not_defined(log: Any, x0: float) -> None:
    """A step outside the domain is refused, whether it raises or gives NaN; and no run goes in a circle."""
    asked = []

    def recorded(x: float) -> float:
        asked.append(x)
        return log(x)

    line = ff.minimize(with_logarithms(recorded), [x0], [1.0, 1e-3])
    assert line.status is Status.LINE
    assert line.nit <= 60
    np.testing.assert_allclose(line.fun[0], 1e-3 * line.fun[1], rtol=1e-4)
    assert abs(asked[-1] - line.x[0]) <= 1e-2, "nothing is evaluated but steps of the run"
    nearest = ff.minimize(with_logarithms(log), [x0], [1.0, 50.0])
    assert nearest.status is Status.NEAREST
    np.testing.assert_allclose(nearest.x, 2.822876, atol=1e-4)  # the minimum of the second function
    efficient = ff.minimize(with_logarithms(log), [x0])
    assert efficient.status is Status.EFFICIENT
    assert 1.0 - 1e-6 <= efficient.x[0] <= 2.8228757
    assert_never_rises(efficient.history.objectives)


def test_errors_of_the_functions_at_x0_are_for_their_author() -> None:
    with pytest.raises(ValueError, match=r"domain|positive"):
        ff.minimize(with_logarithms(math.log), [-1.0])


@pytest.mark.parametrize("preference", [None, [1.0, 1.0], [1.0, 5.0]])
@pytest.mark.parametrize(
    "bounds",
    [
        [(0.5, None), (None, 0.25)],
        Bounds([0.5, -np.inf], [np.inf, 0.25]),
        [(0.5, 2.0), (-1.0, 0.25)],
    ],
)
def test_every_step_stays_between_bounds(bounds: Any, preference: list[float] | None) -> None:
    """Against SLSQP with the same bounds: two paraboloids whose front is partly outside of them."""
    centres = np.array([[0.0, 0.0], [1.0, 1.0]])
    seen = []

    def paraboloids(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        seen.append(x.copy())
        return 0.1 + ((x - centres) ** 2).sum(axis=1), 2.0 * (x - centres)

    found = ff.minimize(paraboloids, [1.5, 0.0], preference, jac=True, bounds=bounds)
    assert found.success
    asked = np.array(seen)
    assert (asked[:, 0] >= 0.5).all()
    assert (asked[:, 1] <= 0.25).all()
    np.testing.assert_allclose(found.fun, paraboloids(found.x)[0])
    if preference is None:
        assert ff.pareto.is_efficient(paraboloids, found.x, jac=True, tol=1e-4, bounds=bounds)
        return
    pi = np.array(preference)

    def room(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        h, J = paraboloids(v[:-1])
        inside = np.array([v[0] - 0.5, 0.25 - v[1]])
        slopes = np.array([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
        return np.append(v[-1] - pi * h, inside), np.vstack([np.column_stack([-pi[:, None] * J, [1, 1]]), slopes])

    best = slsqp(lambda v: (v[-1], np.eye(3)[-1]), room, [np.array([1.0, 0.0, 10.0])])
    np.testing.assert_allclose((pi * found.fun).max(), best[-1], rtol=1e-5)


@pytest.mark.parametrize("bounds", [[(0.0, 1.0)], [(1.0, 0.0), (0.0, 1.0)], 3, [(0.0, 0.5), (0.0, 1.0)]])
def test_bad_bounds_are_refused(bounds: Any) -> None:
    with pytest.raises(ff.InputError, match=r"bounds|x0"):
        ff.minimize(TWO, [0.7, 0.5], bounds=bounds)


THREE = [lambda x: (x[0] - 1) ** 2 + 0.1, lambda x: (x[0] + 1) ** 2 + 0.1, lambda x: 0.2 * x[0] ** 2 + 0.05]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_status_does_not_depend_on_the_order_of_the_functions(order: tuple[int, ...]) -> None:
    found = ff.minimize([THREE[i] for i in order], [2.0], [1.0, 1.0, 1.0])
    assert found.status is Status.CHEBYSHEV
    np.testing.assert_allclose(found.x, 0.0, atol=1e-4)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("power", [2, 4, 6, 8, 10, 12, 40, 99])
@pytest.mark.parametrize("turned", [False, True])
def test_large_ratios_are_met_or_told(power: int, turned: bool) -> None:
    """(x - 1)^2 = ratio (x + 1)^2 on the front, near x = -1."""

    def parabolas(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        away = np.array([x[0] - 1.0, x[0] + 1.0])[:: -1 if turned else 1]
        return away**2, 2.0 * away[:, None]

    pi = np.array([1.0, 10.0**power])[:: -1 if turned else 1]
    found = ff.minimize(parabolas, [3.0], pi, jac=True)
    level = pi * found.fun
    if found.status is Status.LINE:
        assert level.min() >= (1.0 - 5e-3) * level.max()
    assert found.status is Status.LINE or power > 12


def test_preferences_compare_objectives_of_at_least_0() -> None:
    with pytest.raises(ff.InputError, match="at least 0"):
        ff.minimize([lambda x: (x[0] - 1) ** 2 - 5, lambda x: (x[0] + 1) ** 2], [2.0], preference=[1.0, 1.0])


def test_preferences_whose_quotients_are_no_numbers_are_refused() -> None:
    with pytest.raises(ff.InputError, match="preferences"):
        ff.minimize([lambda x: x @ x, lambda x: (x - 1) @ (x - 1)], [2.0], preference=[1e-300, 1e300])
