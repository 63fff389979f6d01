"""Evaluations as they are published: small groups pooled, small counts rounded, all figures computed from these."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Array, Task
from ..objectives.groups import STEP
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
from .figures import RATIO_OF
from .further_columns import further_columns
from .moments import largest_of
from .notion_figures import more_of, published_scores, with_figures
from .promises import critical_table
from .ranges import TableRange, table_range
from .rates import GroupMeans, Margins, PerGroup, derived_share, effective_sizes, means_of
from .spans import Range, RateRange, each_end


def published(record: Evaluation, task: Task) -> Evaluation:
    """Return an evaluation in which no count below `LIMIT` is exact; one that was published already stays as it is."""
    if record.small:
        return record
    record = replace(record, task=None)
    if record.sums is None:
        raise InputError(f"evaluation {record.name!r} has no counts to publish, expected one made by evaluate.")
    groups: dict[str, PerGroup] = {}
    sizes: dict[str, dict[str, Array]] = {}
    errors: dict[str, dict[str, Array]] = {}
    design: dict[str, dict[str, Array]] = {name: each for name, each in record.design.items() if not name}
    ranges, more = _overall_ranges(record.sums, task), more_of(record)
    for (name, rates), counts in zip(record.groups.items(), record.sums.groups, strict=True):
        pool = pool_of(rates.levels, counts.sizes[:-1])
        pooled = counts.pooled((*pool.members, (len(rates.levels),)))
        if isinstance(pooled, Means):
            means = _means(pooled, pool, record.sums)
            groups[name], ranges[name] = means, _mean_ranges(means)
            errors |= {name: _errors(record, name, pool, means)} if name in record.errors else {}
        else:
            half = STEP / 2 if name in record.proxies else STEP // 2
            groups[name], sizes[name], ranges[name] = _rates(pooled, pool, task.favourable, half, more)
            if name in record.design:
                known, members = sorted(record.design[name].items()), [list(some) for some in pool.members]
                effect = {rate: np.stack([each[some].max(axis=0) for some in members]) for rate, each in known}
                worst = largest_of(effect.values())
                sizes[name] = {rate: size / effect.get(rate, worst) for rate, size in sizes[name].items()}
                known_by = {rate: (each, effect.get(rate, worst)) for rate, each in ranges[name].items()}
                ranges[name] = {rate: replace(each, least=each.least / by) for rate, (each, by) in known_by.items()}
                design[name] = effect
    area, everyone = record.columns.get("auc"), record.sums.everyone
    if area is not None and isinstance(everyone, Counts) and everyone.rows[:1].sum(axis=(0, 1, 3)).min() < LIMIT:
        area = np.full_like(area, np.nan)  # of a few people of one label
    found = evaluation_of(record.name, task, _overall(record.sums, task), groups, area)
    found = published_scores(record, with_figures(found, more, task.favourable, ranges))
    figures = {name: getattr(found, name) for name in ("signed", "groups", "labels", "alike", "scored")}
    figures |= {"sizes": {name: sizes[name] for name in record.sizes}, "critical": critical_table(record)}
    ranges = {name: dict(sorted(each.items())) for name, each in ranges.items()}
    figures |= {"columns": found.columns | further_columns(record), "design": design, "errors": errors}
    return replace(record, **figures, ranges=ranges, small=LIMIT, sums=None)


def _errors(record: Evaluation, name: str, pool: Pool, means: GroupMeans) -> dict[str, Array]:
    """Return standard errors of means, rounded up to two digits; those of pooled groups from their sums."""
    assert record.sums is not None
    assert record.sums.spreads is not None
    spread = record.sums.spreads[list(record.groups).index(name)]
    found = {}
    for mean, each in spread.items():
        error = np.sqrt(each.pooled(pool.members).variance).T
        unit = 10.0 ** (np.floor(np.log10(np.maximum(error, 1e-300))) - 1.0)
        found[mean] = np.where(np.isnan(means.rate(mean)), np.nan, np.ceil(error / unit - 1e-9) * unit)
    return dict(sorted(found.items()))


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
    counts: Counts, pool: Pool, good: int, half: float, more: Sequence[str] = ()
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
    behind = (weight, squared, Margins.of(found.rows, good))
    known = sizes | {name: derived_share(name, *behind).size for name in more if name not in RATIO_OF}
    ranges = {
        name: RateRange(each.low[:, :c], each.high[:, :c], each.least[:c] * known[name])
        for name, each in rate_ranges(told, good, half=half, more=more).items()
        if name in known
    }
    if POOLED in pool.levels:
        ranges = {name: each.pooled(pool.levels.index(POOLED)) for name, each in ranges.items()}
    for name, each in count_ranges(told.rows, good, half=half).items():
        low, high = (np.repeat(end[None, :c], len(told.rows), axis=0) for end in (each.low, each.high))
        ranges[name] = RateRange(low, high, np.ones(c))
    return rates, sizes, ranges


def _overall_ranges(sums: Sums, task: Task) -> dict[str, dict[str, RateRange]]:
    """Return the ranges of figures of all rows, which have no attribute."""
    if isinstance(sums.everyone, Means):
        return {}
    found = rate_ranges(publish_counts(sums.everyone.with_everyone(), task.favourable), task.favourable)
    names = {"error": "error", "approval_rate": "selection", "tpr": "tpr", "fpr": "fpr"}
    every = {name: found[of] for name, of in names.items()}
    return {"": {name: RateRange(of.low[:, -1], of.high[:, -1], np.array(of.least[-1])) for name, of in every.items()}}


def published_people(rows: Array, good: int, *, half: float = STEP // 2) -> tuple[Margins, Margins, TableRange]:
    """Return what may be published of rows by group, label and decision, (N, c, K, K), and of all of them as one group.

    The last group is that without one; the second part does not depend on how rows are divided into groups. The third
    is what the exact counts of every group can be, and last those of all rows.
    """
    shown = publish_table(rows, good)
    nobody = not rows[0, -1].any()  # of those without a group: that there is none is known
    table = table_range(np.delete(shown, -2, axis=1) if nobody else shown, good, half)
    if nobody:
        cells, labels = (_with_nobody(each, axis) for each, axis in ((table.cells, 1), (table.labels, 0)))
        table = TableRange(cells, labels, _with_nobody(table.sizes, 0))
    return Margins.of(shown[:, :-1], good), Margins.of(shown[:, -1:], good), table


def _with_nobody(some: Range, axis: int) -> Range:
    """Put a group of nobody before all rows, which are the last along the axis."""
    return each_end(lambda end: np.insert(end, end.shape[axis] - 1, 0.0, axis=axis), some)


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


def rate_ranges(
    shown: Counts, good: int, k: int | None = None, *, half: float = STEP // 2, more: Collection[str] = ()
) -> dict[str, RateRange]:
    """Return the ranges of shares of published counts of N models, all rows as the last group.

    They are those of class ``k`` (by default ``good``) against the rest, of the ``recall`` of every class, and of
    ``more`` figures of two classes.
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
    others = {
        "npv": (~chosen & ~positive, ~chosen, None),
        "favourable_errors": (chosen & ~positive, ~right, None),
        "f_score": (hit, positive | chosen, None),
    }
    parts |= {name: each for name, each in others.items() if name in more}
    plain = shown.weight is shown.rows
    found = {
        name: _share_range(cells, part, whole, size if plain else None, table.cells, size)
        for name, (part, whole, size) in parts.items()
    }
    if "f_score" in more:
        found["f_score"] = _of_union(found["f_score"])
    if "balanced_accuracy" in more:
        tpr, fpr = found["tpr"], found["fpr"]
        low, high = 0.5 * (tpr.low + 1.0 - fpr.high), 0.5 * (tpr.high + 1.0 - fpr.low)
        found["balanced_accuracy"] = RateRange(low, high, np.minimum(tpr.least, fpr.least))
    recalls = []
    for j in range(len(own)):
        row = np.zeros_like(hit)
        row[j] = True
        labels = table.labels.at(slice(None), j)
        recalls.append(_share_range(cells, row & right, row, labels if plain else None, table.cells, labels))
    ends = ((getattr(each, end) for each in recalls) for end in ("low", "high", "least"))
    found["recall"] = RateRange(*(np.stack(list(some), axis=-1) for some in ends))
    return found


def _of_union(share: RateRange) -> RateRange:
    """Of F = 2 J / (1 + J) from those of J; the rows that make F as sure are fewest where F is least."""
    low, high = (2.0 * end / (1.0 + end) for end in (share.low, share.high))
    fewer = np.nan_to_num(((2.0 - high) / (2.0 - low)) ** 2, nan=1.0).min(axis=0)
    return RateRange(low, high, share.least * fewer)


def count_ranges(shown: Array, good: int, *, half: float = STEP // 2) -> dict[str, Range]:
    """Return the ranges of published numbers of rows of every group, (c,), and of those labelled favourably or not.

    ``shown`` are counts of one model or several, (N, c, K, K), all rows as the last group.
    """
    table = table_range(shown, good, half)
    others = np.arange(shown.shape[2]) != good
    labels = table.labels
    return {
        "n": table.sizes,
        "positives": labels.at(slice(None), good),
        "negatives": labels.at(slice(None), others).sum(1),
    }


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
