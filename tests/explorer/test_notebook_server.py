"""The widget in a real notebook: JupyterLab on the loopback address, started and stopped by the test."""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.extras import need
from tests.support.places import environment
from tests.support.waiting import PATIENCE, until

CELLS = (
    """
import fairfront as ff

data = ff.datasets.load_loans(n=3000)
two = data.columns["group"] != "C"
X, y, group = data.matrix("one_hot")[0][two], data.y[two], data.columns["group"][two]
front = ff.trace(X[:1800], y[:1800], sensitive_features=group[:1800], favourable="repaid", n_points=5)
front = front.evaluate(X[1800:], y[1800:], sensitive_features=group[1800:], approval_rate=0.6)
widget = front.widget(train=(X[:1800], y[:1800], group[:1800]), validation=(X[1800:], y[1800:], group[1800:]))
widget
""",
    "print('chosen', widget.chosen, 'of', len(widget.front), type(widget.front.select(id=widget.chosen)).__name__)",
    "front",
)


def notebook(cells: tuple[str, ...]) -> dict[str, Any]:
    made = [
        {
            "cell_type": "code",
            "id": f"cell{i}",
            "metadata": {},
            "source": text.strip(),
            "outputs": [],
            "execution_count": None,
        }
        for i, text in enumerate(cells)
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": made}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """Serve a folder with the notebook, and give its address; kernels end with the server."""
    need("jupyterlab", "anywidget", "pandas")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "choose.ipynb").write_text(json.dumps(notebook(CELLS)))
    port, token = free_port(), secrets.token_hex()
    own = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "RUNTIME")}
    options = {
        "ip": "127.0.0.1",
        "port": port,
        "port_retries": 0,
        "allow_root": True,
        "root_dir": str(tmp_path / "work"),
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", f"--IdentityProvider.token={token}"]
    command += [f"--ServerApp.{name}={value}" for name, value in options.items()]
    command += ["--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(
            command, stdout=log, stderr=log, env={**environment(), **own, "HOME": str(tmp_path)}, start_new_session=True
        )
        try:
            until(lambda: answers(port, server, tmp_path / "log"))
            yield f"http://127.0.0.1:{port}/lab/tree/choose.ipynb?token={token}"
        finally:
            server.terminate()  # a server that is told so shuts its kernels down
            server.wait(PATIENCE)


def answers(port: int, server: subprocess.Popen[bytes], log: Path) -> bool:
    assert server.poll() is None, log.read_text()
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.slow
def test_choosing_and_solving_in_a_notebook(lab: str, browser: Any, tmp_path: Path) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 1200})
    page.set_default_timeout(PATIENCE * 1000)
    page.goto(lab)
    cells = page.locator(".jp-Notebook .jp-CodeCell")

    def run(place: int) -> None:
        asked = page.locator(".jp-Dialog .jp-mod-accept")  # which kernel, where the one named was slow to start
        if asked.count():
            asked.first.click()
        cells.nth(place).locator(".cm-content").click()
        page.keyboard.press("Shift+Enter")

    page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]")
    prompt = cells.nth(0).locator(".jp-InputPrompt")
    # a notebook that is still being laid out hears nothing
    until(lambda: re.search(r"[*\d]", prompt.inner_text()) or run(0))
    slider = cells.nth(0).get_by_role("slider")
    slider.wait_for()
    # Jupyter moves the focus once after a cell
    until(lambda: slider.input_value() != "0" or slider.press("ArrowRight"))
    assert slider.input_value() == "1"
    run(1)
    cells.nth(1).locator(".jp-OutputArea").get_by_text("chosen 1 of 5 FixedThresholdClassifier").wait_for()
    cells.nth(0).locator(".jp-OutputArea").get_by_role("button").click()
    until(lambda: cells.nth(0).locator("svg circle").count() == 6)
    run(1)
    cells.nth(1).locator(".jp-OutputArea").get_by_text("of 6 FixedThresholdClassifier").wait_for()
    run(2)
    cells.nth(2).locator(".jp-OutputArea table").first.wait_for()
    assert cells.nth(2).locator(".jp-OutputArea script").count() == 0
    if folder := os.environ.get("FAIRFRONT_PICTURES"):
        page.screenshot(path=Path(folder) / "notebook.png")
    page.close()
