"""Fits that are kept in a folder: read where estimator, rows and weights are the same, made anew elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from joblib import Memory
from sklearn.linear_model import LogisticRegression

import fairfront as ff


class Counted(LogisticRegression):
    """A logistic regression that counts its fits."""

    fits = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Counted:
        Counted.fits += 1
        return super().fit(X, y, sample_weight)


def traced(memory: Any, estimator: Any = None, weight: Any = None, **search: Any) -> tuple[ff.Frontier, int]:
    """Return a frontier, and how many fits were made for it."""
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(400, 4)), rng.choice(["a", "b"], 400)
    y = (X[:, 0] + (group == "a") * X[:, 1] + rng.normal(size=400) > 0).astype(int)
    Counted.fits = 0
    solver = ff.Weighting(**{"max_fits": 4, "cv": 2, "memory": memory, **search})
    learner = Counted() if estimator is None else estimator
    known = {"sensitive_features": group, "sample_weight": weight, "random_state": 0, "progress": False}
    front = ff.trace(X, y, estimator=learner, solver=solver, **known)
    return front, Counted.fits


@pytest.mark.parametrize("place", [str, Path, lambda folder: Memory(folder, verbose=0)])
def test_a_second_trace_makes_no_fit_and_gives_the_same_arrays(place: Any, tmp_path: Path) -> None:
    plain, made = traced(None)
    first, kept = traced(place(tmp_path))
    second, again = traced(place(tmp_path))
    assert made == kept > 0
    assert again == 0
    for other in (first, second):
        np.testing.assert_array_equal(other.objectives, plain.objectives)
        np.testing.assert_array_equal(other.multipliers, plain.multipliers)
        np.testing.assert_array_equal(other.models.build(2).coef_, plain.models.build(2).coef_)


def test_more_weightings_fit_only_what_is_not_there(tmp_path: Path) -> None:
    _, made = traced(tmp_path)
    _, more = traced(tmp_path, max_fits=3)
    assert made > 0
    assert more == 0


def test_parameters_and_weights_are_the_key(tmp_path: Path) -> None:
    traced(tmp_path)
    assert traced(tmp_path, Counted(C=0.1))[1] > 0
    assert traced(tmp_path, weight=np.linspace(0.5, 2.0, 400))[1] > 0
    assert traced(tmp_path)[1] == 0


def test_a_memory_is_a_folder_or_a_memory() -> None:
    with pytest.raises(ff.InputError, match=r"^memory "):
        ff.Weighting(memory=3)
