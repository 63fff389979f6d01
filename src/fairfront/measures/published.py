"""Evaluations as they are published: small groups pooled, small counts rounded, all figures computed from these.

So is who gains and who loses a favourable decision when one model takes the place of another.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Array, Attribute, Task
from ..objectives.small_counts import rounded
from .counts import Counts, Means, Overall, Sums, count, ratio
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
from .intervals import effective_sizes
from .rates import OVERALL, PerGroup, RateSums, Sides, changed_sides, means_of, rate_sums

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
    everyone = rate_sums(counts.rows, good)
    exact, shown = everyone.without_last(), published_people(everyone).without_last()
    weight, squared = (rate_sums(each[:, :-1], good, exact.n) for each in (counts.weight, counts.squared))
    parts = ((everyone.hits, everyone.labels), (everyone.alarms, everyone.negatives))
    decided = np.concatenate([side.ravel() for part, whole in parts for side in (part, whole - part)])
    some_small, scaled = any_small(everyone.n, everyone.labels, decided, 2), weight
    if some_small:
        scaled = shown if sums.effective_n is None else _scaled(weight, exact, shown, sums.weight / sums.n)
    few = exact.n < LIMIT
    labels, hits = (np.where(few[:, None], 0.0, each) for each in (scaled.labels, scaled.hits))
    negatives, alarms = (np.where(few, 0.0, each) for each in (scaled.negatives, scaled.alarms))
    scaled = RateSums(scaled.n, labels, negatives, hits, alarms, good)
    if some_small:  # effective sizes go with the published rows, in whole rows
        for name in PARTS.values():
            once, of, told = (getattr(each, name) for each in (scaled, exact, shown))
            size = np.nan_to_num(ratio(getattr(weight, name) ** 2, getattr(squared, name)))
            known: Any = {name: np.nan_to_num(ratio(once**2, publish_weights(size, of, told, 1.0)))}
            squared = replace(squared, **known)
    return scaled.rates(pool.levels, shown.labelled), effective_sizes(scaled, squared)


def _scaled(weight: RateSums, exact: RateSums, shown: RateSums, unit: float) -> RateSums:
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
    """``n`` (c,) and ``totals``, if any, are published."""
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
    found = sums.overall
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


def published_sides(gained: Array, lost: Array, net: Array) -> Sides:
    """Return how many rows gained and lost, (N, c), that may be published beside rates whose counts differ by ``net``.

    The smaller side is rounded where it is small, and the other follows from the published net: otherwise the two
    together with the rates would give the small one back.
    """
    less = rounded(np.minimum(gained, lost))
    up, down = np.where(gained <= lost, less, less + net), np.where(gained <= lost, less - net, less)
    below = np.maximum(0.0, -np.minimum(up, down))
    return rounded(up + below), rounded(down + below)


def moves_by_rate(
    decided: NDArray[np.bool_],
    wrong: NDArray[np.bool_],
    plain: int,
    good: NDArray[np.bool_],
    member: Array,
    shown: RateSums | None = None,
) -> dict[str, Sides]:
    """Return how many rows come into each rate and go out of it against one model, (N, c + 1) each, everyone last.

    ``decided`` and ``wrong`` are (N, n), ``good`` (n,) has the favourable label, ``member`` are (n, c). With ``shown``,
    the published people of these groups and last of none, moves are those that may be published: made of those of
    either label, so that they add up to one another and to the rates.
    """
    everyone = np.column_stack([member, 1.0 - member.sum(axis=1)])
    tpr, fpr = (changed_sides(decided, decided[plain], everyone * rows[:, None]) for rows in (good, ~good))
    mistakes = changed_sides(wrong, wrong[plain], everyone)
    if shown is not None:
        tpr = published_sides(*tpr, shown.hit - shown.hit[plain])
        fpr = published_sides(*fpr, shown.alarms - shown.alarms[plain])
        right = shown.hits.sum(axis=2)
        if shown.labels.shape[1] > 2:
            mistakes = published_sides(*mistakes, right[plain] - right)
        else:
            mistakes = tpr[1] + fpr[0], tpr[0] + fpr[1]
    found = {"tpr": tpr, "fpr": fpr, "selection": (tpr[0] + fpr[0], tpr[1] + fpr[1]), "error": mistakes}

    def with_everyone(side: Array) -> Array:
        return np.column_stack([side[:, :-1], side.sum(axis=1)])  # in the place of those without a group

    return {rate: (with_everyone(up), with_everyone(down)) for rate, (up, down) in found.items()}


def moves_by_group(
    attribute: Attribute, decided: NDArray[np.bool_], plain: int, good: NDArray[np.bool_], small: int
) -> tuple[tuple[str, ...], Array, Array]:
    """Return groups and everyone, and how many rows of each gained and lost a favourable decision, (N, c + 1).

    Exact where ``small`` is 0, else as they may be published, with small groups pooled.
    """
    member, levels, shown = attribute.membership(), attribute.levels, None
    if small:
        pool = pool_of(levels, member.sum(axis=0))
        levels, member = pool.levels, np.column_stack([member[:, list(some)].sum(axis=1) for some in pool.members])
        counts = count(decided, good.astype(np.intp), 2, member, member.shape[1])
        shown = published_people(rate_sums(counts.rows, 1))
    gained, lost = moves_by_rate(decided, decided != good, plain, good, member, shown)["selection"]
    return (*levels, OVERALL), gained, lost
