"""Group thresholds: exact against brute force, bounded by the linear program with random decisions, refused unasked."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import FixedThresholdClassifier

import fairfront as ff
from fairfront.exceptions import InputError
from fairfront.frontier.group_thresholds import (
    GroupScores,
    GroupThresholdModel,
    by_threshold,
)
from fairfront.frontier.threshold_frontier import postprocess_frontier
from fairfront.objectives import NOTIONS
from fairfront.pareto import nondominated


def rates(decided: np.ndarray, good: np.ndarray, notion: str) -> list[float]:
    rows = {"tpr": good, "fpr": ~good, "selection": np.ones_like(good)}
    return [float(decided[rows[name]].mean()) for name in NOTIONS[notion].rates]


def judged(cut: np.ndarray, s: np.ndarray, good: np.ndarray, codes: np.ndarray, notion: str) -> tuple[float, float]:
    decided = s > cut[codes]
    each = np.array([rates(decided[codes == g], good[codes == g], notion) for g in range(len(cut))])
    return float((decided != good).mean()), float(np.ptp(each, axis=0).max())


def draw(seed: int, groups: int, size: int, ties: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    codes = np.repeat(np.arange(groups), size)
    good = random.random(len(codes)) < 0.5
    for g in range(groups):
        good[np.flatnonzero(codes == g)[:2]] = [True, False]
    s = random.normal(size=len(codes)) + good
    return np.round(s) if ties else s, good, codes


def brute(s: np.ndarray, good: np.ndarray, codes: np.ndarray, notion: str) -> np.ndarray:
    groups = int(codes.max()) + 1
    cuts = [np.append(np.unique(s[codes == g]), -np.inf) for g in range(groups)]
    every = np.array([judged(np.array(cut), s, good, codes, notion) for cut in product(*cuts)])
    kept = every[nondominated(np.round(every, 12))]
    return kept[np.argsort(-kept[:, 1])]


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    groups=st.integers(2, 3),
    ties=st.booleans(),
    notion=st.sampled_from(["equal_opportunity", "predictive_equality", "demographic_parity", "equalized_odds"]),
)
def test_every_point_is_that_of_brute_force(seed: int, groups: int, ties: bool, notion: str) -> None:
    s, good, codes = draw(seed, groups, 8, ties)
    curve = GroupScores(s, good, codes, groups, notion).curve(None)
    found = np.column_stack([curve.error, curve.gap])
    np.testing.assert_allclose(found, brute(s, good, codes, notion), atol=1e-12)
    again = [judged(cut, s, good, codes, notion) for cut in curve.cutoffs]
    np.testing.assert_allclose(again, found, atol=1e-12)


def relaxed(s: np.ndarray, good: np.ndarray, codes: np.ndarray, cap: float) -> float:
    """Least error when each group may draw among its thresholds, with TPRs of two groups within the cap."""
    cuts = [np.append(np.unique(s[codes == g]), -np.inf) for g in range(2)]
    decided = [s[codes == g][None] > cut[:, None] for g, cut in enumerate(cuts)]
    error = np.concatenate([(d != good[codes == g]).sum(axis=1) for g, d in enumerate(decided)]) / len(s)
    tpr = [d[:, good[codes == g]].mean(axis=1) for g, d in enumerate(decided)]
    row = np.concatenate([tpr[0], -tpr[1]])
    sums = np.zeros((2, len(row)))
    sums[0, : len(cuts[0])], sums[1, len(cuts[0]) :] = 1.0, 1.0
    return float(linprog(error, A_ub=np.stack([row, -row]), b_ub=[cap, cap], A_eq=sums, b_eq=[1.0, 1.0]).fun)


@pytest.mark.parametrize("seed", range(5))
def test_random_decisions_are_a_bound_that_is_nearly_met(seed: int) -> None:
    s, good, codes = draw(seed, 2, 400, ties=False)
    curve = GroupScores(s, good, codes, 2).curve(None)
    bound = np.array([relaxed(s, good, codes, gap) for gap in curve.gap])
    assert (bound <= curve.error + 1e-9).all()
    assert curve.error[0] == pytest.approx(bound[0])
    assert np.median(curve.error - bound) < 0.01


def test_even_caps_lie_on_the_whole_frontier() -> None:
    s, good, codes = draw(3, 3, 60, ties=False)
    every = GroupScores(s, good, codes, 3).curve(None)
    some = GroupScores(s, good, codes, 3).curve(7)
    whole = {(round(e, 9), round(g, 9)) for e, g in zip(every.error, every.gap, strict=True)}
    assert {(round(e, 9), round(g, 9)) for e, g in zip(some.error, some.gap, strict=True)} <= whole
    assert some.gap[-1] == 0.0
    assert some.error[0] == every.error[0]


def test_weights_are_copies_of_rows() -> None:
    s, good, codes = draw(4, 2, 30, ties=True)
    times = np.random.default_rng(0).integers(1, 4, len(s))
    weighted = GroupScores(s, good, codes, 2, weight=times.astype(float)).curve(None)
    copies = GroupScores(*(np.repeat(v, times) for v in (s, good, codes)), 2).curve(None)
    np.testing.assert_allclose(weighted.error, copies.error)
    np.testing.assert_allclose(weighted.gap, copies.gap, atol=1e-12)


def loans(n: int = 1200, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    group = np.where(random.random(n) < 0.4, "f", "m")
    y = np.where(X[:, 0] + 0.8 * (group == "m") + random.logistic(size=n) > 0, "yes", "no")
    return X, y, group


@pytest.mark.parametrize("favourable", ["yes", "no"])
@pytest.mark.parametrize("notion", by_threshold())
def test_a_frontier_of_thresholds(favourable: str, notion: str) -> None:
    X, y, group = loans()
    front = ff.trace(X, y, sensitive_features=group, favourable=favourable, n_points=4, progress=False)
    more = postprocess_frontier(
        front, X, y, sensitive_features=group, allow_group_at_prediction=True, notion=notion, n_points=9
    )
    assert more.facts.notions == (notion,)
    assert more.gaps.max(axis=1)[-1] == 0.0
    later = more.evaluate(X[:500], y[:500], sensitive_features=group[:500], name="later")
    for place in range(len(more)):
        model = more.models.build(place)
        assert isinstance(model, GroupThresholdModel)
        assert np.mean(model.predict(X, sensitive_features=group) != y) == pytest.approx(more.loss[place])
        assert np.mean(model.predict(X[:500], sensitive_features=group[:500]) != y[:500]) == pytest.approx(
            later.column("error", "later")[place]
        )
    chosen = later.select(least=f"{NOTIONS[notion].rates[0]}_gap", on="later", confidence=None)
    assert set(chosen.predict(X, sensitive_features=group)) <= {"yes", "no"}


def test_any_model_comes_in_and_unknown_groups_keep_its_own_cutoff() -> None:
    X, y, group = loans()
    forest = RandomForestClassifier(20, max_depth=3, random_state=0).fit(X, y)
    front = ff.Frontier.from_models({"forest": forest}, X, y, sensitive_features=group, favourable="yes")
    more = postprocess_frontier(front, X, y, sensitive_features=group, allow_group_at_prediction=True)
    model = more.select(least="tpr_gap", confidence=None)
    assert np.array_equal(model.predict(X, sensitive_features=np.full(len(y), None)), forest.predict(X))
    assert np.array_equal(model.predict(X, sensitive_features=np.full(len(y), "x")), forest.predict(X))


def test_refusals() -> None:
    X, y, group = loans(300)
    front = ff.trace(X, y, sensitive_features=group, n_points=3, progress=False)
    with pytest.raises(InputError, match="allow_group_at_prediction is False; expected True"):
        postprocess_frontier(front, X, y, sensitive_features=group)
    with pytest.raises(InputError, match="expected True"):
        postprocess_frontier(front, X, y, sensitive_features=group, allow_group_at_prediction=1)
    allowed = {"sensitive_features": group, "allow_group_at_prediction": True}
    with pytest.raises(InputError, match="expected one of equal_opportunity"):
        postprocess_frontier(front, X, y, notion="group_loss", **allowed)
    more = postprocess_frontier(front, X, y, **allowed)
    with pytest.raises(InputError, match="needs the person's group"):
        more.models.scores(X)
    several = {"a": group, "b": group}
    with pytest.raises(InputError, match="expected one column"):
        postprocess_frontier(front, X, y, sensitive_features=several, allow_group_at_prediction=True)
    with pytest.raises(InputError, match="no rows with favourable"):
        GroupScores(np.zeros(4), np.array([True, False, False, False]), np.array([0, 0, 1, 1]), 2).curve()


def test_the_auc_is_that_of_the_scores_that_thresholds_cut() -> None:
    random = np.random.default_rng(3)
    group = random.choice(["a", "b"], 600)
    X = random.normal(size=(600, 2)) + 0.5 * (group == "a")[:, None]
    y = (X[:, 0] + random.normal(size=600) > 0).astype(int)
    front = ff.trace(X, y, sensitive_features=group, n_points=3, progress=False)
    known = roc_auc_score(y, front.select(id=0).decision_function(X))
    cut = front.postprocess(X, y, sensitive_features=group, allow_group_at_prediction=True, id=0)
    np.testing.assert_allclose(cut.column("auc", on="thresholds"), known)
    again = cut.evaluate(X, y, sensitive_features=group, name="again")
    np.testing.assert_allclose(again.column("auc", on="again"), known)


def test_decisions_have_no_auc_and_a_tuned_threshold_leaves_that_of_the_scores() -> None:
    random = np.random.default_rng(4)
    X = random.normal(size=(500, 2))
    y, group = (X[:, 0] + random.normal(size=500) > 0).astype(int), random.choice(["a", "b"], 500)
    plain = LogisticRegression().fit(X, y)
    tuned = FixedThresholdClassifier(plain, threshold=0.8, response_method="predict_proba").fit(X, y)
    models = {"plain": plain, "tuned": tuned, "labels": plain.predict}
    front = ff.Frontier.from_models(models, X, y, sensitive_features=group)
    known = roc_auc_score(y, plain.predict_proba(X)[:, 1])
    for each in (front, front.evaluate(X, y, sensitive_features=group)):
        np.testing.assert_allclose(each.column("auc"), [known, known, np.nan])
        np.testing.assert_allclose(each.column("error"), [np.mean(m.predict(X) != y) for m in (plain, tuned, plain)])
    hard = ff.Frontier.from_scores({"d": plain.predict(X)}, y, sensitive_features=group)
    assert np.isnan(hard.column("auc")).all()


def test_thresholds_are_judged_by_those_placed_without_the_fold() -> None:
    """Without a gap on their own rows; held out they show about what other people would."""
    seen, there, inside = [], [], []
    for seed in range(25):
        random = np.random.default_rng(seed)

        def draw_rows(n: int, random: np.random.Generator = random) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            a = np.where(random.random(n) < 0.2, "few", "many")
            X = random.normal(size=(n, 2)) + 0.5 * (a == "many")[:, None]
            return X, (X[:, 0] + random.logistic(size=n) > 0).astype(int), a

        X, y, a = draw_rows(700)
        front = ff.trace(X, y, sensitive_features=a, n_points=3, held_out=False, progress=False)
        cut = front.postprocess(X, y, sensitive_features=a, allow_group_at_prediction=True, n_points=10)
        assert list(cut.evaluations) == ["held_out", "thresholds"]
        assert cut.judged().name == "held_out"
        assert "10 folds" in cut.judged().made
        X, y, a = draw_rows(20_000)
        there.append(cut.evaluate(X, y, sensitive_features=a, name="others").column("tpr_gap", "others")[-1])
        inside.append(cut.column("tpr_gap", "thresholds")[-1])
        seen.append(cut.column("tpr_gap")[-1])
    assert max(inside) < 0.02
    assert np.mean(seen) == pytest.approx(np.mean(there), rel=0.35)
    assert np.mean(there) > 3 * np.mean(inside)


def test_thresholds_of_a_group_with_one_row_of_a_label_are_not_judged_without_it() -> None:
    random = np.random.default_rng(0)
    X, codes = random.normal(size=(200, 2)), np.repeat([0, 1], 100)
    y = np.where(codes == 0, random.integers(2, size=200), 0)
    y[150] = 1
    front = ff.trace(X, y, sensitive_features=codes, notion="demographic_parity", n_points=3, progress=False)
    known = {"sensitive_features": codes, "allow_group_at_prediction": True}
    assert "held_out" in front.postprocess(X, y, **known).evaluations
    assert "held_out" not in front.postprocess(X, y, notion="equal_opportunity", **known).evaluations
