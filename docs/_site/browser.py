"""Look at the built site in a real browser: one page of each kind, on a screen and a phone, light and dark.

Nothing may be loaded from elsewhere, nothing may be wider than the screen, and axe must not complain. Where there is no
browser this says so and nothing else.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from typing import Any

SITE = Path(__file__).parents[1] / "_build" / "html"
PAGES = (
    *("index", "start/csv", "start/reading", "how-to/index", "how-to/move", "explanation/frontier", "search"),
    *("reference/python", "reference/api/fairfront.trace", "reference/commands", "reference/statuses"),
    *("gallery/index", "gallery/plot_01_frontier", "benchmarks/peers", "paper/README"),
)
LOOKS = ((1280, "light"), (1280, "dark"), (390, "light"))


def complaints(page: Any, axe: str, name: str) -> list[str]:
    """Return what is wrong with an open page."""
    found = []
    wider = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    if wider > 0:
        found.append(f"{wider} pixels wider than the screen")
    if axe:
        page.evaluate(axe)
        for each in page.evaluate("axe.run(document, { iframes: false })")["violations"]:
            found.append(f"{each['id']} ({each['impact']}): {each['nodes'][0]['html'][:120]}")
    return [f"{name}: {each}" for each in found]


def main() -> int:
    """Print what is wrong; return 1 if anything is."""
    chromium = shutil.which("chromium")
    if chromium is None or importlib.util.find_spec("playwright") is None:
        print("chromium or playwright is missing: the pages were not looked at")
        return 0
    from playwright.sync_api import sync_playwright

    spec = importlib.util.find_spec("axe_playwright_python")
    axe = (Path(spec.origin).parent / "axe.min.js").read_text(encoding="utf-8") if spec and spec.origin else ""
    found: list[str] = [] if axe else ["axe-playwright-python is missing: contrast and names were not checked"]
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for width, scheme in LOOKS:
            page = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme).new_page()
            asked: list[str] = []
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            for name in PAGES:
                page.goto((SITE / f"{name}.html").as_uri())
                page.wait_for_load_state("load")
                found += complaints(page, axe, f"{name} ({width}, {scheme})")
            found += [
                f"loaded from elsewhere: {url}" for url in asked if not url.startswith(("file:", "data:", "blob:"))
            ]
        browser.close()
    print("\n".join(found) or f"{len(PAGES)} pages looked at, {len(LOOKS)} ways each: nothing wrong")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
