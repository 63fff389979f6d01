"""How far exact counts and figures can be from published ones: what the rounding of `disclosure` allows.

Ranges follow from published counts and the policy alone, so they tell nothing new: every exact count that could stand
behind what is published lies inside. An end of an interval with rounding is its extreme over the range. Wilson's and
Newcombe's ends rise with a rate and move away from it with fewer rows, so the extreme is at an end of the rate's range
and at the fewest rows. Groups that are pooled may have any rate. Rows with weights count at the mean of their cell.

Of one column of a table, with parts of published wholes:

- a part that is a multiple of 5 up to its limit, or leaves such a rest, is off by half a step
- in a small whole parts were taken in proportion: that keeps the share to half a row
- the largest group is what the others leave of the total, whatever was rounded
- where what is left for it would be small, running totals were rounded in steps instead, each off by a step
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from ..objectives.people import STEP
from ..records import Record
from .counts import ratio
from .disclosure import LIMIT, middle_steps
from .spans import Range, each_end, joined, stacked

FAR = 4 * STEP
"""Above its limit by so much, a count of the largest group is not one that running totals were rounded for."""


@dataclass(frozen=True, eq=False, repr=False)
class TableRange(Record):
    """Ranges of rows by label and decision, (N, c, K, K), by label, (c, K), and of groups, (c,)."""

    cells: Range
    labels: Range
    sizes: Range


def table_range(shown: Array, good: int, half: float = STEP // 2) -> TableRange:
    """Return what may stand behind published counts (N, c + 1, K, K), all rows last; see `publish_table`.

    ``half`` is half a step: 2 for whole rows, 2.5 for shares of them.
    """
    K = shown.shape[2]
    order = [good, 1 - good] if K == 2 else list(range(K))
    table = shown[:, :, order][:, :, :, order]
    labels = table[0].sum(axis=2)
    rows = labels.sum(axis=1)
    if _nothing_rounded(table, labels, rows):
        return TableRange(Range.exactly(shown), Range.exactly(shown[0].sum(axis=2)), Range.exactly(rows))
    sizes, every = _size_range(rows[:-1], float(rows[-1]), LIMIT * K * K, half), slice(None)
    everyone = Range.exactly(rows[None, -1:])
    total = chain_range(labels[None, -1:], everyone, None, LIMIT * K, half, twice=True).at(every, 0)
    slack = total.width.max() + half  # totals of groups are rounded once
    inner = chain_range(labels[None, :-1], sizes.at(None), total, LIMIT * K, half, slack=slack).at(0)
    cells, same = [], np.zeros(len(table), dtype=np.intp)
    for k in range(K):
        whole, own = total.at(same, k).at(every, None), inner.at(None, every, k).at(same)
        outer = chain_range(table[:, -1:, k], whole, None, LIMIT, half).at(every, 0)
        parts = chain_range(table[:, :-1, k], own, outer, LIMIT, half)
        cells.append(joined(parts, outer.at(every, None), 1))
    back = np.argsort(order)
    return _reconciled(
        stacked(2, *cells).at(every, every, back).at(every, every, every, back),
        joined(inner, total, 0).at(every, back),
        joined(sizes, Range.exactly(rows[-1:]), 0),
        whole_rows=half == STEP // 2,
    )


def _nothing_rounded(table: Array, labels: Array, rows: Array) -> bool:
    """Tell whether published counts are all so large that none of them can have been rounded, nor taken up another."""
    K, largest = len(labels[0]), int(np.argsort(rows[:-1], kind="stable")[-1])
    for counts, limit in ((rows, LIMIT * K * K), (labels, LIMIT * K), (table.swapaxes(0, 1), LIMIT)):
        if counts.min() <= limit or min(counts[largest].min(), counts[-1].min()) <= limit + FAR:
            return False
    return True


def _reconciled(cells: Range, labels: Range, sizes: Range, *, whole_rows: bool) -> TableRange:
    """Return the ranges as far as parts can add up to their wholes: decisions, labels and groups."""
    for _ in range(3):
        if whole_rows:
            cells, labels, sizes = (each.whole for each in (cells, labels, sizes))
        cells, found = added_up(cells, labels.at(None), 3)
        labels = Range(labels.shown, found.low.max(axis=0), found.high.min(axis=0))  # the same of all models
        labels, sizes = added_up(labels, sizes, 1)
        cells, labels, sizes = (_groups_added_up(each, axis) for each, axis in ((cells, 1), (labels, 0), (sizes, 0)))
    return TableRange(cells, labels, sizes)


def _groups_added_up(some: Range, axis: int) -> Range:
    """The last along the axis are all groups together."""
    last = some.low.shape[axis] - 1
    before = (slice(None),) * axis
    parts, whole = added_up(some.at(*before, slice(0, last)), some.at(*before, last), axis)
    return joined(parts, whole.at(*before, None), axis)


def added_up(parts: Range, whole: Range, axis: int) -> tuple[Range, Range]:
    """Return the ranges of parts and of their whole as far as the parts can add up to it."""
    low, high = parts.low.sum(axis=axis), parts.high.sum(axis=axis)
    least, most = np.maximum(whole.low, low), np.minimum(whole.high, high)
    high_left, low_left = (np.expand_dims(each, axis) for each in (most - low, least - high))
    ends = np.maximum(parts.low, low_left + parts.high), np.minimum(parts.high, high_left + parts.low)
    return Range(parts.shown, *ends), Range(np.broadcast_to(whole.shown, least.shape), least, most)


def level_ranges(shown: Array, whole: TableRange, few: NDArray[np.bool_], half: float) -> list[TableRange]:
    """Return what may stand behind counts published within levels (`publish_levels`), (S, c + 1, K, K), all rows last.

    Each is a part of its own count in the ``whole`` table. Of every group it is told whether it has a ``few`` people,
    (S, c + 1): others have nobody, or `LIMIT` and more.
    """
    S, one = len(shown), float(half == STEP // 2)
    total = whole.cells.at(0, slice(0, -1))
    parts = shown[:, :-1].reshape(S, -1).T
    low, high = _level_parts(parts, each_end(np.ravel, total), half)
    inner = Range(*(each.T.reshape(shown[:, :-1].shape) for each in (parts, low, high)))
    cells, found = joined(inner, inner.sum(1).at(slice(None), None), 1), []
    for level in range(S):
        own = cells.at(level)
        n = own.sum((1, 2))
        least = np.where(few[level], one, np.where(n.low > 0, LIMIT, 0.0))
        most = np.where(few[level], LIMIT - one, np.where(n.high < LIMIT, 0.0, np.inf))
        sizes = Range(n.shown, np.maximum(n.low, least), np.minimum(n.high, most))
        found.append(_reconciled(own.at(None), own.sum(2), sizes, whole_rows=bool(one)))
    return found


def _level_parts(part: Array, total: Range, half: float) -> tuple[Array, Array]:
    """Return the ends of parts (J, S) of totals (J,), each rounded by itself or in running totals but for the largest.

    Any level may be the largest whose rows, rounded, may be the most.
    """
    small = (part % STEP == 0) & (part <= LIMIT)
    below, above = (
        np.where(small, np.maximum(part - half, 0.0), part),
        np.where(small, np.minimum(part + half, LIMIT), part),
    )
    size, moved = part.sum(axis=0), (total.width + STEP * small.sum(axis=1)).sum()
    lows, highs = [], []
    for T in np.flatnonzero(size >= size.max() - 2.0 * moved):
        others = np.delete(np.arange(len(size)), T)
        given = part[:, others].sum(axis=1)
        far = np.where(given <= total.shown - STEP, half, STEP + total.width)  # running totals stay within the total
        steps = (part[:, others] % STEP == 0).all(axis=1)
        reach = LIMIT + far + half * (part[:, others] <= LIMIT + half + far[:, None]).sum(axis=1)
        stepped = (steps & (total.shown - given < reach))[:, None]
        low, high = np.array(below), np.array(above)
        low[:, T] = total.low - above[:, others].sum(axis=1)
        high[:, T] = total.high - below[:, others].sum(axis=1)
        off = half + far[:, None]
        less, more = part - off, part + off
        less[:, T], more[:, T] = total.low - given - far, total.high - given + half
        lows.append(np.where(stepped, np.minimum(low, less), low))
        highs.append(np.where(stepped, np.maximum(high, more), high))
    span = Range(part, np.maximum(np.min(lows, axis=0), 0.0), np.max(highs, axis=0))
    found, _ = added_up(span, total, 1)
    return found.low, found.high


def _size_range(n: Array, total: float, limit: int, half: float) -> Range:
    """Of groups (c,): which of them is the largest is known up to rounding, and any that may be takes up the rest."""
    room = Range.exactly(2.0 * total + n[None])
    off, together = _offsets(n[None], room, Range.exactly(np.array([total])), limit, 0, half)
    if off.max() > half:  # running totals, and in which order is not known
        off = np.full_like(off, 2.0 * off.max())
    low, high = np.maximum(n - off[0], 0.0), n + off[0]
    left = total - n.sum() + n
    largest = n >= n.max() - 2.0 * off.sum()
    low = np.where(largest, np.minimum(low, left - together[0]), low)
    return Range(n, np.maximum(low, 0.0), np.where(largest, np.maximum(high, left + together[0]), high))


def chain_range(
    parts: Array, whole: Range, total: Range | None, limit: int, half: float, *, twice: bool = False, slack: Any = 0.0
) -> Range:
    """Of parts (N, c, D) of wholes (N, c), split one after the other; ``total`` are those of all groups, (N, D).

    Labels of all rows are rounded ``twice``, by themselves and in steps where what is left is small.
    """
    last, left, found = parts.shape[2] - 1, whole, []
    for k in range(last):
        part, rest_limit = parts[:, :, k], limit * (last - k)
        if total is None:
            off = half * _may_be_rounded(part, left.shown, limit, rest_limit)
            if twice:
                rest, wide = left.shown - part, _step_to(part, left.shown)
                stepped = (part % STEP == 0) | (rest % STEP == 0)
                stepped &= (part <= limit + wide) | (rest <= rest_limit + wide)
                off = np.where(stepped, _half(wide, half), 0.0) + np.where(left.width > 0, half + left.width, 0.0)
            own, over = _part_range(part, left, np.asarray(off, dtype=np.float64))
        else:
            off, together = _offsets(part, left, total.at(slice(None), k), limit, rest_limit, half, slack)
            own, over = _taken_up(*_part_range(part, left, off), left, total.at(slice(None), k), off, together)
        found.append(own)
        left = over
    return stacked(2, *found, left)


def _may_be_rounded(part: Array, whole: Array, limit: int, rest_limit: int) -> NDArray[np.bool_]:
    rest = whole - part
    return np.asarray(((part % STEP == 0) & (part <= limit)) | ((rest % STEP == 0) & (rest <= rest_limit)))


def _step_to(part: Array, whole: Array) -> Array:
    """Return how far the next step is from one that parts of wholes were rounded to."""
    first, second = middle_steps(whole)
    return np.where((part == first) | (part == second), np.maximum(second - first, STEP), STEP).astype(np.float64)


def _half(wide: Array, half: float) -> Array:
    """Return by how much a count may have been rounded to a step: half of it, of whole rows no more than that."""
    return np.floor(wide / 2.0) if half == STEP // 2 else wide / 2.0


def _offsets(
    part: Array, whole: Range, total: Range, limit: int, rest_limit: int, half: float, slack: Any = 0.0
) -> tuple[Array, Array]:
    """Return how far parts (N, c) but the largest may have been rounded, and their sum (N,), as wholes are published.

    Running totals were rounded only where the largest group would have had a small part or rest; then all other parts
    are steps. A running total is off by half a step, or by a step where it had to stay within the total, which is known
    to ``slack``.
    """
    order, W = np.argsort(whole.shown[0], kind="stable"), whole.shown
    T, others = order[-1], order[:-1][W[:, order[:-1]].any(axis=0)]
    own = half * _may_be_rounded(part, W, limit, rest_limit)
    apart = total.width + (whole.width + 0.5 * _scaled(whole)).sum(axis=1)  # parts need not add up to the total
    given, seen, off = np.zeros(len(part)), np.zeros(len(part)), np.zeros(len(part))
    steps, stepped = np.ones(len(part), dtype=bool), np.zeros(part.shape)
    for g in others:
        steps &= (part[:, g] % STEP == 0) | ((W[:, g] - part[:, g]) % STEP == 0)
        given, seen, wide = given + part[:, g], seen + W[:, g], _step_to(part[:, g], W[:, g])
        room = np.minimum(total.shown - given, given - total.shown + W.sum(axis=1) - seen)
        now = np.where(room < wide + slack, wide + apart, _half(wide, half))
        now = np.where((part[:, g] == 0) | (part[:, g] == W[:, g]), np.maximum(off, now), now)  # no farther than before
        stepped[:, g], off = off + now, now
    alone = own[:, others].sum(axis=1)
    left, reach = total.shown - given, off + alone + slack
    near = (left < limit + reach) | (W[:, T] - left < rest_limit + reach)
    maybe = steps & near & (len(others) > 0)
    return np.where(maybe[:, None], np.maximum(own, stepped), own), np.where(maybe, np.maximum(alone, off), alone)


def _scaled(whole: Range) -> NDArray[np.bool_]:
    """Tell where parts may have been taken in proportion, because the whole is small and may have been rounded."""
    return np.asarray((whole.high > whole.low) & (whole.low < 4 * LIMIT))


def _part_range(part: Array, whole: Range, off: Array) -> tuple[Range, Range]:
    """Of parts of wholes (N, c) that were rounded by no more than ``off``, and of what is left of the wholes."""
    W, scaled = whole.shown, _scaled(whole)
    low, high = np.maximum(part - off, 0.0), np.minimum(part + off, W)
    plain = low, np.where(high >= W, whole.high, high), np.maximum(whole.low - high, 0.0), whole.high - low
    low, high = np.maximum(low - 0.5, 0.0), np.minimum(high + 0.5, W)
    less, more = (np.where(W > 0, each / np.where(W > 0, W, 1.0), 1.0) for each in (whole.low, whole.high))
    empty = W == 0
    most, most_left = (np.where(empty, whole.high, each * more) for each in (high, W - low))
    share = low * less, most, (W - high) * less, most_left
    both = [
        np.where(scaled, np.where(W < 4 * LIMIT, two, worse(one, two)), one)
        for one, two, worse in zip(plain, share, (np.minimum, np.maximum) * 2, strict=True)
    ]
    return Range(part, both[0], both[1]), Range(W - part, both[2], both[3])


def _taken_up(own: Range, over: Range, whole: Range, total: Range, off: Array, together: Array) -> tuple[Range, Range]:
    """The largest group is what the others leave of the total."""
    T = np.argsort(whole.shown[0], kind="stable")[-1]
    others = np.delete(np.arange(own.low.shape[1]), T)
    settled, _ = _part_range(own.shown, whole, np.zeros(off.shape))
    factor = np.nan_to_num(ratio(whole.width, whole.shown))
    more = (together + (off * factor)[:, others].sum(axis=1))[:, None]
    most = np.minimum(own.high[:, others].sum(axis=1), settled.high[:, others].sum(axis=1) + more[:, 0])
    least = np.maximum(own.low[:, others].sum(axis=1), settled.low[:, others].sum(axis=1) - more[:, 0])
    ends = [np.array(each) for each in (own.low, own.high, over.low, over.high)]
    ends[0][:, T] = np.clip(total.low - most, 0.0, whole.high[:, T])
    ends[1][:, T] = np.clip(total.high - least, 0.0, whole.high[:, T])
    ends[2][:, T] = np.maximum(whole.low[:, T] - ends[1][:, T], 0.0)
    ends[3][:, T] = np.maximum(whole.high[:, T] - ends[0][:, T], 0.0)
    return Range(own.shown, *ends[:2]), Range(over.shown, *ends[2:])
