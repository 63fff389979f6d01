"""The table of one attribute: from what is judged and who belongs where to figures, worst contrasts and reasons."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array, Task
from ..problems.threads import blas_threads
from .counts import Counts
from .disclosure import FEW
from .lines import Lines, Share, shares_of
from .rows import Judged
from .scores import OF_BOTH_LABELS, Resampling, Scores, drawn_scores, score_columns
from .table_columns import Sureness, selection_columns, share_columns, value_columns, why
from .worst import Worst, worst_shares

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Settings:
    """How sure intervals are to be, and how they are drawn."""

    confidence: float = 0.95
    simultaneous: bool = False
    resampling: Resampling = field(default_factory=Resampling)

    def sureness(self, lines: Lines) -> Sureness:
        """Return the confidence of figures and of gaps, the latter for all groups at once on request."""
        others = max(1, int(lines.compared.sum())) if self.simultaneous else 1
        return Sureness(self.confidence, 1.0 - (1.0 - self.confidence) / others)


@dataclass(frozen=True, eq=False)
class Counted:
    """What stands behind the table of one attribute: counts of every line, and figures of scores by their suffix.

    Figures are not given of lines with ``few`` people, nor figures of ranking of those with ``few_labels``.
    """

    lines: Lines
    counts: Counts
    scores: dict[str, Scores]
    few: Mask
    few_labels: Mask


@dataclass(frozen=True, eq=False)
class GroupTable:
    """The table of one attribute: columns with one entry per line, the worst contrasts, and what stands behind them."""

    lines: Lines
    columns: dict[str, NDArray[Any]]
    worst: tuple[Worst, ...]
    shares: dict[str, Share] = field(default_factory=dict)
    behind: Counted | None = None

    @cached_property
    def readable(self) -> dict[str, list[Any]]:
        """Return plain values, with a reason in words wherever a figure has no value."""
        return {name: self._column(name, values.tolist()) for name, values in self.columns.items()}

    def _column(self, name: str, values: list[Any]) -> list[Any]:
        return [self._why(name, i) if v != v else v for i, v in enumerate(values)]

    def _why(self, name: str, i: int) -> str:
        if self.behind is not None and self.behind.few[i]:
            return f"not defined: {FEW}"
        if self.behind is not None and self.behind.few_labels[i] and name.startswith(OF_BOTH_LABELS):
            return f"not defined: {FEW} with one of the labels"
        return why(name, i, self.lines, self.columns)


@blas_threads(1)
def tabulate(judged: Judged, lines: Lines, settings: Settings) -> GroupTable:
    """Compute every figure of every line."""
    if judged.task.kind == "regression":
        return value_table(judged, lines, settings)
    counts = lines.counts(judged.decided[None], judged.truth, len(judged.task.classes), judged.weight).of_model(0)
    scores = {suffix: drawn_scores(each, lines, settings.resampling) for suffix, each in judged.scored.items()}
    nobody = np.zeros(len(lines.names), dtype=bool)
    return table_of(Counted(lines, counts, scores, nobody, nobody), judged.task, settings)


def value_table(
    judged: Judged, lines: Lines, settings: Settings, shown: Array | None = None, known: bool = True
) -> GroupTable:
    """Compute the means of every line; beside published numbers of rows in units of what one row adds."""
    sure = settings.sureness(lines)
    values, worst = value_columns(judged.truth, judged.decided, judged.weight, lines, sure, shown, known)
    return GroupTable(lines, _head(lines) | values, worst)


def table_of(behind: Counted, task: Task, settings: Settings) -> GroupTable:
    """Compute every figure from counts and from figures of scores."""
    lines, counts, sure = behind.lines, behind.counts, settings.sureness(behind.lines)
    shares = {name: _given(share, behind.few) for name, share in shares_of(counts, task).items()}
    columns: dict[str, NDArray[Any]] = {**_head(lines), **_counted(behind, task.favourable)}
    for name, share in shares.items():
        columns |= share_columns(name, share, lines, sure)
        if name == "selection":
            columns |= selection_columns(share, columns["n"], lines, sure)
    worst = worst_shares(shares, lines, settings.confidence)
    for suffix, scores in behind.scores.items():
        found, gaps = score_columns(scores, suffix, lines, sure)
        columns, worst = columns | found, worst + gaps
    return GroupTable(lines, columns, worst, shares, behind)


def _head(lines: Lines) -> dict[str, NDArray[Any]]:
    return {"group": np.array(lines.names, dtype=object), "status": np.array(lines.status, dtype=object)}


def _given(share: Share, few: Mask) -> Share:
    """Return a share without its value in lines of a few people."""
    return replace(share, value=np.where(few, np.nan, share.value), size=np.where(few, 0.0, share.size))


def _counted(behind: Counted, good: int) -> dict[str, Array]:
    """Return rows, weight, and the rows with the favourable label, another label, a favourable decision."""
    counts, lines = behind.counts, behind.lines
    n = counts.rows.sum(axis=(1, 2))
    positives = counts.rows[:, good].sum(axis=1)
    found = {
        "n": lines.whole(n),
        "weight": counts.weight.sum(axis=(1, 2)),
        "positives": lines.whole(positives),
        "negatives": lines.whole(n - positives),
        "selected": lines.whole(counts.rows[:, :, good].sum(axis=1)),
    }
    if not behind.few.any():
        return found
    return {name: values if name == "n" else np.where(behind.few, np.nan, values) for name, values in found.items()}
