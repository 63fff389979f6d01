"""The table of one attribute: figures, worst contrasts and reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Task
from ..problems.threads import one_blas_thread
from ..records import Record
from .counts import Counts, ratio
from .judged import Judged
from .lines import Lines
from .notion_figures import worst_scores
from .rates import Share, shares_of
from .scores import drawn_scores, score_columns
from .table_columns import Cell, Settings, normal_columns, selection_columns, share_columns, why
from .worst_contrasts import Worst, worst_means, worst_ratio, worst_shares


@dataclass(frozen=True, eq=False, repr=False)
class GroupTable(Record):
    """The table of one attribute: columns with one entry per line, the worst contrasts, and what stands behind them.

    ``counts`` are those of every line; of rows only for regression.
    """

    lines: Lines
    columns: dict[str, NDArray[Any]]
    worst: tuple[Worst, ...]
    counts: Counts
    shares: dict[str, Share] = field(default_factory=dict)

    @cached_property
    def cells(self) -> dict[str, list[Cell]]:
        return {
            name: [
                why(name, i, self.lines, self.columns) if value != value else Cell(value)
                for i, value in enumerate(values.tolist())
            ]
            for name, values in self.columns.items()
        }

    @property
    def readable(self) -> dict[str, list[Any]]:
        """Return columns as plain values."""
        return {name: [cell.plain for cell in cells] for name, cells in self.cells.items()}


@one_blas_thread()
def tabulate(judged: Judged, lines: Lines, settings: Settings, counts: Counts | None = None) -> GroupTable:
    """``counts`` are those of the decisions where they are known already."""
    task = judged.task
    if task.kind == "regression":
        return _value_table(judged, lines, settings)
    if counts is None:
        counts = lines.counts(judged.decided[None], judged.truth, len(task.classes), judged.weight).take(0)
    good, rows = task.favourable, counts.rows
    n, positives = rows.sum(axis=(1, 2)), rows[:, good].sum(axis=1)
    columns: dict[str, NDArray[Any]] = {
        **_head(lines),
        "n": lines.whole(n),
        "weight": counts.weight.sum(axis=(1, 2)),
        "positives": lines.whole(positives),
        "negatives": lines.whole(n - positives),
        "selected": lines.whole(rows[:, :, good].sum(axis=1)),
    }
    shares = _every_share(counts, task, settings.more)
    for name, share in shares.items():
        columns |= share_columns(name, share, lines, settings)
        if name == "selection":
            columns |= selection_columns(share, n, lines, settings)
    worst = worst_shares(shares, lines, settings.confidence)
    if "tpr_ratio" in settings.more:
        worst = (*worst, worst_ratio("tpr", shares["tpr"], lines, settings.confidence))
    for k, scored in judged.scored.items():
        suffix = "" if task.kind == "binary" else f"[{task.classes[k]}]"
        found, gaps = score_columns(drawn_scores(scored, lines, settings), suffix, lines, settings)
        columns, worst = columns | found, worst + gaps
    return GroupTable(lines, columns, (*worst, *worst_scores(judged, lines, settings)), counts, shares)


def _every_share(counts: Counts, task: Task, more: Sequence[str]) -> dict[str, Share]:
    found = shares_of(counts, task.favourable, more)
    for k, label in enumerate(task.classes if task.kind == "multiclass" else ()):
        of_class = shares_of(counts, k)
        named = {"selection": "selection", "tpr": "recall", "fpr": "fpr", "precision": "precision"}
        found |= {f"{name}[{label}]": of_class[of] for of, name in named.items()}
    return found


def _head(lines: Lines) -> dict[str, NDArray[Any]]:
    return {"group": np.array(lines.names, dtype=object), "status": np.array(lines.status, dtype=object)}


def _value_table(judged: Judged, lines: Lines, settings: Settings) -> GroupTable:
    """Compute means of every line, with normal intervals, and the worst gaps."""
    nothing = np.zeros(len(judged.truth), dtype=np.intp)
    counts = lines.counts(nothing[None], nothing, 1, judged.weight).take(0).changed(lambda cells: cells[:, 0, 0])
    n, weight = counts.rows, counts.weight
    size = np.nan_to_num(ratio(weight**2, counts.squared))
    columns: dict[str, Any] = {**_head(lines), "n": lines.whole(n), "weight": weight}
    residual, worst, residual_error = judged.truth - judged.decided, [], np.empty(0)
    for name, values in {"prediction": judged.decided, "residual": residual, "mse": residual**2}.items():
        shift = float(values.mean())
        powers = (values - shift, (values - shift) ** 2)
        first, second = (lines.sums(each if judged.weight is None else each * judged.weight) for each in powers)
        mean = ratio(first, weight)
        spread = np.maximum(ratio(second, weight) - mean**2, 0.0)
        mean, error = mean + shift, np.sqrt(ratio(spread, np.where(size > 1, size - 1.0, np.nan)))
        columns |= normal_columns(name, mean, error, lines, settings)
        worst.append(worst_means(name, mean, error, lines, settings))
        residual_error = error if name == "residual" else residual_error
    if "actual_over_expected" in settings.more:
        expected = columns["prediction"]
        value, error = 1.0 + ratio(columns["residual"], expected), ratio(residual_error, expected)
        columns |= normal_columns("actual_over_expected", value, error, lines, settings)
        worst.append(worst_means("actual_over_expected", value, error, lines, settings))
    return GroupTable(lines, columns, tuple(worst), counts)
