"""Notions of scores: means of predicted probabilities and values, how far off they are, and how well they rank people.

Pairs are never formed: surrogates of the AUC are functions of four means, of scores and of their squares. ``normal``
is the AUC of normal scores with these means. ``quadratic`` is the mean of (1 - (s - t))^2 over pairs of scores s and t
that s should lead; it grows with the spread of scores, so that equal values of it may go with unequal AUCs. At
evaluation it is the AUC itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ..exceptions import InputError, setting
from ..validation import check_choice
from .comparisons import Comparison, Notion, Part, Surrogate
from .curves import Curve, LogQuotient, NormalAuc, PairLoss, Standardised
from .losses import Task
from .rate_notions import OF_RATES
from .surrogates import Quantity

SCORE, SQUARE = Quantity("score"), Quantity("square")
CURVES: dict[str, Curve] = {"normal": NormalAuc(), "quadratic": PairLoss()}
Whose = Literal["group", "other"]
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
        parts = (Part(SCORE, None), Part(SCORE, None, whose="everyone"), Part(SQUARE, None, whose="everyone"))
        return (Comparison(SCORE, None, "", curve=Standardised(), parts=parts),)


@dataclass(frozen=True)
class AucParity(Notion):
    """P(a person with the favourable label has a higher score than one without | group) is the same in every group."""

    name = "auc_parity"
    rates = ("auc",)
    words: ClassVar[Mapping[str, str]] = {
        "binary": "AUCs: how often, within a group, a person labelled {good!r} has the higher score for it"
    }
    caveat = "It does not compare decisions, nor people of one group with those of another."
    no_rates = "compares orders of scores, found {rate}; use {loss}."
    unit = "smooth AUC gap"
    kinds = ("binary",)
    others: ClassVar[Whose] = "group"
    by: Literal["normal", "quadratic"] = "normal"

    def __post_init__(self) -> None:
        check_choice(self.by, "by", CURVES)

    def comparisons(self, task: Task, surrogate: Surrogate) -> tuple[Comparison, ...]:
        labels = ((1,), (0,))  # scores speak for the second class: it is the one to be ranked above
        whose: tuple[Whose, Whose] = ("group", self.others) if task.favourable == 1 else (self.others, "group")
        parts = tuple(Part(q, of, whose=who) for of, who in zip(labels, whose, strict=True) for q in (SCORE, SQUARE))
        contrast: Literal["pairs", "crossed"] = "pairs" if self.others == "group" else "crossed"
        return (Comparison(SCORE, None, "", contrast, CURVES[self.by], parts),)


@dataclass(frozen=True)
class CrossAucParity(AucParity):
    """P(score of a person with the favourable label in one group > that of one with another label in the other group).

    It is the same both ways round: xAUC (Kallus and Zhou 2019).
    """

    name = "cross_auc_parity"
    rates = ("xauc",)
    words: ClassVar[Mapping[str, str]] = {
        "binary": "AUCs across groups: how often a person labelled {good!r} has a higher score for it than a person "
        "of the other group who is not"
    }
    caveat = "It does not compare decisions, nor how well it ranks people of the same group."
    others = "other"


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
        return (Comparison(SCORE, None, "score"),)


@dataclass(frozen=True)
class ActualOverExpected(Notion):
    """The sum of values over the sum of predictions is the same in every group: nobody pays for another group."""

    name = "actual_over_expected"
    means = ("actual_over_expected",)
    words: ClassVar[Mapping[str, str]] = {"regression": "the sum of values divided by the sum of predictions"}
    caveat = "It does not compare how well it ranks people inside a group: one prediction for all may pass."
    unit = "log ratio gap"
    kinds = ("regression",)

    def check_values(self, values: Any) -> None:
        """Sums that may be 0 or negative have no ratio to speak of."""
        if values.min(initial=0.0) < 0.0:
            raise InputError(
                f"notion {self.name!r} divides sums, expected values of at least 0, found {values.min():g}; use "
                f"{setting('notion', 'demographic_parity')}."
            )

    def comparisons(self, task: Task, surrogate: Surrogate) -> tuple[Comparison, ...]:
        parts = (Part(Quantity("target"), None), Part(Quantity("prediction"), None))
        return (Comparison(parts[1].quantity, None, "", curve=LogQuotient(), parts=parts),)
