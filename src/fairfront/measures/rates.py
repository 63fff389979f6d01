"""Decisions of any classifier judged per group: rates on hard decisions, for many models at once.

A rate is a weighted share of rows, between 0 and 1. It is not the loss that a model was trained on, and a
loss gap of 0 is not a rate gap of 0. Rates describe the sample given; small groups make them unsure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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

    ``positives`` and ``negatives`` (c,) are the weights of rows with the favourable label and with another.
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
    favourable = _as_flags(is_favourable, "is_favourable")
    decided = as_models(_as_flags(decided_favourable, "decided_favourable"), len(favourable), "decided_favourable")
    member = membership(codes, len(favourable), len(levels))
    weighted = _weighted(member, sample_weight)
    columns = np.hstack([weighted * favourable[:, None], weighted * ~favourable[:, None]])
    positives, negatives = np.split(columns.sum(axis=0), 2)
    hit, false_alarm = np.split(weighted_sums(decided, columns), 2, axis=1)
    weight = positives + negatives
    return GroupRates(
        levels=tuple(levels),
        n=member.sum(axis=0),
        weight=weight,
        positives=positives,
        negatives=negatives,
        selection=_share(hit + false_alarm, weight),
        tpr=_share(hit, positives),
        fpr=_share(false_alarm, negatives),
        error=_share(positives - hit + false_alarm, weight),
    )


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
    label = np.asarray(labels)
    chosen = as_models(decided, len(label), "decided")
    binary = group_rates(chosen == favourable, label == favourable, codes, levels, sample_weight)
    weighted = _weighted(membership(codes, len(label), len(levels)), sample_weight)
    of_class = (label[:, None] == np.arange(n_classes)).astype(np.float64)
    columns = (weighted[:, :, None] * of_class[:, None, :]).reshape(len(label), -1)
    hits = weighted_sums(chosen == label, columns).reshape(len(chosen), len(levels), n_classes)
    class_weight = columns.sum(axis=0).reshape(len(levels), n_classes)
    error = _share(binary.weight - hits.sum(axis=2), binary.weight)
    fields = {**vars(binary), "error": error}
    return ClassRates(**fields, class_weight=class_weight, recall=_share(hits, class_weight))


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
