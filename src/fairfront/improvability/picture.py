"""The picture of a dossier: every model by a figure of the job and the gap, the incumbent marked, without a script."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from ..records import plain
from .estimates import JOBS

WIDE, HIGH, EDGE, TOP = 640, 372, 56, 32


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
    up = _scale(low, high, HIGH - EDGE, TOP)
    better_up = JOBS[job].better > 0
    top, bottom = (float(TOP), up(limit)) if better_up else (up(limit), HIGH - float(EDGE))
    ratio = record["improve"][0]["ratio"]
    left, right = (across(float(x[0])), WIDE - 16.0) if ratio else (float(EDGE), across(float(x[0])))
    said = (
        f"{job} (upwards) and {gap} (to the right) of {len(known)} models on rows that were not searched on. The "
        f"diamond is the incumbent ({job} {y[0]:.4g}, {gap} {x[0]:.4g}); filled circles are models that qualify. The "
        "shaded region holds figures within the tolerance and better than the incumbent's; figures there may still be "
        "chance, which the test allows for."
    )
    order = sorted(range(len(known)), key=lambda i: (known[i]["id"] == 0, bool(known[i]["qualified"]), -i))
    marks = "".join(_mark(known[i], across(float(x[i])), up(float(y[i])), (job, gap)) for i in order)
    return (
        f'<figure class="drawing"><svg viewBox="0 0 {WIDE} {HIGH}" role="group" aria-labelledby="drawn" width="{WIDE}">'
        f'<rect class="region" x="{left:.1f}" y="{top:.1f}" width="{max(right - left, 0):.1f}" '
        f'height="{max(bottom - top, 0):.1f}"/>'
        f'<path d="M{EDGE} {TOP}V{HIGH - EDGE}H{WIDE - 16}" fill="none" stroke="currentColor" stroke-opacity="0.5"/>'
        f"{_label(EDGE, HIGH - EDGE + 18, f'{x.min():.3g}')}"
        f"{_label(WIDE - 16, HIGH - EDGE + 18, f'{x.max():.3g}', 'end')}"
        f"{_label(EDGE - 6, HIGH - EDGE, f'{low:.3g}', 'end')}{_label(EDGE - 6, TOP + 8, f'{high:.3g}', 'end')}"
        f"{_label(WIDE // 2, HIGH - 14, gap, 'middle')}{_label(4, 16, job)}"
        f"{_label((left + right) / 2, bottom - 5 if better_up else top + 14, 'within the tolerance', 'middle')}"
        f"{_beside(across(float(x[0])), up(float(y[0])))}{marks}</svg>"
        f'<figcaption id="drawn">{escape(plain(said))}</figcaption></figure>'
    )


def _scale(low: float, high: float, start: float, end: float) -> Any:
    wide = high - low or 1.0
    return lambda value: start + (value - low) / wide * (end - start)


def _label(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="12">{escape(plain(text))}</text>'


def _beside(x: float, y: float) -> str:
    """Return the incumbent's name, on the side of its mark where there is room."""
    left = x > WIDE / 2
    return _label(x + (-14 if left else 14), y + 4, "incumbent", "end" if left else "start")


def _mark(line: Mapping[str, Any], x: float, y: float, names: tuple[str, str]) -> str:
    """Return a link from a model to its line of the table, which keys reach and screen readers read."""
    figures = ", ".join(f"{name} {line[name]:.4g}" for name in names)
    kind = "incumbent" if line["id"] == 0 else "qualified" if line["qualified"] else "refused"
    said = {"incumbent": "the incumbent", "qualified": "qualifies", "refused": "does not qualify"}[kind]
    shape = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6"/>'
    if kind == "incumbent":
        shape = f'<path d="M{x:.1f} {y - 9:.1f}L{x + 9:.1f} {y:.1f}L{x:.1f} {y + 9:.1f}L{x - 9:.1f} {y:.1f}Z"/>'
    label = escape(plain(f"id {line['id']}, {line['family']}: {figures}; {said}"), quote=True)
    return f'<a href="#model{line["id"]}" class="{kind}" aria-label="{label}"><title>{label}</title>{shape}</a>'
