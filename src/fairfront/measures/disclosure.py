"""Disclosure: the one policy for small counts in everything that is published (files, pages, cards, terminals, JSON).

Nothing is hidden and nobody is left out of a figure. Counts of people are published as follows:

1. Groups of fewer than `LIMIT` people are pooled as `POOLED`. Rates that rest on fewer people are of rounded counts and
   written with the least and
   the most that they can be; figures of scores of so few are not given.
2. A count from 1 to `LIMIT` - 1 is rounded to the nearest of 0, 5 and 10. So that what remains of a whole is such a
   count too, wholes that are to be split are rounded to multiples of 5 while they are small themselves.
3. The rest of a whole is the published whole less the published part, and the total over groups stays what it is in
   every table: the largest group takes up what rounding changed in a column, whatever is decided. Where that would
   make a small count of it, running totals over the groups are rounded in steps of 5 instead.
4. Every rate, gap, ratio and interval is computed from published counts. Beside rounded counts, weights, means and
   figures of scores are in units of what one published row adds to them (`in_units`).

So no large group disappears, no worst figure leaves anyone out, and nobody who knows this program and every output can
work out which of several small counts stands behind a rounded one. Choosing in memory uses exact counts.

Axes, in this order: model (N), group (c, those without a group last), label or decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from ..objectives import Array
from ..objectives.people import FEWEST, STEP, nearest
from ..validation import is_whole, shown
from .counts import Counts, ratio
from .spans import plain_number

LIMIT = FEWEST
POOLED = "(small groups)"
FEW = f"fewer than {LIMIT} people"
ROUNDED = (
    f"Counts of fewer than {LIMIT} people are rounded to 0, 5 or 10, groups of fewer than {LIMIT} are pooled, and "
    "figures are computed from the rounded counts; where exact ones may differ notably, the least and the most that "
    "they can be are shown (0.15-0.26), and bounds include them."
)
EXACT = (
    "Exact counts: small groups and small counts are shown as they are (small = 0), for use where the rows are kept."
)


@dataclass(frozen=True)
class Cell:
    """An entry of a table: a value, exact or as it is published, or the reason why there is none.

    ``meant`` is false where no comparison was meant: for the reference, for all rows, for groups that are too small.
    ``ends`` are the least and the most that the exact value can be, where rounding may have moved it notably.
    """

    value: Any = None
    reason: str = ""
    meant: bool = True
    ends: tuple[float, ...] = ()

    @property
    def plain(self) -> Any:
        if not self.reason:
            return plain_number(self.value)
        return f"not defined: {self.reason}" if self.meant else self.reason


def check_small(small: Any) -> int:
    if not is_whole(small) or small not in (0, LIMIT):
        raise InputError(
            f"{spelled('small')} is {shown(small)}, expected {LIMIT} (counts below it are rounded) or 0 (exact counts, "
            "for use where the rows are kept)."
        )
    return int(small)


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


def publish_table(cells: Array, good: int) -> Array:
    """Return counts of N models by group, label and decision, (N, c + 1, K, K), that may be published.

    ``cells`` are (N, c, K, K), rows without a group last; the last group of the result are all rows, whose counts do
    not depend on how they are divided into groups. Of two classes the favourable one comes first, so that favourable
    decisions stay as they are where they are many, and the others make up for what is rounded.
    """
    K = cells.shape[2]
    order = [good, 1 - good] if K == 2 else list(range(K))
    cells = cells[:, :, order][:, :, :, order]
    labels = cells[0].sum(axis=2)
    rows = publish_labels(labels, publish_sizes(labels.sum(axis=1), K, K), K)
    everyone = publish_labels(labels.sum(axis=0)[None], labels.sum(keepdims=True)[0], K)[0]
    found = np.empty((len(cells), cells.shape[1] + 1, K, K))
    for place, k in enumerate(order):
        total = publish_totals(cells[:, :, place].sum(axis=1), float(everyone[place]))
        parts = publish_decisions(cells[:, :, place], rows[:, place], total)
        found[:, :, k, order] = np.concatenate([parts, total[:, None]], axis=1)
    return found


def publish_counts(exact: Counts, good: int) -> Counts:
    """Return counts of N models, all rows as the last group, that may be published."""
    groups = exact.rows[:, :-1]
    return with_rows(exact, publish_table(groups, good)) if any_small_cell(groups) else exact


def any_small_cell(rows: Array) -> bool:
    """Tell whether a count of N models by group, label and decision, (N, c, K, D), is small, or a sum of them."""
    first = rows[0]
    return any_small(first.sum(axis=(1, 2)), first.sum(axis=2), rows, rows.shape[3])


def with_rows(exact: Counts, shown: Array) -> Counts:
    """Return the counts of published rows: weights in units of a row's mean, those of all rows in proportion."""
    if exact.weight is exact.rows:
        return Counts(shown, shown, shown)
    found = []
    for each in (exact.weight, exact.squared):
        unit = float(each[:, -1].sum() / exact.rows[:, -1].sum())
        inner = publish_weights(each[:, :-1], exact.rows[:, :-1], shown[:, :-1], unit)
        outer = each[:, -1] * np.nan_to_num(ratio(shown[:, -1], exact.rows[:, -1]))
        found.append(np.concatenate([inner, outer[:, None]], axis=1))
    return Counts(shown, *found)


def any_small(sizes: Array, labels: Array, decided: Array, decisions: int) -> bool:
    """Tell whether a count of groups (c,), by label (c, K) or by decision is small, so that some counts are rounded.

    Figures beside rounded counts must not tell which of them were changed: see `in_units`.
    """
    limits = (LIMIT * labels.shape[1] * decisions, LIMIT * decisions, LIMIT)
    return any(_is_small(each, limit).any() for each, limit in zip((sizes, labels, decided), limits, strict=True))


def in_units(values: Array, unit: Any) -> Array:
    """Return values as multiples of units (of 0: as they are).

    A mean or share in full precision tells the number that it was divided by, so that beside rounded counts it is given
    in units of what one of the published rows adds to it.
    """
    size = np.broadcast_to(np.asarray(unit, dtype=np.float64), np.shape(values))
    return np.asarray(np.where(size > 0, np.rint(values / np.where(size > 0, size, 1.0)) * size, values))


def publish_weights(weight: Array, exact: Array, shown: Array, unit: float) -> Array:
    """Return weights of cells scaled by published over exact rows, in units of the mean weight of a row."""
    scaled = np.where(exact > 0, weight * shown / np.where(exact > 0, exact, 1.0), shown * unit)
    return np.where(scaled > 0, np.maximum(in_units(scaled, unit), unit), 0.0)


def publish_sizes(n: Array, labels: int = 1, decisions: int = 1) -> Array:
    """Return the sizes of groups (c,) that may be published, for tables of so many labels and decisions.

    The last of them may be the rows without a group. Their sum is the number of all rows, which everybody knows.
    """
    room = 2.0 * n.sum() + n  # more than any group has, most for the largest: nothing is left over that is small
    return np.asarray(_split(n[None], room[None], n.sum(keepdims=True), LIMIT * labels * decisions, 0)[0])


def publish_labels(labels: Array, n: Array, decisions: int = 2) -> Array:
    """Return the rows of groups by label, (c, K), that may be published; ``n`` (c,) are published sizes."""
    limit = LIMIT * decisions
    total = _chain(labels.sum(axis=0)[None, None], n.sum()[None, None], None, limit)[:, 0]
    return np.asarray(_chain(labels[None], n[None], total, limit)[0])


def publish_decisions(decided: Array, whole: Array, total: Array | None = None) -> Array:
    """Return the rows of one label by decision, (N, c, D), that may be published.

    ``whole`` (c,) are the published rows of the label in each group, ``total`` (N, D) published rows of all groups
    where they are known already.
    """
    if total is None:
        total = publish_totals(decided.sum(axis=1), float(whole.sum()))
    return _chain(decided, np.broadcast_to(whole, decided.shape[:2]), total, LIMIT)


def publish_totals(decided: Array, whole: float | Array) -> Array:
    """Return the rows of all groups by decision, (N, D), that may be published; ``whole`` are those of the label."""
    return _chain(decided[:, None], np.zeros((len(decided), 1)) + np.reshape(whole, (-1, 1)), None, LIMIT)[:, 0]


def publish_levels(counts: Array, total: Array) -> Array:
    """Return counts of every level (axis 0) that may be published beside published ``total`` counts of all levels.

    Each is a part of its own total, and the largest level takes up what rounding changes.
    """
    parts = counts.reshape(len(counts), -1).T
    size = parts.sum(axis=0)
    room = np.broadcast_to(2.0 * size.sum() + size, parts.shape)
    return np.asarray(_split(parts, room, total.ravel(), LIMIT, 0).T.reshape(counts.shape))


def _chain(parts: Array, whole: Array, total: Array | None, limit: int) -> Array:
    """Split wholes (N, c) into parts (N, c, D), one after the other; what is left over is the last of them."""
    shown, left = np.empty(parts.shape), np.array(whole, dtype=np.float64)
    last = parts.shape[2] - 1
    for k in range(last):
        part, exact = parts[:, :, k], parts[:, :, k:].sum(axis=2)
        scaled = np.rint(part * left / np.where(exact > 0, exact, 1.0))  # in proportion where a whole is small
        part = np.where((left != exact) & (np.minimum(left, exact) < 4 * LIMIT), scaled, part)
        shown[:, :, k] = _split(part, left, None if total is None else total[:, k], limit, limit * (last - k))
        left = left - shown[:, :, k]
    shown[:, :, last] = left
    return shown


def _split(part: Array, whole: Array, total: Array | None, limit: int, rest_limit: int) -> Array:
    """Return parts (N, c) of published wholes (N, c) that may be published; ``total`` (N,) is to be their sum."""
    kept = np.minimum(part, whole)
    rest = whole - kept
    few, few_left = _is_small(kept, limit), _is_small(rest, rest_limit)
    shown = np.where(few, np.minimum(nearest(kept), whole), kept)
    shown = np.where(few_left & ~few, whole - np.minimum(nearest(rest), whole), shown)
    if total is None:
        return shown
    order = np.argsort(whole[0], kind="stable")  # the largest group is known whatever is decided: it takes up the rest
    moved = shown.copy()
    moved[:, order[-1]] += total - shown.sum(axis=1)
    fits = _may_be(moved[:, order[-1]], whole[:, order[-1]], limit, rest_limit)
    found = np.where(fits[:, None], moved, _in_steps(kept, whole, total, order, limit, rest_limit))
    touched = np.logical_or((few | few_left).any(axis=1), shown.sum(axis=1) != total)
    return np.where(touched[:, None], found, shown)


def _in_steps(part: Array, whole: Array, total: Array, order: NDArray[np.intp], limit: int, rest_limit: int) -> Array:
    """Return parts (N, c) of wholes in steps of 5, the last in order aside where it may be what is left of the total.

    Running totals are rounded, not each count by itself: with the exact total, roundings that all went one way would
    give every count back. For the same reason a running total stays within what ``total`` allows.
    """
    shown, everyone, last = np.zeros(part.shape), whole.sum(axis=1), order[-1]
    exact = given = seen = np.zeros(len(part))
    for g in order:
        exact, seen = exact + part[:, g], seen + whole[:, g]
        step = _step(exact - given, whole[:, g])
        if g != last:
            step = np.where(given + step > np.minimum(total, seen), _beside(step, whole[:, g])[0], step)
            step = np.where(given + step < total - everyone + seen, _beside(step, whole[:, g])[1], step)
        shown[:, g], given = step, given + step
    left = total - given + shown[:, last]
    shown[:, last] = np.where(_may_be(left, whole[:, last], limit, rest_limit), left, shown[:, last])
    return shown


def _step(count: Array, whole: Array) -> Array:
    """Return the nearest step from 0 to whole: multiples of 5 from either end, with a wide step where they meet."""
    first, second = middle_steps(whole)
    low, high = np.minimum(nearest(count), first), whole - np.minimum(nearest(whole - count), whole - second)
    return np.asarray(np.clip(np.where(count <= (first + second) / 2, low, high), 0.0, whole))


def _beside(step: Array, whole: Array) -> tuple[Array, Array]:
    first, second = middle_steps(whole)
    before = np.where((step > first) & (step <= second), first, step - STEP)
    after = np.where((step >= first) & (step < second), second, step + STEP)
    return np.maximum(before, 0.0), np.minimum(after, whole)


def middle_steps(whole: Array) -> tuple[Array, Array]:
    """Return the last step from below and the first from above, at least 5 apart unless all are multiples of 5.

    A narrow step of its own would tell too much.
    """
    apart = np.where(whole % STEP > 0, STEP, 0)
    first = np.maximum(STEP * np.floor((whole - apart) / (2 * STEP)), 0.0)
    return first, whole - np.maximum(STEP * np.floor((whole - apart - first) / STEP), 0.0)


def _may_be(part: Array, whole: Array, limit: int, rest_limit: int) -> NDArray[np.bool_]:
    rest = whole - part
    return np.asarray((part >= 0) & (rest >= 0) & ~_is_small(part, limit) & ~_is_small(rest, rest_limit))


def _is_small(counts: Array, limit: int) -> NDArray[np.bool_]:
    return np.asarray((counts > 0) & (counts < limit))
