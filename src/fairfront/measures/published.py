"""Evaluations as they are published: small groups pooled, small counts rounded, all figures computed from these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..exceptions import InputError
from ..objectives import Array, Task
from ..objectives.people import STEP
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
from .intervals import SKEW
from .moments import largest_of
from .notion_figures import more_of, published_scores, with_figures
from .promises import critical_table
from .ranges import TableRange, table_range
from .rate_ranges import count_ranges, rate_ranges
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
    design: dict[str, dict[str, Array]] = {k: dict(sorted(each.items())) for k, each in record.design.items() if not k}
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
        hidden = np.isnan(means.rate(mean))
        found[mean] = np.where(hidden, np.nan, np.ceil(error / unit - 1e-9) * unit)
        if (skew := record.errors[name].get(f"{mean}{SKEW}")) is not None:
            longest = np.stack(
                [np.nan_to_num(np.abs(skew[:, list(some)])).max(axis=1) for some in pool.members], axis=1
            )
            found[f"{mean}{SKEW}"] = np.where(hidden, np.nan, np.ceil(longest * 20.0) / 20.0)
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
    behind, table = (weight, squared, Margins.of(found.rows, good)), table_range(told.rows, good, half)
    known = sizes | {name: derived_share(name, *behind).size for name in more if name not in RATIO_OF}
    ranges = {
        name: RateRange(each.low[:, :c], each.high[:, :c], each.least[:c] * known[name])
        for name, each in rate_ranges(told, table, good, more=more).items()
        if name in known
    }
    if POOLED in pool.levels:
        ranges = {name: each.pooled(pool.levels.index(POOLED)) for name, each in ranges.items()}
    for name, each in count_ranges(table, good).items():
        low, high = (np.repeat(end[None, :c], len(told.rows), axis=0) for end in (each.low, each.high))
        ranges[name] = RateRange(low, high, np.ones(c))
    return rates, sizes, ranges


def _overall_ranges(sums: Sums, task: Task) -> dict[str, dict[str, RateRange]]:
    """Return the ranges of figures of all rows, which have no attribute."""
    if isinstance(sums.everyone, Means):
        return {}
    shown = publish_counts(sums.everyone.with_everyone(), task.favourable)
    found = rate_ranges(shown, table_range(shown.rows, task.favourable), task.favourable)
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
