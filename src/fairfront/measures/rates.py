"""Rates of many models per group, on decisions or predictions, and the contrasts between groups that people compare.

A rate is a weighted share of rows, between 0 and 1. It is not the loss that a model was trained on, and a loss gap of 0
is not a rate gap of 0. Rates describe the sample given; small groups make them unsure. A smaller gap can come from
favourable decisions given or taken away: rates do not tell the two apart, `moves.flips` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exceptions import InputError
from ..objectives import Array
from .counts import Counts, Means, blocks, ratio, row_weight
from .figures import PARTS

DENOMINATORS = {"selection": "weight", "error": "weight", "accuracy": "weight", "tpr": "positives", "fpr": "negatives"}
"""The field of `GroupRates` that each rate is a share of."""


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

    def people(self, name: str, good: int) -> Array:
        """Return the rows that a rate is about in each group, (c,), of recall (c, K); ``good`` is favourable."""
        return self.n


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

    def people(self, name: str, good: int) -> Array:
        if self.labelled is None or name not in ("tpr", "fpr", "recall"):
            return self.n
        favourable = self.labelled[:, good if self.labelled.shape[1] > 2 else 0]
        of = {"tpr": favourable, "fpr": self.labelled.sum(axis=1) - favourable, "recall": self.labelled}
        return np.asarray(of[name])


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
class Share:
    """A share of rows: its value, the effective number of rows behind it (Kish), and their number, (..., c)."""

    value: Array
    size: Array
    people: Array


def margins(cells: Array, k: int) -> dict[str, Array]:
    """Return the sums of rows or weights by label and decision, (..., c, K, K), that shares of class k are made of."""
    labels, decided, everyone = cells.sum(axis=-1), cells[..., k], cells.sum(axis=(-2, -1))
    return {
        "everyone": everyone,
        "wrong": everyone - np.trace(cells, axis1=-2, axis2=-1),
        "positive": labels[..., k],
        "negative": np.delete(labels, k, axis=-1).sum(axis=-1),
        "chosen": decided.sum(axis=-1),
        "hit": decided[..., k],
        "alarm": np.delete(decided, k, axis=-1).sum(axis=-1),
    }


def shares_of(counts: Counts, k: int) -> dict[str, Share]:
    """Return every share of `PARTS`, of class k against the rest."""
    weight, squared, rows = (margins(cells, k) for cells in (counts.weight, counts.squared, counts.rows))
    found = {}
    for name, (part, whole) in PARTS.items():
        value, size = _share(weight[part], weight[whole]), np.nan_to_num(ratio(weight[whole] ** 2, squared[whole]))
        found[name] = Share(1.0 - value if name == "fnr" else value, size, rows[whole])
    return found


def _share(part: Array, whole: Array) -> Array:
    return np.clip(ratio(part, whole), 0.0, 1.0)  # sums in different order may leave [0, 1] by a rounding


def rates_of(counts: Counts | Means, levels: Sequence[str], good: int) -> PerGroup:
    """Return the rates (or means) of groups with these names; counts may have other rows after them."""
    c = len(levels)
    if isinstance(counts, Means):
        return means_of(counts.rows[:c], counts.weight[:c], counts.sums[:, :c], levels)
    groups = counts.changed(lambda cells: cells[:, :c])
    people, weight = (cells[:1].sum(axis=0) for cells in (groups.rows, groups.weight))
    behind, rows, shares = margins(weight, good), margins(people, good), shares_of(groups, good)
    found: dict[str, Any] = {name: shares[name].value for name in ("selection", "tpr", "fpr", "error")}
    found |= {"levels": tuple(levels), "n": rows["everyone"], "weight": behind["everyone"]}
    found |= {"positives": behind["positive"], "negatives": behind["negative"]}
    if weight.shape[1] == 2:
        return GroupRates(**found, labelled=np.column_stack([rows["positive"], rows["negative"]]))
    recall = _share(np.diagonal(groups.weight, axis1=2, axis2=3), groups.weight.sum(axis=3))
    return ClassRates(**found, class_weight=weight.sum(axis=2), recall=recall, labelled=people.sum(axis=2))


def effective_sizes(counts: Counts, c: int, good: int) -> dict[str, Array]:
    """Return Kish's effective number of rows, (sum w)^2 / sum w^2, per rate and group (c,), or (c, classes)."""
    first = counts.changed(lambda cells: cells[:1, :c].sum(axis=0))  # all models have the same rows
    shares = shares_of(first, good)
    found = {name: shares["error" if name == "accuracy" else name].size for name in DENOMINATORS}
    if first.weight.shape[1] > 2:
        weight, squared = (cells.sum(axis=2) for cells in (first.weight, first.squared))
        found["recall"] = np.nan_to_num(ratio(weight**2, squared))
    return found


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


def auc(scores: ArrayLike, is_positive: ArrayLike, sample_weight: ArrayLike | None = None) -> Array:
    """Return the area under the ROC curve of N models, (N,), from scores (N, n) or (n,).

        P(score of a positive row > score of a negative row) + 1/2 P(the two are equal)

    Equals `sklearn.metrics.roc_auc_score`, weights and ties included; NaN when one of the two labels has no weight.
    """
    positive = np.asarray(is_positive, dtype=bool)
    ranked = np.atleast_2d(scores)
    weight = row_weight(sample_weight, len(positive))
    up, across = np.where(positive, weight, 0.0), np.where(positive, 0.0, weight)
    whole = up.sum() * across.sum()
    if whole == 0:
        return np.full(len(ranked), np.nan)
    area = [_area(ranked[part], up, across) for part in blocks(*ranked.shape)]
    return np.asarray(np.clip(np.concatenate([np.empty(0), *area]) / whole, 0.0, 1.0))


def _area(scores: NDArray[Any], up: Array, across: Array) -> Array:
    """Add, for each model, up-weight times the across-weight below it, ties counting half.

    Models are laid end to end, one entry per distinct score: the running sums at the last row of each tie.
    """
    order = np.argsort(scores, axis=1)
    ranked = np.take_along_axis(scores, order, axis=1)
    last = np.ones(ranked.shape, dtype=bool)
    last[:, :-1] = ranked[:, 1:] != ranked[:, :-1]
    model = np.repeat(np.arange(len(scores)), last.sum(axis=1))
    starts = np.flatnonzero(np.diff(model, prepend=-1))

    def before(running: Array) -> Array:
        shifted = np.concatenate([[0.0], running[:-1]])
        shifted[starts] = 0.0
        return shifted

    above = np.cumsum(up[order], axis=1)[last]
    beside = np.cumsum(across[order], axis=1)[last]
    area = np.bincount(model, (above - before(above)) * (beside + before(beside)), minlength=len(scores))
    return np.asarray(0.5 * area)
