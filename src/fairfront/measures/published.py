"""Evaluations as they are published: small groups pooled, small counts rounded, all figures computed from these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Array, Task
from .counts import Counts, Means, Sums, ratio
from .disclosure import LIMIT, Pool, any_small, in_units, pool_of, publish_counts, publish_sizes, publish_weights
from .evaluation import Evaluation, evaluation_of
from .rates import PerGroup, effective_sizes, means_of, rates_of


def published(record: Evaluation, task: Task) -> Evaluation:
    """Return an evaluation in which no count below `LIMIT` is exact; one that was published already stays as it is."""
    if record.small:
        return record
    if record.sums is None:
        raise InputError(f"evaluation {record.name!r} has no counts to publish, expected one made by evaluate.")
    good, groups, sizes = task.favourable, dict[str, PerGroup](), dict[str, dict[str, Array]]()
    for (name, rates), counts in zip(record.groups.items(), record.sums.groups, strict=True):
        pool = pool_of(rates.levels, counts.sizes[:-1])
        pooled = counts.pooled((*pool.members, (len(rates.levels),)))
        if isinstance(pooled, Means):
            groups[name] = _means(pooled, pool, record.sums)
            continue
        shown = _without_few(publish_counts(pooled.with_everyone(), good), pooled.sizes < LIMIT)
        groups[name], sizes[name] = rates_of(shown, pool.levels, good), effective_sizes(shown, len(pool.levels), good)
    area, everyone = record.columns.get("auc"), record.sums.everyone
    if isinstance(everyone, Counts):
        if area is not None and everyone.rows[:1].sum(axis=(0, 1, 3)).min() < LIMIT:
            area = np.full_like(area, np.nan)  # it rests on a few people of one label
        everyone = publish_counts(everyone.with_everyone(), good).changed(lambda cells: cells[:, -1:])
    found = evaluation_of(record.name, task, record.n, everyone, groups, area)
    figures = {name: getattr(found, name) for name in ("columns", "signed", "groups", "labels", "alike")}
    known = {name: sizes[name] for name in record.sizes}
    return replace(record, **figures, sizes=known, small=LIMIT, sums=None)


def _without_few(shown: Counts, few: NDArray[np.bool_]) -> Counts:
    """Return counts whose groups of a few people weigh nothing, so that they have no rates; rows stay."""
    hidden = np.append(few[:-1], [False, False])[:, None, None]  # neither rows without a group nor all rows
    return Counts(shown.rows, *(np.where(hidden, 0.0, each) for each in (shown.weight, shown.squared)))


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
