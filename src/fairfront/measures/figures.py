"""Figures of an audit: what each one is a share or mean of, in which unit, and why it may have no value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Base = Literal["n", "positives", "negatives", "selected"]


@dataclass(frozen=True)
class Figure:
    """One figure per group.

    ``base`` are the rows that it is about, ``missing`` says why it has no value without them, ``unit`` names the
    unit of the figure and of its gap; ``notion`` and ``compares`` say in words what its gap compares. ``better`` is 1
    where larger figures are better, -1 where smaller ones are, 0 where neither is so; ``heading`` stands above its
    column. Every figure is a column of an audit's table, its gap one of the worst contrasts, and both are names for
    `fairfront.scorer`.
    """

    name: str
    base: Base
    unit: str
    missing: str
    notion: str = ""
    compares: str = ""
    better: int = 0
    heading: str = ""


SHARES = {
    figure.name: figure
    for figure in (
        Figure(
            "selection",
            "n",
            "share of people",
            "no rows",
            "demographic parity",
            "compares the share of people who get the favourable decision {good}",
            heading="rate",
        ),
        Figure(
            "tpr",
            "positives",
            "share of people whose label is favourable",
            "no positives",
            "equal opportunity",
            "compares, among people whose label is {good}, the share who get the favourable decision",
            better=1,
            heading="TPR",
        ),
        Figure(
            "fpr",
            "negatives",
            "share of people whose label is not favourable",
            "no negatives",
            "predictive equality",
            "compares, among people whose label is not {good}, the share who get the favourable decision",
            better=-1,
            heading="FPR",
        ),
        Figure("fnr", "positives", "share of people whose label is favourable", "no positives", better=-1),
        Figure(
            "precision",
            "selected",
            "share of favourable decisions",
            "no favourable decisions",
            "predictive parity",
            "compares, among favourable decisions, the share whose label is {good}",
            better=1,
            heading="precision",
        ),
        Figure(
            "error",
            "n",
            "share of people",
            "no rows",
            "disparate mistreatment",
            "compares the share of people who are decided wrongly",
            better=-1,
            heading="error",
        ),
    )
}
"""Shares of rows: intervals by Wilson and Newcombe."""

SCORED = {
    figure.name: figure
    for figure in (
        Figure("auc", "n", "probability", "one label only", better=1, heading="AUC"),
        Figure("gini", "n", "difference of probabilities", "one label only", better=1, heading="Gini"),
        Figure("ks", "n", "difference of shares", "one label only", better=1, heading="KS"),
        Figure("brier", "n", "squared probability", "scores are not probabilities", better=-1),
        Figure(
            "in_the_large",
            "n",
            "share of people",
            "scores are not probabilities",
            "calibration in the large",
            "compares the mean of label minus probability (above 0: rated too low)",
            heading="label minus probability",
        ),
        Figure(
            "slope",
            "n",
            "log odds per log odds",
            "no calibration line (one label, one score, or separated labels)",
            heading="calib. slope",
        ),
        Figure("mean_score", "n", "unit of the score", "no rows"),
    )
}
"""Figures of scores: intervals by the bootstrap, Wald's for the slope."""

VALUES = {
    figure.name: figure
    for figure in (
        Figure(
            "prediction",
            "n",
            "unit of the value",
            "no rows",
            "demographic parity",
            "compares the mean prediction",
            heading="mean prediction",
        ),
        Figure(
            "residual",
            "n",
            "unit of the value",
            "no rows",
            "balance of residuals",
            "compares the mean of value minus prediction (above 0: predicted too low)",
            heading="mean residual",
        ),
        Figure(
            "mse",
            "n",
            "squared unit of the value",
            "no rows",
            "disparate mistreatment",
            "compares the mean squared error",
            better=-1,
            heading="squared error",
        ),
    )
}
"""Means of predictions: normal intervals."""

RATIOS = {
    figure.name: figure
    for figure in (
        Figure(
            "selection_ratio",
            "n",
            "lowest rate over the highest",
            "no group has favourable decisions, or fewer than two have rows",
            "demographic parity",
            "divides the lowest share of favourable decisions of any group by the highest",
            better=1,
            heading="selection ratio",
        ),
        Figure(
            "selection_over_reference",
            "n",
            "ratio to the reference group",
            "the reference group has no favourable decisions",
            heading="ratio to the reference",
        ),
    )
}
"""Ratios of selection rates: one of an attribute, never above 1, and one of each group; intervals by Katz."""


OF_CLASS = {
    "recall": "no rows of class {label}",
    "fpr": "no rows of other classes than {label}",
    "precision": "no decisions for class {label}",
}
"""Why a share of one class among several has no value, where it is not for want of rows."""


def figure_of(name: str) -> Figure:
    """Return the figure behind a column such as ``tpr``, or of one class: ``recall[a]``, ``auc[a]``."""
    plain, _, label = name.partition("[")
    found = {**SHARES, **SCORED, **VALUES, **RATIOS}.get("tpr" if plain == "recall" else plain)
    if found is None:
        raise KeyError(name)
    if not label:
        return found
    return Figure(name, found.base, found.unit, OF_CLASS.get(plain, found.missing).format(label=label[:-1]))


def larger_is_better(column: str) -> bool:
    """Tell whether larger values of a column are better: of ``auc`` and ``sex.selection_ratio``, never of a gap."""
    try:
        return figure_of(column.rpartition(".")[2]).better > 0
    except KeyError:
        return False
