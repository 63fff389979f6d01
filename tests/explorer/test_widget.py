"""The widget: what it sends may be shared, and the slider chooses."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import fairfront as ff
from fairfront.explorer.notebook import points_of
from fairfront.explorer.page import asset
from fairfront.measures.published import published

HOSTILE = "<img src=x onerror=alert(1)>"
RULE = {"approval_rate": 0.5}


def rows(n: int, seed: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    group = np.array([HOSTILE, "b"], dtype=object)[rng.integers(2, size=n)]
    X = rng.normal(size=(n, 3)) + 0.5 * (group == "b")[:, None]
    return X, np.where(X.sum(axis=1) + rng.normal(size=n) > 0.5, HOSTILE, "no"), group


TRAIN, HELD = rows(600, 0), rows(400, 1)


@pytest.fixture(scope="module")
def front() -> ff.Frontier:
    traced = ff.trace(*TRAIN[:2], sensitive_features=TRAIN[2], favourable=HOSTILE, n_points=4)
    return traced.evaluate(*HELD[:2], sensitive_features=HELD[2], **RULE)


def test_what_is_sent_may_be_shared(front: ff.Frontier) -> None:
    sent = points_of(front.evaluate(*HELD[:2], sensitive_features=HELD[2], name="test"))
    shown = published(front.record("validation"), front.facts.task)
    order = [front.place(each) for each in sent["ids"]]
    np.testing.assert_array_equal(sent["columns"]["tpr_gap"], shown["tpr_gap"][order])
    assert "rates on validation" in sent["head"]
    assert sent["marks"][0] == "unconstrained"


def test_the_script_makes_text_only_through_text_nodes() -> None:
    unsafe = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|fetch\(|XMLHttp|https?://(?!www.w3)"
    assert not re.search(unsafe, asset("widget.js"))


OPEN = """async ([code, points]) => {
  const { default: widget } = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  const state = { points, chosen: points.ids[0], said: "", solves: true };
  const heard = {};
  window.sent = [];
  window.model = {
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; (heard[`change:${name}`] || (() => {}))(); },
    on: (name, call) => { heard[name] = call; },
    save_changes: () => window.sent.push(state.chosen),
    send: (message) => window.sent.push(message),
  };
  widget.render({ model: window.model, el: document.body });
}"""


def test_the_slider_chooses_in_a_browser(browser: Any, front: ff.Frontier) -> None:
    page = browser.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    points = points_of(front)
    page.evaluate(OPEN, [asset("widget.js"), points])
    slider = page.get_by_role("slider")
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("window.sent") == [points["ids"][1]]
    assert f"{points['columns']['tpr_gap'][1]:.4f}" in page.inner_text("table")
    page.evaluate("text => window.model.set('said', text)", HOSTILE)
    assert page.inner_text("[role=status]") == HOSTILE
    assert page.locator("img").count() == 0
    assert page.locator("svg circle").count() == len(front)
    page.keyboard.press("End")
    assert not complaints
    page.close()
