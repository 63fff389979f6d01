"""A browser and how it is started, and an open page that says everything it asked for or complained of."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from typing import Any

from tests.support.waiting import PATIENCE

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
