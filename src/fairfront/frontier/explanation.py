"""Explanations: what changes from one point of a frontier to another."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from ..measures.moves import Flips
from ..objectives import Array
from ..records import html_record, html_table

TOP, BAR, HALF = 8, 9, 110
"""Features of the picture in a notebook, the height of a bar, and the width of the longest."""
BEFORE, AFTER = "#a9b3c1", "#d55e00"


@dataclass(frozen=True, repr=False)
class Explanation:
    """What changes from one point to another.

    features          names, the most moved first
    before, after     their coefficients in the two models (favourable decision for two classes)
    changed_sign      whether the sign changed
    group_auc         with data: how well each feature alone tells the smallest group from the reference (0.5: not)
    flips             with data: who gains and who loses a favourable decision, per attribute
    """

    features: tuple[str, ...]
    before: Array
    after: Array
    changed_sign: NDArray[np.bool_]
    group_auc: Array | None
    flips: dict[str, Flips]

    def __repr__(self) -> str:
        return f"Explanation({self.sentence()})"

    def sentence(self, top: int = 3) -> str:
        moved = ", ".join(
            f"{name} {before:+.3g} to {after:+.3g}"
            for name, before, after in zip(self.features[:top], self.before[:top], self.after[:top], strict=True)
        )
        return f"Moved most: {moved}; {int(self.changed_sign.sum())} coefficients changed sign."

    def _repr_html_(self) -> str:
        """Show the coefficients that moved most; changed decisions are counts of people and stay out."""
        lines = zip(self.features, self.before, self.after, self.changed_sign, strict=True)
        rows = [(str(name), f"{one:+.3g}", f"{two:+.3g}", "yes" if turned else "") for name, one, two, turned in lines]
        table = html_table(("", "before (grey)", "after (orange)", "sign changed"), rows[:TOP])
        after = "flips counts who gains and who loses; front.to_html(path, X=...) shows it as it may be shared."
        return html_record("Explanation", self.sentence(), self._bars() + table, after)

    def _bars(self) -> str:
        values = np.stack([self.before[:TOP], self.after[:TOP]])
        largest = float(np.abs(values).max(initial=0.0)) or 1.0
        bars, label = [], escape("coefficients before and after")
        for place, pair in enumerate(values.T):
            for k, (value, colour) in enumerate(zip(pair, (BEFORE, AFTER), strict=True)):
                width = HALF * abs(float(value)) / largest
                x, y = HALF - (width if value < 0 else 0.0), (2 * BAR + 4) * place + BAR * k
                bars.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{colour}"/>')
        height = (2 * BAR + 4) * values.shape[1]
        line = f'<path d="M{HALF} 0V{height}" stroke="currentColor"/>'
        return f'<svg width="{2 * HALF}" height="{height}" role="img" aria-label="{label}">{"".join(bars)}{line}</svg>'
