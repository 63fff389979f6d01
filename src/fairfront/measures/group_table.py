"""The table of one attribute: figures, worst contrasts and reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array, Task
from ..problems.threads import one_blas_thread
from ..records import Record
from .counts import Counts, ratio
from .disclosure import (
    FEW,
    POOLED,
    Cell,
    in_units,
    publish_weights,
)
from .figures import Column
from .judged import Judged
from .lines import COMPARED, Lines
from .notion_figures import worst_scores
from .ranges import TableRange
from .rate_ranges import calibration_offsets, count_ranges, rate_ranges
from .rates import Share, shares_of
from .scores import OF_BOTH_LABELS, Scores, drawn_scores, score_columns
from .spans import Range, RateRange, plain_number
from .table_columns import Settings, normal_columns, selection_columns, share_columns, why
from .worst_contrasts import Worst, worst_means, worst_ratio, worst_shares

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Counted(Record):
    """What stands behind a table: counts of every line (of rows only for regression), and figures of scores by class.

    Figures are not given of lines with ``few`` people, nor figures of ranking of those with ``few_labels``; ``ranges``
    are what exact counts can be where small ones are rounded, which those of all rows ``within`` a level may be too.
    """

    counts: Counts
    scores: dict[int, Scores]
    few: Mask
    few_labels: Mask
    ranges: TableRange | None = None
    within: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class GroupTable(Record):
    """The table of one attribute: columns with one entry per line, the worst contrasts, and what stands behind them."""

    lines: Lines
    columns: dict[str, NDArray[Any]]
    worst: tuple[Worst, ...]
    behind: Counted
    shares: dict[str, Share] = field(default_factory=dict)

    @cached_property
    def cells(self) -> dict[str, list[Cell]]:
        return {
            name: [
                self._why(name, i) if value != value else Cell(value, ends=self._ends(name, i))
                for i, value in enumerate(values.tolist())
            ]
            for name, values in self.columns.items()
            if Column.of(name).end not in ("least", "most")
        }

    def _ends(self, name: str, i: int) -> tuple[float, ...]:
        """Return what the exact value can be, where rounding may have moved it notably."""
        ends = (float(self.columns[key][i]) for key in (f"{name}_least", f"{name}_most") if key in self.columns)
        return tuple(end for end in ends if end == end)

    def _why(self, name: str, i: int) -> Cell:
        if self.behind.few[i]:
            return Cell(reason=FEW)
        if self.behind.few_labels[i] and name.startswith(OF_BOTH_LABELS):
            return Cell(reason=f"{FEW} with one of the labels")
        return why(name, i, self.lines, self.columns)

    @property
    def readable(self) -> dict[str, list[Any]]:
        """Return columns as plain values; what rounding may have moved notably has ``_least`` and ``_most`` with it."""
        found: dict[str, list[Any]] = {}
        for name, cells in self.cells.items():
            found[name] = [cell.plain for cell in cells]
            if any(cell.ends for cell in cells):
                for k, end in enumerate(("least", "most")):
                    found[f"{name}_{end}"] = [plain_number(cell.ends[k]) if cell.ends else cell.plain for cell in cells]
        return found


@one_blas_thread()
def tabulate(judged: Judged, lines: Lines, settings: Settings, counts: Counts | None = None) -> GroupTable:
    """``counts`` are those of the decisions where they are known already."""
    nobody = np.zeros(len(lines.names), dtype=bool)
    if judged.task.kind == "regression":
        return value_table(judged, lines, settings, nobody)
    if counts is None:
        counts = lines.counts(judged.decided[None], judged.truth, len(judged.task.classes), judged.weight).take(0)
    scores = {k: drawn_scores(each, lines, settings) for k, each in judged.scored.items()}
    found = table_of(lines, Counted(counts, scores, nobody, nobody), judged.task, settings)
    return replace(found, worst=(*found.worst, *worst_scores(judged, lines, settings)))


def table_of(lines: Lines, behind: Counted, task: Task, settings: Settings) -> GroupTable:
    good, few, rows = task.favourable, behind.few, behind.counts.rows
    n, positives = rows.sum(axis=(1, 2)), rows[:, good].sum(axis=1)
    counts = {
        "weight": behind.counts.weight.sum(axis=(1, 2)),
        "positives": lines.whole(positives),
        "negatives": lines.whole(n - positives),
        "selected": lines.whole(rows[:, :, good].sum(axis=1)),
    }
    if few.any():
        counts = {name: np.where(few, np.nan, values) for name, values in counts.items()}
    columns: dict[str, NDArray[Any]] = {**_head(lines), "n": lines.whole(n), **counts}
    if behind.ranges is not None:
        columns |= _count_ends(behind.ranges, task)
    shares = {name: share.without(few) for name, share in _every_share(behind.counts, task, settings.more).items()}
    if behind.ranges is not None:
        shares = _with_ranges(shares, behind.counts, behind.ranges, lines, task)
    for name, share in shares.items():
        columns |= share_columns(name, share, lines, settings)
        if name == "selection":
            ends = (np.where((end := columns.get(f"n_{key}", n)) == end, end, n) for key in ("least", "most"))
            columns |= selection_columns(share, Range(n, *ends), lines, settings)
    worst = worst_shares(shares, lines, settings.confidence)
    if "tpr_ratio" in settings.more:
        worst = (*worst, worst_ratio("tpr", shares["tpr"], lines, settings.confidence))
    for k, scores in behind.scores.items():
        suffix = "" if task.kind == "binary" else f"[{task.classes[k]}]"
        off = {}
        if behind.ranges is not None:
            off = calibration_offsets(behind.ranges, k, scores.value["spread"][-1], within=behind.within)
        found, gaps = score_columns(scores, suffix, lines, settings, off)
        columns, worst = columns | found, worst + gaps
    return GroupTable(lines, columns, worst, behind, shares)


def _every_share(counts: Counts, task: Task, more: Sequence[str]) -> dict[str, Share]:
    found = shares_of(counts, task.favourable, more)
    for k, label in enumerate(task.classes if task.kind == "multiclass" else ()):
        of_class = shares_of(counts, k)
        named = {"selection": "selection", "tpr": "recall", "fpr": "fpr", "precision": "precision"}
        found |= {f"{name}[{label}]": of_class[of] for of, name in named.items()}
    return found


def _with_ranges(
    shares: dict[str, Share], counts: Counts, ranges: TableRange, lines: Lines, task: Task
) -> dict[str, Share]:
    """Return shares with what exact ones can be; groups that are pooled may have any."""
    several, table = task.kind == "multiclass", counts.changed(lambda cells: cells[None])
    found: dict[str, RateRange] = {}
    for k, label in [(task.favourable, None), *(enumerate(task.classes) if several else ())]:
        for name, each in rate_ranges(table, ranges, k, more=shares).items():
            if name != "recall":
                found[name if label is None else f"{'recall' if name == 'tpr' else name}[{label}]"] = each
    found["fnr"] = RateRange(1.0 - found["tpr"].high, 1.0 - found["tpr"].low, found["tpr"].least)
    known = {name: replace(found[name], least=found[name].least * share.size) for name, share in shares.items()}
    if POOLED in lines.names and lines.status[lines.names.index(POOLED)] == COMPARED:
        known = {name: each.pooled(lines.names.index(POOLED)) for name, each in known.items()}
    return {name: replace(share, known=known[name]) for name, share in shares.items()}


def _count_ends(ranges: TableRange, task: Task) -> dict[str, Array]:
    found = count_ranges(ranges, task.favourable)
    return {
        f"{name}_{end}": np.where(each.width > 0, values, np.nan)
        for name, each in found.items()
        if (each.width > 0).any()
        for end, values in (("least", each.low), ("most", each.high))
    }


def _head(lines: Lines) -> dict[str, NDArray[Any]]:
    return {"group": np.array(lines.names, dtype=object), "status": np.array(lines.status, dtype=object)}


def value_table(
    judged: Judged, lines: Lines, settings: Settings, few: Mask, shown: Array | None = None, known: bool = True
) -> GroupTable:
    """Compute means of every line but those of a few people, with normal intervals, and the worst gaps.

    ``shown`` are published numbers of rows, beside which weights and means are given in units of what one row adds;
    those of all rows are not where their number is ``known``.
    """
    nothing = np.zeros(len(judged.truth), dtype=np.intp)
    counts = lines.counts(nothing[None], nothing, 1, judged.weight).take(0).changed(lambda cells: cells[:, 0, 0])
    n, weight = counts.rows, counts.weight
    size = np.nan_to_num(ratio(weight**2, counts.squared))
    columns: dict[str, Any] = {"weight": weight}
    if shown is not None:
        mean_weight = float(weight[-1] / n[-1])
        columns["weight"] = np.append(publish_weights(weight[:-1], n[:-1], shown[:-1], mean_weight), weight[-1])
    residual, worst, residual_error = judged.truth - judged.decided, [], np.empty(0)
    for name, values in {"prediction": judged.decided, "residual": residual, "mse": residual**2}.items():
        shift = float(values.mean())
        powers = (values - shift, (values - shift) ** 2)
        first, second = (lines.sums(each if judged.weight is None else each * judged.weight) for each in powers)
        mean = ratio(first, weight)
        spread = np.maximum(ratio(second, weight) - mean**2, 0.0)
        mean, error = mean + shift, np.sqrt(ratio(spread, np.where(size > 1, size - 1.0, np.nan)))
        if shown is not None:
            one = np.nan_to_num(error * np.sqrt(size)) / np.where(shown > 0, shown, 1.0)
            mean = in_units(mean, np.append(one[:-1], 0.0 if known else one[-1]))
        columns |= normal_columns(name, mean, error, lines, settings)
        worst.append(worst_means(name, mean, error, lines, settings))
        residual_error = error if name == "residual" else residual_error
    if "actual_over_expected" in settings.more:
        expected = columns["prediction"]
        value, error = 1.0 + ratio(columns["residual"], expected), ratio(residual_error, expected)
        columns |= normal_columns("actual_over_expected", value, error, lines, settings)
        worst.append(worst_means("actual_over_expected", value, error, lines, settings))
    if few.any():
        columns = {name: np.where(few, np.nan, values) for name, values in columns.items()}
    columns = {**_head(lines), "n": lines.whole(n if shown is None else shown), **columns}
    return GroupTable(lines, columns, tuple(worst), Counted(counts, {}, few, np.zeros(len(n), dtype=bool)))
