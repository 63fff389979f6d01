"""The catalogue of figures: what each is a share or mean of, in which unit, and which way is better."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

FORM = re.compile(
    r"(?:(?P<attribute>.*)\.)?(?P<figure>[a-z_]+?)(?:\[(?P<label>.*)\])?(?P<gap>_gap)?(?:_(?P<end>lower|upper|least|most))?",
    re.S,
)


@dataclass(frozen=True)
class Column:
    """A column of an evaluation or of an audit's table; its text is the column's name.

    A ``figure``, of one class where it has a ``label``, its ``gap`` between groups of an ``attribute``, or an ``end``
    of either's interval, or of what a gap between people can be whose groups are probabilities: ``sex.tpr_gap``,
    ``recall[a]_gap_lower``, ``tpr_gap_least``. An attribute is named where there are several.
    """

    figure: str
    attribute: str = ""
    label: str | None = None
    gap: bool = False
    end: str = ""

    @classmethod
    def of(cls, name: str) -> Column:
        """Read the name of a column; what has no such form is a figure of that name."""
        found = FORM.fullmatch(name)
        if found is None:
            return cls(name)
        return cls(found["figure"], found["attribute"] or "", found["label"], bool(found["gap"]), found["end"] or "")

    def __str__(self) -> str:
        attribute = f"{self.attribute}." if self.attribute else ""
        label = "" if self.label is None else f"[{self.label}]"
        return f"{attribute}{self.figure}{label}{'_gap' * self.gap}{f'_{self.end}' if self.end else ''}"

    @property
    def name_of_rate(self) -> str:
        """Return the figure, with its class, that a gap is one of."""
        return str(replace(self, attribute="", gap=False, end=""))

    @property
    def kind(self) -> str:
        """Return the name without the attribute."""
        return str(replace(self, attribute=""))


@dataclass(frozen=True)
class Figure:
    """One figure per group.

    ``unit`` names the unit of the figure and of its gap, ``missing`` says why it has no value without the rows that it
    is about; ``notion`` and ``compares`` say in words what its gap compares. ``better`` is 1 where larger figures are
    better, -1 where smaller ones are, 0 where neither is so; ``heading`` stands above its column. Every figure is a
    column of an audit's table, its gap one of the worst contrasts, and both are names for `fairfront.scorer`.
    """

    name: str
    unit: str
    missing: str
    better: int = 0
    heading: str = ""
    notion: str = ""
    compares: str = ""


PEOPLE = "share of people"
FAVOURABLE, OTHER = "share of people whose label is favourable", "share of people whose label is not favourable"
VALUE = "unit of the value"
COMPARES = {
    "selection": "compares the share of people who get the favourable decision {good}",
    "tpr": "compares, among people whose label is {good}, the share who get the favourable decision",
    "fpr": "compares, among people whose label is not {good}, the share who get the favourable decision",
    "precision": "compares, among favourable decisions, the share whose label is {good}",
    "error": "compares the share of people whose decision is wrong",
    "in_the_large": "compares the mean bias, label minus probability (above 0: predicted too low)",
    "prediction": "compares the mean prediction",
    "actual_over_expected": "compares the sum of values divided by the sum of predictions",
    "residual": "compares the mean of value minus prediction (above 0: predicted too low)",
    "mse": "compares the mean squared error",
    "npv": "compares, among other decisions, the share whose label is not {good}",
    "favourable_errors": "compares, among wrong decisions, the share that is favourable: FP / (FP + FN)",
    "f_score": "compares the harmonic mean of precision and TPR",
    "balanced_accuracy": "compares the mean of the shares decided rightly of either label",
    "positive_score": "compares mean scores for {good} among people labelled so",
    "negative_score": "compares mean scores for {good} among people not labelled so",
    "smd": "compares mean scores, in units of the standard deviation of all scores",
    "xauc": "compares how often {good} in one group scores above another label in the other group, both ways round",
    "selection_ratio": "divides the lowest share of favourable decisions of any group by the highest",
}


def _catalogue(*figures: Figure) -> dict[str, Figure]:
    return {each.name: replace(each, compares=COMPARES.get(each.name, "")) for each in figures}


SHARES = _catalogue(
    Figure("selection", PEOPLE, "no rows", 0, "rate", "demographic parity"),
    Figure("tpr", FAVOURABLE, "no positives", 1, "TPR", "equal opportunity"),
    Figure("fpr", OTHER, "no negatives", -1, "FPR", "predictive equality"),
    Figure("fnr", FAVOURABLE, "no positives", -1),
    Figure(
        "precision", "share of favourable decisions", "no favourable decisions", 1, "precision", "predictive parity"
    ),
    Figure("error", PEOPLE, "no rows", -1, "error", "disparate mistreatment"),
)
"""Shares of rows: intervals by Wilson and Newcombe."""

PARTS = {
    "selection": ("chosen", "everyone"),
    "tpr": ("hit", "positive"),
    "fpr": ("alarm", "negative"),
    "fnr": ("hit", "positive"),
    "precision": ("hit", "chosen"),
    "error": ("wrong", "everyone"),
}
"""Which rows each share is part of and of all of which; `fnr` is the rest of its part."""

MORE = _catalogue(
    Figure("npv", "share of other decisions", "no other decisions", 1, "NPV", "negative predictive parity"),
    Figure("favourable_errors", "share of wrong decisions", "no errors", 0, "errors in favour", "treatment equality"),
    Figure("f_score", "F1 score", "nobody has or gets the favourable label", 1, "F1", "F1 parity"),
    Figure("balanced_accuracy", "mean of two shares of people", "one label only", 1, "balanced accuracy", "its parity"),
)
"""Figures of decisions that are given where a notion is about them; intervals as of shares."""

MORE_PARTS = {"npv": ("rest", "refused"), "favourable_errors": ("alarm", "wrong"), "f_score": ("hit", "either")}
"""As `PARTS`; of an F1 score F it is those of F / (2 - F)."""

UNRANKED, IMPROBABLE = "one label only", "scores are not probabilities"
UNSLOPED = "no calibration line (one label, one score, or separated labels)"
SCORED = _catalogue(
    Figure("auc", "probability", UNRANKED, 1, "AUC"),
    Figure("gini", "difference of probabilities", UNRANKED, 1, "Gini"),
    Figure("ks", "difference of shares", UNRANKED, 1, "KS"),
    Figure("brier", "squared probability", IMPROBABLE, -1),
    Figure("in_the_large", PEOPLE, IMPROBABLE, 0, "mean bias", "calibration in the large"),
    Figure("slope", "log odds per log odds", UNSLOPED, 0, "calib. slope"),
    Figure("mean_score", "unit of the score", "no rows"),
)
"""Figures of scores: intervals by the bootstrap, Wald's for the slope."""

SCORE_GAPS = _catalogue(
    Figure(
        "positive_score", "unit of the score", "no positives", 0, "mean score of positives", "positive class balance"
    ),
    Figure(
        "negative_score", "unit of the score", "no negatives", 0, "mean score of negatives", "negative class balance"
    ),
    Figure("smd", "standard deviations of scores", "all scores are equal", 0, "SMD", "standardised mean difference"),
    Figure("xauc", "probability", UNRANKED, 0, "xAUC", "AUC across groups"),
)
"""Figures of scores that are given where a notion is about them, as are those of scores above: normal intervals."""

VALUES = _catalogue(
    Figure("prediction", VALUE, "no rows", 0, "mean prediction", "demographic parity"),
    Figure("residual", VALUE, "no rows", 0, "mean residual", "balance of residuals"),
    Figure("mse", f"squared {VALUE}", "no rows", -1, "squared error", "disparate mistreatment"),
)
"""Means of predictions: normal intervals."""


def _variants(suffix: str, heading: str, missing: str, words: str) -> dict[str, Figure]:
    """Return figures that are compared in another way, which have no better side of their own."""
    base = {name: each for name, each in {**SHARES, **VALUES}.items() if name in VARIED}
    told = {name: (f"{each.heading} {heading}", f"{each.compares}, {words}") for name, each in base.items()}
    return {
        f"{name}_{suffix}": Figure(f"{name}_{suffix}", each.unit, missing, 0, told[name][0], each.notion, told[name][1])
        for name, each in base.items()
    }


VARIED = ("selection", "tpr", "fpr", "error", "prediction", "mse")
WITHIN = _variants(
    "within",
    "within levels",
    "no level has two groups",
    "within levels of the control features and pooled over them",
)
"""Gaps inside levels of control features, pooled over them (Mantel and Haenszel), where these are given."""

MORE_VALUES = _catalogue(
    Figure("actual_over_expected", "sum of values over sum of predictions", "no rows", 0, "A/E", "actual over expected")
)
"""Figures of values that are given where a notion is about them: normal intervals, predictions taken as known."""

FEW_GROUPS = "no group has favourable decisions, or fewer than two have rows"
NO_REFERENCE = "the reference group has no favourable decisions"
RATIOS = _catalogue(
    Figure("selection_ratio", "lowest rate over the highest", FEW_GROUPS, 1, "selection ratio", "demographic parity"),
    Figure("tpr_ratio", "lowest TPR over the highest", FEW_GROUPS, 1, "TPR ratio", "equal opportunity"),
    Figure("selection_over_reference", "ratio to the reference group", NO_REFERENCE, 0, "ratio to the reference"),
)
"""Ratios of rates: one of an attribute, never above 1, and one of each group."""

RATIO_OF = {"selection_ratio": "selection", "tpr_ratio": "tpr"}
"""The rate whose lowest over highest each ratio of an attribute is."""

FIGURES = {
    **SHARES,
    **MORE,
    **SCORED,
    **SCORE_GAPS,
    **WITHIN,
    **VALUES,
    **MORE_VALUES,
    **RATIOS,
    "recall": SHARES["tpr"],
}

OF_CLASS = {
    "recall": "no rows of class {label}",
    "fpr": "no rows of other classes than {label}",
    "precision": "no decisions for class {label}",
}
"""Why a share of one class among several has no value, where it is not for want of rows."""


def figure_of(name: str) -> Figure:
    """Return the figure behind a column such as ``tpr``, or of one class: ``recall[a]``, ``auc[a]``."""
    column = Column.of(name)
    found = FIGURES[column.figure]
    if column.label is None:
        return found
    return Figure(name, found.unit, OF_CLASS.get(column.figure, found.missing).format(label=column.label))


def larger_is_better(name: str) -> bool:
    """Tell whether larger values of a column are better: of ``auc`` and ``sex.selection_ratio``, never of a gap."""
    column = Column.of(name)
    return not column.gap and column.figure in FIGURES and FIGURES[column.figure].better > 0


def is_share(name: str) -> bool:
    """Tell whether values of a column lie between 0 and 1: rates and their gaps, ``auc`` and ``selection_ratio``."""
    return Column.of(name).figure.removesuffix("_within") in (
        *SHARES,
        *MORE,
        *("recall", "auc", "selection_ratio", "tpr_ratio", "approval_rate"),
    )


def rate_words(name: str) -> str:
    """Return a rate as people write it: ``FPR``, ``recall of a``."""
    label = Column.of(name).label
    return figure_of(name).heading if label is None else f"{Column.of(name).figure} of {label}"


def not_defined(contrast: str) -> str:
    """Say why a worst contrast has no value."""
    return f"not defined: {RATIOS[contrast].missing if contrast in RATIOS else 'fewer than two groups have it'}"
