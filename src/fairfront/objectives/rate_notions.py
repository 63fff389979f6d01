"""Notions of what decisions are worth, each a function of four shares of a group; and of ratios of rates.

Shares are taken smoothly: favourable decisions that are right (``hit``) or wrong (``alarm``), and others that are wrong
(``miss``) or right (``rest``). Such a function is not convex: points are solved and never certified. Of ratios, the
smallest rate of any group is at least a share of the largest, as in the four-fifths rule:

    log(rate_g / rate_h) <= -log(at_least) + cap        for all pairs of groups, in both orders

A gap is how far the logarithm of the worst ratio is below what was asked for; at a gap of 0 the ratio of smooth rates
is what was asked for, and smaller gaps are not looked for. A ratio of decisions is another figure: judge that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log
from typing import ClassVar, Literal

from ..validation import refuse
from .comparisons import Comparison, Notion, Part, Surrogate
from .curves import Curve, Log, Mix, Quotient
from .losses import Task
from .surrogates import Quantity

Share = Literal["hit", "alarm", "miss", "rest"]
OF_RATES = "is made of shares of decisions, found {loss} for other notions beside it; use {rate} for all of them."
FIRST_OF_TWO = Quotient((1.0, 0.0), (1.0, 1.0))


def share(task: Task, name: Share, joint: bool = True) -> Part:
    """Return a share of a group's rows, or of those with the label (not ``joint``): a rate."""
    good, other = task.favourable, 1 - task.favourable
    decided, label = {"hit": (good, good), "alarm": (good, other), "miss": (other, good), "rest": (other, other)}[name]
    return Part(Quantity("rate", decided), (label,), joint)


class OfDecisions(Notion):
    """A curve of shares of a group's decisions."""

    kinds = ("binary",)
    no_losses = OF_RATES
    shares: ClassVar[tuple[Share, ...]]
    curve: ClassVar[Curve] = FIRST_OF_TWO
    joint: ClassVar[bool] = True

    def comparisons(self, task: Task, surrogate: Surrogate) -> tuple[Comparison, ...]:
        parts = tuple(share(task, name, self.joint) for name in self.shares)
        return (Comparison(parts[0].quantity, None, "", curve=self.curve, parts=parts),)


@dataclass(frozen=True)
class PredictiveParity(OfDecisions):
    """P(favourable label | group, decided favourable) is the same in every group (Chouldechova 2017): precision."""

    name = "predictive_parity"
    rates = ("precision",)
    words: ClassVar[Mapping[str, str]] = {
        "binary": "precisions: among people predicted {good!r}, the share labelled so"
    }
    caveat = "It does not compare people who are not predicted {good}, nor how many of a group are."
    shares: ClassVar[tuple[Share, ...]] = ("hit", "alarm")


@dataclass(frozen=True)
class NegativePredictiveParity(OfDecisions):
    """P(another label | group, not decided favourable) is the same in every group: negative predictive value."""

    name = "negative_predictive_parity"
    rates = ("npv",)
    words: ClassVar[Mapping[str, str]] = {
        "binary": "negative predictive values: among people not predicted {good!r}, the share not labelled so"
    }
    caveat = "It does not compare people who are predicted {good}, nor how many of a group are."
    shares: ClassVar[tuple[Share, ...]] = ("rest", "miss")


@dataclass(frozen=True)
class FalseDiscoveryParity(PredictiveParity):
    """P(another label | group, decided favourable) is the same in every group: one minus the precision."""

    name = "false_discovery_parity"
    words: ClassVar[Mapping[str, str]] = {
        "binary": "false discovery rates, one minus the precision: among people predicted {good!r}, the share not "
        "labelled so"
    }
    shares = ("alarm", "hit")


@dataclass(frozen=True)
class FalseOmissionParity(NegativePredictiveParity):
    """P(favourable label | group, not decided favourable) is the same in every group."""

    name = "false_omission_parity"
    words: ClassVar[Mapping[str, str]] = {
        "binary": "false omission rates, one minus the negative predictive value: among people not predicted {good!r}, "
        "the share labelled so"
    }
    shares = ("miss", "rest")


@dataclass(frozen=True)
class TreatmentEquality(OfDecisions):
    """FP / FN is the same in every group (Berk et al. 2021).

    Differs from the usual form: FP / (FP + FN) is compared, which is equal where FP / FN is and cannot be infinite.
    """

    name = "treatment_equality"
    rates = ("favourable_errors",)
    words: ClassVar[Mapping[str, str]] = {
        "binary": "kinds of errors: among people predicted wrongly, the share predicted {good!r}"
    }
    caveat = "It does not compare how many errors a group has, only of which kind they are."
    shares = ("alarm", "miss")


@dataclass(frozen=True)
class FScoreParity(OfDecisions):
    """2 TP / (2 TP + FP + FN) is the same in every group: the F1 score, harmonic mean of precision and recall."""

    name = "f_score_parity"
    rates = ("f_score",)
    words: ClassVar[Mapping[str, str]] = {"binary": "F1 scores for {good!r}: the harmonic mean of precision and TPR"}
    caveat = (
        "It does not count people rightly predicted another label than {good}; groups with more {good} score higher."
    )
    shares = ("hit", "alarm", "miss")
    curve = Quotient((2.0, 0.0, 0.0), (2.0, 1.0, 1.0))


@dataclass(frozen=True)
class BalancedAccuracyParity(OfDecisions):
    """(TPR + TNR) / 2 is the same in every group."""

    name = "balanced_accuracy_parity"
    rates = ("balanced_accuracy",)
    words: ClassVar[Mapping[str, str]] = {
        "binary": "balanced accuracies: the mean of the shares predicted rightly among people labelled {good!r} and "
        "among others"
    }
    caveat = "It does not distinguish errors in a person's favour from errors against them."
    shares = ("hit", "rest")
    curve = Mix((0.5, 0.5))
    joint = False


@dataclass(frozen=True)
class SelectionRatio(Notion):
    """P(decided favourable | group) is at least ``at_least`` times that of any other group."""

    name = "selection_ratio"
    rates = ("selection",)
    words: ClassVar[Mapping[str, str]] = {
        "binary": "selection rates: the share of people predicted {good!r} in one group over that in another"
    }
    caveat = "It does not look at the labels: it says nothing about errors in any group, and nothing about law."
    no_losses = OF_RATES
    unit = "log ratio gap"
    kinds = ("binary",)
    two_sided = False
    at_least: float = 0.8
    floor: float = field(init=False, repr=False, default=0.0)

    def __post_init__(self) -> None:
        given = self.at_least
        if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0.0 < given < 1.0:
            raise refuse("at_least", given, "a number above 0 and below 1, such as 0.8")
        object.__setattr__(self, "floor", -log(given))

    def _labels(self, task: Task) -> tuple[int, ...] | None:
        return None

    def comparisons(self, task: Task, surrogate: Surrogate) -> tuple[Comparison, ...]:
        rate, labels = Quantity("rate", task.favourable), self._labels(task)
        words = "" if labels is None else f"y={task.favourable_label}"
        return (Comparison(rate, labels, words, "both orders", Log(), (Part(rate, labels),)),)


@dataclass(frozen=True)
class TprRatio(SelectionRatio):
    """P(decided favourable | group, favourable label) is at least ``at_least`` times that of any other group."""

    name = "tpr_ratio"
    rates = ("tpr",)
    words: ClassVar[Mapping[str, str]] = {
        "binary": "true positive rates: among people labelled {good!r}, the share predicted so in one group over that "
        "in another"
    }
    caveat = "It does not compare people whose label is another, nor how many of a group receive {good}."

    def _labels(self, task: Task) -> tuple[int, ...] | None:
        return (task.favourable,)
