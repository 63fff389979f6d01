"""Whose run a checkpoint is of: other settings, other data and other functions are refused, other spellings are not."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

import fairfront as ff
from fairfront.solvers.fingerprints import digest
from tests.support.killed_runs import rows
from tests.support.searches import trace


def traced(**settings: Any) -> ff.Frontier:
    X, y, group = rows(600, 5)
    return trace(X, y, sensitive_features=group, progress=False, **settings)


OTHERS: dict[str, tuple[dict[str, Any], str]] = {
    "solver": ({"solver": ff.Newton(tol=1e-8)}, r"other settings \(solver\)"),
    "points": ({"n_points": 4}, r"other settings \(n_points\)"),
    "notion": ({"notion": "equalized_odds"}, r"other settings \(notion\)"),
    "loss": ({"loss": "squared_hinge"}, r"other settings \(loss\)"),
    "ridge": ({"ridge": 0.5}, r"other settings \(ridge\)"),
    "path and seed": ({"solver": ff.Newton(path="proportional"), "random_state": 1}, r"\(random_state, solver\)"),
    "weights": ({"sample_weight": np.linspace(1.0, 2.0, 600)}, "other data"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_checkpoints_of_other_settings_are_refused(other: str, tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    settings: dict[str, Any] = {"n_points": 3, "checkpoint": path}
    traced(**settings)
    before = path.read_bytes()
    changed, sentence = OTHERS[other]
    with pytest.raises(ff.InputError, match=sentence):
        traced(**{**settings, **changed}, resume=True)
    assert path.read_bytes() == before


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_depth=3)])
@pytest.mark.parametrize("what", ["a number", "a label", "a group", "the order"])
def test_checkpoints_of_other_data_are_refused(what: str, estimator: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    X, y, group = rows(600, 5)
    settings: dict[str, Any] = {"checkpoint": path, "resume": True, "progress": False}
    settings |= {"n_points": 3} if estimator is None else {"estimator": estimator, "max_fits": 2, "cv": 2}
    trace(X, y, sensitive_features=group, **settings)
    X, y, group = X.copy(), y.copy(), group.copy()
    if what == "a number":
        X[17, 2] += 1e-3
    elif what == "a label":
        y[17] = 1 - y[17]
    elif what == "a group":
        group[17] = "a" if group[17] != "a" else "b"
    else:
        X = X[::-1]
    with pytest.raises(ff.InputError, match="other data, or of other settings that change"):
        trace(X, y, sensitive_features=group, **settings)


def test_other_estimators_are_refused(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"checkpoint": tmp_path / "run.checkpoint", "max_fits": 2, "cv": 2}
    traced(estimator=DecisionTreeClassifier(max_depth=3), **settings)
    with pytest.raises(ff.InputError, match=r"other settings \(estimator\)"):
        traced(estimator=DecisionTreeClassifier(max_depth=2), resume=True, **settings)


def test_other_rules_of_rows_are_said_to_be_possible(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"n_points": 3, "checkpoint": tmp_path / "run.checkpoint", "resume": True}
    traced(**settings)
    with pytest.raises(ff.InputError, match=r"other settings that change what rows count for \(favourable, groups\)"):
        traced(favourable=0, **settings)
    with pytest.raises(ff.InputError, match=r"other settings \(groups\)"):
        traced(groups=ff.Groups(min_size=20), **settings)


def test_spellings_of_the_same_numbers_are_the_same_run(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"checkpoint": tmp_path / "run.checkpoint", "resume": True}
    for same in ([[1, 10, 10, 10]], [[1.0, 10, 10, 10]], np.array([[1, 10, 10, 10]]), (1, 10, 10, 10)):
        traced(preferences=same, **settings)
    with pytest.raises(ff.InputError, match=r"other settings \(preferences\)"):
        traced(preferences=[[1, 10, 10, 11]], **settings)
    with pytest.raises(ff.InputError, match="entries that are not numbers"):
        traced(preferences=[["much", 10, 10, 11]], **settings)


def test_other_functions_inside_estimators_are_refused(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"checkpoint": tmp_path / "run.checkpoint", "max_fits": 2, "cv": 2, "resume": True}

    def learner(function: Any) -> Any:
        return make_pipeline(FunctionTransformer(function), DecisionTreeClassifier(max_depth=3))

    traced(estimator=learner(lambda z: z), **settings)
    with pytest.raises(ff.InputError, match=r"other settings \(estimator\)"):
        traced(estimator=learner(lambda z: -z), **settings)


def test_other_versions_of_an_estimator_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {"checkpoint": tmp_path / "run.checkpoint", "max_fits": 2, "cv": 2, "resume": True}
    traced(estimator=DecisionTreeClassifier(max_depth=3), **settings)
    monkeypatch.setattr("sklearn.__version__", "0.1")
    with pytest.raises(ff.InputError, match=r"other settings \(version of the estimator\)"):
        traced(estimator=DecisionTreeClassifier(max_depth=3), **settings)


class Scaled:
    """A callable that shows no more than its address."""

    def __init__(self, factor: float) -> None:
        self.factor, self.me = factor, self

    def __call__(self, x: Any) -> Any:
        return self.factor * x


def scaled(factor: float) -> Any:
    return lambda x: factor * x


@pytest.mark.parametrize(
    "made",
    [scaled, Scaled, lambda a: Scaled(a).__call__, lambda a: functools.partial(max, a), lambda a: {"in": [scaled(a)]}],
)
def test_functions_are_known_by_what_they_do(made: Any) -> None:
    assert digest(made(2.0)) == digest(made(2.0)) != digest(made(3.0))


def test_sets_and_sources_of_numbers_have_digests_of_their_own() -> None:
    words = [f"word {i}" for i in range(50)]
    assert digest(frozenset(words)) == digest(frozenset(words[::-1])) != digest(frozenset(words[1:]))
    for source in (np.random.default_rng, np.random.RandomState):
        assert digest(source(1)) == digest(source(1)) != digest(source(2))


def test_other_functions_to_minimise_are_refused(tmp_path: Path) -> None:
    """Functions that agree at the start differ in code, or near it; a counter around one is no difference."""
    path, calls = tmp_path / "run.checkpoint", [0]

    def functions(scale: float) -> Any:
        def values(x: np.ndarray) -> np.ndarray:
            calls[0] += 1
            return np.array([((x - 1) ** 2).sum() + 1, ((x + 1) ** 2).sum() + 1 + scale * (x[0] - 3) ** 2])

        return values

    def go(given: Any) -> np.ndarray:
        return ff.minimize(given, [3.0, 2.0], checkpoint=path, resume=True, random_state=0).x

    np.testing.assert_array_equal(go(functions(0.0)), go(functions(0.0)))
    with pytest.raises(ff.InputError, match="other data"):
        go(functions(0.5))
    with pytest.raises(ff.InputError, match=r"other settings \(functions\)"):
        go(lambda x: functions(0.0)(x))


def test_functions_that_end_near_the_start_are_evaluated_there_only(tmp_path: Path) -> None:
    def values(x: np.ndarray) -> np.ndarray:
        if (x != 1.0).any():
            raise FloatingPointError("outside")
        return np.array([1.0, 2.0])

    settings: dict[str, Any] = {"solver": ff.PDO(max_iter=0), "jac": lambda x: np.eye(2)}
    found = ff.minimize(values, [1.0, 1.0], checkpoint=tmp_path / "run.checkpoint", **settings)
    np.testing.assert_array_equal(found.fun, [1.0, 2.0])
