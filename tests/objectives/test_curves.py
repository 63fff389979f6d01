"""Curves: derivatives, gaps against definitions written out, and the algebra that is linear near some cells."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fairfront.objectives import NOTIONS, GroupProbabilities, Notion, Task
from fairfront.objectives.curves import Curve, NormalAuc, PairLoss
from fairfront.problems import LinearProblem
from tests.support.cases import TASKS, assemble, draw


def curved(task: Task = TASKS["binary"]) -> list[str]:
    """Return the registered notions that compare curves."""
    found = []
    for name in NOTIONS:
        notion = NOTIONS[name]()
        if task.kind in notion.kinds:
            asked: Any = "rate" if notion.no_losses else "loss"
            if any(each.curve is not None for each in notion.comparisons(task, asked)):
                found.append(name)
    return found


CURVED = curved()


def curves_of(notion: Notion) -> list[tuple[Curve, int]]:
    """Return each curve with how many averages it reads."""
    asked: Any = "rate" if notion.no_losses else "loss"
    found = notion.comparisons(TASKS["binary"], asked)
    return [(each.curve, len(each.parts)) for each in found if each.curve is not None]


def central(function: Any, at: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """Return central differences of a function of (P,), along the last axis."""
    eye = step * np.eye(at.size)
    return np.stack([(function(at + e) - function(at - e)) / (2.0 * step) for e in eye], axis=-1)


def problem_of(name: str | tuple[str, ...], **options: Any) -> tuple[LinearProblem, np.ndarray, np.ndarray, dict]:
    X, y, columns = draw("binary", n=240)
    names = (name,) if isinstance(name, str) else name
    asked = "rate" if any(NOTIONS[each]().no_losses for each in names) else "loss"
    given = {"race": columns["race"]} if "sensitive" not in options else options.pop("sensitive")
    return assemble(X, y, given, "binary", names, surrogate=asked, **options), X, y, columns


def test_there_are_curves_to_test() -> None:
    assert len(CURVED) >= 9


@pytest.mark.parametrize("name", CURVED)
def test_derivatives_of_curves_are_those_of_central_differences(name: str) -> None:
    rng = np.random.default_rng(3)
    for curve, size in curves_of(NOTIONS[name]()):
        for m in rng.uniform(0.2, 0.9, size=(5, size)):
            slope = central(lambda at, curve=curve: curve.value(at[None])[0], m)
            np.testing.assert_allclose(curve.slope(m[None])[0], slope, rtol=1e-6, atol=1e-8)
            bend = central(lambda at, curve=curve: curve.slope(at[None])[0], m)
            np.testing.assert_allclose(curve.bend(m), bend, rtol=1e-5, atol=1e-6)


def by_hand(name: str, score: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    """Return what a notion compares of one group, from its definition on smooth decisions."""
    p = 1.0 / (1.0 + np.exp(-score))
    tp, fp = (weight * p)[y == 1].sum(), (weight * p)[y == 0].sum()
    fn, tn = (weight * (1 - p))[y == 1].sum(), (weight * (1 - p))[y == 0].sum()
    return {
        "predictive_parity": tp / (tp + fp),
        "negative_predictive_parity": tn / (tn + fn),
        "false_discovery_parity": fp / (tp + fp),
        "false_omission_parity": fn / (tn + fn),
        "treatment_equality": fp / (fp + fn),
        "f_score_parity": 2 * tp / (2 * tp + fp + fn),
        "balanced_accuracy_parity": 0.5 * (tp / (tp + fn) + tn / (tn + fp)),
        "selection_ratio": np.log((tp + fp) / (tp + fp + fn + tn)),
        "tpr_ratio": np.log(tp / (tp + fn)),
    }[name]


def ordered(group: np.ndarray) -> list[Any]:
    """Return levels by name, the largest last."""
    levels, counts = np.unique(group.astype(str), return_counts=True)
    last = levels[counts.argmax()]
    return [level for level in levels if level != last] + [last]


@pytest.mark.parametrize("name", [name for name in CURVED if NOTIONS[name].no_losses])
@pytest.mark.parametrize("weighted", [False, True])
def test_gaps_are_those_of_the_definition(name: str, weighted: bool) -> None:
    weight = np.random.default_rng(5).uniform(0.5, 2.0, 240) if weighted else np.ones(240)
    problem, X, y, columns = problem_of(name, weight=weight if weighted else None)
    W = np.random.default_rng(1).normal(size=(3, 1, 4))
    z, group = problem.algebra.gaps(problem.values(W)), columns["race"]
    for run in range(3):
        score = X @ W[run, 0, :-1] + W[run, 0, -1]
        f = [by_hand(name, score[group == g], y[group == g], weight[group == g]) for g in ordered(group)]
        pairs = [(i, j) for i in range(5) for j in range(i + 1, 5)]
        if name.endswith("_ratio"):
            pairs = [pair for i, j in pairs for pair in ((i, j), (j, i))]
        expected = [f[i] - f[j] + (np.log(0.8) if name.endswith("_ratio") else 0.0) for i, j in pairs]
        np.testing.assert_allclose(z[run], expected, atol=1e-12)


@pytest.mark.parametrize("name", CURVED)
def test_weights_are_repeated_rows(name: str) -> None:
    X, y, columns = draw("binary", n=150)
    times = np.random.default_rng(2).integers(1, 4, 150)
    asked = "rate" if NOTIONS[name]().no_losses else "loss"
    group = {"sex": columns["sex"]}
    one = assemble(X, y, group, "binary", (name,), surrogate=asked, weight=times.astype(float))
    rows = np.repeat(np.arange(150), times)
    two = assemble(X[rows], y[rows], {"sex": columns["sex"][rows]}, "binary", (name,), surrogate=asked)
    W = np.random.default_rng(1).normal(size=(2, 1, 4))
    for function in ("objectives", "gaps", "jacobian"):
        found = [getattr(each.algebra, function)(each.values(W)) for each in (one, two)]
        np.testing.assert_allclose(*found, atol=1e-12)


@pytest.mark.parametrize("name", CURVED)
def test_the_lagrangian_has_the_derivatives_of_central_differences(name: str) -> None:
    problem, *_ = problem_of(name)
    algebra, w = problem.algebra, np.random.default_rng(4).normal(size=4)
    x = np.random.default_rng(6).normal(size=len(algebra.b))

    def value(at: np.ndarray) -> float:
        L = problem.values(at.reshape(1, 1, -1))
        return float(algebra.loss(L)[0] + algebra.gaps(L)[0] @ x)

    def gradient(at: np.ndarray) -> np.ndarray:
        point = problem.cells(at.reshape(1, 1, -1))
        near = algebra.at(point.L[0])
        return (near.p + x @ near.B) @ point.D[0]

    np.testing.assert_allclose(gradient(w), central(value, w), rtol=1e-5, atol=1e-7)
    point = problem.cells(w.reshape(1, 1, -1))
    near, bend = algebra.at(point.L[0]), algebra.bend(point.L[0], x)
    H = problem.hessian(w.reshape(1, -1), near.p + x @ near.B) + point.D[0].T @ bend @ point.D[0]
    np.testing.assert_allclose(H, central(gradient, w), rtol=1e-5, atol=1e-6)
    assert np.linalg.matrix_rank(bend) <= problem.layout.k
    np.testing.assert_allclose(near.gaps(point.L), algebra.gaps(point.L), atol=1e-13)


def test_beside_curves_plain_averages_stay_as_they_are() -> None:
    X, y, columns = draw("binary", n=240)
    names = (("demographic_parity", "predictive_parity"), ("demographic_parity",))
    together, alone = (assemble(X, y, {"race": columns["race"]}, "binary", each, surrogate="rate") for each in names)
    W, q = np.random.default_rng(1).normal(size=(2, 1, 4)), len(alone.algebra.b)
    assert together.algebra.bent.tolist() == [False] * q + [True] * q
    z = together.algebra.gaps(together.values(W))
    np.testing.assert_allclose(z[:, :q], alone.algebra.gaps(alone.values(W)), atol=1e-13)


def test_shares_of_groups_are_taken_as_weights() -> None:
    X, y, columns = draw("binary", n=200)
    sure = (columns["sex"] == "Female").astype(float)
    table = GroupProbabilities(np.column_stack([sure, 1.0 - sure]), levels=("Female", "Male"))
    W = np.random.default_rng(1).normal(size=(2, 1, 4))
    given = ({"sex": columns["sex"]}, table)
    one, two = (assemble(X, y, each, "binary", ("predictive_parity",), surrogate="rate") for each in given)
    np.testing.assert_allclose(*(np.abs(each.algebra.gaps(each.values(W))) for each in (one, two)), atol=1e-12)


def test_an_algebra_that_is_linear_is_its_own() -> None:
    problem, *_ = problem_of("equal_opportunity")
    algebra, L = problem.algebra, problem.values(np.ones((1, 1, 4)))
    assert algebra.at(L[0]) is algebra
    assert algebra.bend(L[0], np.ones(len(algebra.b))) is None
    assert replace(algebra).psi is None


def test_the_quadratic_surrogate_is_a_mean_over_pairs() -> None:
    rng = np.random.default_rng(0)
    s, t = rng.normal(1.0, 1.5, 40), rng.normal(size=60)
    m = np.array([[s.mean(), (s**2).mean(), t.mean(), (t**2).mean()]])
    np.testing.assert_allclose(PairLoss().value(m)[0], ((1.0 - (s[:, None] - t)) ** 2).mean())
    for curve in (PairLoss(), NormalAuc()):
        bend = central(lambda at, curve=curve: curve.slope(at[None])[0], m[0])
        np.testing.assert_allclose(curve.bend(m[0]), bend, atol=1e-7)
        np.testing.assert_allclose(
            curve.slope(m)[0], central(lambda at, c=curve: c.value(at[None])[0], m[0]), atol=1e-8
        )
    stretched = m * np.array([3.0, 9.0, 3.0, 9.0])
    np.testing.assert_allclose(NormalAuc().value(stretched), NormalAuc().value(m))
    many = [rng.normal(mean, spread, 4000) for mean, spread in ((1.0, 1.5), (0.0, 1.0))]
    means = np.array([[f(each) for each in many for f in (np.mean, lambda v: np.mean(v**2))]])
    exact = (many[0][:, None] > many[1]).mean()
    np.testing.assert_allclose(NormalAuc().value(means)[0], exact, atol=5e-3)
