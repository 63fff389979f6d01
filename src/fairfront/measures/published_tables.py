"""Tables of attributes as they are published: small groups pooled, small counts rounded, all figures of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array, Task
from .counts import Counts, ratio
from .disclosure import LIMIT, any_small_cell, publish_counts, publish_levels, publish_sizes, with_rows
from .group_table import Counted, GroupTable, table_of, tabulate, value_table
from .judged import Judged
from .lines import Lines, published_lines
from .notion_figures import worst_scores
from .ranges import TableRange, level_ranges, table_range
from .table_columns import Settings


def published_table(judged: Judged, exact: GroupTable, settings: Settings) -> GroupTable:
    """The line of all rows is that of every attribute."""
    lines = published_lines(exact.lines, exact.columns["n"])
    if judged.task.kind == "regression":
        return _published_values(judged, lines, settings)
    known = exact if lines is exact.lines else tabulate(judged, lines, settings)
    counts = known.behind.counts.changed(lambda cells: cells[None])
    shown = publish_counts(counts, judged.task.favourable)
    ranges = table_range(shown.rows, judged.task.favourable, lines.half)
    found = _published_counts(known, judged.task, settings, None if shown is counts else shown.take(0), ranges)
    return replace(found, worst=(*found.worst, *worst_scores(judged, lines, settings, LIMIT)))


def published_strata(
    levels: Mapping[str, tuple[Judged, NDArray[np.intp]]], whole: Mapping[str, GroupTable], settings: Settings
) -> dict[str, dict[str, GroupTable]]:
    """Return the tables within levels; their counts add up to those of the published tables of all rows, ``whole``."""

    def of_levels(exact: Array, total: Array) -> Array:
        shown = publish_levels(exact[:, :-1], total[:-1])
        return np.concatenate([shown, shown.sum(axis=1, keepdims=True)], axis=1)  # all rows are the sum of other lines

    found: dict[str, dict[str, GroupTable]] = {level: {} for level in levels}
    for name, published in whole.items():
        lines = {level: published.lines.take(rows) for level, (_, rows) in levels.items()}
        if not published.shares:  # regression
            exact = np.stack([each.sizes() for each in lines.values()])
            every = of_levels(exact, np.asarray(published.columns["n"], dtype=np.float64))
            for (level, (judged, _)), shown in zip(levels.items(), every, strict=True):
                found[level][name] = _published_values(judged, lines[level], settings, shown)
            continue
        tables = {level: tabulate(judged, lines[level], settings) for level, (judged, _) in levels.items()}
        exact = np.stack([table.behind.counts.rows for table in tables.values()])
        small = any(any_small_cell(rows[None, :-1]) for rows in (*exact, exact.sum(axis=0)))
        every = of_levels(exact, published.behind.counts.rows) if small else exact
        n = exact.sum(axis=(2, 3))
        assert published.behind.ranges is not None
        ranges = level_ranges(every, published.behind.ranges, (n > 0) & (n < LIMIT), published.lines.half)
        for (level, table), shown, known in zip(tables.items(), every, ranges, strict=True):
            behind = table.behind.counts.changed(lambda cells: cells[None])
            counts = with_rows(behind, shown[None]).take(0) if small else None
            found[level][name] = _published_counts(table, levels[level][0].task, settings, counts, known, within=True)
    return found


def _published_counts(
    table: GroupTable, task: Task, settings: Settings, shown: Counts | None, ranges: TableRange, within: bool = False
) -> GroupTable:
    """``shown`` are published counts where they are not the exact ones."""
    exact, labels = table.behind.counts, table.behind.counts.rows.sum(axis=2)
    n = labels.sum(axis=1)
    few = (n > 0) & (n < LIMIT)
    few_labels = ((labels > 0) & (labels < LIMIT)).any(axis=1) & ~few
    counts = exact if shown is None else shown
    known = counts.rows.sum(axis=2)
    known[-1] *= within  # no units of all rows
    scores = {}
    for k, each in table.behind.scores.items():
        base, told = (ratio(c.weight[:, k].sum(axis=1), c.weight.sum(axis=(1, 2))) for c in (exact, counts))
        scores[k] = each.published(few, few_labels, np.nan_to_num(told - base))
        if shown is not None:
            scores[k] = scores[k].in_units(known[:, k], known.sum(axis=1) - known[:, k])
    return table_of(table.lines, Counted(counts, scores, few, few_labels, ranges, within), task, settings)


def _published_values(judged: Judged, lines: Lines, settings: Settings, shown: Array | None = None) -> GroupTable:
    n, known = lines.sizes(), shown is None
    few = (n > 0) & (n < LIMIT)
    if shown is None and few[:-1].any():
        shown = np.append(publish_sizes(n[:-1]), n[-1])
    return value_table(judged, lines, settings, few, shown, known)
