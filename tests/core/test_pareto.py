"""Dominance and hypervolume against brute force and moocore; efficiency on the paper's examples."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import Bounds

from fairfront.exceptions import InputError, MissingExtraError
from fairfront.pareto import hypervolume, is_efficient, nondominated
from tests.support.extras import optional

moocore = optional("moocore")

NU, WIDTH = np.ones(2), 1.5
few = settings(max_examples=20, deadline=None)


def clouds(m: int, largest: int = 30) -> st.SearchStrategy[np.ndarray]:
    """Points on a coarse grid, so that ties and copies are frequent."""
    shape = st.tuples(st.integers(0, largest), st.just(m))
    return hnp.arrays(np.float64, shape, elements=st.integers(-4, 4).map(lambda v: v / 3 if v else -0.0))


def brute_force(points: np.ndarray, keep_equal: bool) -> np.ndarray:
    mask = []
    for i, p in enumerate(points):
        dominated = any((q <= p).all() and (q < p).any() for q in points)
        repeated = any((q == p).all() for q in points[:i])
        mask.append(not dominated and (keep_equal or not repeated))
    return np.array(mask, dtype=bool)


def bump(w: np.ndarray, centre: np.ndarray) -> tuple[float, np.ndarray]:
    away = w - centre
    height = np.exp(-(away @ away) / WIDTH**2)
    return 1.0 - height, 2.0 * height * away / WIDTH**2


def paper_values(w: np.ndarray) -> list[float]:
    return [bump(w, NU)[0], bump(w, -NU)[0]]


def paper_jacobian(w: np.ndarray) -> list[np.ndarray]:
    return [bump(w, NU)[1], bump(w, -NU)[1]]


STYLES = {
    "vector": {"functions": paper_values},
    "sequence": {"functions": [lambda w: bump(w, NU)[0], lambda w: bump(w, -NU)[0]]},
    "vector, jac=True": {"functions": lambda w: (paper_values(w), paper_jacobian(w)), "jac": True},
    "sequence, jac=True": {"functions": [lambda w: bump(w, NU), lambda w: bump(w, -NU)], "jac": True},
    "vector, jac callable": {"functions": paper_values, "jac": paper_jacobian},
    "vector, jac sequence": {
        "functions": paper_values,
        "jac": [lambda w: bump(w, NU)[1], lambda w: bump(w, -NU)[1]],
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("m", [1, 2, 3, 4])
@pytest.mark.parametrize("keep_equal", [False, True])
def test_nondominated_equals_brute_force(m: int, keep_equal: bool) -> None:
    @settings(deadline=None)
    @given(clouds(m))
    def check(points: np.ndarray) -> None:
        found = nondominated(points, keep_equal=keep_equal)
        assert found.dtype == bool
        np.testing.assert_array_equal(found, brute_force(points, keep_equal))

    check()


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(2, 4).flatmap(lambda m: clouds(m, 60)), st.booleans())
def test_nondominated_equals_moocore(points: np.ndarray, keep_equal: bool) -> None:
    if len(points) == 0:
        return
    expected = moocore.is_nondominated(points, keep_weakly=keep_equal)
    np.testing.assert_array_equal(nondominated(points, keep_equal=keep_equal), expected)


def test_many_dimensions_do_without_moocore(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(0).integers(0, 12, (3000, 4)).astype(float)
    expected = {keep: nondominated(points, keep_equal=keep) for keep in (False, True)}
    monkeypatch.setitem(sys.modules, "moocore", None)
    for keep, mask in expected.items():
        np.testing.assert_array_equal(nondominated(points, keep_equal=keep), mask)


@settings(deadline=None)
@given(clouds(2), hnp.arrays(np.float64, 2, elements=st.floats(-1.0, 2.0)))
def test_hypervolume_of_two_objectives_equals_moocore(points: np.ndarray, reference: np.ndarray) -> None:
    expected = moocore.hypervolume(points, ref=reference) if len(points) else 0.0
    assert hypervolume(points, reference) == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
@settings(deadline=None)
@given(clouds(3))
def test_hypervolume_of_three_objectives_counts_unit_cubes(points: np.ndarray) -> None:
    corners = np.stack(np.meshgrid(*[np.arange(-4, 3) / 3] * 3), axis=-1).reshape(-1, 3)
    middles = corners + 1 / 6
    covered = (points[None] <= middles[:, None]).all(axis=2).any(axis=1).sum()
    assert hypervolume(points, [1.0, 1.0, 1.0]) == pytest.approx(covered / 27, abs=1e-12)


def test_hypervolume_small_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    assert hypervolume([[1.0], [0.25], [3.0]], [2.0]) == 1.75
    assert hypervolume([[5.0, 5], [4, 6], [2, 7], [7, 4]], [10.0, 10]) == 38.0
    assert hypervolume([[1.0, 0.0]], [1.0, 1.0]) == 0.0
    monkeypatch.setitem(sys.modules, "moocore", None)
    with pytest.raises(MissingExtraError, match=r"fairfront\[pareto\]"):
        hypervolume([[0.0, 0.0, 0.0]], [1.0, 1.0, 1.0])


@pytest.mark.parametrize("bad", [[[0.0, np.nan]], [[np.inf, 1.0]], [1.0, 2.0], np.empty((3, 0)), [["a", "b"]]])
def test_points_that_cannot_be_used(bad: object) -> None:
    with pytest.raises(InputError, match="points"):
        nondominated(bad)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="points"):
        hypervolume(bad, [1.0, 1.0])  # type: ignore[arg-type]


def test_reference_needs_one_number_per_objective() -> None:
    with pytest.raises(InputError, match=r"expected 2 finite number"):
        hypervolume([[0.0, 1.0]], [1.0])


@pytest.mark.parametrize("style", STYLES)
def test_paper_example_in_every_style_of_call(style: str) -> None:
    call = dict(STYLES[style])
    functions = call.pop("functions")
    assert is_efficient(functions, 0.4 * NU, **call)
    found = is_efficient(functions, [0.7, -0.1], **call)
    assert not found
    assert found.better is not None
    assert (np.array(paper_values(found.better)) <= found.values + 1e-12).all()
    assert found.better[0] == pytest.approx(found.better[1], abs=1e-4)


@pytest.mark.parametrize("t", [-1.0, -0.8, -0.3, 0.0, 0.5, 0.999, 1.0])
def test_segment_between_the_centres_is_efficient(t: float) -> None:
    found = is_efficient(paper_values, t * NU, jac=paper_jacobian)
    assert found.efficient
    assert found.better is None
    np.testing.assert_allclose(found.values, paper_values(t * NU))


@few
@given(st.floats(-1.0, 1.0), st.floats(0.02, 2.0), st.booleans())
def test_points_off_the_segment_are_not_efficient(t: float, off: float, side: bool) -> None:
    x = t * NU + (off if side else -off) * np.array([1.0, -1.0])
    found = is_efficient(paper_values, x, jac=paper_jacobian)
    assert not found.efficient
    assert found.improvement > 1e-6
    assert found.better is not None
    assert (np.array(paper_values(found.better)) <= found.values + 1e-12).all()
    assert sum(paper_values(found.better)) < found.values.sum()


def test_points_beyond_the_ends_are_not_efficient() -> None:
    assert not is_efficient(paper_values, 1.1 * NU)
    assert not is_efficient(paper_values, -2.0 * NU)


@few
@given(st.floats(1e-2, 50.0), st.sampled_from([-1.0, 1.0]))
def test_contradicting_objectives_make_every_point_efficient(size: float, sign: float) -> None:
    assert is_efficient([lambda w: w**2, lambda w: 1.0 / w**2], sign * size)


@pytest.mark.slow
@few
@given(st.floats(-6.0, 6.0), st.floats(-6.0, 6.0))
def test_units_and_offsets_do_not_matter(first: float, second: float) -> None:
    def rescaled(w: np.ndarray) -> list[float]:
        a, b = paper_values(w)
        return [10.0**first * a, 10.0**second * (b + 1.0)]

    assert is_efficient(rescaled, 0.2 * NU)
    assert not is_efficient(rescaled, [0.6, 0.1])


def test_objectives_without_bound_and_stationary_points() -> None:
    assert not is_efficient(lambda w: [2 * w[0] + 3, 4 * w[0] - 2], [0.0])
    assert not is_efficient([lambda w: w**4 - w**2, lambda w: 2 * (w**4 - w**2)], 0.0)
    assert not is_efficient([lambda w: w[0] ** 2, lambda w: w[1] ** 2], [0.0, 1.0])


@pytest.mark.parametrize("bounds", [[(0.0, None), (None, 2.0)], Bounds([0.0, -np.inf], [np.inf, 2.0])])
def test_bounds_keep_the_search_inside(bounds: object) -> None:
    values = [lambda w: w[0] + w[1] ** 2, lambda w: 2 * w[0] + (w[1] - 1) ** 2]
    assert is_efficient(values, [0.0, 0.5], bounds=bounds)
    assert not is_efficient(values, [0.0, 0.5])
    found = is_efficient(values, [0.3, 0.5], bounds=bounds)
    assert found.better is not None
    assert found.better[0] >= 0.0
    with pytest.raises(InputError, match="outside bounds"):
        is_efficient(values, [-1.0, 0.5], bounds=bounds)


def test_inputs_of_the_check_that_cannot_be_used() -> None:
    with pytest.raises(InputError, match="expected d finite numbers"):
        is_efficient(paper_values, [[0.0, 0.0]])
    with pytest.raises(InputError, match="callable"):
        is_efficient([], [0.0])
    with pytest.raises(InputError, match="finite values"):
        is_efficient([lambda w: np.nan], [0.0])
    with pytest.raises(InputError, match="pairs"):
        is_efficient(paper_values, [0.0, 0.0], bounds=[(0, 1)] * 3)
    with pytest.raises(InputError, match=r"jac gives shape \(2, 1\), expected \(2, 2\)"):
        is_efficient(paper_values, [0.3, 0.0], jac=lambda w: [[1.0], [2.0]])
    with pytest.raises(InputError, match="tol"):
        is_efficient(paper_values, [0.0, 0.0], tol=0.0)
