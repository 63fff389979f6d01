"""Notions of what decisions are worth: shares of those decided alike, of errors, and summaries of both kinds of error.

Each is a function of four shares of a group, taken smoothly: favourable decisions that are right (``hit``) or wrong
(``alarm``), and others that are wrong (``miss``) or right (``rest``). Such a function is not convex: points are solved
and never certified.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from .comparisons import Comparison, Notion, Part, Surrogate
from .curves import Curve, Mix, Quotient
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
