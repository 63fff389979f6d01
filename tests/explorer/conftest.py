"""A browser, a page opened in it, and the page of a small frontier."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairfront.explorer import write_explorer
from tests.support.pages import loans
from tests.support.visits import ARGUMENTS, CHROMIUM, WATCH, Visit
from tests.support.waiting import PATIENCE


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start Debian's Chromium, or skip with the reason."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed; the page is not tried")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed; the page is not tried")
    with sync_api.sync_playwright() as play:
        found = play.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=PATIENCE * 1000)
        yield found
        found.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    contexts = []

    def opened(path: Path, width: int = 1280, **options: Any) -> Visit:
        context = browser.new_context(viewport={"width": width, "height": 900}, accept_downloads=True, **options)
        context.set_default_timeout(PATIENCE * 1000)
        contexts.append(context)
        page = context.new_page()
        found = Visit(page)

        def passed(route: Any) -> None:
            found.requests.append(route.request.url)
            route.continue_() if route.request.url == path.as_uri() else route.abort()

        page.route("**/*", passed)
        page.on("console", lambda message: found.complaints.append(message.text))
        page.on("pageerror", lambda error: found.complaints.append(str(error)))
        page.add_init_script(WATCH)
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=yes]")
        return found

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    front, X, y, groups = loans()
    front = front.evaluate(X[:500], y[:500], sensitive_features={"group": groups["group"][:500]}, name="train")
    folder = tmp_path_factory.mktemp("explorer")
    command = "fairfront select run/ --id {id} -o model/"
    return write_explorer(
        front, folder / "page.html", X=X, y=y, sensitive_features=groups, command=command, title="Loans"
    )
