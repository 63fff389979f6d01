"""The explorer in a real browser: what a person chooses there is what Python's select returns."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairfront as ff
from fairfront.explorer.details import walk
from fairfront.frontier.selection import plain_place
from tests.support.pages import loans, record_of
from tests.support.visits import Visit

SLOW_CLIPBOARD = """() => {
  const write = navigator.clipboard.writeText.bind(navigator.clipboard);
  navigator.clipboard.writeText = async (text) => {
    await new Promise((go) => setTimeout(go, 200));
    await write(text);
  };
}"""


@pytest.mark.slow
def test_opens_on_the_decision_with_pythons_figures(visit: Any, written: Path) -> None:
    front, found = loans()[0], visit(written)
    least = front.choose(least="tpr_gap", within={"error": 0.005})
    plain = int(front.ids[plain_place(front)])
    assert (found.card("plain"), found.card("chosen"), found.card("least")) == (plain, least, least)
    for role in ("plain", "chosen"):
        place = front.place(found.card(role))
        for name in ("error", "tpr_gap", "selection_ratio"):
            assert found.figure(role, name) == front.column(name)[place]
        pair = front.worst_pair("tpr_gap", found.card(role))
        told = found.page.locator(f"[data-role='{role}'] .pair").inner_text().replace("\u2009", "")
        assert f"between {pair.groups[0]} ({pair.people[0]:.0f} people) and {pair.groups[1]}" in told
    found.check_quiet()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::fairfront.ProxyWarning")
def test_what_has_to_be_known_of_probabilities_is_said_first(visit: Any, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    p, X = random.choice([0.2, 0.4, 0.6], 900), random.normal(size=(900, 2))
    y = (X[:, 0] + random.normal(size=900) > 0).astype(int)
    proxy = ff.GroupProbabilities({"a": p, "b": 1 - p}, name="race")
    front = ff.trace(X, y, sensitive_features=proxy, n_points=3, progress=False)
    front = front.evaluate(X, y, sensitive_features=proxy)
    found = visit(front.to_html(tmp_path / "page.html"))
    assert "usually understate gaps between people" in found.page.locator("#notices p").first.inner_text()
    found.check_quiet()


@pytest.mark.slow
def test_bars_are_pythons_rates(visit: Any, written: Path) -> None:
    front, found = loans()[0], visit(written)
    rates = front.evaluations["validation"].groups["group"]
    for role in ("plain", "chosen"):
        place = front.place(found.card(role))
        for rate in ("tpr", "fpr", "selection", "error"):
            for g in range(2):
                bar = found.page.locator(f"[data-bar='{role}|{rate}|{g}']")
                assert float(bar.get_attribute("data-value")) == pytest.approx(rates.rate(rate)[place, g], abs=1e-6)
                assert f"{100 * rates.rate(rate)[place, g]:.1f} %" in bar.inner_text()


@pytest.mark.slow
@pytest.mark.parametrize("sure", [True, False])
def test_the_cap_chooses_what_select_does(visit: Any, written: Path, sure: bool) -> None:
    front, found = loans()[0], visit(written)
    if not sure:
        found.page.locator("#sure").uncheck()
    confidence = 0.95 if sure else None
    column = front.column("tpr_gap", confidence=confidence)
    before = found.card("chosen")
    for cap in [f"{100 * q:.2f}" for q in (*np.quantile(column, [0.02, 0.3, 0.5, 0.8, 1.0]), column.min() / 2)]:
        found.fill("#cap", cap)
        try:
            expected = front.choose(at_most={"tpr_gap": float(f"{cap}e-2")}, confidence=confidence, on="validation")
        except ff.InputError:
            assert "No point has" in found.text("#said")
            expected = before
        assert found.card("chosen") == expected
        before = expected
    found.check_quiet()


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", ["0", "0.1", "0.3", "1.2", "40"])
def test_the_tolerance_finds_what_select_does(visit: Any, written: Path, tolerance: str) -> None:
    front, found = loans()[0], visit(written)
    found.fill("#tolerance", tolerance)
    expected = front.choose(least="tpr_gap", within={"error": float(f"{tolerance}e-2")}, on="validation")
    assert found.card("least") == expected
    if found.card("chosen") != expected:
        found.page.locator(".card[data-role=least] button").click()
    assert found.card("chosen") == expected


@pytest.mark.slow
def test_slider_and_keys_walk_along_the_front(visit: Any, written: Path) -> None:
    front, found = loans()[0], visit(written)
    order = front.ids[walk(front)].tolist()
    found.page.locator("#walk").focus()
    for key, expected in (("Home", order[0]), ("ArrowRight", order[1]), ("End", order[-1]), ("ArrowLeft", order[-2])):
        found.page.keyboard.press(key)
        assert found.card("chosen") == expected
    assert f"id {order[-2]}" in found.text("#at")
    found.page.locator("#picture").focus()
    found.page.keyboard.press("Home")
    found.page.keyboard.press("ArrowRight")
    assert found.card("chosen") == order[1]
    found.page.locator("#back").click()
    assert found.card("chosen") == order[0]
    assert f"id {order[0]}" in str(found.page.locator("#walk").get_attribute("aria-valuetext"))
    found.check_quiet()


def screen(found: Visit, across: float, up: float) -> dict[str, float]:
    """Return where a point is drawn, from the ticks that a reader sees; both figures are shares."""
    ticks = found.page.evaluate(
        "[...document.querySelectorAll('#picture .axes text:not(.axis)')].map((t) => "
        "[Number(t.textContent.replace('\\u2212', '-')), Number(t.getAttribute('x')), Number(t.getAttribute('y')), "
        "t.getAttribute('text-anchor')])"
    )
    x = np.polyfit(*np.array([t[:2] for t in ticks if t[3] == "middle"]).T, 1)
    y = np.polyfit(*np.array([[t[0], t[2] - 4] for t in ticks if t[3] == "end"]).T, 1)
    return {"x": float(np.polyval(x, 100 * across)), "y": float(np.polyval(y, 100 * up))}


@pytest.mark.slow
def test_a_click_chooses_the_point_under_it(visit: Any, written: Path) -> None:
    front, found = loans()[0], visit(written)
    across, up = front.column("tpr_gap"), front.column("error")
    for place in (plain_place(front), int(np.argmin(across))):
        at = screen(found, across[place], up[place])
        found.page.locator("#picture").click(position=at)
        chosen = front.place(found.card("chosen"))
        drawn = screen(found, across[chosen], up[chosen])
        assert abs(drawn["x"] - at["x"]) + abs(drawn["y"] - at["y"]) < 1.0
    found.check_quiet()


@pytest.mark.slow
def test_axes_and_parts_can_be_picked(visit: Any, written: Path) -> None:
    front, X, y, groups = loans()
    found = visit(written)
    choices = found.page.locator("#up option").evaluate_all("(all) => all.map((o) => o.value)")
    assert {"loss", "loss_gap", "error", "auc", "cost", "tpr_gap", "selection_ratio", "signed|0|tpr|0"} <= set(choices)
    for value in choices:
        found.page.select_option("#up", value)
    found.page.select_option("#up", "cost")
    found.fill("#cost-missed", "5")
    found.page.select_option("#up", "error")
    train = [part["name"] for part in record_of(written)["parts"]].index("train")
    found.page.locator(f"#parts input[value='{train}']").check()
    trained = front.evaluate(X[:500], y[:500], sensitive_features={"group": groups["group"][:500]}, name="train")
    place = front.place(found.card("plain"))
    assert found.figure("plain", "error") == trained.column("error", "train")[place]
    assert "Rates on train, " in found.page.locator("#subtitle").inner_text()
    found.check_quiet()


@pytest.mark.slow
def test_the_lines_copy_and_the_downloads_agree(visit: Any, written: Path) -> None:
    front = loans()[0]
    found = visit(written, permissions=["clipboard-read", "clipboard-write"])
    found.page.evaluate(SLOW_CLIPBOARD)
    found.page.locator("#picture").focus()
    found.page.keyboard.press("End")
    chosen = found.card("chosen")
    assert front.select(id=chosen).coef_.shape == (1, front.models.n_features)
    for label, line in (
        ("Python", f"model = front.select(id={chosen})"),
        ("Command", f"fairfront select run/ --id {chosen} -o model/"),
    ):
        found.page.get_by_role("button", name=f"Copy the {label} line").click()
        found.wait_for("#said", f"Copied the {label} line to the clipboard.")
        assert found.page.evaluate("navigator.clipboard.readText()") == line
    with found.page.expect_download() as waiting:
        found.page.locator("#download-csv").click()
    lines = list(csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text())))
    assert [int(line["id"]) for line in lines] == front.ids.tolist()
    assert [float(line["validation.tpr_gap"]) for line in lines] == front.column("tpr_gap").tolist()
    with found.page.expect_download() as waiting:
        found.page.locator("#download-json").click()
    record = json.loads(Path(waiting.value.path()).read_text())
    assert record["chosen"] == chosen
    assert [p["loss"] for p in record["points"]] == front.loss.tolist()
    found.check_quiet()
