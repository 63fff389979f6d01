"""The picture of a dossier: every model by a figure of the job and the gap, the incumbent marked, without a script."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from .estimates import JOBS

WIDE, HIGH, EDGE = 640, 360, 56


def picture(record: Mapping[str, Any]) -> str:
    """Return a figure as SVG with a caption that says in words what it shows; empty where there is nothing to draw."""
    job, gap = next(iter(record["keep"])), record["improve"][0]["name"]
    known = [line for line in record["table"] if line.get(job) is not None and line.get(gap) is not None]
    if len(known) < 2 or known[0]["id"] != 0:
        return ""
    x, y = (np.array([line[name] for line in known]) for name in (gap, job))
    limit = y[0] - JOBS[job].better * record["keep"][job]
    low, high = float(min(y.min(), limit)), float(max(y.max(), limit))
    across = _scale(float(x.min()), float(x.max()), EDGE, WIDE - 16)
    up = _scale(low, high, HIGH - EDGE, 16)
    better_up = JOBS[job].better > 0
    top, bottom = (16.0, up(limit)) if better_up else (up(limit), HIGH - float(EDGE))
    ratio = record["improve"][0]["ratio"]
    left, right = (across(float(x[0])), WIDE - 16.0) if ratio else (float(EDGE), across(float(x[0])))
    said = (
        f"{job} (upwards) and {gap} (to the right) of {len(known)} models on rows that were not searched on. The "
        f"diamond is the incumbent ({job} {y[0]:.4g}, {gap} {x[0]:.4g}); filled circles are models that qualify. The "
        "shaded region holds figures within the tolerance and better than the incumbent's; figures there may still be "
        "chance, which the test allows for."
    )
    marks = "".join(_mark(line, across(float(a)), up(float(b))) for line, a, b in zip(known, x, y, strict=True))
    return (
        f'<figure><svg viewBox="0 0 {WIDE} {HIGH}" role="img" aria-labelledby="caption" width="{WIDE}">'
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{max(right - left, 0):.1f}" height="{max(bottom - top, 0):.1f}" '
        'fill="currentColor" fill-opacity="0.08"/>'
        f'<path d="M{EDGE} 16V{HIGH - EDGE}H{WIDE - 16}" fill="none" stroke="currentColor" stroke-opacity="0.5"/>'
        f"{_label(EDGE, HIGH - EDGE + 18, f'{x.min():.3g}')}{_label(WIDE - 60, HIGH - EDGE + 18, f'{x.max():.3g}')}"
        f"{_label(4, HIGH - EDGE, f'{low:.3g}')}{_label(4, 24, f'{high:.3g}')}"
        f"{_label(WIDE // 2, HIGH - 14, gap)}{_label(4, 12, job)}{marks}</svg>"
        f'<figcaption id="caption">{escape(said)}</figcaption></figure>'
    )


def _scale(low: float, high: float, start: float, end: float) -> Any:
    wide = high - low or 1.0
    return lambda value: start + (value - low) / wide * (end - start)


def _label(x: float, y: float, text: str) -> str:
    return f'<text x="{x}" y="{y}" font-size="12" fill="currentColor">{escape(text)}</text>'


def _mark(line: Mapping[str, Any], x: float, y: float) -> str:
    if line["id"] == 0:
        path = f"M{x:.1f} {y - 8:.1f}L{x + 8:.1f} {y:.1f}L{x:.1f} {y + 8:.1f}L{x - 8:.1f} {y:.1f}Z"
        return f'<path d="{path}" fill="currentColor"/>'
    fill = "currentColor" if line["qualified"] else "none"
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{fill}" stroke="currentColor"/>'
