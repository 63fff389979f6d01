"""A fairer alternative to the model in use: the test is valid, the search finds it, and bad incumbents are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import erf, expit, ndtr, ndtri
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

import fairfront as ff
from fairfront.exceptions import FairfrontWarning, InputError
from fairfront.improvability.estimates import JOBS, Answers, Sample
from fairfront.improvability.families import FAMILIES
from fairfront.improvability.requirements import Contrast, Requirements, weakest
from fairfront.improvability.split_search import combined, halves
from fairfront.objectives import Attribute

BETA = np.array([1.2, 0.8, -0.5])


def lender(n: int, seed: int, shift: float = 0.5, weight: float = 0.6) -> dict[str, Any]:
    """Return people of two groups, and an incumbent that adds a column that tells the group to the best score."""
    random = np.random.default_rng(seed)
    group = random.integers(0, 2, n)
    X = random.normal(size=(n, 4))
    X[:, 0] += shift * (group - 0.5)
    X[:, 3] = group - 0.5 + 0.5 * X[:, 3]
    best = X[:, :3] @ BETA
    y = (random.random(n) < expit(best)).astype(int)
    return {
        "X": X,
        "y": y,
        "sensitive_features": {"group": np.where(group == 1, "a", "b")},
        "incumbent": best + weight * X[:, 3],
        "approval_rate": 0.5,
    }


def searched(given: dict[str, Any], **more: Any) -> ff.Alternatives:
    return ff.alternatives(**{"families": "linear", "n_splits": 3, "progress": False, **given, **more})


def sample(n: int = 3000, seed: int = 0) -> tuple[Sample, Answers, Answers]:
    given = lender(n, seed)
    codes = (given["sensitive_features"]["group"] == "b").astype(np.intp)
    costs = {"false_positive": np.full(n, 5.0), "false_negative": np.full(n, 1.0)}
    rows = Sample(given["y"] == 1, np.ones(n), (Attribute("group", ("a", "b"), codes),), None, costs)
    scores = expit(given["incumbent"]), expit(given["X"][:, :3] @ BETA)
    one, two = (Answers(each >= 0.5, each, True) for each in scores)
    return rows, one, two


def test_figures_of_the_job_are_those_of_scikit_learn() -> None:
    rows, said, _ = sample()
    assert said.scores is not None
    found = {name: job.of(rows, said).value for name, job in JOBS.items()}
    wrong = said.approved != rows.good
    area = roc_auc_score(rows.good, said.scores)
    assert found["error"] == pytest.approx(wrong.mean())
    assert found["auc"] == pytest.approx(area)
    assert found["gini"] == pytest.approx(2 * area - 1)
    assert found["log_loss"] == pytest.approx(log_loss(rows.good, said.scores))
    assert found["bad_rate"] == pytest.approx((~rows.good)[said.approved].mean())
    cost = 5 * (said.approved & ~rows.good).mean() + (~said.approved & rows.good).mean()
    assert found["cost"] == pytest.approx(cost)
    assert found["profit"] == pytest.approx(-cost)


@pytest.mark.parametrize(
    "name", [*JOBS, "tpr_gap", "selection_ratio", "precision_gap", "npv_gap", "f_score_gap", "balanced_accuracy_gap"]
)
def test_standard_errors_of_differences_are_those_of_the_bootstrap(name: str) -> None:
    rows, one, two = sample()
    random = np.random.default_rng(1)

    def difference(some: np.ndarray) -> Any:
        part, before, after = rows.take(some), one.take(some), two.take(some)
        if name in JOBS:
            return JOBS[name].of(part, after).less(JOBS[name].of(part, before))
        contrast = Contrast.of(name, rows.attributes)
        pair = contrast.pairs(rows.attributes)[0]
        return contrast.contrasts(part, before)[pair].less(contrast.contrasts(part, after)[pair])

    n = len(rows.good)
    drawn = [difference(random.integers(0, n, n)).value for _ in range(150)]
    assert difference(np.arange(n)).error == pytest.approx(np.std(drawn), rel=0.35 if name == "ks" else 0.2)


def test_p_values_of_splits_hold_together_however_they_depend() -> None:
    random = np.random.default_rng(0)
    assert combined([0.01, 0.02, 0.9]) == pytest.approx(0.04)
    assert combined([0.01, 0.9]) == pytest.approx(0.02)
    assert combined([0.7, 0.8]) == 1.0
    assert combined([]) == 1.0
    for share in (0.0, 0.5, 0.9, 1.0):  # how much splits have in common
        common = random.normal(size=(4000, 1)) * np.sqrt(share)
        z = common + random.normal(size=(4000, 10)) * np.sqrt(1 - share)
        p = 1 - 0.5 * (1 + erf(z / np.sqrt(2)))
        assert np.mean([combined(each) <= 0.05 for each in p]) <= 0.05


def test_model_1_does_not_qualify_where_the_search_as_a_whole_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    given = lender(3000, 0)
    found = searched(given, n_splits=2)
    assert found.qualified
    assert found.changes["tpr_gap"]["lower"] > 0
    monkeypatch.setattr("fairfront.improvability.record.combined", lambda p: 0.2)
    found = searched(given, n_splits=2)
    assert not found.qualified
    assert found.record["p_value"] == 0.2
    assert found.record["why_not"]


def test_bounds_of_changes_are_those_of_the_claims_of_the_first_model() -> None:
    given = lender(3000, 0)
    found = searched(given, n_splits=1, improve=["tpr_gap", "tpr_ratio"], nobody_worse=0.5, confidence=0.9)
    rows, judge = found.outcome, found.outcome.judge
    before, after = rows.incumbent.take(judge), rows.candidates[0].answers
    y = given["y"][judge] == 1
    area = [roc_auc_score(y, said.scores) for said in (before, after)]
    (claim,) = rows.claims["auc"]
    change = found.changes["auc"]
    assert change["value"] == pytest.approx(area[1] - area[0])
    assert change["upper"] - change["value"] == pytest.approx(ndtri(0.95) * claim.error)
    assert change["value"] - change["lower"] == pytest.approx(ndtri(0.95) * claim.error)
    gap, ratio = found.changes["tpr_gap"], found.changes["tpr_ratio"]
    assert gap["lower"] == min(each.value - ndtri(0.9) * each.error for each in rows.claims["tpr_gap"])
    assert ratio["value"] == pytest.approx(np.exp(min(each.value for each in rows.claims["tpr_ratio"])))
    assert (gap["upper"], ratio["upper"]) == (None, None)
    moved = [line["tpr_change"][0] for line in found.moved["group"]]
    lowest = found.changes["tpr of every group"]
    assert -0.5 < lowest["lower"] < lowest["value"]
    assert lowest["value"] == pytest.approx(min(moved))


def test_who_enters_and_who_leaves_is_counted() -> None:
    given = lender(1500, 0)
    found = searched(given, n_splits=1)
    judge, model = found.outcome.judge, found.select()
    before = found.outcome.incumbent.approved[judge]
    after = model.predict(given["X"][judge]) == 1
    y, group = given["y"][judge] == 1, given["sensitive_features"]["group"][judge]
    for line in found.moved["group"]:
        own = group == line["group"]
        assert line["n"] == own.sum()
        assert line["selection"] == pytest.approx([before[own].mean(), after[own].mean()])
        assert line["tpr"] == pytest.approx([before[own & y].mean(), after[own & y].mean()])
        assert line["enter"] == (after & ~before & own).sum()
        assert line["leave"] == (before & ~after & own).sum()
        assert line["enter_favourable"] == pytest.approx(y[after & ~before & own].mean())
        value, lower, upper = line["selection_change"]
        assert lower < value < upper
    assert found.swapped["enter"] == sum(line["enter"] for line in found.moved["group"])


def test_p_values_hold_for_every_number_of_splits_at_once() -> None:
    random = np.random.default_rng(0)
    z = np.sqrt(0.7) * random.normal(size=(4000, 1)) + np.sqrt(0.3) * random.normal(size=(4000, 12))
    p = 1 - 0.5 * (1 + erf(z / np.sqrt(2)))
    best = np.min([[combined(each[:m]) for m in range(1, 13)] for each in p], axis=1)
    assert np.mean(best <= 0.05) <= 0.05


def test_halves_are_apart_and_share_every_atom() -> None:
    atoms = np.repeat([0, 1, 2], [100, 41, 7])
    search, judge = halves(atoms, 0, 3)
    assert not set(search) & set(judge)
    assert len(search) + len(judge) == len(atoms)
    for atom in range(3):
        assert abs((atoms[search] == atom).sum() - (atoms[judge] == atom).sum()) <= 1


def test_an_alternative_that_exists_is_found_and_kept() -> None:
    given = lender(6000, 0)
    found = searched(given, n_splits=5)
    assert found.p_value < 0.01
    assert found.qualified
    line = found.table[1]
    assert line["tpr_gap"] < found.table[0]["tpr_gap"]
    assert line["auc"] > found.table[0]["auc"] - 0.005
    model = found.select(1)
    approved = model.predict(given["X"]) == 1
    assert abs(approved.mean() - 0.5) < 0.03
    assert found.to_frame().shape[0] == len(found.table)
    assert "does not show" not in found.sentence
    assert "Alternatives" in found._repr_html_()


@pytest.mark.slow
def test_no_alternative_is_claimed_where_none_exists() -> None:
    p = [searched(lender(1500, seed, weight=0.0), keep={"auc": 0.0}).p_value for seed in range(20)]
    assert sum(each <= 0.05 for each in p) == 0
    found = searched(lender(1500, 0, weight=0.0), keep={"auc": 0.0})
    assert not found.qualified
    assert "does not show that there is none" in found.sentence


def test_a_split_claims_what_is_not_so_as_often_as_its_level() -> None:
    """Incumbent and candidate are the best score with noise each, so that neither has the smaller gap.

    Their AUC is kept for sure, so that nothing but the gap decides: of 300 splits, not more than 5 % and two standard
    errors have a p-value of at most .05, and not so few that the test could hardly claim anything.
    """
    claims = 0
    for seed in range(300):
        given, random = lender(1000, seed, shift=1.0, weight=0.0), np.random.default_rng([1, seed])
        mine, other = given["incumbent"] + random.normal(size=(2, 1000))
        codes = (given["sensitive_features"]["group"] == "b").astype(np.intp)
        rows = Sample(given["y"] == 1, np.ones(1000), (Attribute("group", ("a", "b"), codes),))
        said = [Answers(each >= np.median(each), each) for each in (mine, other)]
        wanted = Requirements({"auc": 1.0}, (Contrast("tpr_gap", "tpr"),))
        search, judge = halves(2 * codes + given["y"], seed, 0)
        pairs = wanted.worst_pairs(rows.take(search), said[0].take(search))
        found = wanted.claims(rows.take(judge), said[0].take(judge), [said[1].take(judge)], pairs)[0]
        claims += bool(ndtr(-weakest(found)) <= 0.05)
    assert 0.02 <= claims / 300 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 300)


@pytest.mark.slow
def test_the_best_linear_alternative_of_a_lender_is_found() -> None:
    """Known by SLSQP on a million people: the least loss at the loss gap of models that were found.

    They are the most promising one and that of the smallest gap; the incumbent, for comparison, is far from the best.
    """
    population, given = lender(1_000_000, 99), lender(60_000, 1)
    found = searched(given, n_splits=1)
    X, y = np.column_stack([population["X"], np.ones(1_000_000)]), 2.0 * population["y"] - 1.0
    first, second = ((population["sensitive_features"]["group"] == g) & (y > 0) for g in "ab")

    def parts(w: np.ndarray) -> tuple[float, np.ndarray, float, np.ndarray]:
        z = y * (X @ w)
        loss, slope = np.logaddexp(0.0, -z), -y * expit(-z)
        gap = loss[first].mean() - loss[second].mean()
        slopes = X[first].T @ slope[first] / first.sum() - X[second].T @ slope[second] / second.sum()
        return float(loss.mean()), X.T @ slope / len(y), float(gap), slopes

    def best(gap: float) -> np.ndarray:
        sign = np.sign(gap)
        within = {"fun": lambda v: sign * (gap - parts(v)[2]), "jac": lambda v: -sign * parts(v)[3]}
        known: dict[str, Any] = {"jac": True, "method": "SLSQP", "constraints": {"type": "ineq", **within}}
        done = minimize(lambda v: parts(v)[:2], np.zeros(5), **known)
        assert done.success
        return np.asarray(done.x)

    def area(w: np.ndarray) -> float:
        return float(roc_auc_score(y, X @ w))

    models = [each.build().estimator for each in found.outcome.candidates]
    weights = [np.append(model.coef_[0], model.intercept_[0]) for model in models]
    gaps = [abs(parts(w)[2]) for w in weights]
    for w in (weights[0], weights[int(np.argmin(gaps))]):
        loss, _, gap, _ = parts(w)
        other = best(gap)
        assert abs(loss - parts(other)[0]) < 1e-3
        assert abs(area(w) - area(other)) < 1e-3
    incumbent = parts(np.array([*BETA, 0.6, 0.0]))
    assert max(gaps) < 0.5 * abs(incumbent[2])
    assert incumbent[0] - parts(best(incumbent[2]))[0] > 1e-2


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"incumbent": np.zeros(600, dtype=int), "approval_rate": None}, "approves nobody"),
        ({"incumbent": np.full(600, 0.7)}, r"has one score for every row \(0.7\), expected scores that differ"),
        ({"incumbent": np.ones(600)}, r"has one score for every row \(1\), expected scores that differ"),
        ({"incumbent": np.full(600, np.nan)}, "NaN"),
        ({"incumbent": np.zeros(10)}, "shape"),
        ({"incumbent": "p"}, "expected scores, decisions"),
        ({"incumbent": LogisticRegression}, "not a class"),
        ({"incumbent": LogisticRegression()}, "cannot score X"),
        ({"incumbent": DummyClassifier().fit(np.zeros((9, 1)), [0, 1, 1] * 3)}, "has one score for every row"),
        ({"keep": {"auc": -1.0}}, "at least 0"),
        ({"keep": {"speed": 0.1}}, "expected one of error"),
        ({"keep": {"cost": 0.1}}, "expected costs too"),
        ({"improve": "lift"}, "expected one of selection_gap"),
        ({"families": "forest"}, "unknown family"),
        ({"sensitive_features": np.repeat(["a", "b"], [597, 3])}, "merge groups"),
        ({"labelled_only_if": np.arange(600) < 300}, "needs the labels of everybody"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said) as found:
        searched({**lender(600, 0), **changed})
    assert str(found.value).count(". ") == 0


def test_an_incumbent_that_errs_nowhere_has_no_gap_to_improve() -> None:
    given = lender(600, 0)
    with pytest.raises(InputError, match="none can be better"):
        searched({**given, "incumbent": given["y"], "approval_rate": None})


def test_a_tolerance_that_nobody_meets_gives_no_model() -> None:
    given = lender(2000, 0, weight=0.0)
    given["X"] = np.random.default_rng(0).normal(size=given["X"].shape)  # columns that tell nothing
    found = searched(given, keep={"auc": 0.0}, n_splits=2)
    assert found.p_value == 1.0
    assert not found.qualified
    assert found.changes["auc"]["value"] < 0


def test_every_way_of_giving_an_incumbent_says_the_same_of_it() -> None:
    given = lender(2000, 0)
    model = LogisticRegression().fit(given["X"], given["y"])
    scores = model.predict_proba(given["X"])[:, 1]
    ways = {"model": model, "scores": scores, "decisions": model.predict(given["X"])}
    rows = {name: given[name] for name in ("X", "y", "sensitive_features")}
    found = {
        name: searched(rows, incumbent=each, keep={"error": 0.01}, n_splits=1).table[0] for name, each in ways.items()
    }
    assert found["model"] == found["scores"]
    assert found["decisions"]["error"] == found["scores"]["error"]
    assert found["decisions"]["auc"] is None
    with pytest.warns(FairfrontWarning, match="stands in"):
        plain = searched(rows, n_splits=1)
    assert "stands in" in plain.record["incumbent"]["sentence"]


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_is_judged_alike(name: str) -> None:
    given = lender(1200, 0)
    handed = {"mine": given["X"][:, :3] @ BETA} if name == "candidates" else None
    found = searched(given, families=name, candidates=handed, n_splits=1, max_fits=8, nobody_worse=0.5)
    assert {line["family"] for line in found.table[1:]} == {name}
    assert set(found.changes) >= {"auc", "tpr_gap"}
    assert found.select(1) is not None


def test_labels_of_some_leave_out_what_needs_them_all() -> None:
    given = lender(3000, 0)
    known = given["incumbent"] > np.median(given["incumbent"])
    y = np.where(known, given["y"].astype(float), np.nan)
    rules = {"keep": {"auc": 0.02}, "improve": ["selection_gap", "selection_ratio"]}
    found = searched({**given, "y": y}, labelled_only_if=known, favourable=1, n_splits=2, **rules)
    assert not {"error", "tpr_gap"} & set(found.table[0])
    assert "selection_gap" in found.table[0]
    assert found.record["labelled"]
    assert "enter_favourable" not in found.swapped
    assert "tpr" not in found.moved["group"][0]


def test_budgets_stop_the_search_and_are_told() -> None:
    found = searched(lender(1000, 0), n_splits=10, max_fits=20)
    assert len(found.split_p_values) < 10
    assert "budget of 20 fits" in found.record["stopped"]


def test_the_summary_is_inert_and_the_record_whole(tmp_path: Path) -> None:
    given = lender(1500, 0)
    hostile = "<script>alert(1)</script>|[x](javascript:0)\u202e https://a.example www.b.example"
    names = np.where(given["sensitive_features"]["group"] == "a", hostile, "b")
    found = searched({**given, "sensitive_features": {"g<b>": names}}, n_splits=2)
    place = found.save(tmp_path / "search")
    summary = (place / "summary.md").read_text()
    for live in ("<script", "\u202e", "[x](javascript", "https://a", "www.b"):
        assert live not in summary
    record = json.loads((place / "alternatives.json").read_text())
    assert record["groups"]["g<b>"] == ["b", hostile]
    assert record["split_p_values"] == list(found.split_p_values)
    assert record["table"] == list(found.table)
    with pytest.raises(InputError):
        found.save(tmp_path / "search")
    assert found.save(tmp_path / "search", overwrite=True) == place


@pytest.mark.parametrize("improve", ["precision_gap", "tpr_ratio"])
def test_gaps_that_evaluations_do_not_have_are_counted(improve: str) -> None:
    given = lender(2000, 0)
    found = searched(given, n_splits=1, improve=improve)
    judge = found.outcome.judge
    yes, good = found.outcome.incumbent.approved[judge], given["y"][judge] == 1
    one = given["sensitive_features"]["group"][judge] == "a"
    if improve == "precision_gap":
        expected = abs(good[yes & one].mean() - good[yes & ~one].mean())
    else:
        rates = [yes[good & side].mean() for side in (one, ~one)]
        expected = min(rates) / max(rates)
    assert found.table[0][improve] == pytest.approx(expected)


def test_claims_fail_where_a_group_may_be_worse_off() -> None:
    rows, one, two = sample()
    strict = Requirements.of({"error": 0.1}, "tpr_gap", 0.0, rows.attributes, scored=True, costs=True)
    claims = strict.claims(rows, one, [two], strict.worst_pairs(rows, one))[0]
    assert {"selection of every group", "tpr of every group"} <= set(claims)
    assert min(each.z for each in claims["tpr of every group"]) < 0


@pytest.mark.parametrize("good", [0, 1])
def test_scores_speak_for_the_favourable_label_whichever_it_is(good: int) -> None:
    given = lender(1500, 0)
    y = given["y"] if good else 1 - given["y"]
    found = searched({**given, "y": y}, favourable=good, n_splits=1)
    assert found.table[0] == searched(given, n_splits=1).table[0]
    for name, place in {"incumbent": "incumbent", "candidate 'mine'": "candidates"}.items():
        turned = -given["incumbent"] if place == "incumbent" else {"mine": -given["incumbent"]}
        with pytest.raises(InputError, match=f"{name} has lower scores where the label is favourable"):
            searched({**given, "y": y, place: turned}, favourable=good)


def test_rows_of_one_person_stay_together_and_are_one_draw() -> None:
    given = lender(1200, 0)
    twice = {name: np.repeat(given[name], 2, axis=0) for name in ("X", "y", "incumbent")}
    twice["sensitive_features"] = {"group": np.repeat(given["sensitive_features"]["group"], 2)}
    person = np.repeat(np.arange(1200), 2)
    search, judge = halves(twice["y"], 0, 0, person)
    assert not set(person[search]) & set(person[judge])

    def p(some: dict[str, Any], **more: Any) -> float:
        mine = {"mine": some["X"][:, :3] @ BETA}
        asked: dict[str, Any] = {"approval_rate": 0.5, "n_splits": 1, "families": "candidates", "candidates": mine}
        return searched({**some, **asked}, **more).split_p_values[0]

    assert p(twice, person=person) == pytest.approx(p(given), rel=0.05)
    assert p(twice) < 0.5 * p(given)  # as if they were twice as many people
    with pytest.raises(InputError, match="fewer than 100 people"):
        p(twice, person=person // 100)


def test_the_worst_gap_of_all_attributes_is_the_worst_of_theirs() -> None:
    given = lender(1500, 0)
    sex = np.tile(["m", "f", "f"], 500)
    some: dict[str, Any] = {"sensitive_features": {**given["sensitive_features"], "sex": sex}, "n_splits": 1}
    for line in searched({**given, **some}).table:
        assert line["tpr_gap"] == max(line["group.tpr_gap"], line["sex.tpr_gap"])
    names = ["precision_gap", "tpr_ratio", "group.precision_gap", "sex.precision_gap"]
    for line in searched({**given, **some}, improve=names).table:
        assert line["precision_gap"] == max(line["group.precision_gap"], line["sex.precision_gap"])
