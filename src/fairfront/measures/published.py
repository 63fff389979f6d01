"""Evaluations as they are published: small groups pooled, small counts rounded, every figure computed from these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..objectives import Array, Task
from .counts import Counts, Means, Sums, ratio
from .disclosure import (
    LIMIT,
    POOLED,
    any_small,
    in_units,
    publish_decisions,
    publish_labels,
    publish_sizes,
    publish_totals,
    publish_weights,
)
from .evaluation import Evaluation, Overall, evaluation_of, overall_of
from .intervals import effective_sizes
from .rates import PerGroup, RateSums, means_of, rate_sums

PARTS = {"hits": "labels", "alarms": "negatives"}
"""Sums of decisions, and of the rows that they are parts of."""


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
            groups[name], sizes[name] = _rates(pooled, pool, record.sums, task.favourable)
    found = evaluation_of(record.name, task, _overall(record.sums, task), groups, _area(record))
    figures = {name: getattr(found, name) for name in ("columns", "signed", "groups", "labels", "alike")}
    known = {name: sizes[name] for name in record.sizes}
    return replace(record, **figures, sizes=known, small=LIMIT, sums=None)


def _area(record: Evaluation) -> Array | None:
    """Return the AUC of all rows, NaN where it rests on a few people of one label."""
    area = record.columns.get("auc")
    if area is None or record.sums is None or not isinstance(record.sums.everyone, Counts):
        return area
    few = record.sums.everyone.rows[:1].sum(axis=(0, 1, 3)).min() < LIMIT
    return np.full_like(area, np.nan) if few else area


@dataclass(frozen=True)
class Pool:
    """Which old groups make up each new one (``members``), and the names of the new ones, the reference last."""

    levels: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]


def pool_of(levels: Sequence[str], n: Array) -> Pool:
    """Pool groups of 1 to `LIMIT` - 1 rows; where the reference is one of them, the largest group takes its place."""
    small = [i for i in range(len(levels)) if 0 < n[i] < LIMIT]
    if not small:
        return Pool(tuple(levels), tuple((i,) for i in range(len(levels))))
    kept = [i for i in range(len(levels)) if i not in small]
    if kept and kept[-1] != len(levels) - 1:
        kept.append(kept.pop(int(np.argmax([n[i] for i in kept]))))
    names = [levels[i] for i in kept[:-1]] + [POOLED] + [levels[i] for i in kept[-1:]]
    members = [(i,) for i in kept[:-1]] + [tuple(small)] + [(i,) for i in kept[-1:]]
    return Pool(tuple(names), tuple(members))


def _means(exact: Means, pool: Pool, sums: Sums) -> PerGroup:
    """Return means of published rows, in units of what one of them adds; none of groups of a few people."""
    shown, few = publish_sizes(exact.rows)[:-1], exact.rows[:-1] < LIMIT
    weight, total = exact.weight[:-1], exact.sums[:, :-1]
    if any_small(exact.rows, exact.rows[:, None], exact.rows, 1):
        mean = np.nan_to_num(ratio(total, weight[:, None]))
        one = np.sqrt(mean[:, :, 2]) / np.where(shown > 0, shown, 1.0)
        weight = publish_weights(weight, exact.rows[:-1], shown, sums.weight / sums.n)
        unit = np.stack([one, one, one * np.sqrt(mean[:, :, 2])], axis=2)
        total = in_units(mean, unit) * weight[:, None]
    return means_of(shown, np.where(few, 0.0, weight), np.where(few[:, None], 0.0, total), pool.levels)


def _rates(counts: Counts, pool: Pool, sums: Sums, good: int) -> tuple[PerGroup, dict[str, Array]]:
    """Return rates of published rows, none of groups of a few people, and the effective sizes behind them."""
    everyone = rate_sums(counts.rows, good)
    exact, shown = everyone.without_last(), published_people(everyone).without_last()
    weight, squared = (rate_sums(each[:, :-1], good, exact.n) for each in (counts.weight, counts.squared))
    parts = ((everyone.hits, everyone.labels), (everyone.alarms, everyone.negatives))
    decided = np.concatenate([side.ravel() for part, whole in parts for side in (part, whole - part)])
    rounded, scaled = any_small(everyone.n, everyone.labels, decided, 2), weight
    if rounded:
        scaled = shown if sums.effective_n is None else _scaled(weight, exact, shown, sums.weight / sums.n)
    few = exact.n < LIMIT
    labels, hits = (np.where(few[:, None], 0.0, each) for each in (scaled.labels, scaled.hits))
    negatives, alarms = (np.where(few, 0.0, each) for each in (scaled.negatives, scaled.alarms))
    scaled = RateSums(scaled.n, labels, negatives, hits, alarms, good)
    if rounded:  # effective sizes go with the published rows, in whole rows
        for name in PARTS.values():
            once, of, told = (getattr(each, name) for each in (scaled, exact, shown))
            size = np.nan_to_num(ratio(getattr(weight, name) ** 2, getattr(squared, name)))
            known: Any = {name: np.nan_to_num(ratio(once**2, publish_weights(size, of, told, 1.0)))}
            squared = replace(squared, **known)
    return scaled.rates(pool.levels, shown.labelled), effective_sizes(scaled, squared)


def _scaled(weight: RateSums, exact: RateSums, shown: RateSums, unit: float) -> RateSums:
    """Return the weights of groups with published rows, in units of a row's mean weight."""
    found: dict[str, Any] = {"n": shown.n}
    for part, whole in PARTS.items():
        w, n, told = (getattr(each, whole) for each in (weight, exact, shown))
        inner, people, shown_people = (getattr(each, part) for each in (weight, exact, shown))
        found[whole] = publish_weights(w, n, told, unit)
        inside = publish_weights(inner, people, shown_people, unit)
        outside = publish_weights(w - inner, n - people, told - shown_people, unit)
        found[part] = np.nan_to_num(ratio(inside, inside + outside)) * found[whole]
    return replace(weight, **found)


def published_people(exact: RateSums) -> RateSums:
    """Return rows by group, label and decision that may be published; the last group is that without one."""
    n = publish_sizes(exact.n, exact.labels.shape[1], 2)
    return _decided(exact, n, published_totals(exact))


def published_totals(exact: RateSums) -> RateSums:
    """Return all rows, however they are divided into groups, by label and decision, as one group."""
    everyone = exact.together()
    return _decided(everyone, everyone.n, None)


def _decided(exact: RateSums, n: Array, totals: RateSums | None) -> RateSums:
    """Return published rows by label and decision; ``n`` (c,) and ``totals``, if any, are published."""
    good, K = exact.good, exact.labels.shape[1]
    order = [good, 1 - good] if K == 2 else list(range(K))
    labels = np.empty_like(exact.labels)
    labels[:, order] = publish_labels(exact.labels[:, order], n)
    negatives = n - labels[:, good]

    def split(part: Array, whole: Array, shown: Array, total: Array | None, of: Array | None) -> Array:
        known = None if total is None or of is None else np.column_stack([total[:, 0], of - total[:, 0]])
        return publish_decisions(np.stack([part, whole - part], axis=2), shown, known)[:, :, 0]

    def hits(k: int) -> Array:
        known = (None, None) if totals is None else (totals.hits[:, :, k], totals.labels[0, k])
        return split(exact.hits[:, :, k], exact.labels[:, k], labels[:, k], *known)

    known = (None, None) if totals is None else (totals.alarms, totals.negatives[0])
    alarms = split(exact.alarms, exact.negatives, negatives, *known)
    decided = [negatives - alarms if K == 2 and k != good else hits(k) for k in range(K)]
    return RateSums(n, labels, negatives, np.stack(decided, axis=2), alarms, good)


def _overall(sums: Sums, task: Task) -> Overall:
    """Return the sums of all rows, scaled by published over exact rows of each."""
    found = overall_of(sums)
    if isinstance(sums.everyone, Means):
        return found
    exact, good = rate_sums(sums.everyone.rows, task.favourable), task.favourable
    shown = published_totals(exact)
    per_row = sums.weight / shown.n[0]
    mistakes = [(each.n[0] - each.hits.sum(axis=(1, 2))) for each in (exact, shown)]
    wrong = publish_weights(found.wrong, mistakes[0], mistakes[1], sums.weight / sums.n)
    approved = [(each.hit + each.alarms)[:, 0] for each in (exact, shown)]
    decided = np.empty_like(found.decided)
    decided[:, good] = found.decided[:, good] * np.nan_to_num(ratio(approved[1], approved[0]))
    others = [k for k in range(decided.shape[1]) if k != good]
    left = shown.n[0] - decided[:, good] / per_row
    decided[:, others] = publish_totals(np.rint(found.decided[:, others] / per_row), left) * per_row
    return replace(
        found,
        wrong=np.where(mistakes[1] == mistakes[0], found.wrong, wrong),
        labels=found.labels * np.nan_to_num(ratio(shown.labels[0], exact.labels[0])),
        decided=decided,
    )
