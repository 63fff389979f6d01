"""What a set of rows adds to an evaluation: sums per model and group, which add up over the parts of a data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array, Attribute, Task
from .contrasts import PerGroup
from .rates import ClassSums, GroupRates, RateSums, class_sums, rate_sums
from .score_counts import ScoreBins, joined_bins
from .sums import added, membership, of_groups, weighted_sums
from .values import MeanSums, mean_sums


@dataclass(frozen=True, eq=False)
class RowSums:
    """Sums over all rows: their number, weights, squared weights, how many weigh anything but 1, and what went wrong.

    ``wrong`` (N,) is the weight of rows decided wrongly, or the weighted sum of squared errors for regression.
    ``labels`` (K,) are the weights of the classes and ``decided`` (N, K) those of rows decided for each; no class for
    regression.
    """

    n: Array
    weight: Array
    squared: Array
    uneven: Array
    wrong: Array
    labels: Array
    decided: Array


@dataclass(frozen=True, eq=False)
class PartSums:
    """Sums of a set of rows by attribute: ``groups`` in weights, ``people`` in rows, ``twice`` in squared weights.

    ``people`` have the rows without a group in their last column, so that their columns add up to all rows. Without
    sample weights ``groups`` are ``people`` but for that column, and ``twice`` is empty.
    """

    rows: RowSums
    groups: tuple[RateSums | MeanSums, ...]
    people: tuple[RateSums | MeanSums, ...]
    twice: tuple[RateSums | MeanSums, ...] = ()
    bins: ScoreBins | None = None

    def rates(self, levels: Sequence[tuple[str, ...]]) -> tuple[PerGroup, ...]:
        """Return rates (or means) per attribute, whose levels are given."""
        parts = zip(self.groups, self.people, levels, strict=True)
        return tuple(_with_people(sums.rates(each), people) for sums, people, each in parts)


def _with_people(rates: PerGroup, people: RateSums | MeanSums) -> PerGroup:
    """Add how many rows of each group have which label."""
    if not isinstance(rates, GroupRates) or not isinstance(people, RateSums):
        return rates
    by_label = getattr(people, "of_class", np.column_stack([people.positives, people.negatives]))
    return replace(rates, labelled=by_label[: len(rates.n)])


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
    everyone = [np.column_stack([member, 1.0 - member.sum(axis=1)]) for member in members]
    people = tuple(_group_sums(decided, truth, task, member, None) for member in everyone)
    rows = _row_sums(decided, truth, task, weight)
    if weight is None:
        return PartSums(rows, tuple(of_groups(each, range(len(each.n) - 1)) for each in people), people)
    groups = tuple(_group_sums(decided, truth, task, member, weight) for member in members)
    if task.kind == "regression":
        return PartSums(rows, groups, people)
    own = truth.astype(decided.dtype)[None]
    twice = tuple(_group_sums(own, truth, task, member**2, weight**2) for member in members)
    return PartSums(rows, groups, people, twice)


def joined_sums(parts: Sequence[PartSums]) -> PartSums:
    """Add up the sums of several sets of rows, in the order given."""

    def across(name: str) -> tuple[Any, ...]:
        return tuple(added(each) for each in zip(*(getattr(part, name) for part in parts), strict=True))

    bins = [part.bins for part in parts if part.bins is not None]
    return PartSums(
        added([part.rows for part in parts]),
        across("groups"),
        across("people"),
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
    labels, chosen = _class_sums(decided, truth, task, w)
    return RowSums(one[0], one[1], one[2], one[3], wrong[:, 0], labels, chosen)


def _class_sums(decided: NDArray[Any], truth: NDArray[Any], task: Task, weight: Array) -> tuple[Array, Array]:
    """Return the weights of the classes, (K,), and those of rows decided for each of them, (N, K)."""
    places = range(len(task.classes))
    labels = np.array([weight[truth == k].sum() for k in places])
    if task.kind == "binary":
        second = weighted_sums(decided, weight[:, None])
        return labels, np.concatenate([weight.sum() - second, second], axis=1)
    chosen = [weighted_sums(decided == k, weight[:, None]) for k in places]
    return labels, np.concatenate([np.zeros((len(decided), 0)), *chosen], axis=1)
