"""Any gap or ratio of decisions that the audit gives may be what has to improve."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

import fairfront as ff
from fairfront.cli.words import OPTIONS
from fairfront.exceptions import InputError, spelling
from fairfront.improvability.estimates import RATES, Answers, Sample, group_rates
from fairfront.improvability.requirements import GAPS, Contrast, Requirements, weakest
from fairfront.objectives import Attribute

NOTIONS = "npv favourable_errors f_score balanced_accuracy equal_opportunity tpr_ratio"


def people(n: int = 900) -> tuple[Sample, Answers, Answers]:
    random = np.random.default_rng(0)
    codes = random.choice(3, n, p=[0.5, 0.3, 0.2])
    good = random.random(n) < 0.3 + 0.15 * codes
    score = good + random.normal(size=n) + 0.4 * codes
    other = random.integers(0, 2, n)
    attributes = (
        Attribute("g", ("a", "b", "c"), codes.astype(np.intp)),
        Attribute("h", ("u", "v"), other.astype(np.intp)),
    )
    rows = Sample(good, random.choice([0.5, 1.0, 2.0], n), attributes)
    return rows, Answers(score > 0.6), Answers(score - 0.3 * codes > 0.4)


@pytest.fixture(scope="module")
def audited() -> ff.Audit:
    rows, said, _ = people()
    levels = {each.name: np.array(each.levels)[np.asarray(each.codes)] for each in rows.attributes}
    return ff.audit(
        rows.good.astype(int),
        said.approved.astype(int),
        sensitive_features=levels,
        sample_weight=rows.weight,
        notion=NOTIONS.split(),
        favourable=1,
    )


@pytest.mark.parametrize("name", GAPS)
def test_gaps_and_ratios_are_those_of_the_audit(name: str, audited: ff.Audit) -> None:
    rows, said, _ = people()
    for attribute in ("g", "h"):
        worst = audited.worst[attribute][name]
        pair, value = Contrast.of(f"{attribute}.{name}", rows.attributes).worst(rows, said)
        levels = rows.attributes[pair.attribute].levels
        assert value == pytest.approx(worst.value, abs=1e-12)
        assert (levels[pair.low], levels[pair.high]) == worst.between
        assert pair.rate == (worst.of or Contrast.of(name, rows.attributes).rate)


def test_no_gap_of_decisions_of_the_audit_is_left_out(audited: ff.Audit) -> None:
    assert {each for each in audited.worst["g"] if each.endswith(("_gap", "_ratio"))} == set(GAPS)


@pytest.mark.parametrize("rate", RATES)
def test_influences_are_derivatives_by_the_logarithm_of_weights(rate: str) -> None:
    rows, said, _ = people(200)
    found, step = group_rates(rows, said, rate, rows.attributes[0]), 1e-5
    for i in range(0, 200, 7):
        ends = []
        for side in (-step, step):
            weight = rows.weight.copy()
            weight[i] *= np.exp(side)
            ends.append(group_rates(replace(rows, weight=weight), said, rate, rows.attributes[0]))
        for k, each in enumerate(found):
            slope = (ends[1][k].value - ends[0][k].value) / (2 * step)
            assert each.influence[i] == pytest.approx(slope, abs=1e-9)


@pytest.mark.parametrize("rate", RATES)
def test_added_variance_is_that_of_one_row_that_is_decided_otherwise(rate: str) -> None:
    """Half a row that comes in and half a row that goes out, of the share behind a figure."""
    rows, said, _ = people()
    rows = replace(rows, weight=np.ones(len(rows.good)))
    one = group_rates(rows, said, rate, rows.attributes[0])[0]
    own = rows.attributes[0].codes == 0
    moved = []
    for i in np.flatnonzero(own)[:200]:
        approved = said.approved.copy()
        approved[i] = ~approved[i]
        moved.append(abs(group_rates(rows, Answers(approved), rate, rows.attributes[0])[0].value - one.value))
    assert 0.5 * max(moved) < np.sqrt(one.floor) < 2.0 * max(moved)


def test_the_worse_gap_of_several_rates_has_to_improve_and_no_other_pair_may_be_as_large() -> None:
    rows, before, after = people()
    wanted = Requirements({"error": 1.0}, (Contrast.of("g.odds_gap", rows.attributes),))
    pairs = wanted.worst_pairs(rows, before)
    (claims,) = wanted.claims(rows, before, [after], pairs)
    each = {rate: Contrast.of(f"g.{rate}_gap", rows.attributes) for rate in ("tpr", "fpr")}
    worst = {rate: contrast.worst(rows, before)[1] for rate, contrast in each.items()}
    then = [contrast.worst(rows, after)[1] for contrast in each.values()]
    assert pairs[0].rate == max(worst, key=lambda rate: worst[rate])
    assert len(claims["g.odds_gap"]) == 2 * 3 * 2
    assert min(e.value for e in claims["g.odds_gap"]) == pytest.approx(max(worst.values()) - max(then))
    (same,) = wanted.claims(rows, before, [before], pairs)
    assert weakest(same) <= 0.0


def test_gaps_of_scores_are_refused_by_the_names_of_those_that_are_taken() -> None:
    rows, _, _ = people()
    for name in ("auc_gap", "mean_score_gap", "error_ratio", "selection_over_reference"):
        with pytest.raises(InputError, match=rf"improve is '{name}', expected one of .*odds_gap.*\(of decisions\)"):
            Contrast.of(name, rows.attributes)


def test_why_a_family_proposes_nothing_is_said_in_words_of_this_command() -> None:
    random = np.random.default_rng(0)
    X, group = random.normal(size=(800, 2)), {"g": np.tile(["a", "b"], 400), "h": np.repeat(["u", "v"], [700, 100])}
    y = (X[:, 0] + random.normal(size=800) > 0).astype(int)
    known: dict[str, Any] = {"approval_rate": 0.5, "n_splits": 1, "progress": False}
    with spelling(OPTIONS):
        search = ff.alternatives(
            X, y, sensitive_features=group, incumbent=X[:, 0] + (group["g"] == "a"), families="rates", **known
        )
    (note,) = search.record["notes"]
    assert note.startswith("rates: a combination of groups of several columns has fewer than 16 rows of a label")
    assert note.endswith("merge groups, or give one column at a time.")
    assert "units" not in note


def test_a_smaller_gap_is_claimed_of_none_as_often_as_the_level_says() -> None:
    """Incumbent and candidate are one score with noise each: of 300 samples, at most 5 % and two standard errors."""
    names = [name for name in GAPS if name not in ("selection_gap", "selection_ratio")]
    claims = dict.fromkeys(names, 0)
    for seed in range(300):
        random = np.random.default_rng(seed)
        codes = random.integers(0, 2, 2000)
        good = random.random(2000) < 0.4 + 0.2 * codes
        noise = (1.0 + 0.5 * codes) * random.normal(size=(2, 2000))
        mine, other = (Answers(good + 0.4 * codes + each > 0.7) for each in noise)
        rows = Sample(good, np.ones(2000), (Attribute("g", ("a", "b"), codes.astype(np.intp)),))
        search, judge = np.arange(1000), np.arange(1000, 2000)
        there = rows.take(judge), mine.take(judge), [other.take(judge)]
        for name in names:
            wanted = Requirements({"error": 1.0}, (Contrast.of(name, rows.attributes),))
            (found,) = wanted.claims(*there, wanted.worst_pairs(rows.take(search), mine.take(search)))
            claims[name] += bool(ndtr(-weakest(found)) <= 0.05)
    assert max(claims.values()) / 300 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 300), claims
    assert sum(claims.values()) / (300 * len(claims)) >= 0.01, claims
