"""Notions of scores: means of predicted probabilities and of scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from .comparisons import Comparison, Notion, Surrogate
from .losses import Task
from .surrogates import Quantity

OF_RATES = "is made of shares of decisions, found {loss} for other notions beside it; use {rate} for all of them."
NO_DECISIONS = "It does not compare decisions: equal mean scores may go with very different rates."


class OfProbabilities(Notion):
    """Mean probabilities of the favourable label, which smooth rates are, among people of some labels."""

    kinds = ("binary",)
    no_losses = OF_RATES
    caveat = NO_DECISIONS

    def _labels(self, task: Task) -> tuple[int, ...] | None:
        return None

    def comparisons(self, task: Task, surrogate: Surrogate) -> tuple[Comparison, ...]:
        labels = self._labels(task)
        words = "" if labels is None else f"y={task.classes[labels[0]]}"
        return (Comparison(Quantity("rate", task.favourable), labels, words),)


@dataclass(frozen=True)
class MeanScoreParity(OfProbabilities):
    """E(probability of the favourable label | group) is the same in every group."""

    name = "mean_score_parity"
    rates = ("mean_score",)
    words: ClassVar[Mapping[str, str]] = {"binary": "mean probabilities of {good!r}"}


@dataclass(frozen=True)
class PositiveClassBalance(OfProbabilities):
    """E(probability of the favourable label | group, favourable label) is the same (Kleinberg et al. 2017)."""

    name = "positive_class_balance"
    rates = ("positive_score",)
    words: ClassVar[Mapping[str, str]] = {"binary": "mean probabilities of {good!r} among people labelled so"}

    def _labels(self, task: Task) -> tuple[int, ...] | None:
        return (task.favourable,)


@dataclass(frozen=True)
class NegativeClassBalance(OfProbabilities):
    """E(probability of the favourable label | group, another label) is the same (Kleinberg et al. 2017)."""

    name = "negative_class_balance"
    rates = ("negative_score",)
    words: ClassVar[Mapping[str, str]] = {"binary": "mean probabilities of {good!r} among people not labelled so"}

    def _labels(self, task: Task) -> tuple[int, ...] | None:
        return (1 - task.favourable,)


@dataclass(frozen=True)
class LinkScaleParity(Notion):
    """The mean of scores is the same in every group: of a log link the mean logarithm of predictions.

    It is linear in the weights, so that points are certified; mean predictions (`DemographicParity`) are not. A
    difference d means that geometric means of predictions differ by the factor exp(d).
    """

    name = "link_scale_parity"
    means = ("prediction",)
    words: ClassVar[Mapping[str, str]] = {
        "regression": "mean scores: mean predictions on the scale of the link, such as their logarithms"
    }
    caveat = "It does not look at what happened: it says nothing about errors in any group."
    unit = "score gap"
    kinds = ("regression",)

    def comparisons(self, task: Task, surrogate: Surrogate) -> tuple[Comparison, ...]:
        return (Comparison(Quantity("score"), None, "score"),)
