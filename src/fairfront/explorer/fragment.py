"""A frontier inside a notebook: a small static picture and table, no script."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from ..frontier import Frontier
from ..frontier.cutoffs import is_test, operating_words
from ..frontier.selection import plain_place
from ..objectives import Array
from ..validation import counted
from .order import detailed

ROWS, WIDTH, HEIGHT, PAD = 12, 360, 200, 34
GREY, BLUE, DARK = "#a9b3c1", "#0072b2", "#3c4654"


def frontier_fragment(front: Frontier) -> str:
    """Return a few points of a frontier as escaped HTML; figures of test rows are not among them."""
    names = [name for name in front.evaluations if not is_test(name)]
    on = "validation" if "validation" in names else names[0] if names else None
    across, up = _axes(front, on)
    head = f"{counted(len(front), 'point')}, {' + '.join(front.facts.notions)}" + (
        f"; rates on {on}" if on else "; training figures"
    )
    sentence = " ".join((*front.sentences, operating_words(front.record(on) if on else None, front.facts)))
    figures = _table(front, on, _columns(front, on, up, across))
    return (
        f'<div style="font:13px/1.4 system-ui,sans-serif"><b>Frontier</b>: {escape(head)}<br>'
        f"<small>{escape(sentence)}</small><br>{_picture(front, on, across, up)}{figures}"
        "<small>front.to_html(path) writes the explorer; front.select(...) gives a model.</small></div>"
    )


def _axes(front: Frontier, on: str | None) -> tuple[str, str]:
    """Return the columns across and up: a rate gap and the error where they are known, else training figures."""
    if on is None:
        return front.facts.gap_column, "loss"
    names = front.column_names(on)
    gap = next((name for name in names if name.endswith("_gap")), front.facts.gap_column)
    return gap, next((name for name in ("error", "mse") if name in names), "loss")


def _columns(front: Frontier, on: str | None, up: str, across: str) -> tuple[str, ...]:
    known = front.column_names(on) if on else ()
    return (up, *(name for name in ("approval_rate", "auc") if name in known), across)


def _table(front: Frontier, on: str | None, columns: tuple[str, ...]) -> str:
    heads = "".join(f"<th>{escape(name)}</th>" for name in ("id", "", *columns))
    values = [front.column(name, on) for name in columns]
    plain = plain_place(front)
    names: Any = front.models.names
    lines = []
    for place in detailed(front, limit=ROWS):
        mark = "plain" if place == plain else str(names[place])[:60] if names is not None else ""
        cells = (str(front.ids[place]), mark, *(_figure(v[place]) for v in values))
        lines.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _figure(value: float) -> str:
    return f"{value:.4g}" if np.isfinite(value) else "not defined"


def _picture(front: Frontier, on: str | None, across: str, up: str) -> str:
    x, y = front.column(across, on), front.column(up, on)
    known = np.isfinite(x) & np.isfinite(y)
    if known.sum() < 2:
        return ""
    px, py = _scaled(x, known, PAD, WIDTH - 10), _scaled(y, known, HEIGHT - PAD, 10)
    plain = plain_place(front)
    shown = [int(i) for i in detailed(front) if known[i]]
    dots = "".join(f'<circle cx="{px[i]:.1f}" cy="{py[i]:.1f}" r="3" fill="{BLUE}"/>' for i in shown)
    square = f'<rect x="{px[plain] - 4:.1f}" y="{py[plain] - 4:.1f}" width="8" height="8" fill="{DARK}"/>'
    frame = f'<path d="M{PAD} 10V{HEIGHT - PAD}H{WIDTH - 10}" fill="none" stroke="{GREY}"/>'
    words = (
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 12}" text-anchor="middle" font-size="11">{escape(across)}</text>'
        f'<text transform="translate(14 {HEIGHT / 2}) rotate(-90)" text-anchor="middle" font-size="11">'
        f"{escape(up)}</text>"
    )
    label = escape(f"{up} against {across}")
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    head = f'<svg {size} role="img" aria-label="{label}" fill="currentColor">'
    return f"{head}{frame}{dots}{square if known[plain] else ''}{words}</svg>"


def _scaled(values: Array, known: Any, start: float, end: float) -> Array:
    low, high = float(values[known].min()), float(values[known].max())
    share = (np.where(known, values, low) - low) / (high - low if high > low else 1.0)
    return np.asarray(start + (0.04 + 0.92 * share) * (end - start))
