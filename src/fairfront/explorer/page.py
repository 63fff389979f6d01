"""The page as text: template, one style and one script inlined, a policy that lets nothing else in, and its data.

A fragment for notebooks stands beside it. Arrays travel as base64 and JSON cannot leave its element. A figure without a
value is NaN, which JSON does not have and base64 of the floats has.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..frontier import Frontier
from ..frontier.cutoffs import is_test, operating_words
from ..frontier.selection import plain_place
from ..objectives import Array
from ..validation import counted
from .rows import detailed

SCRIPTS = (
    *("data.js", "figures.js", "rules.js", "elements.js", "scales.js", "marks.js", "chart.js"),
    *("decision.js", "groups.js", "changes.js", "pairs.js", "model.js", "actions.js", "main.js"),
)
GENERATOR = b'<meta name="generator" content="fairfront">'
STYLES = ("explorer.css", "print.css")
ROWS, WIDTH, HEIGHT, PAD = 12, 360, 200, 34
GREY, BLUE, DARK = "#a9b3c1", "#0072b2", "#3c4654"
UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


@cache
def asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def is_page(head: bytes) -> bool:
    return GENERATOR in head


def page(record: dict[str, Any]) -> str:
    scripts = "\n".join(map(asset, SCRIPTS))
    script = f'(() => {{\n"use strict";\n{scripts}\n}})();\n'
    style = "\n".join(map(asset, STYLES))
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {"policy": policy, "style": style, "data": safe_json(record), "script": script}
    text = asset("page.html")
    for name, value in parts.items():
        head, mark, tail = text.partition(f"@@{name}@@")
        if not mark:
            raise RuntimeError(f"page.html has no place for {name}.")
        text = head + value + tail
    return text


def _digest(text: str) -> str:
    """By which a content security policy knows an inline element."""
    return f"'sha256-{_base64(hashlib.sha256(text.encode('utf-8')).digest())}'"


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def packed(values: ArrayLike, kind: Literal["f8", "f4"] = "f8") -> dict[str, str]:
    """Little-endian floats in base64; ``f8`` keeps every bit, so that choices agree with Python's."""
    array = np.ascontiguousarray(values, dtype=f"<{kind}")
    return {kind: _base64(array.tobytes())}


def packed_bits(flags: ArrayLike) -> str:
    """Bits in base64, the first in the lowest bit."""
    return _base64(np.packbits(np.asarray(flags, dtype=bool).ravel(), bitorder="little").tobytes())


def rounded(values: ArrayLike, digits: int = 6) -> list[Any]:
    """None for NaN."""
    array = np.round(np.asarray(values, dtype=np.float64), digits)
    found = array.astype(object)
    found[~np.isfinite(array)] = None
    return list(found.tolist())


def safe_json(record: Any) -> str:
    """Return JSON in ASCII that stays text inside a script element: no <, >, &, nor a line separator."""
    text = json.dumps(record, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character, spelt in UNSAFE.items():
        text = text.replace(character, spelt)
    return text


def frontier_fragment(front: Frontier) -> str:
    """Escaped HTML of a few points; figures of test rows are not among them."""
    evaluated = [name for name in front.evaluations if not is_test(name)]
    on = "validation" if "validation" in evaluated else evaluated[0] if evaluated else None
    known = front.column_names(on) if on else ()
    across = next((name for name in known if name.endswith("_gap")), front.facts.gap_column)
    up = next((name for name in ("error", "mse") if name in known), "loss")
    rows = f"rates on {on}" if on else "training figures"
    head = f"{counted(len(front), 'point')}, {' + '.join(front.facts.notions)}; {rows}"
    sentence = " ".join((*front.sentences, operating_words(front.record(on) if on else None, front.facts)))
    columns = (up, *(name for name in ("approval_rate", "auc") if name in known), across)
    values = [front.column(name, on) for name in columns]
    plain, names = plain_place(front), front.models.names
    heads = "".join(f"<th>{escape(name)}</th>" for name in ("id", "", *columns))
    lines = []
    for place in detailed(front, limit=ROWS):
        mark = "plain" if place == plain else str(names[place])[:60] if names is not None else ""
        numbers = [f"{v[place]:.4g}" if np.isfinite(v[place]) else "not defined" for v in values]
        cells = (str(front.ids[place]), mark, *numbers)
        lines.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    return (
        f'<div style="font:13px/1.4 system-ui,sans-serif"><b>Frontier</b>: {escape(head)}<br>'
        f"<small>{escape(sentence)}</small><br>{_picture(front, on, across, up)}"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
        "<small>front.to_html(path) writes the explorer; front.select(...) gives a model.</small></div>"
    )


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
