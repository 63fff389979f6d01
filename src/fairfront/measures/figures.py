"""Figures of an audit: what each one is a share or mean of, in which unit, and why it may have no value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Base = Literal["n", "positives", "negatives", "selected"]


@dataclass(frozen=True)
class Figure:
    """One figure per group.

    ``base`` are the rows that it is about, ``missing`` says why it has no value without them, ``unit`` names the
    unit of the figure and of its gap; ``notion`` and ``compares`` say in words what its gap compares.
    """

    name: str
    base: Base
    unit: str
    missing: str
    notion: str = ""
    compares: str = ""


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
        ),
        Figure(
            "tpr",
            "positives",
            "share of people whose label is favourable",
            "no positives",
            "equal opportunity",
            "compares, among people whose label is {good}, the share who get the favourable decision",
        ),
        Figure(
            "fpr",
            "negatives",
            "share of people whose label is not favourable",
            "no negatives",
            "predictive equality",
            "compares, among people whose label is not {good}, the share who get the favourable decision",
        ),
        Figure("fnr", "positives", "share of people whose label is favourable", "no positives"),
        Figure(
            "precision",
            "selected",
            "share of favourable decisions",
            "no favourable decisions",
            "predictive parity",
            "compares, among favourable decisions, the share whose label is {good}",
        ),
        Figure(
            "error",
            "n",
            "share of people",
            "no rows",
            "disparate mistreatment",
            "compares the share of people who are decided wrongly",
        ),
    )
}
"""Shares of rows: intervals by Wilson and Newcombe."""

SCORED = {
    figure.name: figure
    for figure in (
        Figure("auc", "n", "probability", "one label only"),
        Figure("ks", "n", "difference of shares", "one label only"),
        Figure("brier", "n", "squared probability", "scores are no probabilities"),
        Figure("in_the_large", "n", "share of people", "scores are no probabilities"),
        Figure(
            "slope", "n", "log odds per log odds", "no calibration line (one label, one score, or separated labels)"
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
        ),
        Figure(
            "residual",
            "n",
            "unit of the value",
            "no rows",
            "balance of residuals",
            "compares the mean of value minus prediction (above 0: predicted too low)",
        ),
        Figure(
            "mse",
            "n",
            "squared unit of the value",
            "no rows",
            "disparate mistreatment",
            "compares the mean squared error",
        ),
    )
}
"""Means of predictions: normal intervals."""


def figure_of(name: str) -> Figure:
    """Return the figure behind a column such as ``tpr``, ``recall[a]`` or ``selection[a]``."""
    plain, _, label = name.partition("[")
    found = {**SHARES, **SCORED, **VALUES}.get("tpr" if plain == "recall" else plain)
    if found is None:
        raise KeyError(name)
    if not label:
        return found
    return Figure(name, found.base, found.unit, f"no rows of class {label[:-1]}" if plain == "recall" else "no rows")
