"""What notebooks show: escaped, without a script, as it may be shared, and what to do next."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import fairfront as ff
from fairfront.frontier.explanation import TOP
from fairfront.records import html_record, html_table

HOSTILE = "<img src=x onerror=alert(1)>&\"'"
ALLOWED = {
    "div",
    "b",
    "br",
    "small",
    "p",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "svg",
    "rect",
    "path",
    "circle",
    "text",
}


class Reader(HTMLParser):
    """Takes note of elements, texts and attributes that could run something."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.bad: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.bad += [name for name, value in attrs if name.startswith("on") or "script:" in (value or "")]

    def handle_data(self, data: str) -> None:
        self.text += data


def read(thing: Any) -> Reader:
    reader = Reader()
    reader.feed(thing if isinstance(thing, str) else thing._repr_html_())
    assert reader.tags <= ALLOWED, reader.tags - ALLOWED
    assert not reader.bad
    return reader


def rows(n: int = 400, few: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    group = np.array([HOSTILE, "b"], dtype=object)[rng.integers(2, size=n)]
    group[:few] = "few"
    X = rng.normal(size=(n, 3)) + 0.5 * (group == "b")[:, None]
    return X, np.where(X.sum(axis=1) + rng.normal(size=n) > 0.5, "yes", "no"), group


@pytest.fixture(scope="module")
def front() -> ff.Frontier:
    X, y, group = rows()
    traced = ff.trace(X, y, sensitive_features={HOSTILE: group}, favourable="yes", n_points=4)
    return traced.evaluate(X, y, sensitive_features={HOSTILE: group})


def test_tables_and_records_are_escaped() -> None:
    reader = read(html_record(HOSTILE, HOSTILE, html_table((HOSTILE, "b"), [(HOSTILE, HOSTILE)]), HOSTILE))
    assert reader.text.count(HOSTILE) == 6


def test_a_frontier_shows_its_gaps() -> None:
    X, y, group = rows(few=12)
    known = {"favourable": "yes", "groups": ff.Groups(min_size=2)}
    front = ff.trace(X, y, sensitive_features=group, n_points=3, **known).evaluate(X, y, sensitive_features=group)
    text = read(front).text
    for value in front.column("tpr_gap"):
        assert f"{value:.4f}" in text
    assert "front.select" in text


def test_the_axes_have_numbers(front: ff.Frontier) -> None:
    text = read(front).text
    assert f"{front.column('error').min():.3g}" in text


def test_an_evaluation_shows_its_columns(front: ff.Frontier) -> None:
    record = front.record()
    text = read(record).text
    assert "4 models on 400 rows of validation" in text
    assert f"{record['tpr_gap'][2]:.4f}" in text


def test_an_explanation_shows_coefficients(front: ff.Frontier) -> None:
    moved = front.explain(0, 3)
    reader = read(moved)
    assert f"{moved.after[0]:+.3g}" in reader.text
    assert "svg" in reader.tags
    many = replace(
        moved, features=(HOSTILE,) * 20, before=np.ones(20), after=np.zeros(20), changed_sign=np.ones(20, bool)
    )
    assert read(many).text.count(HOSTILE) <= TOP + 3


def test_a_chosen_model_and_its_run_show_themselves() -> None:
    columns = {"x": rows()[0][:, 0], "z": rows()[0][:, 1], "target": rows()[1], "group": rows()[2]}
    pandas = pytest.importorskip("pandas")
    settings = {"target": "target", "favourable": "yes", "groups": "group", "n_points": 3}
    run = ff.trace_table(pandas.DataFrame(columns), **settings)
    assert "run.select" in read(run).text
    model = run.select(id=1)
    text = read(model).text
    assert "unconstrained" in text
    assert f"{model.facts['parts']['test']['figures']['error']['chosen'][0]:.3f}" in text
    assert "model.card" in text
    assert "model.card" not in read(replace(model, facts=None)).text
