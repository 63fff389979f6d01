"""Evaluations as they are published: computed from rounded counts, over all groups, with the totals of every table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairfront as ff
from fairfront.explorer import describe_points
from fairfront.measures import Evaluation, evaluate_scores
from fairfront.measures.disclosure import LIMIT, POOLED, pool_of
from fairfront.measures.moves import moves_by_rate, published_sides
from fairfront.measures.paired import PairedRows
from fairfront.measures.published import published
from fairfront.objectives import Attribute, Groups
from tests.support.adversary import small as small_counts
from tests.support.cases import TASKS, draw
from tests.support.trial import matrix, strays, students


def judged(kind: str, columns: dict, n: int = 260, weight: np.ndarray | None = None, seed: int = 0) -> Evaluation:
    """Judge three models that are rarely wrong, so that many counts are small."""
    _, y, _ = draw(kind, n, seed=seed)
    rng = np.random.default_rng(seed)
    if kind == "binary":
        scores = (2.0 * y - 1.0 + rng.normal(size=(3, n)) * 0.7)[:, None]
    elif kind == "multiclass":
        scores = np.eye(3)[y].T[None] + rng.normal(size=(3, 3, n)) * 0.4
    else:
        scores = (y + rng.normal(size=(3, n)))[:, None]
    attributes = Groups(min_size=1).resolve(columns, n)
    return evaluate_scores(scores, y, TASKS[kind], attributes, name="validation", sample_weight=weight)


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_figure_follows_from_published_counts(kind: str, weighted: bool) -> None:
    _, _, columns = draw(kind)
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.5, 2.0, 260) if weighted else None
    record = judged(kind, columns, weight=weight)
    shown = published(record, TASKS[kind])
    assert shown.small == LIMIT
    assert shown.sums is None
    assert list(shown.columns) == list(record.columns)
    for name, rates in shown.groups.items():
        assert rates.levels == record.groups[name].levels  # nobody disappears
        if kind == "regression":
            np.testing.assert_array_equal(rates.rate("mse"), record.groups[name].rate("mse"))
            continue
        labelled = rates.labelled
        assert ((labelled >= LIMIT) | (labelled % 5 == 0)).all()
        np.testing.assert_allclose(labelled.sum(axis=1), rates.n)
        if not weighted and kind == "binary":
            hits = rates.tpr * labelled[:, 0]
            np.testing.assert_allclose(hits, np.rint(hits), atol=1e-9)
            misses = np.rint(labelled[:, 0] - hits)
            assert (((hits > LIMIT - 0.5) | (np.rint(hits) % 5 == 0)) & ((misses >= LIMIT) | (misses % 5 == 0))).all()
            wrong = labelled[:, 0] - hits + rates.fpr * labelled[:, 1]
            np.testing.assert_allclose(rates.error, wrong / rates.n)


def test_where_no_count_is_small_figures_stay_to_the_last_bit() -> None:
    _, _, columns = draw("binary", 20_000)
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3, 1, 20_000))
    y = (rng.random(20_000) < 0.5).astype(int)
    attributes = Groups(min_size=1).resolve({"sex": columns["sex"], "race": columns["race"]}, len(y))
    record = evaluate_scores(scores, y, TASKS["binary"], attributes, name="validation")
    shown = published(record, TASKS["binary"])
    for name, values in record.columns.items():
        np.testing.assert_allclose(shown.columns[name], values, rtol=0, atol=1e-15)


def test_published_once_is_published() -> None:
    record = published(judged("binary", draw()[2]), TASKS["binary"])
    assert published(record, TASKS["binary"]) is record


def test_small_groups_are_pooled_and_the_reference_stays_last() -> None:
    pool = pool_of(("a", "b", "c", "d"), np.array([40.0, 4.0, 7.0, 50.0]))
    assert pool.levels == ("a", POOLED, "d")
    assert pool.members == ((0,), (1, 2), (3,))
    small_reference = pool_of(("a", "b", "c"), np.array([40.0, 60.0, 5.0]))
    assert small_reference.levels == ("a", POOLED, "b")
    assert pool_of(("a", "b"), np.array([40.0, 0.0])).members == ((0,), (1,))


def eight_races() -> ff.Frontier:
    rows = students(8_000)
    X, train = matrix(rows, "lsat", "ugpa", "family_income"), slice(0, 4_000)
    groups = ff.Groups(min_size=10)
    kept = {"sensitive_features": rows["race"][train], "favourable": "passed", "groups": groups, "n_points": 6}
    with pytest.warns(ff.GroupWarning, match="Puertorican"):  # at least ten people passed in every other race
        front = ff.trace(X[train], rows["outcome"][train], **kept)
    later = slice(4_000, None)
    return front.evaluate(X[later], rows["outcome"][later], sensitive_features=rows["race"][later])


def test_no_group_of_a_hundred_leaves_the_page_and_worst_gaps_are_over_all_shown() -> None:
    front = eight_races()
    record = front.evaluations["validation"]
    shown = published(record, front.facts.task)
    rates, exact = shown.groups["group"], record.groups["group"]
    large = [race for race, n in zip(exact.levels, exact.n, strict=True) if n >= 100]
    assert len(large) >= 3
    assert set(large) <= set(rates.levels)
    assert np.isfinite(rates.tpr[:, [rates.levels.index(race) for race in large]]).all()
    spread = np.nanmax(rates.tpr, axis=1) - np.nanmin(rates.tpr, axis=1)
    np.testing.assert_allclose(shown["tpr_gap"], spread)
    for race in large:  # of rounding, not of leaving out
        assert np.abs(rates.tpr[:, rates.levels.index(race)] - exact.tpr[:, exact.levels.index(race)]).max() < 0.03


def test_three_strays_do_not_undefine_the_gaps() -> None:
    rows = strays()
    X = matrix(rows, "lsat", "ugpa")
    with pytest.warns(ff.GroupWarning, match="Tiny"):
        front = ff.trace(X, rows["outcome"], sensitive_features=rows["race"], favourable="passed", n_points=4)
    front = front.evaluate(X, rows["outcome"], sensitive_features=rows["race"])
    shown = published(front.evaluations["validation"], front.facts.task)
    assert np.isfinite(shown["tpr_gap"]).all()
    n = shown.groups["group"].n
    assert n.sum() in (3_995, 4_000, 3_990)  # the three of no group are 0, 5 or 10


def test_the_label_of_a_few_people_is_not_given_by_totals() -> None:
    """Eight or nine people with a label in all are ten in the error and the approval rate, and have no AUC."""
    shown = []
    for few in (8, 9):
        y = np.concatenate([np.ones(few), np.zeros(500 - few)]).astype(int)
        scores = np.where(np.arange(500) < few + 40, 1.0, -1.0)[None, None]
        sex = np.tile(["f", "m"], 250)
        attributes = Groups(min_size=1).resolve({"sex": sex}, 500)
        record = evaluate_scores(scores, y, TASKS["binary"], attributes, name="validation")
        shown.append(published(record, TASKS["binary"]).columns)
        assert np.isnan(shown[-1]["auc"]).all()
    assert shown[0]["approval_rate"][0] == shown[1]["approval_rate"][0] == pytest.approx(0.1)
    assert shown[0]["error"][0] == shown[1]["error"][0]


def test_moves_and_rates_together_give_no_small_count_back() -> None:
    """Thirteen gain and two lose in a group whose approvals are known to rise by eleven."""
    gained, lost = published_sides(np.array([[13.0]]), np.array([[2.0]]), np.array([[11.0]]))
    assert (gained - lost).tolist() == [[11.0]]
    assert lost.tolist() == [[0.0]]
    same = [published_sides(np.array([[11.0 + k]]), np.array([[float(k)]]), np.array([[11.0]])) for k in range(3)]
    assert all(np.array_equal(sides, same[0]) for sides in same)


@given(st.integers(0, 400), st.integers(0, 400), st.integers(-3, 3))
def test_sides_are_rounded_and_not_negative(gained: int, lost: int, off: int) -> None:
    up, down = published_sides(*(np.array([[float(v)]]) for v in (gained, lost, gained - lost + off)))
    for side in (up.item(), down.item()):
        assert side >= 0
        assert side >= LIMIT or side % 5 == 0


def test_moves_of_labels_add_up_to_those_of_all_people() -> None:
    rows = students(3_000)
    X = matrix(rows, "lsat", "ugpa")
    front = ff.trace(X, rows["outcome"], sensitive_features=rows["sex"], favourable="passed", n_points=5)
    (attribute,) = describe_points(front, X, rows["outcome"], sensitive_features=rows["sex"]).attributes
    of = {
        rate: {side: np.array(record[side])[:, :-1] for side in ("gained", "lost")}  # all rows are told exactly
        for rate, record in attribute["rates"].items()
    }
    np.testing.assert_array_equal(of["selection"]["gained"], of["tpr"]["gained"] + of["fpr"]["gained"])
    np.testing.assert_array_equal(of["error"]["gained"], of["tpr"]["lost"] + of["fpr"]["gained"])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_an_audit_and_an_evaluation_of_the_same_rows_tell_the_same(classes: int, weighted: bool) -> None:
    """Two roundings of one count would tell more of it than one."""
    rng = np.random.default_rng(classes)
    for n in (90, 150, 240):
        group, y = rng.choice(["a", "b", "c"], n, p=[0.5, 0.4, 0.1]), rng.choice(classes, n)
        scores = rng.dirichlet(np.ones(classes), n) + 0.5 * np.eye(classes)[y]
        scores = scores / scores.sum(axis=1, keepdims=True)
        known = {
            "sensitive_features": group,
            "favourable": 1,
            "groups": ff.Groups(min_size=2),
            "sample_weight": rng.integers(1, 4, n) if weighted else None,
        }
        front = ff.Frontier.from_scores({"mine": scores}, y, **known)
        record = published(front.evaluations["validation"], front.facts.task).groups["group"]
        table = ff.audit(y, scores, n_resamples=1, **known).published().groups["group"]
        lines = [table.lines.names.index(level) for level in record.levels]
        np.testing.assert_array_equal(table.columns["n"][lines], record.n)
        for rate in ("selection", "tpr", "fpr", "error"):
            np.testing.assert_allclose(table.columns[rate][lines], record.rate(rate)[0], rtol=1e-12)
        for k in range(classes if classes > 2 else 0):
            np.testing.assert_allclose(table.columns[f"recall[{k}]"][lines], record.rate("recall")[0, :, k], rtol=1e-12)


def test_exact_moves_lie_within_what_is_told_and_those_of_all_rows_are_exact_where_they_are_many() -> None:
    rng, task, many, right = np.random.default_rng(0), TASKS["binary"], 0, 0
    for _ in range(60):
        n, c = int(rng.integers(60, 900)), int(rng.integers(2, 5))
        codes = rng.choice(c + 1, n, p=rng.dirichlet([*[1.5] * c, 0.3]))
        y = (rng.random(n) < rng.uniform(0.3, 0.8)).astype(np.intp)
        base = rng.normal(size=n) + y
        noise = rng.normal(size=(4, n)) * np.array([[0.0], [0.2], [0.5], [0.05]])
        decided = (base + noise > 0.3 + 0.1 * np.arange(4)[:, None]).astype(np.intp)
        group = Attribute("g", tuple("abcd"[:c]), np.where(codes == c, -1, codes))
        told, true = (
            PairedRows.of(decided, y, task, [group], None, plain=0, confidence=0.95, small=small) for small in (10, 0)
        )
        found = told.by_group(0)
        exact = moves_by_rate(true.decided, true.wrong, 0, true.good, found.member)
        for rate, sides in found.sides.items():
            rows = exact[rate].rows.shown
            assert (sides.rows.low <= rows).all()
            assert (rows <= sides.rows.high).all()
            assert not small_counts(sides.rows.shown).size
        total, known = (each["selection"].rows.shown[:, :, -1] for each in (found.sides, exact))
        big = (known >= 10).all(axis=0)
        many, right = many + int(big.sum()), right + int((total == known).all(axis=0)[big].sum())
    assert right >= 0.98 * many > 50


@pytest.mark.parametrize("certain", [False, True])
@pytest.mark.filterwarnings("ignore::fairfront.exceptions.ProxyWarning")
def test_bounds_under_probabilities_are_published_wider_and_beside_no_small_count(certain: bool, tmp_path: Any) -> None:
    rng = np.random.default_rng(3)
    n = 900
    chance = np.where(np.arange(n) < 60, 1.0, 0.0) if certain else rng.choice([0.2, 0.5, 0.8], n)
    X = rng.normal(size=(n, 2))
    y = (X[:, 0] + rng.normal(size=n) > (-1.6 if certain else 0.0)).astype(int)
    soft = ff.GroupProbabilities({"a": chance, "b": 1.0 - chance}, name="origin")
    front = ff.trace(X, y, sensitive_features=soft, n_points=3, progress=False).evaluate(X, y, sensitive_features=soft)
    front.save(tmp_path / "front")
    saved, exact = (each.evaluations["validation"] for each in (ff.load(tmp_path / "front"), front))
    for name in ("selection_gap", "tpr_gap", "fpr_gap", "error_gap"):
        least, most = saved[f"{name}_least"], saved[f"{name}_most"]
        np.testing.assert_array_equal(saved.figure(f"{name}_most", 0.95), most)
        if certain:  # nearly exact rates of a group that has a count below ten
            assert np.isnan([least, most]).all()
            continue
        np.testing.assert_allclose(100.0 * np.array([least, most]), np.rint(100.0 * np.array([least, most])))
        assert ((least <= exact[f"{name}_least"]) & (exact[f"{name}_most"] <= most)).all()
        assert (most - exact[f"{name}_most"] < 0.01).all()
    told = ff.audit(y, front.select(id=0).predict(X), sensitive_features=soft).to_dict()
    assert ("proxy_bounds" in told) is not certain
