"""From what is judged and who belongs where to the table of one attribute."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from ..problems.threads import blas_threads
from .group_table import Share, Sureness, selection_columns, share_columns, shares_of, why
from .judged import Judged
from .lines import Counts, Lines, count
from .score_table import Resampling, score_columns
from .suppression import Hidden, hidden_lines, hidden_rows
from .value_table import value_columns
from .worst import Worst, worst_shares


@dataclass(frozen=True)
class Settings:
    """How sure intervals are to be, and how they are drawn."""

    confidence: float = 0.95
    simultaneous: bool = False
    resampling: Resampling = field(default_factory=Resampling)
    suppress_below: int = 10

    def sureness(self, lines: Lines) -> Sureness:
        """Return the confidence of figures and of gaps, the latter for all groups at once on request."""
        others = max(1, int(lines.compared.sum())) if self.simultaneous else 1
        return Sureness(self.confidence, 1.0 - (1.0 - self.confidence) / others)


@dataclass(frozen=True, eq=False)
class GroupTable:
    """The table of one attribute: columns with one entry per line, the worst contrasts, and counts behind them."""

    lines: Lines
    columns: dict[str, NDArray[Any]]
    worst: tuple[Worst, ...]
    hidden: Hidden
    shares: dict[str, Share] = field(default_factory=dict)

    @cached_property
    def readable(self) -> dict[str, list[Any]]:
        """Return plain values, with a reason in words wherever a figure has no value."""
        return {name: self._column(name, values.tolist()) for name, values in self.columns.items()}

    def _column(self, name: str, values: list[Any]) -> list[Any]:
        return [why(name, i, self.lines, self.columns) if v != v else v for i, v in enumerate(values)]


@blas_threads(1)
def tabulate(judged: Judged, lines: Lines, settings: Settings) -> GroupTable:
    """Compute every figure of every line."""
    head = {"group": np.array(lines.names, dtype=object), "status": np.array(lines.status, dtype=object)}
    sure = settings.sureness(lines)
    if judged.task.kind == "regression":
        values, worst = value_columns(judged.truth, judged.decided, judged.weight, lines, sure)
        hidden = hidden_rows(values["n"], lines.reference, settings.suppress_below, lines.ungrouped)
        return GroupTable(lines, head | values, worst, hidden)
    counts = count(lines, judged.truth, judged.decided, len(judged.task.classes), judged.weight)
    shares = shares_of(counts, judged.task)
    columns: dict[str, NDArray[Any]] = {**head, **_counted(counts, lines, judged.task.favourable)}
    for name, share in shares.items():
        columns |= share_columns(name, share, lines, sure)
        if name == "selection":
            columns |= selection_columns(share, columns["weight"], lines, sure)
    worst = worst_shares(shares, lines, settings.confidence)
    for suffix, scored in judged.scored.items():
        found, gaps = score_columns(scored, suffix, lines, sure, settings.resampling)
        columns, worst = columns | found, worst + gaps
    hidden = hidden_lines(counts.rows, lines.reference, settings.suppress_below, lines.ungrouped)
    return GroupTable(lines, columns, worst, hidden, shares)


def _counted(counts: Counts, lines: Lines, good: int) -> dict[str, Array]:
    """Return rows, weight, and the rows with the favourable label, another label, a favourable decision."""
    n = counts.rows.sum(axis=(1, 2))
    positives = counts.rows[:, good].sum(axis=1)
    return {
        "n": lines.whole(n),
        "weight": counts.weight.sum(axis=(1, 2)),
        "positives": lines.whole(positives),
        "negatives": lines.whole(n - positives),
        "selected": lines.whole(counts.rows[:, :, good].sum(axis=1)),
    }
