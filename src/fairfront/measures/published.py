"""Evaluations as they are published: small groups pooled, small counts rounded, every figure computed from these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Array, Task
from .disclosure import (
    LIMIT,
    POOLED,
    publish_decisions,
    publish_labels,
    publish_sizes,
    publish_totals,
    rounded,
)
from .part_sums import PartSums
from .rates import ClassSums, RateSums, rate_sums
from .sums import along_groups, of_groups, pooled, ratio, weighted_sums
from .table import Evaluation, evaluation_of
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
        rows=replace(sums.rows, wrong=_wrong(sums), **_classes(sums, task)),
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
    everyone = _everyone(record.sums)
    few = min(float(everyone.positives[0]), float(everyone.negatives[0])) < LIMIT
    return np.full_like(area, np.nan) if few else area


Sides = tuple[Array, Array]


def published_sides(gained: Array, lost: Array, net: Array) -> Sides:
    """Return how many rows gained and lost, (N, c), that may be published beside rates whose counts differ by ``net``.

    The smaller side is rounded where it is small, and the other follows from the published net: otherwise the two
    together with the rates would give the small one back.
    """
    less = rounded(np.minimum(gained, lost))
    up, down = np.where(gained <= lost, less, less + net), np.where(gained <= lost, less - net, less)
    below = np.maximum(0.0, -np.minimum(up, down))
    return rounded(up + below), rounded(down + below)


def published_moves(
    decided: NDArray[np.bool_], plain: int, good: NDArray[np.bool_], member: Array, shown: RateSums | None = None
) -> tuple[Sides, Sides]:
    """Return who gains and loses a favourable decision against one model: of the favourable label, and of the others.

    ``decided`` are (N, n), ``member`` (n, c); results are (N, c + 1) with the rows without a group last. ``shown`` are
    published people of these groups, by default those of `published_people`.
    """
    everyone = np.column_stack([member, 1.0 - member.sum(axis=1)])
    if shown is None:
        shown = published_people(rate_sums(decided, good, everyone, everyone.shape[1]), 0)
    found = []
    for rows, favoured in ((good, shown.hit), (~good, shown.false_alarm)):
        gained, lost = changed_sides(decided, decided[plain], everyone * rows[:, None])
        found.append(published_sides(gained, lost, favoured - favoured[plain]))
    return found[0], found[1]


def changed_sides(values: NDArray[np.bool_], before: NDArray[np.bool_], columns: Array) -> Sides:
    """Return the weights of rows that come into a share and go out of it, (N, q) each."""
    return weighted_sums(values & ~before, columns), weighted_sums(~values & before, columns)


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
        self.pool, c = pool, len(sums.people[place].n) - 1
        self.exact: Any = pooled(sums.people[place], (*pool.members, (c,)))
        self.weight: Any = pooled(sums.groups[place], pool.members)
        self.twice: Any = pooled(sums.twice[place], pool.members) if sums.twice else None
        self.weighted = bool(sums.rows.uneven)
        self.few = self.exact.n < LIMIT  # figures of so few people are not given
        self.shown = published_people(self.exact, good)

    def weights(self) -> Any:
        """Return weights scaled by published over exact rows, part by part; none of groups of a few people."""
        few = self.few[:-1]
        if isinstance(self.weight, MeanSums):
            scaled = replace(self.weight, n=self.shown.n[:-1])
        elif not self.weighted:
            scaled = of_groups(self.shown, range(len(few)))
        else:
            scaled = _scaled(self.weight, self.exact, self.shown)
        blank = along_groups(scaled, lambda values, axis: np.where(_on(few, values, axis), 0.0, values))
        return replace(blank, n=scaled.n)

    def squares(self) -> Any:
        """Return squared weights such that effective sizes are scaled as the rows behind them are."""
        scaled, exact = self.weights(), self.twice
        found = {}
        for name in ("positives", "negatives", *(["of_class"] if isinstance(exact, ClassSums) else [])):
            size = _size(self.weight, exact, name) * _rows(self.shown, self.exact, name)[: len(scaled.n)]
            found[name] = np.nan_to_num(ratio(getattr(scaled, name) ** 2, size))
        return replace(exact, **found)


def published_people(exact: Any, good: int) -> Any:
    """Return rows by group, label and decision that may be published; the last group is that without one.

    ``good`` is the favourable one of several classes.
    """
    if isinstance(exact, MeanSums):
        return replace(exact, n=publish_sizes(exact.n))
    by_class = isinstance(exact, ClassSums)
    labels = exact.of_class if by_class else np.column_stack([exact.positives, exact.negatives])
    n = publish_sizes(exact.n, labels.shape[1], 2)
    rows = publish_labels(labels, n)
    if not by_class:
        hit, alarm = _split(exact.hit, labels[:, 0], rows[:, 0]), _split(exact.false_alarm, labels[:, 1], rows[:, 1])
        return RateSums(n, rows[:, 0], rows[:, 1], hit, alarm)
    hits = np.stack([_split(exact.hits[:, :, k], labels[:, k], rows[:, k]) for k in range(labels.shape[1])], axis=2)
    others = n - rows[:, good]
    alarm = _split(exact.false_alarm, exact.negatives, others)
    return ClassSums(n, rows[:, good], others, hits[:, :, good], alarm, hits=hits, of_class=rows)


def _split(part: Array, whole: Array, shown: Array) -> Array:
    """Return published parts (N, c) of wholes that are published as ``shown`` (c,)."""
    return publish_decisions(np.stack([part, whole - part], axis=2), shown)[:, :, 0]


def _wrong(sums: PartSums) -> Array:
    """Return what went wrong on all rows, scaled by published over exact rows of it."""
    everyone = _everyone(sums)
    if isinstance(everyone, MeanSums):
        return sums.rows.wrong
    if isinstance(everyone, ClassSums):
        right, whole = everyone.hits[:, 0].sum(axis=1), everyone.n[0]
        exact = whole - right
        shown = publish_totals(np.column_stack([right, exact]), float(whole))[:, 1]
    else:
        exact = everyone.positives[0] - everyone.hit[:, 0] + everyone.false_alarm[:, 0]
        positives, hit, alarm = _totals(everyone)
        shown = positives - hit + alarm
    return np.asarray(sums.rows.wrong * np.nan_to_num(ratio(shown, exact)))


def _classes(sums: PartSums, task: Task) -> dict[str, Array]:
    """Return the weights of all rows by label, (K,), and by decision, (N, K), scaled by published over exact rows."""
    rows, everyone = sums.rows, _everyone(sums)
    if isinstance(everyone, MeanSums):
        return {}
    n, weight = float(everyone.n[0]), rows.weight
    exact = everyone.of_class[0] if isinstance(everyone, ClassSums) else _by_label(everyone, task)
    labels = rows.labels * np.nan_to_num(ratio(publish_labels(exact[None], everyone.n)[0], exact))
    if isinstance(everyone, ClassSums):
        return {"labels": labels, "decided": publish_totals(np.rint(rows.decided * n / weight), n) * weight / n}
    _, hit, alarm = _totals(everyone)
    exact_approved = everyone.hit[:, 0] + everyone.false_alarm[:, 0]
    approved = rows.decided[:, task.favourable] * np.nan_to_num(ratio(hit + alarm, exact_approved))
    both = [weight - approved, approved]
    return {"labels": labels, "decided": np.column_stack(both if task.favourable == 1 else both[::-1])}


def _by_label(everyone: Any, task: Task) -> Array:
    """Return rows by label in the order of the two classes, (2,)."""
    rows = np.concatenate([everyone.negatives, everyone.positives])
    return rows if task.favourable == 1 else np.asarray(rows[::-1])


def _everyone(sums: PartSums) -> Any:
    """Return all rows as one group."""
    return along_groups(sums.people[0], lambda values, axis: values.sum(axis=axis, keepdims=True))


def _totals(everyone: Any) -> tuple[float, Array, Array]:
    """Return published rows of all groups: with the favourable label, and decided so with it and with another."""
    exact = np.concatenate([everyone.positives, everyone.negatives])
    shown = publish_labels(exact[None], everyone.n)[0]
    parts = [everyone.hit[:, 0], everyone.false_alarm[:, 0]]
    found = [
        publish_totals(np.column_stack([part, whole - part]), float(limit))[:, 0]
        for part, whole, limit in zip(parts, exact, shown, strict=True)
    ]
    return float(shown[0]), found[0], found[1]


def _scaled(weight: Any, exact: Any, shown: Any) -> Any:
    """Return the weights of the groups with published rows."""
    c = len(weight.n)
    known = {"positives": ("hit",), "negatives": ("false_alarm",)}
    found = {"n": shown.n[:c]}
    for whole, (part,) in known.items():
        found[whole] = getattr(weight, whole) * _rows(shown, exact, whole)[:c]
        found[part] = _share(weight, exact, shown, part, whole) * found[whole]
    if isinstance(weight, ClassSums):
        found["of_class"] = weight.of_class * _rows(shown, exact, "of_class")[:c]
        found["hits"] = _share(weight, exact, shown, "hits", "of_class") * found["of_class"]
    return replace(weight, **found)


def _share(weight: Any, exact: Any, shown: Any, part: str, whole: str) -> Array:
    """Return the published share of a part: weights of the part and of the rest, each scaled by its rows."""
    c = len(weight.n)

    def side(record: Any, inside: bool) -> Array:
        inner = np.asarray(getattr(record, part))[:, :c]
        return inner if inside else np.asarray(getattr(record, whole)[:c] - inner)

    inside, outside = (
        np.maximum(side(weight, each), 0.0) * np.nan_to_num(ratio(side(shown, each), side(exact, each)))
        for each in (True, False)
    )
    same = (side(shown, True) == side(exact, True)) & (side(shown, False) == side(exact, False))
    plain = np.nan_to_num(ratio(side(weight, True), getattr(weight, whole)[:c]))
    return np.where(same, plain, np.nan_to_num(ratio(inside, inside + outside)))


def _rows(shown: Any, exact: Any, name: str) -> Array:
    return np.nan_to_num(ratio(getattr(shown, name), getattr(exact, name)))


def _size(weight: Any, twice: Any, name: str) -> Array:
    return np.nan_to_num(ratio(getattr(weight, name) ** 2, getattr(twice, name)))


def _on(mask: Any, values: Array, axis: int) -> Any:
    """Return a mask of groups in the shape that fits an array with groups on an axis."""
    return np.asarray(mask).reshape([-1 if k == axis else 1 for k in range(values.ndim)])
