"""Rounding: every exact count, figure and end of an interval lies inside the range that published counts allow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairfront as ff
from fairfront.measures import Evaluation, evaluate_scores
from fairfront.measures.disclosure import POOLED, publish_table
from fairfront.measures.intervals import share_interval, worst_gap_lower
from fairfront.measures.promises import expected, together
from fairfront.measures.published import published
from fairfront.measures.ranges import table_range
from fairfront.objectives import Groups, Task
from tests.support.cases import TASKS

SIZES = (4, 15, 40, 120, 600)


def drawn_table(seed: int, K: int) -> np.ndarray:
    """Draw counts of some models by group, label and decision, (N, c, K, K), many of them small."""
    rng = np.random.default_rng(seed)
    N, c = rng.integers(1, 4), rng.integers(1, 6)
    labels = np.floor(rng.gamma(0.6, rng.choice(SIZES), (c, K))).astype(int)
    cells = np.zeros((N, c, K, K))
    for i, g, k in np.ndindex(N, c, K):
        right = np.where(np.arange(K) == k, rng.choice([0.3, 2.0, 20.0]), 0.3)
        cells[i, g, k] = rng.multinomial(labels[g, k], rng.dirichlet(right))
    return cells


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([2, 3]))
def test_exact_counts_lie_inside_the_ranges_of_published_ones(seed: int, K: int) -> None:
    cells = drawn_table(seed, K)
    if cells[0].sum() == 0:
        return
    found = table_range(publish_table(cells, seed % K), seed % K)
    exact = np.concatenate([cells, cells.sum(axis=1, keepdims=True)], axis=1)
    counted = ((found.cells, exact), (found.labels, exact[0].sum(axis=2)), (found.sizes, exact[0].sum(axis=(1, 2))))
    for span, counts in counted:
        assert (span.low <= counts + 1e-9).all()
        assert (counts <= span.high + 1e-9).all()


def drawn_rows(seed: int, kind: str) -> tuple[Task, Evaluation]:
    """Judge three models on a few hundred rows of unequal groups, with some of no group and some tiny groups."""
    rng = np.random.default_rng(seed)
    n, K = int(rng.choice([60, 200, 500, 2_000])), 3 if kind == "multiclass" else 2
    group = rng.choice(["a", "b", "c", "d"], n, p=rng.dirichlet([6.0, 3.0, 1.0, 0.5])).astype(object)
    if rng.random() < 0.3:
        group[rng.random(n) < 0.03] = None
    y = rng.choice(K, n, p=rng.dirichlet(np.full(K, 2.0)))
    skill = rng.choice([0.5, 1.5, 4.0])
    if kind == "regression":
        y, scores = rng.normal(size=n), None
        scores = (y + rng.normal(size=(3, n)))[:, None]
    elif K == 2:
        scores = (skill * (2.0 * y - 1.0) + rng.normal(size=(3, n)))[:, None]
    else:
        scores = skill * np.eye(3)[y].T[None] + rng.normal(size=(3, 3, n))
    attributes = Groups(min_size=1).resolve({"group": group, "half": np.tile(["x", "y"], n)[:n]}, n)
    return TASKS[kind], evaluate_scores(scores, y, TASKS[kind], attributes, name="validation")


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(["binary", "multiclass", "regression"]), st.sampled_from([0.8, 0.95]))
def test_exact_figures_and_ends_lie_inside(seed: int, kind: str, confidence: float) -> None:
    task, exact = drawn_rows(seed, kind)
    shown = published(exact, task)
    pooled = any(POOLED in rates.levels for rates in shown.groups.values())
    for name, values in exact.columns.items():
        span, known = shown.range(name), ~np.isnan(values)
        if kind == "regression" and pooled:
            continue
        if name != "auc":
            assert (span.low[known] <= values[known] + 1e-9).all(), name
            assert (values[known] <= span.high[known] + 1e-9).all(), name
        sure, told = exact.figure(name, confidence), shown.figure(name, confidence)
        if name.endswith("_ratio"):
            assert (told[known] <= sure[known] + 1e-9).all(), name
        elif name not in ("auc", "approval_rate"):
            assert (told[known] >= sure[known] - 1e-9).all(), name


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(["binary", "multiclass"]))
def test_exact_rates_of_groups_and_of_all_rows_lie_inside(seed: int, kind: str) -> None:
    task, exact = drawn_rows(seed, kind)
    shown = published(exact, task)
    for name, rates in shown.groups.items():
        own = [j for j, level in enumerate(rates.levels) if level != POOLED]
        places = np.array([exact.groups[name].levels.index(rates.levels[j]) for j in own], dtype=np.intp)
        for rate in ("selection", "tpr", "fpr", "error"):
            span, sure = shown.span(name, rate).at(np.array(own, dtype=np.intp)), exact.span(name, rate).at(places)
            there = ~np.isnan(sure.low)
            shown_ends, exact_ends = (((each.low, each.high), share_interval(each)) for each in (span, sure))
            for (low, high), (least, most) in zip(shown_ends, exact_ends, strict=True):
                assert (low[there] <= least[there] + 1e-9).all(), rate
                assert (high[there] >= most[there] - 1e-9).all(), rate
        for rate in ("tpr_gap", "selection_gap"):
            lower = (record.figure(f"{name}.{rate}", 0.95, worst_gap_lower) for record in (shown, exact))
            told, sure_end = (np.nan_to_num(end) for end in lower)
            assert (told <= sure_end + 1e-9).all()
    cells, good = exact.sums.everyone.rows[:, 0], task.favourable
    labels, chosen = cells[0].sum(axis=1), cells[:, :, good]
    for rate, part, whole in (
        ("tpr", chosen[:, good], labels[good]),
        ("fpr", chosen.sum(axis=1) - chosen[:, good], labels.sum() - labels[good]),
    ):
        known = shown.ranges[""][rate]
        if whole:
            assert (known.low <= part / whole + 1e-9).all(), rate
            assert (part / whole <= known.high + 1e-9).all(), rate


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([2, 3]), st.sampled_from([2, 10]))
def test_exact_audits_lie_inside(seed: int, K: int, min_size: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.choice([150, 300, 900]))
    group = rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])
    y = rng.choice(K, n)
    decided = np.where(rng.random(n) < rng.choice([0.6, 0.9, 0.98]), y, rng.choice(K, n))
    known = {"sensitive_features": {"group": group}, "favourable": 1, "groups": ff.Groups(min_size=min_size)}
    found = ff.audit(y, decided, **known)
    exact, shown = found.groups["group"], found.published().groups["group"]
    for one, other in zip(exact.worst, shown.worst, strict=True):
        if one.value != one.value or other.value != other.value or one.not_compared != other.not_compared:
            continue  # who is not compared is said beside it
        assert other.least - 1e-9 <= one.value <= other.most + 1e-9, one.figure
        if one.figure == "selection_ratio":
            assert other.pair_lower <= one.pair_lower + 1e-9
            assert other.lower <= one.lower + 1e-9
        else:
            assert other.lower <= one.lower + 1e-9, one.figure
        assert other.upper >= one.upper - 1e-9, one.figure
        assert not other.sure or one.value == 0 or one.between == other.between, one.figure
    lines = [exact.lines.names.index(name) for name in shown.lines.names if name in exact.lines.names]
    places = [shown.lines.names.index(exact.lines.names[i]) for i in lines]
    for name in ("selection", "tpr", "fpr", "error", "precision"):
        one, low, high = (
            table.columns[key] for table, key in ((exact, name), (shown, f"{name}_lower"), (shown, f"{name}_upper"))
        )
        value, hardly = shown.columns[name], np.full(len(low), np.nan)
        least, most = (shown.columns.get(f"{name}_{end}", hardly) for end in ("least", "most"))
        least, most = (np.where(np.isnan(end), value + off, end) for end, off in ((least, -0.02), (most, 0.02)))
        for i, j in zip(lines, places, strict=True):
            if one[i] == one[i] and value[j] == value[j]:
                assert least[j] - 1e-9 <= one[i] <= most[j] + 1e-9, name
                assert low[j] <= exact.columns[f"{name}_lower"][i] + 1e-9, name
                assert high[j] >= exact.columns[f"{name}_upper"][i] - 1e-9, name
    hardly = np.full(len(shown.lines.names), np.nan)
    for name in ("selection_over_reference", "shortfall", "p_value", "deviations", "detectable_gap"):
        value, off = shown.columns[name], 5e-5 if name == "p_value" else 0.02
        least, most = (shown.columns.get(f"{name}_{end}", hardly) for end in ("least", "most"))
        least, most = (np.where(np.isnan(end), value + by, end) for end, by in ((least, -off), (most, off)))
        for i, j in zip(lines, places, strict=True):
            one = exact.columns[name][i]
            if one == one and value[j] == value[j] and shown.lines.reference in places:
                assert least[j] - 1e-9 <= one <= most[j] + 1e-9, name


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**9))
def test_calibration_lies_inside_and_its_intervals_contain_what_it_can_be(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.choice([150, 300, 900]))
    group, p = rng.choice(["a", "b", "c"], n, p=[0.6, 0.32, 0.08]), rng.beta(1.5, 1.5, n)
    y = (rng.random(n) < p).astype(int)
    known = {"sensitive_features": {"group": group}, "groups": ff.Groups(min_size=2), "n_resamples": 60}
    found = ff.audit(y, p, favourable=1, **known)
    exact, shown = found.groups["group"], found.published().groups["group"]
    for name in ("in_the_large", "brier", "mean_score", "in_the_large_gap"):
        columns = [shown.columns.get(f"{name}{end}") for end in ("", "_lower", "_upper", "_least", "_most")]
        value, low, high, least, most = (np.full(len(columns[0]), np.nan) if each is None else each for each in columns)
        for j, level in enumerate(shown.lines.names):
            if level not in exact.lines.names or value[j] != value[j]:
                continue
            one = exact.columns[name][exact.lines.names.index(level)]
            if least[j] == least[j]:
                assert low[j] <= least[j] <= one + 1e-9
                assert one - 1e-9 <= most[j] <= high[j]
            else:
                assert abs(one - value[j]) <= 0.02 + 1e-9


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([2, 3]))
def test_counts_that_are_all_large_have_no_range(seed: int, K: int) -> None:
    rng = np.random.default_rng(seed)
    N, c, good = int(rng.integers(1, 3)), int(rng.integers(1, 5)), seed % K
    many = 11 * K + rng.integers(0, 40, (c, K)) * rng.integers(1, 9)
    cells = np.stack(
        [[[rng.multinomial(some, np.ones(K) / K) for some in group] for group in many] for _ in range(N)]
    ).astype(float)
    shown = publish_table(cells, good)
    quick = table_range(shown, good)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairfront.measures.ranges._nothing_rounded", lambda *_: False)
        whole = table_range(shown, good)
    for part in ("cells", "labels", "sizes"):
        for end in ("shown", "low", "high"):
            np.testing.assert_array_equal(*(getattr(getattr(each, part), end) for each in (quick, whole)))


def test_three_of_eleven_is_not_told_as_one_half() -> None:
    """The gap that is shown is that of rounded counts, and how far the exact one may be stands beside it."""
    y = np.concatenate([np.ones(11), np.zeros(60), np.ones(300), np.zeros(300)]).astype(int)
    decided = np.concatenate([np.arange(11) < 3, np.zeros(60), np.arange(300) < 180, np.zeros(300)]).astype(bool)
    group = np.repeat(["few", "many"], [71, 600])
    attributes = Groups(min_size=1).resolve({"group": group}, len(y))
    scores = np.where(decided, 1.0, -1.0)[None, None]
    exact = evaluate_scores(scores, y, TASKS["binary"], attributes, name="validation")
    shown = published(exact, TASKS["binary"])
    assert exact["tpr_gap"][0] == pytest.approx(180 / 300 - 3 / 11)
    assert shown["tpr_gap"][0] < 0.1
    assert shown.rounding("tpr_gap")[0] > 0.2
    assert shown.figure("tpr_gap", 0.95)[0] >= exact.figure("tpr_gap", 0.95)[0]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([0.8, 0.95]), st.floats(0.02, 0.9))
def test_a_choice_from_published_figures_is_never_one_that_exact_ones_refuse(
    seed: int, confidence: float, bound: float
) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.choice([200, 600, 2_000]))
    group, y = rng.choice(["a", "b", "c"], n, p=rng.dirichlet([5.0, 3.0, 1.0])), rng.choice(2, n)
    noise = [0.1, 0.5, 1.0, 2.0]
    scores = {str(k): np.clip(0.5 + 0.3 * (y - 0.5) + k * 0.2 * rng.normal(size=n), 0, 1) for k in noise}
    if len(set(group)) < 2:
        return
    known = {"sensitive_features": {"group": group}, "favourable": 1, "groups": ff.Groups(min_size=1)}
    exact = ff.Frontier.from_scores(scores, y, **known)
    shown = replace(exact, evaluations={k: published(r, exact.facts.task) for k, r in exact.evaluations.items()})
    for rule in (
        {"at_most": {"tpr_gap": bound}},
        {"at_most": {"error": bound, "error_gap": bound}},
        {"at_least": {"selection_ratio": 1.0 - bound, "approval_rate": 0.4}},
    ):
        try:
            place = shown.place(shown.choose(**rule, confidence=confidence))
        except ff.InputError:
            continue
        for name, most in rule.get("at_most", {}).items():
            assert exact.column(name, confidence=confidence)[place] <= most
        for name, least in rule.get("at_least", {}).items():
            assert exact.column(name, confidence=confidence)[place] >= least


def test_expected_figures_of_rounded_counts_are_the_worst_that_exact_ones_can_be() -> None:
    rng = np.random.default_rng(0)
    y, group = rng.choice(2, 200), rng.choice(["a", "b"], 200, p=[0.8, 0.2])
    scores = {"one": rng.random(200), "two": 0.5 * y + 0.5 * rng.random(200)}
    front = ff.Frontier.from_scores(scores, y, sensitive_features=group, groups=ff.Groups(min_size=1))
    shown = replace(front, evaluations={k: published(r, front.facts.task) for k, r in front.evaluations.items()})
    exact, told = front.record(), shown.record()
    for name in ("tpr_gap", "fpr_gap", "selection_gap", "error_gap"):
        assert (expected(told, name) >= expected(exact, name) - 1e-12).all()
        assert (together(told, name, 0.95) >= together(exact, name, 0.95) - 1e-12).all()
    assert (expected(told, "selection_ratio") <= expected(exact, "selection_ratio") + 1e-12).all()
    assert "validation.tpr_gap_least" in shown.to_frame()
    assert "validation.tpr_gap_least" not in front.to_frame()
