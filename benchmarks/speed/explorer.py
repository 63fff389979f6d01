"""The explorer with many points in headless Chromium: size, first paint, and how quickly it answers."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import fairfront as ff
from fairfront.explorer import write_explorer
from fairfront.frontier import LinearModels

from ..report import Section, Table, thousands

SIZES = (24, 15_000)
STEPS = 40
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
WALK = """async (steps) => {
  const slider = document.getElementById("walk");
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const times = [];
  for (let i = 0; i < steps; i += 1) {
    await frame();
    const start = performance.now();
    slider.value = String(Math.round((Number(slider.max) * ((i * 37) % steps)) / steps));
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    document.body.getBoundingClientRect();
    const script = performance.now() - start;
    await frame();
    times.push([script, performance.now() - start]);
  }
  return times;
}"""


def traced() -> tuple[ff.Frontier, Any, Any, Any]:
    """Return a frontier on synthetic loans and its validation rows."""
    data = ff.datasets.load_loans(n=6000, seed=0)
    order = np.random.default_rng(0).permutation(len(data.y))
    train, validation = order[:4000], order[4000:]
    X, _ = data.matrix("one_hot", fit_on=train)
    group = {"group": data.columns["group"]}
    front = ff.trace(
        X[train],
        data.y[train],
        sensitive_features={k: v[train] for k, v in group.items()},
        favourable="repaid",
        n_points=24,
    )
    return front, X[validation], data.y[validation], {k: v[validation] for k, v in group.items()}


def stretched(front: ff.Frontier, n: int) -> ff.Frontier:
    """Return n points on the lines between those of a frontier, to load the page; they are no solved models."""
    at = np.linspace(0, len(front) - 1, n)

    def between(values: np.ndarray) -> np.ndarray:
        low = np.floor(at).astype(int)
        high = np.minimum(low + 1, len(front) - 1)
        share = (at - low).reshape(-1, *[1] * (values.ndim - 1))
        return values[low] * (1 - share) + values[high] * share

    points = front.models
    assert isinstance(points, LinearModels)
    names = ("objectives", "gaps", "signed_gaps", "preferences", "kkt", "multipliers")
    return replace(
        front,
        models=replace(points, coef=between(points.coef), intercept=between(points.intercept)),
        points=replace(
            front.points,
            status=tuple(front.status[int(i)] for i in at),
            certified=front.certified[at.astype(int)],
            ids=np.arange(n),
            **{name: between(np.nan_to_num(getattr(front, name))) for name in names},
        ),
    )


def busy(tools: Any) -> float:
    """Return the seconds of processor time that the page's thread has used for tasks, layout and paint."""
    return {m["name"]: m["value"] for m in tools.send("Performance.getMetrics")["metrics"]}["TaskDuration"]


def measure(path: Path) -> dict[str, float]:
    """Return milliseconds of the page in a fresh browser: first paint, ready, slider."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        tools = context.new_cdp_session(page)
        tools.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.goto(path.as_uri())
        page.wait_for_function("document.documentElement.dataset.ready === 'yes'")
        page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length > 0")
        paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        before = busy(tools)
        times = page.evaluate(WALK, STEPS)
        after = busy(tools)
        marks = page.evaluate("document.querySelectorAll('#picture *').length")
        browser.close()
    scripts, frames = zip(*times, strict=True)
    return {
        "paint": paint,
        "busy": 1000 * (after - before) / STEPS,
        "script": statistics.median(scripts),
        "frame": statistics.median(frames),
        "worst": sorted(frames)[int(0.95 * len(frames))],
        "marks": marks,
    }


def sections(quick: bool) -> list[Section]:
    """Measure both sizes."""
    front, X, y, groups = traced()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for n in SIZES[:1] if quick else SIZES:
            many = (front if n == len(front) else stretched(front, n)).evaluate(X, y, sensitive_features=groups)
            start = time.perf_counter()
            path = write_explorer(many, Path(folder) / f"{n}.html", X=X, y=y, sensitive_features=groups)
            written = time.perf_counter() - start
            found = [measure(path) for _ in range(1 if quick else 3)]
            middle = {key: statistics.median(f[key] for f in found) for key in found[0]}
            shown = [f"{middle[key]:.0f} ms" for key in ("paint", "script", "busy", "frame", "worst")]
            size = f"{path.stat().st_size / 1e6:.2f} MB"
            rows.append([thousands(n), size, f"{written:.1f} s", *shown, f"{middle['marks']:.0f}"])
    head = ["points", "file", "written in", "first paint", "slider: script and layout", "slider: processor time",
            "slider: to next frame", "19 of 20 below", "SVG elements"]  # fmt: skip
    text = (
        f"Headless Chromium, page opened from disk, machine shared (load {os.getloadavg()[0]:.0f} on {os.cpu_count()} "
        f"cores); medians of 3 fresh browsers, {STEPS} jumps of the slider each. Bounds: first paint 2 000 ms, slider "
        "50 ms. Processor time is what the page's own thread uses, whatever else the machine does. Points are "
        "thinned for drawing, never for choosing; the larger front lies on the lines between the "
        "points of the smaller one."
    )
    summary = f"The explorer paints {rows[-1][0]} points in {rows[-1][3]} and answers its slider in {rows[-1][4]}."
    return [Section("tools", "Explorer", [text, Table(head, rows)], summary)]
