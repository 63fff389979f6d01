"""What the browser tests share: a browser, and an open page that says everything it asked for or complained of."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fairfront.explorer import write_explorer
from test_explorer import loans
from waiting_for_tests import PATIENCE

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
WATCH = (
    "window.broken = []; addEventListener('securitypolicyviolation', (e) => window.broken.push(e.violatedDirective));"
)


@dataclass
class Visit:
    """An open page, and everything that it asked for or complained of."""

    page: Any
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).inner_text())

    def card(self, role: str) -> int:
        return int(self.page.locator(f".card[data-role={role}]").get_attribute("data-id"))

    def figure(self, role: str, name: str) -> float:
        return float(self.page.locator(f".card[data-role={role}] [data-figure='{name}']").get_attribute("data-value"))

    def wait_for(self, selector: str, text: str) -> None:
        """Wait until an element has a text."""
        from playwright.sync_api import expect

        expect(self.page.locator(selector)).to_have_text(text, timeout=PATIENCE * 1000)

    def fill(self, selector: str, value: str) -> None:
        self.page.locator(selector).fill(value)

    def check_quiet(self) -> None:
        """Assert that nothing left the page and nothing went wrong on it."""
        assert len(self.requests) == 1, self.requests
        assert self.complaints == []
        assert self.page.evaluate("window.broken") == []


@pytest.fixture(scope="module", name="browser")
def browser_fixture() -> Iterator[Any]:
    """Start Debian's Chromium, or skip with the reason."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed; the page is not tried")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed; the page is not tried")
    with sync_api.sync_playwright() as play:
        found = play.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=PATIENCE * 1000)
        yield found
        found.close()


@pytest.fixture(name="visit")
def visit_fixture(browser: Any) -> Iterator[Any]:
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


@pytest.fixture(scope="module", name="written")
def written_fixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    front, X, y, groups = loans()
    front = front.evaluate(X[:500], y[:500], sensitive_features={"group": groups["group"][:500]}, name="train")
    folder = tmp_path_factory.mktemp("explorer")
    command = "fairfront select run/ --id {id} -o model/"
    return write_explorer(
        front, folder / "page.html", X=X, y=y, sensitive_features=groups, command=command, small=0, title="Loans"
    )
