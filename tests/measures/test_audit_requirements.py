"""Requirements: read strictly, and met, not met or inconclusive by the interval."""

from __future__ import annotations

import numpy as np
import pytest

import fairfront as ff
from fairfront.measures.claims import parse_requirement


def with_rates(a: int, b: int, n: int) -> ff.Audit:
    decided = np.concatenate([np.arange(n) < a, np.arange(n) < b]).astype(int)
    return ff.audit(
        np.tile([0, 1], n), decided, sensitive_features={"g": np.repeat(["a", "b"], n)}, groups=ff.Groups("b")
    )


@pytest.mark.parametrize(
    ("a", "n", "outcome"), [(490, 1000, "met"), (200, 1000, "not met"), (410, 1000, "inconclusive")]
)
def test_the_lower_end_of_the_ratio(a: int, n: int, outcome: str) -> None:
    (verdict,) = with_rates(a, 500, n).check("selection_ratio.lower>=0.80")
    assert verdict.outcome == outcome
    assert outcome in verdict.sentence


@pytest.mark.parametrize(("a", "outcome"), [(495, "met"), (300, "not met"), (450, "inconclusive")])
def test_the_upper_end_of_a_gap(a: int, outcome: str) -> None:
    (verdict,) = with_rates(a, 500, 1000).check("g.selection_gap.upper <= 0.06")
    assert verdict.outcome == outcome


def test_plain_values_and_overall_figures() -> None:
    found = with_rates(410, 500, 1000)
    assert found.check("selection_ratio>=0.8")[0].outcome == "met"
    assert found.check("selection_ratio>=0.83")[0].outcome == "not met"
    assert found.check("error.upper<=0.6")[0].outcome == "met"
    nobody = with_rates(0, 0, 100)
    assert nobody.check("selection_ratio.lower>=0.8")[0].outcome == "inconclusive"


@pytest.mark.parametrize(
    "text",
    ["", "selection_ratio", "selection_ratio>0.8", "ratio>=x", "a>=0.8>=0.9", "tpr_gap.lower<=0.1", "tpr_gap.upper>=0"],
)
def test_what_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ff.InputError):
        parse_requirement(text)


def test_unknown_names_are_refused() -> None:
    found = with_rates(410, 500, 1000)
    with pytest.raises(ff.InputError, match="names 'h'"):
        found.check("h.tpr_gap<=0.1")
    with pytest.raises(ff.InputError, match="names 'tpr_gape'"):
        found.check("tpr_gape<=0.1")
    with pytest.raises(ff.InputError, match=r"names 'selecton_ratio', .*; did you mean 'selection_ratio'\?"):
        found.check("selecton_ratio>=0.8")


def test_names_with_dots() -> None:
    asked = parse_requirement("home.state.tpr_gap.upper<=1e-1")
    assert (asked.attribute, asked.figure, asked.end, asked.bound) == ("home.state", "tpr_gap", "upper", 0.1)
    asked = parse_requirement("sex.recall[<=50K.x]_gap.upper<=0.2")
    assert (asked.attribute, asked.figure, asked.end) == ("sex", "recall[<=50K.x]_gap", "upper")


def test_a_clear_failure_of_few_people_is_not_met() -> None:
    """Of 31 people of a group 3 are approved."""
    group = np.repeat(["few", "many"], [31, 600])
    decided = np.concatenate([np.arange(31) < 3, np.arange(600) < 480]).astype(int)
    y = np.tile([0, 1], 316)[:631]
    found = ff.audit(y, decided, sensitive_features=group, favourable=1)
    for rule in ("selection_ratio.lower>=0.80", "selection_gap<=0.30"):
        (verdict,) = found.check(rule)
        assert verdict.outcome == "not met"


@pytest.mark.parametrize("rate", [0.3, 0.5, 0.7, 0.9])
def test_no_answer_contradicts_the_interval_beside_it(rate: float) -> None:
    """An interval that excludes the bound is not met, never open."""
    data = ff.datasets.load_loans(seed=1)
    scores = data.matrix("one_hot")[0][:, 0]
    found = ff.audit(data.y, scores, sensitive_features=data.columns["group"], favourable="repaid", approval_rate=rate)
    told = next(iter(found.worst.values()))["tpr_gap"]
    for bound in np.linspace(0.0, 0.4, 41):
        (verdict,) = found.check(f"tpr_gap.upper<={bound:.2f}")
        assert (verdict.outcome == "not met") == (told.lower > round(bound, 2))
        assert (verdict.outcome == "met") == (told.upper <= round(bound, 2))
