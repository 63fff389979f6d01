"""What a set of rows adds to an evaluation: sums per model and group, which add up over the parts of a data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array, Attribute, Task
from .contrasts import PerGroup
from .rates import ClassSums, RateSums, class_sums, rate_sums
from .score_bins import ScoreBins, joined_bins
from .sums import added, membership, weighted_sums
from .values import MeanSums, mean_sums


@dataclass(frozen=True, eq=False)
class RowSums:
    """Sums over all rows: their number, weights, squared weights, how many weigh anything but 1, and what went wrong.

    ``wrong`` (N,) is the weight of rows decided wrongly, or the weighted sum of squared errors for regression.
    """

    n: Array
    weight: Array
    squared: Array
    uneven: Array
    wrong: Array


@dataclass(frozen=True, eq=False)
class PartSums:
    """The sums of one set of rows: ``groups`` per attribute, and ``once`` and ``twice`` for effective sizes.

    ``once`` and ``twice`` are those of weights and of squared weights; they are empty for rows without weights.
    """

    rows: RowSums
    groups: tuple[RateSums | MeanSums, ...]
    once: tuple[RateSums, ...] = ()
    twice: tuple[RateSums, ...] = ()
    bins: ScoreBins | None = None

    def rates(self, levels: Sequence[tuple[str, ...]]) -> tuple[PerGroup, ...]:
        """Return rates (or means) per attribute, whose levels are given."""
        return tuple(sums.rates(each) for sums, each in zip(self.groups, levels, strict=True))


def part_sums(
    decided: NDArray[Any],
    truth: NDArray[Any],
    task: Task,
    attributes: Sequence[Attribute],
    weight: Array | None,
) -> PartSums:
    """Sum what N models decide, (N, n), on n rows; no weight may be 0."""
    members = [
        membership(a.membership() if a.codes is None else a.codes, len(truth), len(a.levels)) for a in attributes
    ]
    groups = tuple(_group_sums(decided, truth, task, member, weight) for member in members)
    rows = _row_sums(decided, truth, task, weight)
    if weight is None:
        return PartSums(rows, groups)
    good = truth == task.favourable
    once = tuple(rate_sums(good, good, member, member.shape[1], weight) for member in members)
    twice = tuple(rate_sums(good, good, member**2, member.shape[1], weight**2) for member in members)
    return PartSums(rows, groups, once, twice)


def joined_sums(parts: Sequence[PartSums]) -> PartSums:
    """Add up the sums of several sets of rows, in the order given."""

    def across(name: str) -> tuple[RateSums, ...]:
        return tuple(added(each) for each in zip(*(getattr(part, name) for part in parts), strict=True))

    bins = [part.bins for part in parts if part.bins is not None]
    return PartSums(
        added([part.rows for part in parts]),
        across("groups"),
        across("once"),
        across("twice"),
        joined_bins(bins) if bins else None,
    )


def _group_sums(
    decided: NDArray[Any], truth: NDArray[Any], task: Task, member: Array, weight: Array | None
) -> RateSums | ClassSums | MeanSums:
    c, good = member.shape[1], task.favourable
    if task.kind == "regression":
        return mean_sums(decided, truth, member, c, weight)
    if task.kind == "binary":
        return rate_sums(decided == bool(good), truth == good, member, c, weight)
    return class_sums(decided, truth, len(task.classes), good, member, c, weight)


def _row_sums(decided: NDArray[Any], truth: NDArray[Any], task: Task, weight: Array | None) -> RowSums:
    w = np.ones(len(truth)) if weight is None else weight
    if task.kind == "regression":
        wrong = weighted_sums(decided, w[:, None], lambda block: (truth - block) ** 2)
    else:
        wrong = weighted_sums(decided != truth, w[:, None])
    one = [np.asarray(each, dtype=np.float64) for each in (len(w), w.sum(), w @ w, (w != 1.0).sum())]
    return RowSums(one[0], one[1], one[2], one[3], wrong[:, 0])
