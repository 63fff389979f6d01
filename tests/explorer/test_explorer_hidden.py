"""Counts of 1 to 9 people and rates of so few are not in a page; worst gaps, their bounds and their groups are."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairfront as ff
from fairfront.explorer import describe_points, write_explorer
from fairfront.explorer.small_counts import shown_counts, shown_details, shown_rates
from fairfront.measures.claims import worst_pair
from fairfront.measures.intervals import worst_gap_lower
from tests.support.pages import record_of, unpacked


@cache
def strays() -> tuple[ff.Frontier, Any, Any, Any]:
    """Return a frontier whose validation rows have four people of a group, and twelve of another with few labels."""
    rng = np.random.default_rng(11)
    group = np.array(["a", "b", "c"], dtype=object)[rng.integers(0, 3, 1500)]
    X = rng.normal(size=(1500, 3))
    y = np.where(X[:, 0] + 0.5 * (group == "a") + rng.normal(size=1500) > 0, "yes", "no")
    train = np.arange(1500) < 700
    group[700:704], group[710:722] = "four", "twelve"
    y[710:722] = np.where(np.arange(12) < 5, "yes", "no")
    front = ff.trace(X[train], y[train], sensitive_features=group[train], favourable="yes", n_points=4)
    with pytest.warns(ff.GroupWarning, match="did not have"):
        front = front.evaluate(X[~train], y[~train], sensitive_features=group[~train])
    return front, X[~train], y[~train], group[~train]


@pytest.mark.filterwarnings("ignore::fairfront.GroupWarning")
def test_counts_and_rates_of_few_people_are_not_in_the_page(tmp_path: Path) -> None:
    front, X, y, group = strays()
    path = write_explorer(front, tmp_path / "a.html", X=X, y=y, sensitive_features=group)
    record = record_of(path)
    (part,) = [each for each in record["parts"] if each["name"] == "validation"]
    (attribute,) = part["attributes"]
    rates = front.record("validation").groups["group"]
    assert tuple(attribute["levels"]) == rates.levels
    four, twelve = rates.levels.index("four"), rates.levels.index("twelve")
    assert (attribute["n"][four], attribute["n"][twelve]) == ("<10", 12)
    assert (attribute["labels"]["positives"][twelve], attribute["labels"]["negatives"][twelve]) == ("<10", "<10")
    large = [g for g in range(len(rates.levels)) if g not in (four, twelve)]
    for rate in ("selection", "error", "tpr", "fpr"):
        values = unpacked(attribute["rates"][rate]).reshape(-1, len(rates.levels))
        np.testing.assert_allclose(values[:, large], rates.rate(rate)[:, large], atol=1e-6)
        assert np.isnan(values[:, four]).all()
        assert np.isnan(values[:, twelve]).all() == (rate in ("tpr", "fpr"))
        assert (np.array(attribute["behind"][rate])[[four]] == 0).all()
        assert attribute["undefined"][rate] == np.flatnonzero(np.isnan(rates.rate(rate)[0])).tolist()
    (told,) = record["details"]["attributes"]
    for each in told["rates"].values():
        assert "rows" not in each
        assert all(line[four] is None for end in ("change", "lower", "upper") for line in each[end])
        assert not any(isinstance(n, int) and 0 < n < 10 for side in ("gained", "lost") for n in np.ravel(each[side]))
    assert all(n >= 10 for point in told["calibration"] for bins in point if bins for n in bins["n"])


@pytest.mark.filterwarnings("ignore::fairfront.GroupWarning")
def test_worst_gaps_are_in_the_page_with_their_groups(tmp_path: Path) -> None:
    front, *_ = strays()
    record = front.record("validation")
    for path in (front.to_html(tmp_path / "a.html"), front.to_html(tmp_path / "b.html", hide_below=0)):
        (part,) = [each for each in record_of(path)["parts"] if each["name"] == "validation"]
        levels = part["attributes"][0]["levels"]
        for name in ("tpr_gap", "selection_gap", "error_gap"):
            np.testing.assert_array_equal(unpacked(part["columns"][name]), record[name])
            np.testing.assert_array_equal(unpacked(part["upper"][name]), front.column(name, "validation", 0.95))
            np.testing.assert_array_equal(unpacked(part["lower"][name]), record.figure(name, 0.95, worst_gap_lower))
            for place in range(len(front)):
                pair = worst_pair(record, name, place, front.facts.task)
                assert pair is not None
                assert pair.groups == tuple(levels[part["pairs"][name][end][place]] for end in ("low", "high"))
    assert {"four", "twelve"} & {levels[g] for g in part["pairs"]["tpr_gap"]["low"] + part["pairs"]["tpr_gap"]["high"]}


@pytest.mark.filterwarnings("ignore::fairfront.GroupWarning")
def test_nothing_is_hidden_below_0(tmp_path: Path) -> None:
    front, X, y, group = strays()
    path = write_explorer(front, tmp_path / "a.html", X=X, y=y, sensitive_features=group, hide_below=0)
    (attribute,) = record_of(path)["parts"][0]["attributes"]
    assert attribute["n"] == front.record("validation").groups["group"].n.tolist()
    details = describe_points(front, X, y, sensitive_features=group)
    shown = shown_details(details, 0)["attributes"][0]["rates"]["tpr"]
    assert shown["gained"] == details.attributes[0]["rates"]["tpr"]["gained"]
    with pytest.raises(ff.InputError, match="hide_below"):
        front.to_html(tmp_path / "b.html", hide_below=-1)


@pytest.mark.filterwarnings("ignore::fairfront.GroupWarning")
@pytest.mark.slow
def test_the_page_opens_and_writes_the_texts(visit: Any, tmp_path: Path) -> None:
    front, X, y, group = strays()
    found = visit(write_explorer(front, tmp_path / "a.html", X=X, y=y, sensitive_features=group, chosen=2))
    assert "n = <10" in found.text("#bars")
    assert "NaN" not in found.text("main")
    assert "undefined" not in found.text("main")
    assert "The gap is between" in found.text("#cards")
    found.check_quiet()


def test_small_functions() -> None:
    assert shown_counts(np.array([0.0, 1.0, 9.0, 10.0, 250.0]), 10) == [0, "<10", "<10", 10, 250]
    values = shown_rates(np.array([[0.1, 0.2], [0.3, 0.4]]), np.array([9, 10]), 10)
    np.testing.assert_array_equal(values, [[np.nan, 0.2], [np.nan, 0.4]])
