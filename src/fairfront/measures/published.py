"""Evaluations as they are published: small groups pooled, small counts rounded, all figures computed from these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Array, Task
from ..objectives.groups import STEP
from ..records import html_record, html_table
from ..validation import counted
from .counts import Counts, Means, Overall, Sums, ratio
from .disclosure import (
    LIMIT,
    POOLED,
    Pool,
    any_small,
    in_units,
    pool_of,
    publish_counts,
    publish_sizes,
    publish_table,
    publish_weights,
)
from .evaluation import Evaluation, evaluation_of
from .ranges import Range, RateRange, table_range
from .rates import GroupMeans, Margins, PerGroup, effective_sizes, means_of

ROWS = 12
"""Models of an evaluation that a notebook lists."""


def published(record: Evaluation, task: Task) -> Evaluation:
    """Return an evaluation in which no count below `LIMIT` is exact; one that was published already stays as it is."""
    if record.small:
        return record
    record = replace(record, task=None)
    if record.sums is None:
        raise InputError(f"evaluation {record.name!r} has no counts to publish, expected one made by evaluate.")
    groups: dict[str, PerGroup] = {}
    sizes: dict[str, dict[str, Array]] = {}
    ranges = _overall_ranges(record.sums, task)
    for (name, rates), counts in zip(record.groups.items(), record.sums.groups, strict=True):
        pool = pool_of(rates.levels, counts.sizes[:-1])
        pooled = counts.pooled((*pool.members, (len(rates.levels),)))
        if isinstance(pooled, Means):
            means = _means(pooled, pool, record.sums)
            groups[name], ranges[name] = means, _mean_ranges(means)
        else:
            half = STEP / 2 if name in record.proxies else STEP // 2
            groups[name], sizes[name], ranges[name] = _rates(pooled, pool, task.favourable, half)
    area, everyone = record.columns.get("auc"), record.sums.everyone
    if area is not None and isinstance(everyone, Counts) and everyone.rows[:1].sum(axis=(0, 1, 3)).min() < LIMIT:
        area = np.full_like(area, np.nan)  # it rests on a few people of one label
    found = evaluation_of(record.name, task, _overall(record.sums, task), groups, area)
    figures = {name: getattr(found, name) for name in ("columns", "signed", "groups", "labels", "alike")}
    known = {name: sizes[name] for name in record.sizes}
    ranges = {name: dict(sorted(each.items())) for name, each in ranges.items()}
    return replace(record, **figures, sizes=known, ranges=ranges, small=LIMIT, sums=None)


def _means(exact: Means, pool: Pool, sums: Sums) -> GroupMeans:
    shown, few = publish_sizes(exact.rows)[:-1], exact.rows[:-1] < LIMIT
    weight, total = exact.weight[:-1], exact.sums[:, :-1]
    if any_small(exact.rows, exact.rows[:, None], exact.rows, 1):
        mean = np.nan_to_num(ratio(total, weight[:, None]))
        one = np.sqrt(mean[:, :, 2]) / np.where(shown > 0, shown, 1.0)
        weight = publish_weights(weight, exact.rows[:-1], shown, sums.weight / sums.n)
        unit = np.stack([one, one, one * np.sqrt(mean[:, :, 2])], axis=2)
        total = in_units(mean, unit) * weight[:, None]
    return means_of(shown, np.where(few, 0.0, weight), np.where(few[:, None], 0.0, total), pool.levels)


def _mean_ranges(shown: GroupMeans) -> dict[str, RateRange]:
    """Of means in units of what a row adds, each is off by half a unit."""
    n = np.where(shown.n > 0.5, shown.n, np.nan)
    mse = shown.mse / (1.0 - 0.5 / n)
    off = {"prediction": np.sqrt(mse) / n, "residual": np.sqrt(mse) / n, "mse": mse / n}
    found = {name: (shown.rate(name), each / 2.0) for name, each in off.items()}
    return {name: RateRange(mean - each, mean + each, np.ones(len(n))) for name, (mean, each) in found.items()}


def _rates(
    counts: Counts, pool: Pool, good: int, half: float
) -> tuple[PerGroup, dict[str, Array], dict[str, RateRange]]:
    """Return rates of published rows, none of groups of a few people, effective sizes behind them, and their ranges.

    The counts are those of an audit of the same rows: two roundings of one count would tell more of it than one.
    """
    few, c = counts.sizes[:-1] < LIMIT, len(pool.levels)
    shown = publish_counts(counts.with_everyone(), good)
    found = shown.changed(lambda cells: cells[:, :c])
    weight, squared = (
        Margins.of(np.where(few[:, None, None], 0.0, cells), good) for cells in (found.weight, found.squared)
    )
    rates, sizes = weight.rates(Margins.of(found.rows, good), pool.levels), effective_sizes(weight, squared)
    told = shown if counts.sizes[-1] else shown.changed(lambda cells: np.delete(cells, c, axis=1))
    ranges = {
        name: RateRange(each.low[:, :c], each.high[:, :c], each.least[:c] * sizes[name])
        for name, each in rate_ranges(told, good, half=half).items()
        if name in sizes
    }
    if POOLED in pool.levels:
        ranges = {name: each.pooled(pool.levels.index(POOLED)) for name, each in ranges.items()}
    return rates, sizes, ranges


def _overall_ranges(sums: Sums, task: Task) -> dict[str, dict[str, RateRange]]:
    """Return the ranges of figures of all rows, which have no attribute."""
    if isinstance(sums.everyone, Means):
        return {}
    found = rate_ranges(publish_counts(sums.everyone.with_everyone(), task.favourable), task.favourable)
    names = {"error": "error", "approval_rate": "selection", "tpr": "tpr", "fpr": "fpr"}
    every = {name: found[of] for name, of in names.items()}
    return {"": {name: RateRange(of.low[:, -1], of.high[:, -1], np.array(of.least[-1])) for name, of in every.items()}}


def published_people(rows: Array, good: int) -> tuple[Margins, Margins]:
    """Return what may be published of rows by group, label and decision, (N, c, K, K), and of all of them as one group.

    The last group is that without one; the second part does not depend on how rows are divided into groups.
    """
    shown = publish_table(rows, good)
    return Margins.of(shown[:, :-1], good), Margins.of(shown[:, -1:], good)


def _overall(sums: Sums, task: Task) -> Overall:
    """Return the sums of all rows, scaled by published over exact rows of each."""
    found = sums.overall
    if isinstance(sums.everyone, Means):
        return found
    exact, shown = sums.everyone.rows[:, 0], publish_table(sums.everyone.rows, task.favourable)[:, -1]
    were, wrong = (cells.sum(axis=(1, 2)) - np.trace(cells, axis1=1, axis2=2) for cells in (exact, shown))
    return replace(
        found,
        wrong=np.where(wrong == were, found.wrong, publish_weights(found.wrong, were, wrong, sums.weight / sums.n)),
        labels=found.labels * np.nan_to_num(ratio(shown[0].sum(axis=1), exact[0].sum(axis=1))),
        decided=found.decided * np.nan_to_num(ratio(shown.sum(axis=1), exact.sum(axis=1))),
    )


def rate_ranges(shown: Counts, good: int, k: int | None = None, *, half: float = STEP // 2) -> dict[str, RateRange]:
    """Return the ranges of shares of published counts of N models, all rows as the last group.

    They are those of class ``k`` (by default ``good``) against the rest, and of the ``recall`` of every class.
    """
    table, k = table_range(shown.rows, good, half), good if k is None else k
    cells = _weighted(table.cells, shown)
    own = np.arange(shown.rows.shape[2]) == k
    hit, right = np.outer(own, own), np.eye(len(own), dtype=bool)
    everyone, positive, chosen = np.ones_like(hit), own[:, None] & (own | ~own), (own | ~own)[:, None] & own
    parts = {
        "selection": (chosen, everyone, table.sizes),
        "tpr": (hit, positive, table.labels.at(slice(None), k)),
        "fpr": (chosen & ~positive, ~positive, table.labels.at(slice(None), ~own).sum(1)),
        "precision": (hit, chosen, None),
        "error": (~right, everyone, table.sizes),
    }
    plain = shown.weight is shown.rows
    found = {
        name: _share_range(cells, part, whole, size if plain else None, table.cells, size)
        for name, (part, whole, size) in parts.items()
    }
    recalls = []
    for j in range(len(own)):
        row = np.zeros_like(hit)
        row[j] = True
        labels = table.labels.at(slice(None), j)
        recalls.append(_share_range(cells, row & right, row, labels if plain else None, table.cells, labels))
    ends = ((getattr(each, end) for each in recalls) for end in ("low", "high", "least"))
    found["recall"] = RateRange(*(np.stack(list(some), axis=-1) for some in ends))
    return found


def _weighted(rows: Range, shown: Counts) -> Range:
    """Of weights: rows that may be more or fewer weigh what those of their cell do, or else the mean."""
    if shown.weight is shown.rows:
        return rows
    unit = float(shown.weight[:, -1].sum() / max(shown.rows[:, -1].sum(), 1.0))
    each, off = np.nan_to_num(ratio(shown.weight, shown.rows), nan=unit), unit / 2.0 * bool((rows.width > 0).any())
    return Range(shown.weight, np.maximum(rows.low * each - off, 0.0), rows.high * each + off * (rows.high > 0))


def _share_range(
    cells: Range,
    part: NDArray[np.bool_],
    whole: NDArray[np.bool_],
    size: Range | None,
    rows: Range,
    behind: Range | None,
) -> RateRange:
    """``size`` is what all cells of the whole are together, ``behind`` the same in rows, where they are known."""

    def of(some: Range, mask: NDArray[np.bool_]) -> Range:
        return Range(*((end * mask).sum(axis=(2, 3)) for end in (some.shown, some.low, some.high)))

    some, rest = of(cells, part), of(cells, whole & ~part)
    least, most = some.low + rest.low, some.high + rest.high
    if size is not None:
        least, most = np.maximum(least, size.low), np.minimum(most, size.high)

    def highest(one: Range, other: Range) -> Array:
        ends = [ratio(one.high, one.high + other.low), ratio(one.high, least), 1.0 - ratio(other.low, most)]
        return np.asarray(np.clip(np.fmin.reduce(ends), 0.0, 1.0))

    known = of(rows, whole)
    few, shown = (known.low, known.shown) if behind is None else (np.maximum(known.low, behind.low), known.shown)
    nothing = most <= 0
    low, high = (np.where(nothing, np.nan, end) for end in (1.0 - highest(rest, some), highest(some, rest)))
    value = np.clip(ratio(some.shown, some.shown + rest.shown), 0.0, 1.0)
    low, high = (np.where(high - low < 1e-12, value, end) for end in (low, high))  # to the last bit
    fewest = np.where(few < 1.0, 0.0, few)
    unknown = (fewest == 0) & ~nothing
    low, high = np.where(unknown, 0.0, low), np.where(unknown, 1.0, high)
    return RateRange(low, high, np.asarray(np.where(shown > 0, np.nan_to_num(ratio(fewest, shown)), 0.0).min(axis=0)))


def notebook_form(record: Evaluation) -> str:
    """Return escaped HTML of the first models as they may be shared; exact figures that cannot be rounded stay out."""
    if record.task is not None and record.sums is not None:
        record = published(record, record.task)
    names = [name for name in record.columns if "." not in name] or list(record.columns)
    places = range(min(ROWS, record.n_models) if record.small else 0)
    rows = [(str(place), *(f"{record[name][place]:.4f}" for name in names)) for place in places]
    said = f"{counted(record.n_models, 'model')} on {counted(record.n, 'row')} of {record.name}; {record.rule}"
    after = "evaluation['tpr_gap'] is a column; front.to_frame() has all of them."
    return html_record("Evaluation", said, html_table(("place", *names), rows), after)
