"""Small cells: which rows make a group large enough, which pair makes a worst gap, and what so many rows can show."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import fairfront as ff
from fairfront.cli import app
from fairfront.exceptions import GroupWarning
from fairfront.measures.intervals import worst_gap_floor, worst_gap_upper
from fairfront.objectives import GroupProbabilities, Groups
from tests.support.rates import class_rates, group_rates
from tests.support.trial import census, matrix, students, write_csv


def with_few_positives(few: int = 12) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, labels and three groups, of which c has 200 rows and few with the favourable label."""
    rng = np.random.default_rng(0)
    group = np.repeat(["a", "b", "c"], [600, 400, 200])
    X = rng.normal(size=(1200, 3)) + 0.3 * (group == "b")[:, None]
    y = (X[:, 0] + rng.logistic(size=1200) > 0).astype(int)
    y[group == "c"] = np.arange(200) < few
    return X, y, group


@pytest.mark.parametrize(
    ("notion", "levels"),
    [
        ("equal_opportunity", ("b", "a")),
        ("equalized_odds", ("b", "a")),
        ("predictive_equality", ("b", "c", "a")),
        ("demographic_parity", ("b", "c", "a")),
    ],
)
def test_min_size_counts_the_rows_that_the_notion_compares(notion: str, levels: tuple[str, ...]) -> None:
    X, y, group = with_few_positives()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        front = ff.trace(X, y, sensitive_features={"race": group}, notion=notion, n_points=3, progress=False)
    assert front.facts.sensitive == (("race", levels),)
    told = [str(each.message) for each in said if issubclass(each.category, GroupWarning)]
    if "c" in levels:
        assert not told
    else:
        assert "fewer than 30 rows are excluded from the gaps: c (12 rows with label 1)" in told[0]


def test_what_is_only_judged_leaves_out_nobody_with_enough_rows() -> None:
    _, y, group = with_few_positives()
    front = ff.Frontier.from_scores({"one": y * 0.9}, y, sensitive_features=group, notion="equal_opportunity")
    assert front.facts.left_out == ()
    assert ff.audit(y, y * 0.9, sensitive_features=group).worst["group"]["tpr_gap"].not_compared == ()


def test_too_few_everywhere_says_which_rows_are_meant() -> None:
    X, y, group = with_few_positives()
    some = group != "b"
    with pytest.raises(ff.InputError, match=r"has 1 group of at least 30 rows with label 1, .*c 12"):
        ff.trace(X[some], y[some], sensitive_features=group[some], n_points=3, progress=False)


def test_rows_of_probabilities_and_of_counted_combinations() -> None:
    column, inside = np.repeat(["a", "b", "c"], [40, 40, 30]), np.arange(110) % 2 == 0
    shares = np.stack([column == level for level in "abc"], axis=1).astype(float)
    for groups in (column, GroupProbabilities(shares, levels=list("abc"))):
        with pytest.warns(GroupWarning, match=r"c \(15 rows with label 1\)"):
            (found,) = Groups(min_size=16).resolve(groups, 110, None, [("label 1", inside)])
        assert found.left_out == (("c", 15),)
    (counted,) = Groups(min_size=16).resolve(column, 110, np.full(110, 2.0), [("label 1", inside)])
    assert not counted.left_out


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 5), st.booleans(), st.floats(0.5, 0.99))
def test_no_upper_end_is_below_the_floor(seed: int, c: int, weighted: bool, confidence: float) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2 * c, 200))
    codes = np.concatenate([np.arange(c), rng.integers(0, c, n - c)])
    label, decided = rng.random(n) < rng.random(), rng.random((6, n)) < rng.random((6, 1))
    weight = rng.gamma(0.5, 2.0, n) + 0.01 if weighted else None
    levels = [str(k) for k in range(c)]
    for name in ("tpr", "fpr", "selection", "error"):
        rates = group_rates(decided, label, codes, levels, weight)
        floor, upper = (f(rates, name, confidence) for f in (worst_gap_floor, worst_gap_upper))
        np.testing.assert_array_equal(np.isnan(floor), np.isnan(upper))
        assert not (floor > upper * (1 + 1e-12)).any()
    several = class_rates(rng.integers(0, 3, (6, n)), rng.integers(0, 3, n), 3, 1, codes, levels, weight)
    assert not (worst_gap_floor(several, "recall") > worst_gap_upper(several, "recall") * (1 + 1e-12)).any()


def test_a_gap_of_zero_reaches_about_as_far_as_the_floor() -> None:
    decided = np.tile(np.arange(10) < 6, 40)
    rates = group_rates(decided, np.ones(400, dtype=bool), np.repeat([0, 1], [160, 240]), ["a", "b"])
    assert worst_gap_upper(rates, "tpr")[0] == pytest.approx(worst_gap_floor(rates, "tpr")[0], rel=0.02)


def judged(weights: bool = False) -> ff.Frontier:
    """Return frontiers of eight skewed races judged on rows that they were not traced on."""
    rows = students(9_000, seed=2)
    X, y, race = matrix(rows, "lsat", "ugpa", "family_income"), rows["outcome"], {"race": rows["race"]}
    half = np.arange(9_000) < 4_500
    weight = np.random.default_rng(0).gamma(2.0, 800.0, 9_000) if weights else np.ones(9_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GroupWarning)
        front = ff.trace(
            X[half], y[half], sensitive_features={"race": race["race"][half]}, favourable="passed", n_points=5
        )
        return front.evaluate(
            X[~half], y[~half], sensitive_features={"race": race["race"][~half]}, sample_weight=weight[~half],
            approval_rate=0.8,
        )  # fmt: skip


@pytest.mark.parametrize("weights", [False, True])
def test_what_is_nearest_is_never_below_what_can_be_demonstrated(weights: bool) -> None:
    front = judged(weights)
    with pytest.raises(ff.InputError, match="no gap below about") as refused:
        front.choose(at_most={"tpr_gap": 0.0001})
    said = str(refused.value)
    nearest, floor = (
        float(re.findall(r"bound of tpr_gap = ([\d.]+)", said)[0]),
        float(re.findall(r"about ([\d.]+)", said)[0]),
    )
    assert 0.01 < floor <= nearest
    few, more = map(int, re.findall(r"with (\d+) and (\d+) people labelled 'passed' in the smallest groups", said)[0])
    assert few <= more < 200  # rows, not sums of weights


def test_the_pair_of_a_worst_gap_and_the_people_it_rests_on() -> None:
    front = judged()
    record = front.evaluations["validation"]
    rates = record.groups["race"]
    for id in front.ids:
        pair, values = front.worst_pair("tpr_gap", id), rates.tpr[front.place(id)]
        assert pair is not None
        low, high = (rates.levels.index(group) for group in pair.groups)
        assert (values[low], values[high]) == (np.nanmin(values), np.nanmax(values))
        assert pair.people == (rates.positives[low], rates.positives[high])
        assert pair.label == " labelled 'passed'"
        assert front.worst_pair("selection_ratio", id).people == tuple(
            rates.n[rates.levels.index(group)] for group in front.worst_pair("selection_ratio", id).groups
        )


@pytest.mark.filterwarnings("ignore::fairfront.exceptions.GroupWarning", "ignore:The default ridge")
def test_trace_and_select_name_the_pair(tmp_path: Path) -> None:
    path = write_csv(census(6_000, seed=3), tmp_path / "rows.csv")
    words = ["trace", str(path), "--target", "income", "--favourable", "50000+.", "--groups", "race,sex"]
    words += ["--min-size", "10", "--weight", "instance_weight", "--points", "3"]
    done = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "run")], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    found = re.findall(
        r"TPR gap of id [\d, ]+: between (.+) \((\d+) people labelled '50000\+\.'\) and",
        done.output,
    )
    assert found
    assert all(int(people) < 1_200 for _, people in found)
    assert re.search(r"Gaps of race compare \d of 5 groups; excluded, too few rows: ", done.output)
    chosen = CliRunner().invoke(app, ["select", str(tmp_path / "run"), "--knee", "-o", str(tmp_path / "model")])
    assert "people labelled '50000+.')" in chosen.output


def audited(**options: object) -> ff.Audit:
    rows = students(4_000, seed=5)
    score = (rows["lsat"] - rows["lsat"].min()) / np.ptp(rows["lsat"])
    known = {"sensitive_features": {"race": rows["race"]}, "favourable": "passed", "approval_rate": 0.8}
    return ff.audit(rows["outcome"], score, favourable_side="above", n_resamples=20, **{**known, **options})


@pytest.mark.parametrize("weighted", [False, True])
def test_an_audit_says_whom_a_worst_figure_is_between_and_over_whom_it_is(weighted: bool) -> None:
    found = audited(sample_weight=np.random.default_rng(1).gamma(2.0, 800.0, 4_000) if weighted else None)
    worst, columns = found.worst["race"], found.tables["race"]
    small = [str(g) for g, kind in zip(columns["group"], columns["status"], strict=True) if kind == "too few"]
    assert small
    groups = list(columns["group"])
    for figure, counted in (("tpr_gap", "positives"), ("fpr_gap", "negatives"), ("selection_ratio", "n")):
        each = worst[figure]
        assert each.people == tuple(columns[counted][groups.index(name)] for name in each.between)
        assert each.not_compared == tuple(small)
        assert each.groups == 8
    for each in worst.values():
        assert not each.floor > each.upper
    said = next(s for s in found.sentences if "TPR gap" in s)
    (one, other), (few, many) = worst["tpr_gap"].between, worst["tpr_gap"].people
    assert f"between {one} ({few:.0f} people) and {other} ({many:.0f}), 95% upper bound" in said
    assert said.endswith(f"; over {8 - len(small)} of 8 groups; not compared: {', '.join(small)}.")
    assert f"; {one} has the lower rate; over" in said
    for figure, rate in (("tpr_gap", "tpr"), ("fpr_gap", "fpr"), ("error_gap", "error")):
        low, high = (columns[rate][groups.index(name)] for name in worst[figure].between)
        assert high - low == pytest.approx(worst[figure].value)
    record = next(each for each in found.to_dict()["worst"]["race"] if each["figure"] == "tpr_gap")
    assert (record["people"], record["not_compared"]) == ([few, many], small)


def test_a_worst_figure_over_all_groups_leaves_that_out() -> None:
    found = audited(groups=Groups(min_size=1))
    assert found.worst["race"]["selection_gap"].not_compared == ()
    assert not any("demographic parity" in said and "not compared" in said for said in found.sentences)
