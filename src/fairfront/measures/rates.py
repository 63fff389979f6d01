"""Rates of many models per group, on decisions or predictions, and the contrasts between groups that people compare.

A rate is a weighted share of rows, between 0 and 1. It is not the loss that a model was trained on, and a loss gap of 0
is not a rate gap of 0. Rates describe the sample given; small groups make them unsure. A smaller gap can come from
favourable decisions given or taken away: rates do not tell the two apart, `flips` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Array
from .counts import Counts, Means, membership, ratio, row_weight, weighted_sums


@dataclass(frozen=True, eq=False)
class PerGroup:
    """Base of the records that hold values per group for one attribute.

    ``levels`` name the c groups, the reference last; ``n`` (c,) are their rows (expected rows where membership is
    given by shares) and ``weight`` (c,) their weights. ``names`` list the fields that `rate` returns.
    """

    names: ClassVar[tuple[str, ...]] = ()

    levels: tuple[str, ...]
    n: Array
    weight: Array

    @property
    def reference(self) -> str:
        return self.levels[-1]

    def rate(self, name: str) -> Array:
        if name not in self.names:
            raise InputError(f"unknown rate {name!r}, expected one of {', '.join(self.names)}.")
        return np.asarray(getattr(self, name))


@dataclass(frozen=True, eq=False)
class GroupRates(PerGroup):
    """Rates of N models in the c groups of one attribute; NaN where a rate has no denominator.

    ``positives`` and ``negatives`` (c,) are the weights of rows with the favourable label and another, ``labelled``
    (c, 2) how many rows these are (of several classes (c, K)). Shapes (N, c), probabilities within a group:

    - ``selection``  P(favourable decision)
    - ``tpr``        P(favourable decision | favourable label)
    - ``fpr``        P(favourable decision | other label)
    - ``error``      P(decision differs from the label)
    """

    names: ClassVar[tuple[str, ...]] = ("tpr", "fpr", "selection", "error", "accuracy")

    positives: Array
    negatives: Array
    selection: Array
    tpr: Array
    fpr: Array
    error: Array
    labelled: Array | None = field(default=None, kw_only=True)

    @property
    def accuracy(self) -> Array:
        return np.asarray(1.0 - self.error)


@dataclass(frozen=True, eq=False)
class ClassRates(GroupRates):
    """Rates of N models with several classes.

    ``recall`` (N, c, K) is P(decision is k | label is k) within a group, ``class_weight`` (c, K) its denominator.
    ``error`` counts any wrong class; other rates are those of the favourable class against the rest.
    """

    names: ClassVar[tuple[str, ...]] = (*GroupRates.names, "recall")

    class_weight: Array
    recall: Array


@dataclass(frozen=True, eq=False)
class GroupMeans(PerGroup):
    """Weighted means of N models in the c groups of one attribute, (N, c); NaN for a group without weight.

    - ``prediction``  mean prediction
    - ``residual``    mean of value minus prediction: above 0 where the model predicts too little
    - ``mse``         mean of (value - prediction)^2, twice the squared loss that models are trained on
    """

    names: ClassVar[tuple[str, ...]] = ("prediction", "residual", "mse")

    prediction: Array
    residual: Array
    mse: Array


@dataclass(frozen=True, eq=False)
class RateSums:
    """The sums that rates of N models follow from, in rows or in weights.

    ``n`` (c,) are the rows of groups, ``labels`` (c, K) those with each label and ``negatives`` (c,) those with another
    label than the favourable one, which has index ``good``; ``hits`` (N, c, K) are decided as labelled, and ``alarms``
    (N, c) decided favourably with another label.
    """

    n: Array
    labels: Array
    negatives: Array
    hits: Array
    alarms: Array
    good: int

    @property
    def positives(self) -> Array:
        return np.asarray(self.labels[:, self.good])

    @property
    def hit(self) -> Array:
        return np.asarray(self.hits[:, :, self.good])

    @property
    def weight(self) -> Array:
        return np.asarray(self.positives + self.negatives)

    @property
    def labelled(self) -> Array:
        """Return the rows of groups by label: of two labels the favourable one first, of several by class."""
        several = self.labels.shape[1] > 2
        return self.labels if several else np.column_stack([self.positives, self.negatives])

    def without_last(self) -> RateSums:
        """Return the sums of all groups but the last, the rows without one."""
        return RateSums(
            self.n[:-1], self.labels[:-1], self.negatives[:-1], self.hits[:, :-1], self.alarms[:, :-1], self.good
        )

    def together(self) -> RateSums:
        n, labels, negatives = (each.sum(axis=0, keepdims=True) for each in (self.n, self.labels, self.negatives))
        hits, alarms = (each.sum(axis=1, keepdims=True) for each in (self.hits, self.alarms))
        return RateSums(n, labels, negatives, hits, alarms, self.good)

    def rates(self, levels: Sequence[str], labelled: Array | None = None) -> GroupRates:
        weight = self.weight
        shares = (
            _share(self.hit + self.alarms, weight),
            _share(self.hit, self.positives),
            _share(self.alarms, self.negatives),
            _share(weight - self.hits.sum(axis=2), weight),
        )
        found = (tuple(levels), self.n, weight, self.positives, self.negatives, *shares)
        if self.labels.shape[1] == 2:
            return GroupRates(*found, labelled=labelled)
        return ClassRates(*found, self.labels, _share(self.hits, self.labels), labelled=labelled)


def rate_sums(cells: Array, good: int, n: Array | None = None) -> RateSums:
    """Return the sums of rows or weights by model, group, label and decision, (N, c, K, K); ``n`` (c,) are rows."""
    labels = cells[:1].sum(axis=(0, 3))
    negatives = np.delete(labels, good, axis=1).sum(axis=1)
    alarms = np.delete(cells[:, :, :, good], good, axis=2).sum(axis=2)
    hits = np.diagonal(cells, axis1=2, axis2=3)
    return RateSums(labels.sum(axis=1) if n is None else n, labels, negatives, hits, alarms, good)


def _share(part: Array, whole: Array) -> Array:
    return np.clip(ratio(part, whole), 0.0, 1.0)  # sums in different order may leave [0, 1] by a rounding


def rates_of(counts: Counts | Means, levels: Sequence[str], good: int) -> PerGroup:
    """Return the rates (or means) of groups with these names; rows without a group, the last, are left out."""
    if isinstance(counts, Means):
        return means_of(counts.rows[:-1], counts.weight[:-1], counts.sums[:, :-1], levels)
    people = rate_sums(counts.rows[:, :-1], good)
    return rate_sums(counts.weight[:, :-1], good, people.n).rates(levels, people.labelled)


def means_of(n: Array, weight: Array, sums: Array, levels: Sequence[str]) -> GroupMeans:
    return GroupMeans(tuple(levels), n, weight, *(ratio(sums[:, :, k], weight) for k in range(3)))


def gaps(rates: PerGroup, name: str) -> Array:
    """Return signed gaps, group minus reference: (N, c - 1), or (N, c - 1, classes); NaN where either rate is."""
    values = rates.rate(name)
    return np.asarray(values[:, :-1] - values[:, -1:])


def worst_gap(rates: PerGroup, name: str) -> Array:
    """Return the largest absolute difference between any two groups, (N,), over classes too if there are any.

    Groups without the rate are left out; NaN when fewer than two groups have it. A worst gap of 0 on a
    sample says little about small groups: read it with their sizes.
    """
    values = rates.rate(name)
    spread = np.fmax.reduce(values, axis=1) - np.fmin.reduce(values, axis=1)
    spread = np.where((~np.isnan(values)).sum(axis=1) > 1, spread, np.nan)
    return np.asarray(spread if spread.ndim == 1 else np.fmax.reduce(spread, axis=1))


def selection_ratio(rates: PerGroup) -> Array:
    """Return the lowest rate of favourable decisions over the highest, (N,).

        min over groups g of P(favourable decision | g)  /  max over groups h of P(favourable decision | h)

    This is the adverse impact ratio. Groups without rows are left out; NaN where no group receives a favourable
    decision or fewer than two have rows.
    """
    selection = rates.rate("selection")
    found = ratio(np.fmin.reduce(selection, axis=1), np.fmax.reduce(selection, axis=1))
    return np.asarray(np.where((~np.isnan(selection)).sum(axis=1) > 1, found, np.nan))


OVERALL = "overall"


@dataclass(frozen=True, eq=False)
class Moves(PerGroup):
    """Decisions that change from one model to each of N others, per group and, as the last level, overall.

    ``overall`` has every row, those without a group too; it stands in the place of the reference, so that
    `gaps` compares each group with everyone. Shapes (N, c + 1):

    - ``gained``    weight of rows refused before and decided favourably after
    - ``lost``      weight of rows decided favourably before and refused after
    - ``n_gained``, ``n_lost``  the same in rows
    """

    names: ClassVar[tuple[str, ...]] = ("gained", "lost", "n_gained", "n_lost", "net_per_1000", "changed_per_1000")

    gained: Array
    lost: Array
    n_gained: Array
    n_lost: Array

    @property
    def net_per_1000(self) -> Array:
        """Return favourable decisions won less those lost, per 1000 of the group's weight; NaN without any."""
        return 1000.0 * ratio(self.gained - self.lost, self.weight)

    @property
    def changed_per_1000(self) -> Array:
        """Return decisions that change in either direction, per 1000 of the group's weight; NaN without any."""
        return 1000.0 * ratio(self.gained + self.lost, self.weight)


@dataclass(frozen=True, eq=False)
class Flips:
    """Changed decisions among all people and among those whose own label is the favourable one."""

    among_all: Moves
    among_favourable: Moves


Sides = tuple[Array, Array]


def changed_sides(values: NDArray[np.bool_], before: NDArray[np.bool_], columns: Array) -> Sides:
    """Return the weights of rows that come into a share and go out of it, (N, q) each."""
    return weighted_sums(values & ~before, columns), weighted_sums(~values & before, columns)


def flips(
    before: NDArray[np.bool_],
    after: NDArray[np.bool_],
    favourable: NDArray[np.bool_],
    codes: NDArray[Any],
    levels: Sequence[str],
    sample_weight: Array | None = None,
) -> Flips:
    """Count who gains and who loses a favourable decision between one model, (n,), and each of N others, (N, n).

    Those of ``favourable`` (n,) have that label; ``codes`` are as in `membership`, and rows without a group count in
    the overall column only.
    """
    rows = np.column_stack([membership(codes, len(levels)), np.ones(len(codes))])
    weighted = rows * row_weight(sample_weight, len(rows))[:, None]
    columns = np.hstack([weighted, rows, weighted * favourable[:, None], rows * favourable[:, None]])
    gained, lost = (np.split(side, 4, axis=1) for side in changed_sides(np.atleast_2d(after), before, columns))
    total, names = np.split(columns.sum(axis=0), 4), (*levels, OVERALL)
    everyone, labelled = (  # weights, each with the rows behind them
        Moves(names, total[k + 1], total[k], gained[k], lost[k], gained[k + 1], lost[k + 1]) for k in (0, 2)
    )
    return Flips(everyone, labelled)
