"""Evaluations as they are published: small groups pooled, small counts rounded, all figures computed from these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..exceptions import InputError
from ..objectives import Array, Task
from .counts import Counts, Means, Overall, Sums, ratio
from .disclosure import (
    LIMIT,
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
from .rates import Margins, PerGroup, effective_sizes, means_of


def published(record: Evaluation, task: Task) -> Evaluation:
    """Return an evaluation in which no count below `LIMIT` is exact; one that was published already stays as it is."""
    if record.small:
        return record
    if record.sums is None:
        raise InputError(f"evaluation {record.name!r} has no counts to publish, expected one made by evaluate.")
    groups: dict[str, PerGroup] = {}
    sizes: dict[str, dict[str, Array]] = {}
    for (name, rates), counts in zip(record.groups.items(), record.sums.groups, strict=True):
        pool = pool_of(rates.levels, counts.sizes[:-1])
        pooled = counts.pooled((*pool.members, (len(rates.levels),)))
        if isinstance(pooled, Means):
            groups[name] = _means(pooled, pool, record.sums)
        else:
            groups[name], sizes[name] = _rates(pooled, pool, task.favourable)
    area, everyone = record.columns.get("auc"), record.sums.everyone
    if area is not None and isinstance(everyone, Counts) and everyone.rows[:1].sum(axis=(0, 1, 3)).min() < LIMIT:
        area = np.full_like(area, np.nan)  # it rests on a few people of one label
    found = evaluation_of(record.name, task, _overall(record.sums, task), groups, area)
    figures = {name: getattr(found, name) for name in ("columns", "signed", "groups", "labels", "alike")}
    known = {name: sizes[name] for name in record.sizes}
    return replace(record, **figures, sizes=known, small=LIMIT, sums=None)


def _means(exact: Means, pool: Pool, sums: Sums) -> PerGroup:
    shown, few = publish_sizes(exact.rows)[:-1], exact.rows[:-1] < LIMIT
    weight, total = exact.weight[:-1], exact.sums[:, :-1]
    if any_small(exact.rows, exact.rows[:, None], exact.rows, 1):
        mean = np.nan_to_num(ratio(total, weight[:, None]))
        one = np.sqrt(mean[:, :, 2]) / np.where(shown > 0, shown, 1.0)
        weight = publish_weights(weight, exact.rows[:-1], shown, sums.weight / sums.n)
        unit = np.stack([one, one, one * np.sqrt(mean[:, :, 2])], axis=2)
        total = in_units(mean, unit) * weight[:, None]
    return means_of(shown, np.where(few, 0.0, weight), np.where(few[:, None], 0.0, total), pool.levels)


def _rates(counts: Counts, pool: Pool, good: int) -> tuple[PerGroup, dict[str, Array]]:
    """Return rates of published rows, none of groups of a few people, and the effective sizes behind them.

    The counts are those of an audit of the same rows: two roundings of one count would tell more of it than one.
    """
    few = counts.sizes[:-1] < LIMIT
    found = publish_counts(counts.with_everyone(), good).changed(lambda cells: cells[:, :-2])
    weight, squared = (
        Margins.of(np.where(few[:, None, None], 0.0, cells), good) for cells in (found.weight, found.squared)
    )
    return weight.rates(Margins.of(found.rows, good), pool.levels), effective_sizes(weight, squared)


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
