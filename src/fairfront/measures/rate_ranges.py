"""Ranges of shares and of calibration: how far exact ones can be from what is told, by the ranges of counts."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from .counts import Counts, ratio
from .ranges import TableRange
from .spans import Range, RateRange


def rate_ranges(shown: Counts, table: TableRange, k: int, *, more: Collection[str] = ()) -> dict[str, RateRange]:
    """Return the ranges of shares of published counts of N models, whose rows are in the ranges of ``table``.

    They are those of class ``k`` against the rest, of the ``recall`` of every class, and of ``more`` figures of two
    classes; all rows are the last group.
    """
    cells = _weighted(table.cells, shown)
    own = np.arange(shown.rows.shape[2]) == k
    hit, right = np.outer(own, own), np.eye(len(own), dtype=bool)
    everyone, positive, chosen = np.ones_like(hit), own[:, None] & (own | ~own), (own | ~own)[:, None] & own
    parts = {
        "selection": (chosen, everyone, table.sizes),
        "tpr": (hit, positive, table.labels.at(slice(None), k)),
        "fpr": (chosen & ~positive, ~positive, table.labels.at(slice(None), ~own).sum(1)),
        "precision": (hit, chosen, None),
        "error": (~right, everyone, table.sizes),
    }
    others = {
        "npv": (~chosen & ~positive, ~chosen, None),
        "favourable_errors": (chosen & ~positive, ~right, None),
        "f_score": (hit, positive | chosen, None),
    }
    parts |= {name: each for name, each in others.items() if name in more}
    plain = shown.weight is shown.rows
    found = {
        name: _share_range(cells, part, whole, size if plain else None, table.cells, size)
        for name, (part, whole, size) in parts.items()
    }
    if "f_score" in more:
        found["f_score"] = _of_union(found["f_score"])
    if "balanced_accuracy" in more:
        tpr, fpr = found["tpr"], found["fpr"]
        low, high = 0.5 * (tpr.low + 1.0 - fpr.high), 0.5 * (tpr.high + 1.0 - fpr.low)
        found["balanced_accuracy"] = RateRange(low, high, np.minimum(tpr.least, fpr.least))
    recalls = []
    for j in range(len(own)):
        row = np.zeros_like(hit)
        row[j] = True
        labels = table.labels.at(slice(None), j)
        recalls.append(_share_range(cells, row & right, row, labels if plain else None, table.cells, labels))
    ends = ((getattr(each, end) for each in recalls) for end in ("low", "high", "least"))
    found["recall"] = RateRange(*(np.stack(list(some), axis=-1) for some in ends))
    return found


def _of_union(share: RateRange) -> RateRange:
    """Of F = 2 J / (1 + J) from those of J; the rows that make F as sure are fewest where F is least."""
    low, high = (2.0 * end / (1.0 + end) for end in (share.low, share.high))
    fewer = np.nan_to_num(((2.0 - high) / (2.0 - low)) ** 2, nan=1.0).min(axis=0)
    return RateRange(low, high, share.least * fewer)


def count_ranges(table: TableRange, good: int) -> dict[str, Range]:
    """Return the ranges of published numbers of rows of every group, (c,), and of those labelled favourably or not."""
    labels = table.labels
    others = np.arange(labels.shown.shape[1]) != good
    return {
        "n": table.sizes,
        "positives": labels.at(slice(None), good),
        "negatives": labels.at(slice(None), others).sum(1),
    }


def _weighted(rows: Range, shown: Counts) -> Range:
    """Of weights: rows that may be more or fewer weigh what those of their cell do, or else the mean."""
    if shown.weight is shown.rows:
        return rows
    unit = float(shown.weight[:, -1].sum() / max(shown.rows[:, -1].sum(), 1.0))
    each, off = np.nan_to_num(ratio(shown.weight, shown.rows), nan=unit), unit / 2.0 * bool((rows.width > 0).any())
    return Range(shown.weight, np.maximum(rows.low * each - off, 0.0), rows.high * each + off * (rows.high > 0))


def _share_range(
    cells: Range,
    part: NDArray[np.bool_],
    whole: NDArray[np.bool_],
    size: Range | None,
    rows: Range,
    behind: Range | None,
) -> RateRange:
    """``size`` is what all cells of the whole are together, ``behind`` the same in rows, where they are known."""

    def of(some: Range, mask: NDArray[np.bool_]) -> Range:
        return Range(*((end * mask).sum(axis=(2, 3)) for end in (some.shown, some.low, some.high)))

    some, rest = of(cells, part), of(cells, whole & ~part)
    least, most = some.low + rest.low, some.high + rest.high
    if size is not None:
        least, most = np.maximum(least, size.low), np.minimum(most, size.high)

    def highest(one: Range, other: Range) -> Array:
        ends = [ratio(one.high, one.high + other.low), ratio(one.high, least), 1.0 - ratio(other.low, most)]
        return np.asarray(np.clip(np.fmin.reduce(ends), 0.0, 1.0))

    known = of(rows, whole)
    few, shown = (known.low, known.shown) if behind is None else (np.maximum(known.low, behind.low), known.shown)
    nothing = most <= 0
    low, high = (np.where(nothing, np.nan, end) for end in (1.0 - highest(rest, some), highest(some, rest)))
    value = np.clip(ratio(some.shown, some.shown + rest.shown), 0.0, 1.0)
    low, high = (np.where(high - low < 1e-12, value, end) for end in (low, high))  # to the last bit
    fewest = np.where(few < 1.0, 0.0, few)
    unknown = (fewest == 0) & ~nothing
    low, high = np.where(unknown, 0.0, low), np.where(unknown, 1.0, high)
    return RateRange(low, high, np.asarray(np.where(shown > 0, np.nan_to_num(ratio(fewest, shown)), 0.0).min(axis=0)))


def calibration_offsets(
    table: TableRange, k: int, spread: float, *, within: bool = False
) -> dict[str, tuple[Array, Array]]:
    """Return how far below and above what is told calibration can be, by figure: (lines,) each, all rows last.

    By the base rate of class k, and by half of the unit that one published row is; ``spread`` is that of scores. None
    where counts are exact, and no unit of all rows but ``within`` a level.
    """
    n, labels = table.sizes, table.labels.at(slice(None), k)
    if not within and not (n.width > 0).any() and not (table.labels.width > 0).any():
        return {}
    unit = 0.5 / np.maximum(n.low, 1.0)
    unit[-1] *= within
    base, least, most = (
        np.nan_to_num(ratio(part, np.maximum(whole, 1.0)))
        for part, whole in ((labels.shown, n.shown), (labels.low, n.high), (labels.high, n.low))
    )
    down, up = np.minimum(least - base, 0.0), np.maximum(np.minimum(most, 1.0) - base, 0.0)
    return {
        "brier": (-unit, unit),
        "mean_score": (-unit * spread, unit * spread),
        "in_the_large": (down - unit, up + unit),
    }
