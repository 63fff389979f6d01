"""Notions of scores: means of predicted probabilities, of all people or of one label, and how far off they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from .comparisons import Comparison, Notion, Part, Surrogate
from .curves import Standardised
from .losses import Task
from .rate_notions import OF_RATES
from .surrogates import Quantity

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
class CalibrationInTheLarge(OfProbabilities):
    """E(probability of the favourable label - share labelled so | group) is the same in every group."""

    name = "calibration_in_the_large"
    rates = ("in_the_large",)
    words: ClassVar[Mapping[str, str]] = {
        "binary": "how much too high probabilities of {good!r} are: their mean less the share labelled so"
    }
    caveat = "It does not compare how well scores tell people of a group apart: one score for all of them may pass."

    def comparisons(self, task: Task, surrogate: Surrogate) -> tuple[Comparison, ...]:
        return (Comparison(Quantity("bias", task.favourable), None),)


@dataclass(frozen=True)
class StandardisedMeanDifference(Notion):
    """(mean score of a group - mean score of another) / standard deviation of all scores is small: the SMD."""

    name = "standardised_mean_difference"
    rates = ("smd",)
    means = ("prediction",)
    words: ClassVar[Mapping[str, str]] = {
        "binary": "mean scores for {good!r}, in units of the standard deviation of all scores",
        "regression": "mean predictions, in units of the standard deviation of all predictions",
    }
    caveat = NO_DECISIONS
    no_rates = "compares scores, found {rate}; use {loss}, or 'mean_score_parity'."
    unit = "standardised gap"
    kinds = ("binary", "regression")

    def comparisons(self, task: Task, surrogate: Surrogate) -> tuple[Comparison, ...]:
        score, square = Quantity("score"), Quantity("square")
        parts = (Part(score, None), Part(score, None, whose="everyone"), Part(square, None, whose="everyone"))
        return (Comparison(score, None, "", curve=Standardised(), parts=parts),)
