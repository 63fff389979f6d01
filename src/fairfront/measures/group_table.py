"""The table of one attribute, exact and as it is published: figures, worst contrasts and reasons.

Published tables have small groups pooled and small counts rounded, and every figure computed from these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array, Task
from ..problems.threads import blas_threads
from .counts import Counts, ratio
from .disclosure import (
    FEW,
    LIMIT,
    Cell,
    any_small,
    publish_levels,
    publish_sizes,
    publish_table,
    publish_weights,
)
from .judged import Judged
from .lines import Lines, Share, published_lines, shares_of
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
    def cells(self) -> dict[str, list[Cell]]:
        """Return every entry, with the reason wherever a figure has no value."""
        return {
            name: [self._why(name, i) if value != value else Cell(value) for i, value in enumerate(values.tolist())]
            for name, values in self.columns.items()
        }

    def _why(self, name: str, i: int) -> Cell:
        if self.behind is not None and self.behind.few[i]:
            return Cell(reason=FEW)
        if self.behind is not None and self.behind.few_labels[i] and name.startswith(OF_BOTH_LABELS):
            return Cell(reason=f"{FEW} with one of the labels")
        return why(name, i, self.lines, self.columns)

    @property
    def readable(self) -> dict[str, list[Any]]:
        """Return plain values, with words wherever a figure has none."""
        return {name: [cell.plain for cell in cells] for name, cells in self.cells.items()}


@blas_threads(1)
def tabulate(judged: Judged, lines: Lines, settings: Settings, counts: Counts | None = None) -> GroupTable:
    """Compute every figure of every line; ``counts`` are those of its decisions where they are known already."""
    if judged.task.kind == "regression":
        return value_table(judged, lines, settings)
    if counts is None:
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


def published_table(judged: Judged, exact: GroupTable, settings: Settings) -> GroupTable:
    """Return the table of an attribute as it may be published; its line of all rows is that of every attribute."""
    lines = published_lines(exact.lines, exact.columns["n"])
    if judged.task.kind == "regression":
        return _values(judged, lines, settings)
    known = exact if lines is exact.lines else tabulate(judged, lines, settings)
    rows = _behind(known).counts.rows
    return _counts(known, judged.task, settings, publish_table(rows[None, :-1])[0], _is_plain(rows), whole=True)


def published_strata(
    levels: Mapping[str, tuple[Judged, NDArray[np.intp]]], whole: Mapping[str, GroupTable], settings: Settings
) -> dict[str, dict[str, GroupTable]]:
    """Return the tables within levels; their counts add up to those of the published tables of all rows, ``whole``."""
    judged = {level: some for level, (some, _) in levels.items()}
    found: dict[str, dict[str, GroupTable]] = {level: {} for level in levels}
    for name, published in whole.items():
        lines = {level: published.lines.take(rows) for level, (_, rows) in levels.items()}
        if next(iter(judged.values())).task.kind == "regression":
            exact = np.stack([each.sizes() for each in lines.values()])[:, :, None, None]
            every = _levels(exact, np.asarray(published.columns["n"], dtype=np.float64)[:, None, None])[:, :, 0, 0]
            for level, shown in zip(levels, every, strict=True):
                found[level][name] = _values(judged[level], lines[level], settings, shown)
            continue
        tables = {level: tabulate(judged[level], lines[level], settings) for level in levels}
        exact = np.stack([_behind(table).counts.rows for table in tables.values()])
        every = _levels(exact, _behind(published).counts.rows)
        plain = all(_is_plain(rows) for rows in (*exact, exact.sum(axis=0)))
        for (level, table), shown in zip(tables.items(), every, strict=True):
            found[level][name] = _counts(table, judged[level].task, settings, shown, plain)
    return found


def _levels(exact: Array, total: Array) -> Array:
    """Return rows by level, line, label and decision that may be published; all rows are the sum of the other lines."""
    shown = publish_levels(exact[:, :-1], total[:-1])
    return np.concatenate([shown, shown.sum(axis=1, keepdims=True)], axis=1)


def _behind(table: GroupTable) -> Counted:
    assert table.behind is not None
    return table.behind


def _counts(
    table: GroupTable, task: Task, settings: Settings, shown: Array, plain: bool, whole: bool = False
) -> GroupTable:
    """Return a table of published counts; ``plain`` says that they are exact, ``whole`` that those of all rows are."""
    exact = _behind(table)
    rows = exact.counts.rows
    n, labels = rows.sum(axis=(1, 2)), rows.sum(axis=2)
    few = (n > 0) & (n < LIMIT)
    few_labels = ((labels > 0) & (labels < LIMIT)).any(axis=1) & ~few
    counts = exact.counts if plain else _scaled(exact.counts, shown)
    scores = {
        suffix: each.published(few, few_labels, _shift(exact.counts, counts, suffix, task))
        for suffix, each in exact.scores.items()
    }
    if not plain:
        known = np.where(whole & (np.arange(len(n)) == len(n) - 1), 0.0, shown.sum(axis=2).T).T  # no units of all rows
        up = {suffix: known[:, _class(suffix, task)] for suffix in scores}
        scores = {suffix: each.in_units(up[suffix], known.sum(axis=1) - up[suffix]) for suffix, each in scores.items()}
    return table_of(Counted(exact.lines, counts, scores, few, few_labels), task, settings)


def _is_plain(rows: Array) -> bool:
    """Tell whether rows by line, label and decision, all rows last, are published as they are."""
    groups = rows[:-1]
    return not any_small(groups.sum(axis=(1, 2)), groups.sum(axis=2), groups, groups.shape[2])


def _scaled(exact: Counts, shown: Array) -> Counts:
    """Return weights and squared weights of published rows, in units of a row's mean; those of all rows as they are."""
    if exact.weight is exact.rows:
        return Counts(shown, shown, shown)
    n, found = exact.rows[-1].sum(), []
    for each in (exact.weight, exact.squared):
        inner = publish_weights(each[:-1], exact.rows[:-1], shown[:-1], float(each[-1].sum() / n))
        outer = each[-1] * np.nan_to_num(ratio(shown[-1], exact.rows[-1]))
        found.append(np.concatenate([inner, outer[None]]))
    return Counts(shown, *found)


def _shift(exact: Counts, shown: Counts, suffix: str, task: Task) -> Array:
    """Return by how much the share of the label behind a figure of scores moves from exact to published counts."""
    k = _class(suffix, task)

    def base(counts: Counts) -> Array:
        return ratio(counts.weight[:, k].sum(axis=1), counts.weight.sum(axis=(1, 2)))

    return np.nan_to_num(base(shown) - base(exact))


def _class(suffix: str, task: Task) -> int:
    """Return the class that a figure of scores with such an ending is about."""
    names = [f"[{label}]" for label in task.classes]
    return names.index(suffix) if suffix in names else task.favourable


def _values(judged: Judged, lines: Lines, settings: Settings, shown: Array | None = None) -> GroupTable:
    """Return a table of means with published numbers of rows, and no means of a few people."""
    n, known = lines.sizes(), shown is None
    few = (n > 0) & (n < LIMIT)
    if shown is None and few[:-1].any():
        shown = np.append(publish_sizes(n[:-1]), n[-1])
    table = value_table(judged, lines, settings, shown, known)
    columns = {
        name: values if name in ("group", "status", "n") else np.where(few, np.nan, values)
        for name, values in table.columns.items()
    }
    nobody = np.zeros(len(n), dtype=bool)
    behind = Counted(table.lines, Counts(n, n, n), dict[str, Scores](), few, nobody)
    return replace(table, columns=columns, behind=behind)
