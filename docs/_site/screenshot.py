"""Draw ``docs/_static/explorer.png`` from the real program, where there is a browser."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import tempfile
from pathlib import Path

SIZE = {"width": 1180, "height": 860}
PICTURE = Path(__file__).parents[1] / "_static" / "explorer.png"


def main() -> int:
    """Trace the embedded loans, open the explorer and take its picture; without a browser, say so."""
    chromium = shutil.which("chromium")
    if chromium is None or importlib.util.find_spec("playwright") is None:
        print("chromium or playwright is missing: the picture stays as it is")
        return 0
    from playwright.sync_api import sync_playwright

    import fairfront as ff

    data = ff.datasets.load_loans(seed=0)
    two = data.columns["group"] != "C"
    X, y, group = data.matrix("one_hot")[0][two], data.y[two], data.columns["group"][two]
    front = ff.trace(X[:4000], y[:4000], sensitive_features={"group": group[:4000]}, favourable="repaid")
    rows = {"X": X[4000:], "y": y[4000:], "sensitive_features": {"group": group[4000:]}}
    front = front.evaluate(rows["X"], rows["y"], sensitive_features=rows["sensitive_features"], approval_rate=0.6)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        chosen = front.choose(least="tpr_gap", within={"error": 0.02})
        page = front.to_html(Path(folder) / "report.html", title="Loans", chosen=chosen, **rows)
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        opened = browser.new_context(viewport=SIZE, color_scheme="light").new_page()
        opened.goto(page.as_uri())
        opened.wait_for_selector("html[data-ready=yes]")
        opened.screenshot(path=PICTURE)
        browser.close()
    print(PICTURE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
