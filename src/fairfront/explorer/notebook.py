"""Frontiers in notebooks: some of their points as a table with a small picture, without a script."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from ..frontier import Frontier
from ..frontier.judgement import is_test, operating_words
from ..frontier.selection import plain_place
from ..objectives import Array
from ..records import html_record, html_table
from ..validation import counted
from .details import detailed

ROWS, WIDTH, HEIGHT, PAD = 12, 360, 200, 46
AFTER = "front.to_html(path) writes the explorer; front.select(...) gives a model."
GREY, BLUE, DARK = "#a9b3c1", "#0072b2", "#3c4654"


@dataclass(frozen=True)
class Shared:
    """A frontier with the figures of one evaluation, never of test (``on``; None: of training), and its axes."""

    front: Frontier
    on: str | None
    across: str
    up: str

    @classmethod
    def of(cls, front: Frontier) -> Shared:
        evaluated = [name for name in front.evaluations if not is_test(name)]
        on = "validation" if "validation" in evaluated else evaluated[0] if evaluated else None
        known = front.column_names(on) if on else ()
        across = next((name for name in known if name.endswith("_gap")), front.facts.gap_column)
        return cls(front, on, across, next((name for name in ("error", "mse") if name in known), "loss"))

    @property
    def columns(self) -> tuple[str, ...]:
        known = self.front.column_names(self.on) if self.on else ()
        return (self.up, *(name for name in ("approval_rate", "auc") if name in known), self.across)

    @property
    def head(self) -> str:
        rows = f"rates on {self.on}" if self.on else "training figures"
        return f"{counted(len(self.front), 'point')}, {' + '.join(self.front.facts.notions)}; {rows}"

    @property
    def sentence(self) -> str:
        record = self.front.record(self.on) if self.on else None
        return " ".join((*self.front.sentences, operating_words(record, self.front.facts)))

    def column(self, name: str) -> Array:
        return self.front.column(name, self.on)

    def mark(self, place: int) -> str:
        """The unconstrained model, or the name of a candidate."""
        names = self.front.models.names
        if place == plain_place(self.front):
            return "unconstrained"
        return "" if names is None else str(names[place])[:60]


def frontier_fragment(front: Frontier, title: str = "Frontier", after: str = AFTER) -> str:
    """Escaped HTML of a few points."""
    points = Shared.of(front)
    values = [points.column(name) for name in points.columns]
    lines = []
    for place in detailed(points.front, limit=ROWS):
        numbers = [f"{v[place]:.4f}" if np.isfinite(v[place]) else "not defined" for v in values]
        lines.append((str(front.ids[place]), points.mark(place), *numbers))
    table = html_table(("id", "", *points.columns), lines)
    said = f"<small>{escape(points.sentence)}</small><br>"
    return html_record(title, points.head, said + _picture(points) + table, after)


def _picture(points: Shared) -> str:
    front, across, up = points.front, points.across, points.up
    x, y = points.column(across), points.column(up)
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
    ends = [f"{end:.3g}" for each in (x, y) for end in (each[known].min(), each[known].max())]
    places = [
        (PAD, HEIGHT - 20, "start"),
        (WIDTH - 10, HEIGHT - 20, "end"),
        (PAD - 3, HEIGHT - PAD, "end"),
        (PAD - 3, 18, "end"),
    ]
    words += "".join(
        f'<text x="{left}" y="{top}" text-anchor="{anchor}" font-size="9">{end}</text>'
        for end, (left, top, anchor) in zip(ends, places, strict=True)
    )
    label = escape(f"{up} against {across}")
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    head = f'<svg {size} role="img" aria-label="{label}" fill="currentColor">'
    return f"{head}{frame}{dots}{square if known[plain] else ''}{words}</svg>"


def _scaled(values: Array, known: NDArray[np.bool_], start: float, end: float) -> Array:
    low, high = float(values[known].min()), float(values[known].max())
    share = (np.where(known, values, low) - low) / (high - low if high > low else 1.0)
    return np.asarray(start + (0.04 + 0.92 * share) * (end - start))
