"""Rates of many models per group, on decisions or predictions.

A rate is a weighted share of rows, between 0 and 1. It is not the loss that a model was trained on, and a loss gap of 0
is not a rate gap of 0. Rates describe the sample given; small groups make them unsure. A smaller gap can come from
favourable decisions given or taken away: rates do not tell the two apart, `moves.flips` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Array
from ..records import Record
from .counts import Counts, Means, ratio
from .figures import MORE, MORE_PARTS, PARTS

DENOMINATORS = {"selection": "weight", "error": "weight", "accuracy": "weight", "tpr": "positives", "fpr": "negatives"}
"""The field of `GroupRates` that each rate is a share of."""


@dataclass(frozen=True, eq=False, repr=False)
class PerGroup(Record):
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

    def take(self, places: Sequence[int]) -> Self:
        """Return the values of some models; what belongs to groups alone stays."""
        stored: Any = {each.name for each in fields(self)} & set(self.names)
        return replace(self, **{name: getattr(self, name)[places] for name in stored})

    def rate(self, name: str) -> Array:
        if name not in self.names:
            raise InputError(f"unknown rate {name!r}, expected one of {', '.join(self.names)}.")
        return np.asarray(getattr(self, name))

    def people(self, name: str, good: int) -> Array:
        """Return the rows that a rate is about in each group, (c,), of recall (c, K); ``good`` is favourable."""
        return self.n


@dataclass(frozen=True, eq=False, repr=False)
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

    def rate(self, name: str) -> Array:
        if name not in ("precision", "fnr", *MORE):
            return super().rate(name)
        labels, hit = np.column_stack([self.positives, self.negatives]), np.nan_to_num(self.tpr) * self.positives
        alarm = np.nan_to_num(self.fpr) * self.negatives
        margins = Margins(labels, np.stack([hit, self.negatives - alarm], axis=-1), alarm, 0)
        return derived_share(name, margins, margins, margins).value

    def people(self, name: str, good: int) -> Array:
        if self.labelled is None or name not in ("tpr", "fpr", "recall"):
            return self.n
        favourable = self.labelled[:, good if self.labelled.shape[1] > 2 else 0]
        of = {"tpr": favourable, "fpr": self.labelled.sum(axis=1) - favourable, "recall": self.labelled}
        return np.asarray(of[name])


@dataclass(frozen=True, eq=False, repr=False)
class ClassRates(GroupRates):
    """Rates of N models with several classes.

    ``recall`` (N, c, K) is P(decision is k | label is k) within a group, ``class_weight`` (c, K) its denominator.
    ``error`` counts any wrong class; other rates are those of the favourable class against the rest.
    """

    names: ClassVar[tuple[str, ...]] = (*GroupRates.names, "recall")

    class_weight: Array
    recall: Array


@dataclass(frozen=True, eq=False, repr=False)
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

    def rate(self, name: str) -> Array:
        if name == "actual_over_expected":
            return ratio(self.prediction + self.residual, self.prediction)
        return super().rate(name)


@dataclass(frozen=True, eq=False)
class SampleRates:
    """Rates of N models in groups, (N, c), and the effective numbers of rows behind them, (c,) or (N, c).

    Of recall both have one more axis, of classes; of all rows there is none of groups. NaN where a rate has no rows.
    """

    value: Array
    size: Array

    def take(self, places: Any) -> SampleRates:
        """Return the rates of some models, or those of one without its axis."""
        size = self.size[places] if self.size.ndim == self.value.ndim else self.size
        return SampleRates(self.value[places], size)

    def among(self, groups: NDArray[np.intp]) -> SampleRates:
        """Return the rates of some groups."""
        return SampleRates(self.value[:, groups], self.size[groups])


@dataclass(frozen=True, eq=False)
class Share:
    """A share of rows: its value, the effective number of rows behind it (Kish), and their number, (c,)."""

    value: Array
    size: Array
    people: Array

    @property
    def rates(self) -> SampleRates:
        """Return the share as the rates of one model, (1, c)."""
        return SampleRates(self.value[None], self.size)


@dataclass(frozen=True, eq=False)
class Margins:
    """The sums of rows or weights that shares of one class ``k`` against the rest are made of, of N models or of one.

    ``labels`` (c, K) have each label, ``hits`` (N, c, K) are decided as labelled, and ``alarm`` (N, c) are decided as k
    but labelled otherwise.
    """

    labels: Array
    hits: Array
    alarm: Array
    k: int

    @classmethod
    def of(cls, cells: Array, k: int) -> Margins:
        """Take them from sums by label and decision, (N, c, K, K) or (c, K, K); all models have the same labels."""
        labels = cells[:1].sum(axis=(0, 3)) if cells.ndim == 4 else cells.sum(axis=2)
        alarm = np.delete(cells[..., k], k, axis=-1).sum(axis=-1)
        return cls(labels, np.diagonal(cells, axis1=-2, axis2=-1), alarm, k)

    @property
    def positive(self) -> Array:
        return np.asarray(self.labels[:, self.k])

    @property
    def negative(self) -> Array:
        return np.asarray(np.delete(self.labels, self.k, axis=1).sum(axis=1))

    @property
    def everyone(self) -> Array:
        return np.asarray(self.positive + self.negative)

    @property
    def hit(self) -> Array:
        return np.asarray(self.hits[..., self.k])

    @property
    def chosen(self) -> Array:
        return np.asarray(self.hit + self.alarm)

    @property
    def rest(self) -> Array:
        """Return those rightly decided otherwise, of two classes."""
        return np.asarray(self.negative - self.alarm)

    @property
    def refused(self) -> Array:
        return np.asarray(self.everyone - self.chosen)

    @property
    def either(self) -> Array:
        """Return those who are labelled or decided as k."""
        return np.asarray(self.positive + self.alarm)

    @property
    def wrong(self) -> Array:
        return np.asarray(self.everyone - self.hits.sum(axis=-1))

    @property
    def labelled(self) -> Array:
        """Return the rows of groups by label: of two labels the favourable one first, of several by class."""
        return self.labels if self.labels.shape[1] > 2 else np.column_stack([self.positive, self.negative])

    def rates(self, rows: Margins, levels: Sequence[str]) -> GroupRates:
        """Return the rates of N models from weights; ``rows`` are those of the groups."""
        value = {name: _share(getattr(self, part), getattr(self, whole)) for name, (part, whole) in PARTS.items()}
        found: dict[str, Any] = {name: value[name] for name in ("selection", "tpr", "fpr", "error")}
        found |= {"levels": tuple(levels), "n": rows.everyone, "labelled": rows.labelled, "weight": self.everyone}
        found |= {"positives": self.positive, "negatives": self.negative}
        if self.labels.shape[1] > 2:
            return ClassRates(**found, class_weight=self.labels, recall=_share(self.hits, self.labels))
        return GroupRates(**found)


def _share(part: Array, whole: Array) -> Array:
    return np.clip(ratio(part, whole), 0.0, 1.0)  # sums in different order may leave [0, 1] by a rounding


def kish(weight: Array, squared: Array) -> Array:
    """Return effective numbers of rows, (sum w)^2 / sum w^2; 0 where nothing weighs."""
    return np.nan_to_num(ratio(weight**2, squared))


def derived_share(name: str, weight: Margins, squared: Margins, rows: Margins) -> Share:
    """Return a share of `PARTS`, or a figure of `MORE` of two classes, with the rows of a share that is as sure.

    A mean of two shares is at least as sure as one of twice the fewer rows, and an F1 score F = 2 J / (1 + J) as one of
    2 / (2 - F)^2 times the rows of J, by the derivative.
    """
    if name == "balanced_accuracy":
        value = 0.5 * (_share(weight.hit, weight.positive) + _share(weight.rest, weight.negative))
        size = 2.0 * np.minimum(*(kish(getattr(weight, of), getattr(squared, of)) for of in ("positive", "negative")))
        return Share(value, np.broadcast_to(size, value.shape), rows.everyone)
    part, whole = (PARTS | MORE_PARTS)[name]
    value = _share(getattr(weight, part), getattr(weight, whole))
    size = kish(getattr(weight, whole), getattr(squared, whole))
    if name == "fnr":
        value = 1.0 - value
    if name == "f_score":
        value = 2.0 * value / (1.0 + value)
        size = np.nan_to_num(2.0 * size / (2.0 - value) ** 2)
    return Share(value, size, getattr(rows, whole))


def shares_of(counts: Counts, k: int, more: Sequence[str] = ()) -> dict[str, Share]:
    """Return every share of `PARTS` of one model, class k against the rest, and more figures of `MORE`."""
    weight, squared, rows = (Margins.of(cells, k) for cells in (counts.weight, counts.squared, counts.rows))
    names = (*PARTS, *(name for name in more if name in MORE))
    return {name: derived_share(name, weight, squared, rows) for name in names}


def rates_of(counts: Counts | Means, levels: Sequence[str], good: int) -> PerGroup:
    """Return the rates (or means) of groups with these names; rows without a group, the last, are left out."""
    if isinstance(counts, Means):
        return means_of(counts.rows[:-1], counts.weight[:-1], counts.sums[:, :-1], levels)
    weight, rows = (Margins.of(cells[:, :-1], good) for cells in (counts.weight, counts.rows))
    return weight.rates(rows, levels)


def effective_sizes(weight: Margins, squared: Margins) -> dict[str, Array]:
    """Return Kish's effective number of rows per rate and group, (c,) or (c, classes)."""
    whole = {name: PARTS["error" if name == "accuracy" else name][1] for name in DENOMINATORS}
    whole |= {"recall": "labels"} if weight.labels.shape[1] > 2 else {}
    return {name: kish(getattr(weight, of), getattr(squared, of)) for name, of in whole.items()}


def means_of(n: Array, weight: Array, sums: Array, levels: Sequence[str]) -> GroupMeans:
    return GroupMeans(tuple(levels), n, weight, *(ratio(sums[:, :, k], weight) for k in range(3)))
