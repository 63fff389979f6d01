"""Cards as they are drawn: counts of 1 to 9 people and rates of so few are left out, worst gaps are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairfront as ff
from fairfront.runs.card_counts import without_small_counts
from fairfront.runs.card_exports import markdown_of, page_of
from fairfront.runs.model import TableModel


@pytest.fixture(scope="module")
def model() -> TableModel:
    """Return a chosen model of a run in which few of a group are on test, and fewer have each label."""
    rng = np.random.default_rng(3)
    n = 1500
    area = np.where(np.arange(n) % 29 == 0, "tiny", np.where(rng.random(n) < 0.5, "north", "south"))
    score = rng.normal(size=n) - 1.0 * (area == "tiny")
    y = np.where(score + 0.3 * (area == "north") + rng.normal(size=n) > 0.0, "yes", "no")
    data = pd.DataFrame({"x": score, "z": rng.normal(size=n), "area": area, "y": y})
    data.loc[:3, "z"] = np.nan
    known: dict[str, Any] = {"target": "y", "favourable": "yes", "groups": "area", "min_size": 2, "n_points": 4}
    run = ff.trace_table(data, progress=False, **known)
    return run.select(id=int(run.frontier.ids[1]))


def tiny(card: Any, part: str = "test") -> dict[str, Any]:
    (line,) = [each for each in card["parts"][part]["groups"]["area"] if each["group"] == "tiny"]
    return dict(line)


def test_the_record_is_exact_and_what_is_drawn_leaves_few_people_out(model: TableModel) -> None:
    exact, shown = tiny(model.facts), tiny(without_small_counts(model.facts))
    labelled = exact["labelled_favourable"]
    assert 0 < labelled < 10 <= exact["rows"]
    assert isinstance(exact["tpr"], list)
    assert (shown["rows"], shown["labelled_favourable"], shown["tpr"]) == (exact["rows"], "<10", "-")
    assert shown["base_rate"] == "-"
    assert (shown["selection"], shown["error"]) == (exact["selection"], exact["error"])
    assert (shown["fpr"] == "-") == (exact["rows"] - labelled < 10)
    assert without_small_counts(model.facts, 0) == model.facts


def test_groups_of_few_people_have_no_rates(model: TableModel) -> None:
    shown = tiny(without_small_counts(model.facts, 50))
    assert (shown["rows"], shown["base_rate"]) == ("<50", "-")
    assert {shown[name] for name in ("selection", "tpr", "fpr", "error", "mean_score", "brier")} == {"-"}


def test_worst_gaps_stay_with_their_groups(model: TableModel) -> None:
    exact, shown = (card["parts"]["test"]["worst"] for card in (model.facts, without_small_counts(model.facts, 10**6)))
    for before, after in zip(exact, shown, strict=True):
        assert {key: after[key] for key in after if key != "people"} == {
            key: before[key] for key in before if key != "people"
        }
        assert set(after["people"]) <= {"<1000000"}
    (gap,) = [each for each in exact if each["figure"] == "tpr_gap"]
    assert "tiny" in gap["between"]
    text = markdown_of(model.facts)
    assert f"| {gap['value']:.3f} ({gap['lower']:.3f} to {gap['upper']:.3f}) |" in text
    assert "tiny (<10)" in text


def test_markdown_and_page_have_the_texts(model: TableModel) -> None:
    cells = [each.split(" | ") for each in markdown_of(model.facts).splitlines() if each.startswith("| area | tiny |")]
    assert cells
    assert all(each[3] == "<10" for each in cells)
    page = page_of(model.facts)
    assert "<td>&lt;10</td>" in page
    assert "<td>-</td>" in page
    assert "| z | number | <10 |" in markdown_of(model.facts)
