"""The page of a dossier in a real browser: quiet, inert, and usable without a mouse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.improvability.test_improvability import lender, searched
from tests.support.visits import ARGUMENTS, CHROMIUM, WATCH, Visit
from tests.support.waiting import PATIENCE

HOSTILE = "<img src=x onerror=alert(1)></script>\u202e\"'"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    """Open the page of a search whose groups have hostile names, or skip with the reason."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed; the page is not tried")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed; the page is not tried")
    given = lender(3000, 0)
    groups = {HOSTILE: np.where(given["sensitive_features"]["group"] == "a", HOSTILE, "b")}
    found = searched({**given, "sensitive_features": groups}, n_splits=2)
    path = Path(found.save(tmp_path_factory.mktemp("page") / "dossier")) / "dossier.html"
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=PATIENCE * 1000)
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        context.set_default_timeout(PATIENCE * 1000)
        visit = Visit(context.new_page())
        visit.page.on("request", lambda request: visit.requests.append(request.url))
        visit.page.on("console", lambda message: visit.complaints.append(message.text))
        visit.page.on("pageerror", lambda error: visit.complaints.append(str(error)))
        visit.page.add_init_script(WATCH)
        visit.page.goto(path.as_uri())
        yield visit
        browser.close()


@pytest.mark.slow
def test_hostile_names_are_text_and_nothing_is_asked_for(page: Visit) -> None:
    assert HOSTILE.replace("\u202e", "") in page.text("main")
    assert "\u202e" not in page.page.content()
    assert page.page.locator("img, script").count() == 0
    page.check_quiet()


@pytest.mark.slow
def test_keys_lead_from_a_mark_to_its_line(page: Visit) -> None:
    marks = page.page.locator(".drawing a")
    assert marks.count() == page.page.locator("tr[id^=model]").count()
    labels = [str(each.get_attribute("aria-label")) for each in marks.all()]
    assert sum("the incumbent" in label for label in labels) == 1
    assert any(label.endswith("; qualifies") for label in labels)
    page.page.keyboard.press("Tab")
    assert page.page.evaluate("document.activeElement.className") == "skip"
    marks.first.focus()
    page.page.keyboard.press("Enter")
    target = page.page.evaluate("location.hash")
    assert page.page.locator(f"tr{target}").count() == 1
    assert page.page.evaluate("document.querySelector(':target') !== null")


@pytest.mark.slow
def test_the_page_says_what_it_shows(page: Visit) -> None:
    found = page.page
    assert found.locator("h1").count() == 1
    assert found.locator("section").count() == found.locator("section[aria-labelledby]").count()
    assert found.evaluate(
        "[...document.querySelectorAll('[aria-labelledby]')].every((e) => document.getElementById("
        "e.getAttribute('aria-labelledby')))"
    )
    assert (
        found.evaluate("new Set([...document.querySelectorAll('[id]')].map((e) => e.id)).size")
        == found.locator("[id]").count()
    )
    assert float(found.locator(".region").get_attribute("width") or 0) > 0
    assert "diamond is the incumbent" in page.text("figcaption#drawn")
    assert found.locator(".sheet:not([tabindex='0'])").count() == 0
    assert found.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.slow
def test_the_page_fits_a_small_screen(page: Visit) -> None:
    page.page.set_viewport_size({"width": 390, "height": 800})
    assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.page.evaluate("parseFloat(getComputedStyle(document.querySelector('.drawing text')).fontSize) > 12")
    inside = "[...document.querySelectorAll('.drawing text')].every((e) => e.getBoundingClientRect().left >= 0)"
    assert page.page.evaluate(inside)
