"""The selection ratio: the lowest rate over the highest, whoever the reference is, and what may be claimed of it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from typer.testing import CliRunner

import fairfront as ff
from fairfront.cli import app
from fairfront.measures.contrasts import selection_ratio
from fairfront.measures.intervals import ratio_interval, selection_ratio_lower
from fairfront.measures.proportions import outer
from fairfront.measures.rates import SampleRates
from tests.support.extras import optional
from tests.support.rates import group_rates
from tests.support.trial import census, write_csv

pd = optional("pandas")
fairlearn_metrics = optional("fairlearn.metrics")

COUNTS = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 60)), min_size=2, max_size=6)
"""Favourable decisions and rows of some groups; more decisions than rows are cut."""


def decisions(counts: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the group of each row and whether it is decided favourably."""
    sizes = [n for _, n in counts]
    decided = np.concatenate([np.arange(n) < s for s, n in counts])
    return np.repeat(np.arange(len(sizes)), sizes), decided


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(COUNTS)
def test_it_is_fairlearns_demographic_parity_ratio(counts: list[tuple[int, int]]) -> None:
    codes, decided = decisions(counts)
    rates = group_rates(decided, decided, codes, [str(k) for k in range(len(counts))])
    (found,) = selection_ratio(rates)
    expected = fairlearn_metrics.demographic_parity_ratio(decided, decided, sensitive_features=codes)
    assert found == pytest.approx(expected, nan_ok=True) or not decided.any()
    assert np.isnan(found) == (not decided.any())
    assert not found > 1.0


@settings(max_examples=200, deadline=None)
@given(COUNTS, st.floats(0.6, 0.99))
def test_ends_hold_the_ratio_and_shrink_with_the_level(counts: list[tuple[int, int]], level: float) -> None:
    rate = np.array([[min(s, n) / n for s, n in counts]])
    size = np.array([n for _, n in counts], dtype=np.float64)
    (low,), (high,) = ratio_interval(SampleRates(rate, size), level)
    (own,) = ratio_interval(SampleRates(rate, size), level, together=False)[0]
    if not rate.any():
        assert np.isnan([low, high, own]).all()
        return
    value = rate.min() / rate.max()
    assert 0.0 <= low <= own <= value * (1 + 1e-12)
    assert value <= high * (1 + 1e-12) <= 1.0 + 1e-12
    if not rate.all():
        assert low == own == value == 0.0 < high


def claimed_ratio(s1: float, n1: float, s2: float, n2: float, confidence: float = 0.95) -> tuple[float, float]:
    """Return ends of (s1/n1) / (s2/n2), by the formula."""
    (low1, high1), (low2, high2), r = outer(s1, n1, confidence), outer(s2, n2, confidence), (s1 / n1, s2 / n2)
    down = np.hypot(np.log(r[0] / low1), np.log(high2 / r[1]))
    return r[0] / r[1] * np.exp(-down), r[0] / r[1] * np.exp(np.hypot(np.log(high1 / r[0]), np.log(r[1] / low2)))


def lower_over_higher(s1: int, n1: int, s2: int, n2: int) -> tuple[float, float]:
    low, high = ratio_interval(SampleRates(np.array([[s1 / n1, s2 / n2]]), np.array([n1, n2], dtype=np.float64)))
    return low[0], high[0]


def test_a_pair_by_hand() -> None:
    (low1, high1), (low2, high2) = outer(15, 50), outer(30, 50)
    down, up = np.hypot(np.log(0.3 / low1), np.log(high2 / 0.6)), np.hypot(np.log(high1 / 0.3), np.log(0.6 / low2))
    for pair in ((15, 50, 30, 50), (30, 50, 15, 50)):
        np.testing.assert_allclose(lower_over_higher(*pair), (0.5 * np.exp(-down), 0.5 * np.exp(up)), rtol=1e-6)
    near = 1.959964 * np.sqrt(1 / 15 - 1 / 50 + 1 / 30 - 1 / 50)  # of Katz, as if samples were large
    assert lower_over_higher(15, 50, 30, 50)[0] == pytest.approx(0.5 * np.exp(-near), rel=0.08)
    low, high = lower_over_higher(20, 50, 21, 50)
    assert high == 1.0
    ends = claimed_ratio(20, 50, 21, 50)
    assert low == pytest.approx(min(ends[0], 1 / ends[1]))


def test_every_pair_has_to_hold_so_nothing_is_corrected() -> None:
    """Three groups: shown ends are those of three pairs at once, the claim is the least of each pair's own."""
    rate, size = np.array([[0.40, 0.44, 0.50]]), np.full(3, 900.0)
    each = [claimed_ratio(s1 * 900, 900, s2 * 900, 900)[0] for s1, s2 in ((0.40, 0.44), (0.40, 0.50), (0.44, 0.50))]
    assert ratio_interval(SampleRates(rate, size), together=False)[0][0] == pytest.approx(min(each))
    least = claimed_ratio(360, 900, 450, 900, 1 - 0.05 / 3)[0]
    assert ratio_interval(SampleRates(rate, size))[0][0] == pytest.approx(least)
    half = norm.ppf(1 - 0.05 / 6) * np.sqrt(1 / 360 - 1 / 900 + 1 / 450 - 1 / 900)
    assert least == pytest.approx(0.8 * np.exp(-half), rel=0.005)


def test_the_claim_is_right_at_least_as_often_as_it_says() -> None:
    """At the edge, a true ratio of 0.8 of one pair, a lower end above it is found at most once in forty."""
    random = np.random.default_rng(0)
    size, truth = np.array([400.0, 600.0, 500.0]), np.array([0.40, 0.45, 0.50])
    rate = random.binomial(size.astype(int), truth, (20_000, 3)) / size
    assert (ratio_interval(SampleRates(rate, size), together=False)[0] > 0.8).mean() < 0.027
    low, high = ratio_interval(SampleRates(rate, size))
    assert ((low <= 0.8) & (high >= 0.8)).mean() > 0.95


def people(n: int = 12_000) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return census rows, more women than men, and scores that favour few women."""
    rows = census(n, seed=1)
    score = 0.01 * rows["weeks"] + 0.05 * rows["study"] + 0.5 * (rows["sex"] == "Male")
    return rows, score / score.max()


@pytest.mark.parametrize("groups", ["sex", "sex:ref=Male"])
def test_the_gate_is_closed_whoever_the_reference_is(tmp_path: Path, groups: str) -> None:
    rows, score = people()
    path = write_csv({**rows, "p": score}, tmp_path / "scored.csv")
    words = ["--label", "income", "--score", "p", "--favourable", "50000+.", "--approval-rate", "0.2"]
    words += ["--groups", groups, "--require", "selection_ratio.lower>=0.80"]
    done = CliRunner().invoke(app, ["audit", str(path), *words], env={"COLUMNS": "200"})
    assert done.exit_code == 3, done.output
    assert "is not met." in done.output
    assert re.search(r"selection ratio: Female \(\d+ people\) has 0\.0\d+ times the rate of Male", done.output)
    assert "the lower bound of each single pair of groups is 0.0" in done.output


def test_an_audit_names_both_groups_and_keeps_the_ratio_to_the_reference() -> None:
    rows, score = people()
    found = ff.audit(
        rows["income"], score, sensitive_features={"sex": rows["sex"]}, favourable="50000+.", approval_rate=0.2
    )
    worst, columns = found.worst["sex"]["selection_ratio"], found.tables["sex"]
    assert worst.between == ("Female", "Male")
    assert list(columns["group"][:2]) == ["Male", "Female"]
    assert columns["selection_over_reference"][0] == pytest.approx(1 / worst.value)
    assert 0.0 < worst.lower == worst.pair_lower < worst.value < worst.upper < 0.1
    assert "selection_ratio" not in columns


def test_a_frontier_gives_the_lower_end_of_the_ratio() -> None:
    rows, score = people(4_000)
    front = ff.Frontier.from_scores(
        {"given": score, "turned": -score},
        rows["income"],
        sensitive_features={"sex": rows["sex"], "race": rows["race"]},
        favourable="50000+.",
        approval_rate=0.2,
    )
    record = front.record()
    both = [record.figure(f"{name}.selection_ratio", 0.95) for name in ("sex", "race")]
    np.testing.assert_array_equal(record.figure("selection_ratio", 0.95), np.minimum(*both))
    assert (front.column("selection_ratio", confidence=0.95) < np.minimum(*both)).all()  # for both models at once
    rates = front.evaluations["validation"].groups["sex"]
    np.testing.assert_array_equal(both[0], selection_ratio_lower(rates, 0.95))
    assert (both[0] <= front.column("sex.selection_ratio")).all()
    assert (front.column("sex.selection_ratio") < 1.0).all()


def test_outputs_name_the_reference_that_was_taken_and_how_to_choose_another(tmp_path: Path) -> None:
    rows, score = people(2_000)
    y, sex = rows["income"], {"sex": rows["sex"]}
    found = ff.audit(y, score, sensitive_features=sex, favourable="50000+.", approval_rate=0.2)
    said = "sex: the reference is Female, the largest group; choose another with Groups(reference={'sex': 'Male'})."
    assert said in found.sentences
    assert "the reference is Female, the largest group" in found._repr_html_()
    assert found.to_dict()["references"] == {"sex": {"group": "Female", "largest": True}}
    named = ff.audit(
        y, score, sensitive_features=sex, favourable="50000+.", approval_rate=0.2, groups=ff.Groups(reference="Female")
    )
    assert not any("the reference is" in sentence for sentence in named.sentences)
    path = write_csv({**rows, "p": score}, tmp_path / "scored.csv")
    words = ["--label", "income", "--score", "p", "--favourable", "50000+.", "--approval-rate", "0.2"]
    for groups, expected in (("sex", True), ("sex:ref=Female", False)):
        done = CliRunner().invoke(app, ["audit", str(path), *words, "--groups", groups], env={"COLUMNS": "200"})
        told = "sex: the reference is Female, the largest group; choose another with --ref Male." in done.output
        assert told is expected


@pytest.mark.filterwarnings("ignore::fairfront.exceptions.GroupWarning")
def test_a_run_and_its_card_name_the_reference_that_was_taken() -> None:
    run = ff.trace_table(
        pd.DataFrame(census(8_000, seed=1)),
        target="income",
        favourable="50000+.",
        groups="sex,race:ref=White",
        n_points=3,
        min_size=10,
    )
    assert run.reference("sex") == "Female, the largest group; choose another with --groups sex:ref=Male,race:ref=White"
    assert run.reference("race") == "White"
    card = run.select(knee=True).card
    assert "Reference of sex: Female, the largest group." in card
    assert "Reference of race: White." in card
