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
    publish_decisions,
    publish_labels,
    publish_sizes,
    publish_totals,
    publish_weights,
)
from .evaluation import Evaluation, evaluation_of
from .rates import Margins, PerGroup, effective_sizes, kish, means_of


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


def _rates(counts: Counts, pool: Pool, sums: Sums, good: int) -> tuple[PerGroup, dict[str, Array]]:
    """Return rates of published rows, none of groups of a few people, and the effective sizes behind them."""
    everyone = Margins.of(counts.rows, good)
    exact, shown = everyone.without_last(), published_people(everyone).without_last()
    weight, squared = (Margins.of(each[:, :-1], good) for each in (counts.weight, counts.squared))
    parts = ((everyone.hits, everyone.labels), (everyone.alarm, everyone.negative))
    decided = np.concatenate([side.ravel() for part, whole in parts for side in (part, whole - part)])
    some_small, scaled = any_small(everyone.everyone, everyone.labels, decided, 2), weight
    if some_small:
        scaled = shown if sums.effective_n is None else _scaled(weight, exact, shown, sums.weight / sums.n)
    few = exact.everyone < LIMIT
    scaled = scaled.changed(
        lambda each, axis: np.where(np.expand_dims(few, 1) if each.ndim > axis + 1 else few, 0, each)
    )
    if some_small:  # effective sizes go with the published rows, in whole rows
        sizes = publish_weights(kish(weight.labels, squared.labels), exact.labels, shown.labels, 1.0)
        squared = replace(squared, labels=np.nan_to_num(ratio(scaled.labels**2, sizes)))
    return scaled.rates(shown, pool.levels), effective_sizes(scaled, squared)


def _scaled(weight: Margins, exact: Margins, shown: Margins, unit: float) -> Margins:
    """Return the weights of published rows, in units of a row's mean."""

    def share(part: str, whole: str) -> Array:
        inner, people, shown_people = (getattr(each, part) for each in (weight, exact, shown))
        outer, others, shown_others = (getattr(each, whole) - getattr(each, part) for each in (weight, exact, shown))
        inside = publish_weights(inner, people, shown_people, unit)
        return np.nan_to_num(ratio(inside, inside + publish_weights(outer, others, shown_others, unit)))

    found = replace(weight, labels=publish_weights(weight.labels, exact.labels, shown.labels, unit))
    return replace(
        found, hits=share("hits", "labels") * found.labels, alarm=share("alarm", "negative") * found.negative
    )


def published_people(exact: Margins) -> Margins:
    """Return rows by group, label and decision that may be published; the last group is that without one."""
    n = publish_sizes(exact.everyone, exact.labels.shape[1], 2)
    return _decided(exact, n, published_totals(exact))


def published_totals(exact: Margins) -> Margins:
    """Return all rows, however they are divided into groups, by label and decision, as one group."""
    everyone = exact.changed(lambda each, axis: each.sum(axis=axis, keepdims=True))
    return _decided(everyone, everyone.everyone, None)


def _decided(exact: Margins, n: Array, totals: Margins | None) -> Margins:
    """``n`` (c,) and ``totals``, if any, are published."""
    good, K = exact.k, exact.labels.shape[1]
    order = [good, 1 - good] if K == 2 else list(range(K))
    labels = np.empty_like(exact.labels)
    labels[:, order] = publish_labels(exact.labels[:, order], n)
    negative = n - labels[:, good]

    def split(part: Array, whole: Array, shown: Array, total: Array | None, of: Array | None) -> Array:
        known = None if total is None or of is None else np.column_stack([total[:, 0], of - total[:, 0]])
        return publish_decisions(np.stack([part, whole - part], axis=2), shown, known)[:, :, 0]

    def hits(k: int) -> Array:
        known = (None, None) if totals is None else (totals.hits[:, :, k], totals.labels[0, k])
        return split(exact.hits[:, :, k], exact.labels[:, k], labels[:, k], *known)

    known = (None, None) if totals is None else (totals.alarm, totals.negative[0])
    alarm = split(exact.alarm, exact.negative, negative, *known)
    decided = [negative - alarm if K == 2 and k != good else hits(k) for k in range(K)]
    return Margins(labels, np.stack(decided, axis=2), alarm, good)


def _overall(sums: Sums, task: Task) -> Overall:
    """Return the sums of all rows, scaled by published over exact rows of each."""
    found = sums.overall
    if isinstance(sums.everyone, Means):
        return found
    exact, good = Margins.of(sums.everyone.rows, task.favourable), task.favourable
    shown = published_totals(exact)
    per_row = sums.weight / sums.n
    (were, wrong), (approved, told) = (
        [getattr(each, name)[:, 0] for each in (exact, shown)] for name in ("wrong", "chosen")
    )
    decided = np.empty_like(found.decided)
    decided[:, good] = found.decided[:, good] * np.nan_to_num(ratio(told, approved))
    others = [k for k in range(decided.shape[1]) if k != good]
    left = sums.n - decided[:, good] / per_row
    decided[:, others] = publish_totals(np.rint(found.decided[:, others] / per_row), left) * per_row
    return replace(
        found,
        wrong=np.where(wrong == were, found.wrong, publish_weights(found.wrong, were, wrong, per_row)),
        labels=found.labels * np.nan_to_num(ratio(shown.labels[0], exact.labels[0])),
        decided=decided,
    )
