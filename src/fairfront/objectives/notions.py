"""Notions of fairness: which averages of which groups are compared, by loss or by rate; and the registry of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..validation import Registry, check_number
from .comparisons import ALL, CLASSES, Comparison, Notion, Surrogate
from .losses import Kind, Task
from .score_notions import LinkScaleParity, MeanScoreParity, NegativeClassBalance, PositiveClassBalance
from .surrogates import Quantity

EACH_LABEL = "true positive rates of each label: among people with that label, the share predicted it"


@dataclass(frozen=True)
class EqualOpportunity(Notion):
    """P(decided favourable | group, favourable label) is the same in every group (Hardt et al. 2016).

    Equation (4) of the paper. With more than two classes every class is compared.
    """

    name = "equal_opportunity"
    rates = ("tpr",)
    words: ClassVar[Mapping[str, str]] = {
        "binary": "true positive rates: among people labelled {good!r}, the share predicted {good!r}",
        "multiclass": EACH_LABEL,
    }
    caveat = "It does not compare people whose label is another, nor how many of a group receive {good}."

    def comparisons(self, task: Task, surrogate: Surrogate) -> tuple[Comparison, ...]:
        labels = (task.favourable,) if task.kind == "binary" else task.label_codes
        own = {c: Quantity("loss") if surrogate == "loss" else Quantity("rate", c) for c in labels}
        return tuple(Comparison(own[c], (c,), f"y={task.classes[c]}") for c in labels)


@dataclass(frozen=True)
class PredictiveEquality(Notion):
    """P(decided favourable | group, another label) is the same in every group: equal false positive rates."""

    name = "predictive_equality"
    rates = ("fpr",)
    words = dict.fromkeys(
        CLASSES, "false positive rates: among people not labelled {good!r}, the share predicted {good!r}"
    )
    caveat = "It does not compare people whose label is {good}, nor how many of a group receive {good}."

    def comparisons(self, task: Task, surrogate: Surrogate) -> tuple[Comparison, ...]:
        others = tuple(c for c in task.label_codes if c != task.favourable)
        quantity = Quantity("loss") if surrogate == "loss" else Quantity("rate", task.favourable)
        words = f"y={task.classes[others[0]]}" if len(others) == 1 else f"y!={task.favourable_label}"
        return (Comparison(quantity, others, words),)


@dataclass(frozen=True)
class EqualizedOdds(Notion):
    """The decision is independent of the group given the label (paper, appendix B).

    With more than two classes every class's own rows are compared, as for equal opportunity.
    """

    name = "equalized_odds"
    rates = ("tpr", "fpr")
    words: ClassVar[Mapping[str, str]] = {
        "binary": "true and false positive rates: among people of either label, the share predicted {good!r}",
        "multiclass": EACH_LABEL,
    }
    caveat = "It does not compare how many of a group receive {good}: groups with other labels may differ."

    def comparisons(self, task: Task, surrogate: Surrogate) -> tuple[Comparison, ...]:
        first = EqualOpportunity().comparisons(task, surrogate)
        return first + PredictiveEquality().comparisons(task, surrogate) if task.kind == "binary" else first


@dataclass(frozen=True)
class DisparateMistreatment(Notion):
    """P(decided wrongly | group) is the same in every group (Zafar et al. 2017; paper, appendix B)."""

    name = "disparate_mistreatment"
    words: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(CLASSES, "error rates: the share of people predicted wrongly"),
        "regression": "the mean loss of predictions",
    }
    caveat = "It does not distinguish errors in a person's favour from errors against them."
    kinds = ALL

    def comparisons(self, task: Task, surrogate: Surrogate) -> tuple[Comparison, ...]:
        return (Comparison(Quantity("loss" if surrogate == "loss" else "rate"), None),)


@dataclass(frozen=True)
class DemographicParity(Notion):
    """P(decided favourable | group) is the same in every group, whatever the labels (Dwork et al. 2012).

    The loss surrogate is the loss as if every label were the favourable one; for more than two classes every
    class is compared; for regression the mean prediction.
    """

    name = "demographic_parity"
    rates = ("selection",)
    means = ("prediction",)
    words: ClassVar[Mapping[str, str]] = {
        "binary": "selection rates: the share of people predicted {good!r}",
        "multiclass": "selection rates: the share of people predicted each label in turn",
        "regression": "mean predictions",
    }
    caveat = "It does not look at the labels: it says nothing about errors in any group."
    kinds = ALL

    def comparisons(self, task: Task, surrogate: Surrogate) -> tuple[Comparison, ...]:
        if task.kind == "regression":
            return (Comparison(Quantity("prediction"), None),)
        labels = (task.favourable,) if task.kind == "binary" else task.label_codes
        return tuple(Comparison(Quantity(surrogate, c), None, f"as {task.classes[c]}") for c in labels)


@dataclass(frozen=True)
class GroupLoss(Notion):
    """The loss of every group is at most a bound (bounded group loss): one-sided, each group on its own.

    Its smallest reachable value is not 0 but what the worst-off group can reach. ``floor`` is subtracted
    from every group's loss.
    """

    name = "group_loss"
    words = dict.fromkeys(ALL, "mean losses, and bounds the largest")
    caveat = "It does not compare rates of decisions: a bounded loss may go with very different rates."
    no_rates = "bounds a loss, found {rate}; use {loss}, or 'disparate_mistreatment' for error rates."
    kinds = ALL
    two_sided = False
    floor: float = 0.0

    def __post_init__(self) -> None:
        check_number(self.floor, "floor")

    def comparisons(self, task: Task, surrogate: Surrogate) -> tuple[Comparison, ...]:
        return (Comparison(Quantity("loss"), None, "", "each"),)


@dataclass(frozen=True)
class ScoreCovariance(Notion):
    """Cov(group, score) is zero: the mean score is the same in every group (Zafar et al. 2015).

    For two groups with shares q and 1 - q the covariance is q (1 - q) times the gap of mean scores. The score is the
    signed distance to the boundary up to the length of w; it is linear in w, so the gap is too. Differs from
    demographic parity: a mean of scores is no share of decisions.
    """

    name = "score_covariance"
    rates = ("selection",)
    words: ClassVar[Mapping[str, str]] = {"binary": "mean scores for {good!r}"}
    caveat = "It does not compare decisions: equal mean scores may go with very different rates."
    no_rates = "compares mean scores, found {rate}; use {loss}, or 'demographic_parity' for shares of decisions."
    kinds = ("binary",)

    def comparisons(self, task: Task, surrogate: Surrogate) -> tuple[Comparison, ...]:
        return (Comparison(Quantity("score"), None, "score"),)


NOTIONS: Registry[type[Notion]] = Registry(
    "notion",
    EqualOpportunity,
    EqualizedOdds,
    PredictiveEquality,
    DisparateMistreatment,
    DemographicParity,
    GroupLoss,
    ScoreCovariance,
    MeanScoreParity,
    PositiveClassBalance,
    NegativeClassBalance,
    LinkScaleParity,
)
RATE_OF: Mapping[str, str] = {
    **{name: name for name in ("precision", "npv", "favourable_errors", "f_score", "balanced_accuracy")},
    **{name: name for name in ("auc", "xauc", "smd", "in_the_large", "actual_over_expected")},
    "selection_ratio": "selection",
    "tpr_ratio": "tpr",
}
"""Metrics that are measured and chosen on, not trained for, with the rates whose gaps they are about."""


def kinds_of(name: str) -> tuple[Kind, ...]:
    """Return the kinds of tasks in which a notion, or a metric of `RATE_OF`, has a meaning."""
    if name in NOTIONS:
        return NOTIONS[name].kinds
    return ("regression",) if name == "actual_over_expected" else ("binary",)


def rates_of(names: Sequence[str], task: Task) -> tuple[str, ...]:
    """Return the rates of decisions (means for regression) that notions and metrics are about, each once.

    With several classes the people of every label are compared, as the recalls do. A notion of a user's own class that
    is not registered is taken to be about errors.
    """
    found: list[str] = []
    for name in names:
        if name in RATE_OF:
            found.append(RATE_OF[name])
            continue
        notion = NOTIONS.get(name, Notion)
        rates = notion.means if task.kind == "regression" else notion.rates
        found += ["recall"] if task.kind == "multiclass" and "tpr" in rates else rates
    return tuple(dict.fromkeys(found))
