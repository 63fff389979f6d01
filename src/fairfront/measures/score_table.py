"""Columns of an audit's table that rest on scores: ranking, calibration and level of every line, with intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from .disclosure import in_units
from .group_table import Sureness, drawn_columns, normal_columns
from .intervals import normal_quantile
from .lines import Lines
from .scored import DRAWN, drawn, figures_of
from .sums import ratio
from .tallies import ScoredRows
from .worst import Worst, worst_means

OF_BOTH_LABELS = ("auc", "gini", "ks", "slope", "slope_error")
"""Figures that rest on the people of either label, however few they are."""


@dataclass(frozen=True)
class Resampling:
    """How often figures of scores are drawn again (0: never, so without intervals), and from which seed."""

    n: int = 500
    random_state: int | None = 0


@dataclass(frozen=True, eq=False)
class Scores:
    """Figures of scores by name: values (lines,), and draws of them (R, lines); whether low scores are favourable."""

    value: dict[str, Array]
    draws: dict[str, Array]
    below: bool = False

    def published(self, few: NDArray[np.bool_], few_labels: NDArray[np.bool_], shift: Array) -> Scores:
        """Return figures without those of a few people, or of a few with one label; base rates shift by ``shift``."""
        masks = dict.fromkeys(self.value, few) | dict.fromkeys(OF_BOTH_LABELS, few | few_labels)
        moved = {"in_the_large": shift}

        def of(name: str, values: Array) -> Array:
            return np.where(masks[name], np.nan, values + moved.get(name, 0.0))

        value, draws = ({name: of(name, each[name]) for name in each} for each in (self.value, self.draws))
        return Scores(value, draws, self.below)

    def in_units(self, up: Array, down: Array) -> Scores:
        """Return figures in units of what published rows with the favourable label and with another add, (lines,)."""
        pairs, rows = (np.nan_to_num(ratio(np.ones(len(up)), size)) for size in (up * down, up + down))
        of = {"auc": pairs / 2, "gini": pairs, "ks": pairs, "brier": rows, "in_the_large": rows}
        of["mean_score"] = rows * self.value["spread"][-1]
        value, draws = (
            {name: in_units(values, of.get(name, 0.0)) for name, values in each.items()}
            for each in (self.value, self.draws)
        )
        change = value["mean_score"] - self.value["mean_score"]
        value["in_the_large"] = self.value["in_the_large"] + (change if self.below else -change)
        return Scores(value, draws, self.below)


def drawn_scores(scored: ScoredRows, lines: Lines, resampling: Resampling) -> Scores:
    """Compute the figures of scores of every line, and draw them again for their intervals."""
    random = np.random.default_rng(resampling.random_state)
    found = []
    for rows, share in lines.parts():
        known = scored.known if rows is None else {}  # the line of all rows is that of every attribute
        if resampling not in known:
            tally = scored.tally(rows, share)
            figures, binned = figures_of(tally)
            known[resampling] = figures, drawn(tally, binned, figures, resampling.n, random)
        found.append(known[resampling])
    value = {name: np.array([figures[name] for figures, _ in found]) for name in found[0][0]}
    draws = {name: np.column_stack([draws[name] for _, draws in found]) for name in DRAWN}
    return Scores(value, draws, scored.below)


def score_columns(
    scores: Scores, suffix: str, lines: Lines, sure: Sureness
) -> tuple[dict[str, Array], tuple[Worst, ...]]:
    """Return the columns of all figures of scores and their worst gaps; names end with ``suffix``, such as [a]."""
    value = scores.value
    columns: dict[str, Array] = {}
    error = {"slope": value["slope_error"]}
    for name in DRAWN:
        at = scores.draws[name]
        columns |= drawn_columns(name + suffix, value[name], at, lines, sure)
        error[name] = _deviation(at)
    columns |= normal_columns("slope" + suffix, value["slope"], error["slope"], lines, sure)
    z = normal_quantile(sure.of_pairs(lines.c))
    worst = tuple(worst_means(name + suffix, value[name], error[name], lines, z) for name in (*DRAWN, "slope"))
    return columns | _standardised(columns, suffix, value["spread"][-1]), worst


def _deviation(draws: Array) -> Array:
    """Return the standard deviation of each column of draws (R, lines), leaving NaN out."""
    known = ~np.isnan(draws)
    count = np.where(known.any(axis=0), known.sum(axis=0), np.nan)
    mean = np.where(known, draws, 0.0).sum(axis=0) / count
    return np.asarray(np.sqrt(np.where(known, (draws - mean) ** 2, 0.0).sum(axis=0) / count))


def _standardised(columns: dict[str, Array], suffix: str, spread: float) -> dict[str, Array]:
    """Return gaps of the mean score in standard deviations of all rows' scores."""
    gaps = {end: columns[f"mean_score{suffix}_gap{end}"] for end in ("", "_lower", "_upper")}
    return {f"smd{suffix}{end}": ratio(gap, np.full(len(gap), spread)) for end, gap in gaps.items()}
