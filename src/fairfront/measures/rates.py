"""Decisions of any classifier judged per group: rates on hard decisions, for many models at once.

A rate is a weighted share of rows, between 0 and 1. It is not the loss that a model was trained on, and a
loss gap of 0 is not a rate gap of 0. Rates describe the sample given; small groups make them unsure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exceptions import InputError
from ..objectives import Array
from ..validation import check_weights
from .contrasts import PerGroup
from .sums import as_models, membership, ratio, weighted_sums


@dataclass(frozen=True, eq=False)
class GroupRates(PerGroup):
    """Rates of N models in the c groups of one attribute; NaN where a rate has no denominator.

    ``positives`` and ``negatives`` (c,) are the weights of rows with the favourable label and with another,
    ``labelled`` (c, 2) how many rows these are (for several classes (c, K), by class), where that is known.
    Shapes (N, c), probabilities within a group:

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
        """Return P(decision equals the label), (N, c)."""
        return np.asarray(1.0 - self.error)


@dataclass(frozen=True, eq=False)
class ClassRates(GroupRates):
    """Rates of N models with several classes.

    ``recall`` (N, c, K) is P(decision is k | label is k) within a group, ``class_weight`` (c, K) its
    denominator. ``error`` counts any wrong class; ``selection``, ``tpr`` and ``fpr`` are those of the
    favourable class against all others.
    """

    names: ClassVar[tuple[str, ...]] = (*GroupRates.names, "recall")

    class_weight: Array
    recall: Array


def group_rates(
    decided_favourable: ArrayLike,
    is_favourable: ArrayLike,
    codes: ArrayLike,
    levels: Sequence[str],
    sample_weight: ArrayLike | None = None,
) -> GroupRates:
    """Compute the rates of N models in each group.

    Parameters
    ----------
    decided_favourable : array of bool, shape (N, n) or (n,)
        Whether each model decides for the favourable label.
    is_favourable : array of bool, shape (n,)
        Whether the row's own label is the favourable one.
    codes : array of int, shape (n,)
        The group of each row as an index in ``levels``, -1 for none; or (n, c) shares of membership, which
        make each rate a mean weighted by the shares.
    levels : sequence of str
        Names of the groups, the reference last.
    sample_weight : array of shape (n,), optional
    """
    return rate_sums(decided_favourable, is_favourable, codes, len(levels), sample_weight).rates(levels)


@dataclass(frozen=True, eq=False)
class RateSums:
    """Sums over rows from which `GroupRates` follow; those of two sets of rows add up field by field.

    ``n``, ``positives``, ``negatives`` are (c,), the weights of favourable decisions ``hit`` and ``false_alarm``
    (N, c).
    """

    n: Array
    positives: Array
    negatives: Array
    hit: Array
    false_alarm: Array

    @property
    def weight(self) -> Array:
        """Return the weights of the groups, (c,)."""
        return np.asarray(self.positives + self.negatives)

    def rates(self, levels: Sequence[str]) -> GroupRates:
        """Divide the sums."""
        weight = self.weight
        return GroupRates(
            levels=tuple(levels),
            n=self.n,
            weight=weight,
            positives=self.positives,
            negatives=self.negatives,
            selection=_share(self.hit + self.false_alarm, weight),
            tpr=_share(self.hit, self.positives),
            fpr=_share(self.false_alarm, self.negatives),
            error=_share(self.positives - self.hit + self.false_alarm, weight),
        )


def rate_sums(
    decided_favourable: ArrayLike,
    is_favourable: ArrayLike,
    codes: ArrayLike,
    c: int,
    sample_weight: ArrayLike | None = None,
) -> RateSums:
    """Count favourable decisions of N models in c groups; arguments are those of `group_rates`."""
    favourable = _as_flags(is_favourable, "is_favourable")
    decided = as_models(_as_flags(decided_favourable, "decided_favourable"), len(favourable), "decided_favourable")
    member = membership(codes, len(favourable), c)
    weighted = _weighted(member, sample_weight)
    columns = np.hstack([weighted * favourable[:, None], weighted * ~favourable[:, None]])
    positives, negatives = np.split(columns.sum(axis=0), 2)
    hit, false_alarm = np.split(weighted_sums(decided, columns), 2, axis=1)
    return RateSums(member.sum(axis=0), positives, negatives, hit, false_alarm)


def class_rates(
    decided: ArrayLike,
    labels: ArrayLike,
    n_classes: int,
    favourable: int,
    codes: ArrayLike,
    levels: Sequence[str],
    sample_weight: ArrayLike | None = None,
) -> ClassRates:
    """Compute the rates of N models with several classes in each group.

    ``decided`` (N, n) or (n,) and ``labels`` (n,) are class indices below ``n_classes``, ``favourable`` is
    that of the favourable class; the rest is as in `group_rates`.
    """
    return class_sums(decided, labels, n_classes, favourable, codes, len(levels), sample_weight).rates(levels)


@dataclass(frozen=True, eq=False)
class ClassSums(RateSums):
    """Sums over rows from which `ClassRates` follow: ``hits`` (N, c, K) are decided as labelled, of ``of_class``."""

    hits: Array
    of_class: Array

    def rates(self, levels: Sequence[str]) -> ClassRates:
        """Divide the sums."""
        binary = super().rates(levels)
        fields = {**vars(binary), "error": _share(binary.weight - self.hits.sum(axis=2), binary.weight)}
        return ClassRates(**fields, class_weight=self.of_class, recall=_share(self.hits, self.of_class))


def class_sums(
    decided: ArrayLike,
    labels: ArrayLike,
    n_classes: int,
    favourable: int,
    codes: ArrayLike,
    c: int,
    sample_weight: ArrayLike | None = None,
) -> ClassSums:
    """Count decisions of N models per class in c groups; arguments are those of `class_rates`."""
    label = np.asarray(labels)
    chosen = as_models(decided, len(label), "decided")
    binary = rate_sums(chosen == favourable, label == favourable, codes, c, sample_weight)
    weighted = _weighted(membership(codes, len(label), c), sample_weight)
    of_class = (label[:, None] == np.arange(n_classes)).astype(np.float64)
    columns = (weighted[:, :, None] * of_class[:, None, :]).reshape(len(label), -1)
    hits = weighted_sums(chosen == label, columns).reshape(len(chosen), c, n_classes)
    return ClassSums(**vars(binary), hits=hits, of_class=columns.sum(axis=0).reshape(c, n_classes))


def _as_flags(values: ArrayLike, what: str) -> NDArray[np.bool_]:
    array = np.asarray(values)
    if array.dtype != np.bool_:
        raise InputError(f"{what} has type {array.dtype}, expected bool; compare labels with the favourable one.")
    return array


def _weighted(member: Array, sample_weight: ArrayLike | None) -> Array:
    weight = check_weights(sample_weight, len(member))
    return member if weight is None else member * weight[:, None]


def _share(part: Array, whole: Array) -> Array:
    """Divide a part by its whole; sums in different order may leave [0, 1] by a rounding."""
    return np.clip(ratio(part, whole), 0.0, 1.0)
