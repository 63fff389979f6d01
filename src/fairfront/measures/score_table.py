"""Columns of an audit's table that rest on scores: ranking, calibration and level of every line, with intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..objectives import Array
from .group_table import Sureness, drawn_columns, normal_columns
from .intervals import normal_quantile
from .lines import Lines
from .scored import DRAWN, drawn, figures_of
from .sums import ratio
from .tallies import ScoredRows
from .worst import Worst, worst_means


@dataclass(frozen=True)
class Resampling:
    """How often figures of scores are drawn again (0: never, so without intervals), and from which seed."""

    n: int = 500
    random_state: int | None = 0


def score_columns(
    scored: ScoredRows, suffix: str, lines: Lines, sure: Sureness, resampling: Resampling
) -> tuple[dict[str, Array], tuple[Worst, ...]]:
    """Return the columns of all figures of scores and their worst gaps; names end with ``suffix``, such as [a]."""
    random = np.random.default_rng(resampling.random_state)
    exact, draws = [], []
    for rows, share in lines.parts():
        tally = scored.tally(rows, share)
        figures, binned = figures_of(tally)
        exact.append(figures)
        draws.append(drawn(tally, binned, figures, resampling.n, random))
    value = {name: np.array([line[name] for line in exact]) for name in exact[0]}
    columns: dict[str, Array] = {}
    error = {"slope": value["slope_error"]}
    for name in DRAWN:
        at = np.column_stack([line[name] for line in draws])
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
