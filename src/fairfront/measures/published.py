"""Evaluations as they are published: small groups pooled, small counts rounded, every figure computed from these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..objectives import Array, Task
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
from .evaluation import Evaluation, evaluation_of
from .part_sums import PartSums
from .rates import ClassSums, RateSums
from .sums import along_groups, of_groups, pooled, ratio
from .values import MeanSums


def published(record: Evaluation, task: Task) -> Evaluation:
    """Return an evaluation in which no count below `LIMIT` is exact; one that was published already stays as it is."""
    if record.small:
        return record
    if record.sums is None:
        raise InputError(f"evaluation {record.name!r} has no counts to publish, expected one made by evaluate.")
    sums, levels = record.sums, {}
    parts = []
    for i, (name, rates) in enumerate(record.groups.items()):
        pool = pool_of(rates.levels, sums.people[i].n[:-1])
        levels[name] = pool.levels
        parts.append(_Part(sums, i, pool, task.favourable))
    shown = PartSums(
        rows=replace(sums.rows, wrong=_wrong(sums, task.favourable), **_classes(sums, task)),
        groups=tuple(part.weights() for part in parts),
        people=tuple(part.shown for part in parts),
        twice=tuple(part.squares() for part in parts) if sums.twice else (),
    )
    found = evaluation_of(shown, task, levels, record.name, _area(record))
    figures = {name: getattr(found, name) for name in ("columns", "signed", "groups", "sizes", "labels", "alike")}
    return replace(record, **figures, small=LIMIT, sums=None)


def _area(record: Evaluation) -> Array | None:
    """Return the AUC of all rows, NaN where it rests on a few people of one label."""
    area = record.columns.get("auc")
    if area is None or record.sums is None:
        return area
    people: Any = record.sums.people[0]
    few = min(float(people.positives.sum()), float(people.negatives.sum())) < LIMIT
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


class _Part:
    """One attribute of sums: its exact and its published rows, those without a group last."""

    def __init__(self, sums: PartSums, place: int, pool: Pool, good: int) -> None:
        c = len(sums.people[place].n) - 1
        self.exact: Any = pooled(sums.people[place], (*pool.members, (c,)))
        self.weight: Any = pooled(sums.groups[place], pool.members)
        self.twice: Any = pooled(sums.twice[place], pool.members) if sums.twice else None
        self.weighted, self.unit = bool(sums.rows.uneven), float(sums.rows.weight / sums.rows.n)
        self.few = self.exact.n < LIMIT  # figures of so few people are not given
        self.shown = published_people(self.exact, good)
        self.plain = not _has_few(self.exact)

    def weights(self) -> Any:
        """Return weights of published rows, part by part; none of groups of a few people."""
        few = self.few[:-1]
        if self.plain:
            scaled = self.weight
        elif isinstance(self.weight, MeanSums):
            scaled = means_in_units(self.weight, self.exact, self.shown, self.unit)
        elif not self.weighted:
            scaled = of_groups(self.shown, range(len(few)))
        else:
            scaled = scaled_sums(self.weight, self.exact, self.shown, self.unit)
        blank = along_groups(
            scaled, lambda values, axis: np.where(np.expand_dims(few, _beside(values, axis)), 0.0, values)
        )
        return replace(blank, n=scaled.n)

    def squares(self) -> Any:
        """Return squared weights such that effective sizes are scaled as the rows behind them are."""
        if self.plain:
            return self.twice
        return scaled_squares(self.weight, self.twice, self.weights(), self.exact, self.shown)


def _has_few(people: Any) -> bool:
    """Tell whether a count of people is small, so that not all are published as they are."""
    if isinstance(people, MeanSums):
        return any_small(people.n, people.n[:, None], people.n, 1)
    pairs = [(people.hit, people.positives), (people.false_alarm, people.negatives)]
    if isinstance(people, ClassSums):
        pairs.append((people.hits, people.of_class))
    decided = np.concatenate([side.ravel() for part, whole in pairs for side in (part, whole - part)])
    return any_small(people.n, _labels(people), decided, 2)


def published_people(exact: Any, good: int) -> Any:
    """Return rows by group, label and decision that may be published; the last group is that without one.

    ``good`` is the favourable one of several classes. Totals over groups are those of `published_totals`.
    """
    if isinstance(exact, MeanSums):
        return replace(exact, n=publish_sizes(exact.n))
    labels = _labels(exact)
    n = publish_sizes(exact.n, labels.shape[1], 2)
    return _decided(exact, n, publish_labels(labels, n), good, published_totals(exact, good))


def published_totals(exact: Any, good: int) -> Any:
    """Return all rows, however they are divided into groups, by label and decision, as one group."""
    everyone = along_groups(exact, lambda values, axis: values.sum(axis=axis, keepdims=True))
    if isinstance(exact, MeanSums):
        return everyone
    return _decided(everyone, everyone.n, publish_labels(_labels(everyone), everyone.n), good, None)


def _labels(exact: Any) -> Array:
    """Return rows by group and label, (c, K); of two labels the favourable one first."""
    return exact.of_class if isinstance(exact, ClassSums) else np.column_stack([exact.positives, exact.negatives])


def _decided(exact: Any, n: Array, rows: Array, good: int, totals: Any) -> Any:
    """Return published rows by decision; ``n`` (c,), ``rows`` by label (c, K) and ``totals``, if any, are published."""

    def split(part: Array, whole: Array, shown: Array, total: Array | None) -> Array:
        return publish_decisions(np.stack([part, whole - part], axis=2), shown, total)[:, :, 0]

    def total(name: str, whole: str, k: int | None = None) -> Array | None:
        if totals is None:
            return None
        part, size = getattr(totals, name)[:, 0], getattr(totals, whole)[0]
        part, size = (part, size) if k is None else (part[:, k], size[k])
        return np.column_stack([part, size - part])

    if not isinstance(exact, ClassSums):
        hit = split(exact.hit, exact.positives, rows[:, 0], total("hit", "positives"))
        alarm = split(exact.false_alarm, exact.negatives, rows[:, 1], total("false_alarm", "negatives"))
        return RateSums(n, rows[:, 0], rows[:, 1], hit, alarm)
    every = range(rows.shape[1])
    hits = [split(exact.hits[:, :, k], exact.of_class[:, k], rows[:, k], total("hits", "of_class", k)) for k in every]
    others = n - rows[:, good]
    alarm = split(exact.false_alarm, exact.negatives, others, total("false_alarm", "negatives"))
    return ClassSums(n, rows[:, good], others, hits[good], alarm, hits=np.stack(hits, axis=2), of_class=rows)


def _wrong(sums: PartSums, good: int) -> Array:
    """Return what went wrong on all rows, scaled by published over exact rows of it."""
    if isinstance(sums.people[0], MeanSums):
        return sums.rows.wrong
    shown, exact = (_mistakes(each) for each in (published_totals(sums.people[0], good), sums.people[0]))
    scaled = publish_weights(sums.rows.wrong, exact, shown, float(sums.rows.weight / sums.rows.n))
    return np.where(shown == exact, sums.rows.wrong, scaled)


def _mistakes(people: Any) -> Array:
    """Return how many rows each model decides wrongly, (N,)."""
    if isinstance(people, ClassSums):
        return np.asarray(people.n.sum() - people.hits.sum(axis=(1, 2)))
    return np.asarray(people.positives.sum() - people.hit.sum(axis=1) + people.false_alarm.sum(axis=1))


def _classes(sums: PartSums, task: Task) -> dict[str, Array]:
    """Return the weights of all rows by label, (K,), and by decision, (N, K), scaled by published over exact rows."""
    rows, people, good = sums.rows, sums.people[0], task.favourable
    if isinstance(people, MeanSums):
        return {}
    totals, weight = published_totals(people, good), rows.weight
    exact, shown = _labels(people).sum(axis=0), _labels(totals)[0]
    if not isinstance(people, ClassSums) and good == 1:
        exact, shown = exact[::-1], shown[::-1]
    labels = rows.labels * np.nan_to_num(ratio(shown, exact))
    approved = (totals.hit + totals.false_alarm)[:, 0]
    scale = np.nan_to_num(ratio(approved, (people.hit + people.false_alarm).sum(axis=1)))
    decided = np.empty_like(rows.decided)
    decided[:, good] = rows.decided[:, good] * scale
    others = [k for k in range(decided.shape[1]) if k != good]
    per_row = weight / totals.n[0]
    left = totals.n[0] - decided[:, good] / per_row
    decided[:, others] = publish_totals(np.rint(rows.decided[:, others] / per_row), left) * per_row
    return {"labels": labels, "decided": decided}


def _beside(values: Array, axis: int) -> tuple[int, ...]:
    return tuple(k for k in range(values.ndim) if k != axis)


PARTS = {"hit": "positives", "false_alarm": "negatives", "hits": "of_class"}
"""Sums of decisions, and of the rows that they are parts of."""


def scaled_sums(weight: Any, exact: Any, shown: Any, unit: float) -> Any:
    """Return the weights of groups with published rows, in units of a row's mean weight.

    ``exact`` and ``shown`` are people, with those without a group last.
    """
    c = len(weight.n)
    found = {"n": shown.n[:c]}
    for part, whole in PARTS.items():
        if not hasattr(weight, part):
            continue
        rows = [np.asarray(getattr(each, whole))[:c] for each in (weight, exact, shown)]
        inner = [np.asarray(getattr(each, part))[:, :c] for each in (weight, exact, shown)]
        found[whole] = publish_weights(rows[0], rows[1], rows[2], unit)
        inside = publish_weights(inner[0], inner[1], inner[2], unit)
        outside = publish_weights(rows[0] - inner[0], rows[1] - inner[1], rows[2] - inner[2], unit)
        found[part] = np.nan_to_num(ratio(inside, inside + outside)) * found[whole]
    return replace(weight, **found)


def scaled_squares(weight: Any, twice: Any, scaled: Any, exact: Any, shown: Any) -> Any:
    """Return squared weights beside ``scaled`` ones: effective sizes go with the published rows, in whole rows."""
    found = {}
    for name in ("positives", "negatives", *(["of_class"] if isinstance(twice, ClassSums) else [])):
        size = np.nan_to_num(ratio(getattr(weight, name) ** 2, getattr(twice, name)))
        rows, told = (np.asarray(getattr(each, name))[: len(size)] for each in (exact, shown))
        found[name] = np.nan_to_num(ratio(getattr(scaled, name) ** 2, publish_weights(size, rows, told, 1.0)))
    return replace(twice, **found)


def means_in_units(sums: MeanSums, exact: MeanSums, shown: MeanSums, unit: float) -> MeanSums:
    """Return sums whose means are in units of what one of the published rows adds to them."""
    c = len(sums.n)
    n = shown.n[:c]
    weight = publish_weights(sums.weight, exact.n[:c], n, unit)
    squared = _mean(sums.squared, sums.weight)
    one = np.sqrt(squared) / np.where(n > 0, n, 1.0)
    return replace(
        sums,
        n=n,
        weight=weight,
        prediction=in_units(_mean(sums.prediction, sums.weight), one) * weight,
        residual=in_units(_mean(sums.residual, sums.weight), one) * weight,
        squared=in_units(squared, one * np.sqrt(squared)) * weight,
    )


def _mean(total: Array, weight: Array) -> Array:
    return np.nan_to_num(ratio(total, weight))
