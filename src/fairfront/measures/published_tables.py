"""Tables of an audit as they are published: small groups pooled, small counts rounded, every figure from these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array, Task
from .counts import Counts, ratio
from .disclosure import LIMIT, POOLED, any_small, publish_levels, publish_sizes, publish_table, publish_weights
from .group_table import Counted, GroupTable, Settings, table_of, tabulate, value_table
from .lines import COMPARED, TOO_FEW, Lines
from .rows import Judged
from .scores import Scores


def published_table(judged: Judged, exact: GroupTable, settings: Settings) -> GroupTable:
    """Return the table of an attribute as it may be published; its line of all rows is that of every attribute."""
    lines = published_lines(exact.lines, exact.columns["n"])
    if judged.task.kind == "regression":
        return _values(judged, lines, settings)
    known = exact if lines is exact.lines else tabulate(judged, lines, settings)
    rows = _behind(known).counts.rows
    return _counts(known, judged.task, settings, publish_table(rows[None, :-1])[0], _is_plain(rows), whole=True)


def published_strata(
    judged: Mapping[str, Judged],
    whole: Mapping[str, GroupTable],
    levels: Mapping[str, NDArray[np.intp]],
    settings: Settings,
) -> dict[str, dict[str, GroupTable]]:
    """Return the tables within levels; their counts add up to those of the published tables of all rows, ``whole``."""
    found: dict[str, dict[str, GroupTable]] = {level: {} for level in levels}
    for name, published in whole.items():
        lines = {level: published.lines.take(rows) for level, rows in levels.items()}
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


def published_lines(lines: Lines, n: Array) -> Lines:
    """Pool the groups of 1 to `LIMIT` - 1 rows; ``n`` are the rows of every line. The reference stays by itself."""
    groups = len(lines.names) - 1 - (lines.ungrouped is not None)
    small = [i for i in range(groups) if 0 < n[i] < LIMIT and i != lines.reference]
    few = [i for i in range(groups) if n[i] < LIMIT]
    if not small:
        return _marked(lines, few)
    total = sum(float(n[i]) for i in small)
    compared = total >= max(lines.min_size, LIMIT) and any(lines.status[i] == COMPARED for i in small)
    order = [[i] for i in range(lines.reference) if i not in small]
    order += [small] if compared else []
    order += [[lines.reference]]
    c = len(order)
    order += [[i] for i in range(lines.c, groups) if i not in small]
    order += [] if compared else [small]
    order += [[i] for i in range(groups, len(lines.names))]
    names = tuple(POOLED if some == small else lines.names[some[0]] for some in order)
    status = tuple((COMPARED if compared else TOO_FEW) if some == small else lines.status[some[0]] for some in order)
    place = np.empty(len(lines.names), dtype=np.int64)
    for new, some in enumerate(order):
        place[some] = new
    pooled = replace(lines, names=names, status=status, c=c)
    if lines.codes is not None:
        pooled = replace(pooled, codes=place[lines.codes])
    else:
        assert lines.shares is not None
        shares = np.column_stack([lines.shares[:, some].sum(axis=1) for some in order[:-1]])
        pooled = replace(pooled, shares=shares)
    return _marked(pooled, [new for new, some in enumerate(order) if some[0] in few and some != small])


def _marked(lines: Lines, few: list[int]) -> Lines:
    """Mark lines of a few people as not compared."""
    if not any(lines.status[i] == COMPARED for i in few):
        return lines
    status = tuple(TOO_FEW if i in few and kind == COMPARED else kind for i, kind in enumerate(lines.status))
    return replace(lines, status=status)


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
