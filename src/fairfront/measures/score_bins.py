"""Areas under the ROC curve of many models; where rows lie in parts, from scores in bins, whose sums add up.

Bins are cut at quantiles of some rows. Pairs of rows in different bins are ordered exactly; pairs in one bin count
half, as ties do, so that the area is off by at most half their share. A bin with a single score holds true ties.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..objectives import Array
from .counts import blocks, ratio, row_weight
from .cutoffs import Operating

BINS = 8192
SURE = 1e-3
"""Areas that may be off by more are not given."""


@dataclass(frozen=True, eq=False)
class ScoreBins:
    """Weights of positive (``up``) and other rows (``across``) in bins of scores, and the bins' extremes, (N, bins)."""

    up: Array
    across: Array
    low: Array
    high: Array

    def __add__(self, other: ScoreBins) -> ScoreBins:
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return ScoreBins(self.up + other.up, self.across + other.across, low, high)

    def auc(self) -> tuple[Array, Array]:
        """Return the area of each model and how far it may be off, both (N,); NaN where a label has no weight."""
        whole = self.up.sum(axis=1) * self.across.sum(axis=1)
        before = np.cumsum(self.across, axis=1) - self.across
        area = (self.up * (before + 0.5 * self.across)).sum(axis=1)
        mixed = np.where(self.low < self.high, self.up * self.across, 0.0)
        return np.clip(ratio(area, whole), 0.0, 1.0), ratio(0.5 * mixed.sum(axis=1), whole)

    def place(self, rule: Operating, favourable: int) -> Array:
        """Return each model's cut-off, (N,), between two bins; the favourable label is that of ``up`` rows if 1."""
        sign, bins = 1.0, (self.up, self.across, self.low, self.high)
        if favourable != 1:
            sign, bins = -1.0, (self.across, self.up, -self.high, -self.low)
        return sign * np.array([_cut(rule, *each) for each in zip(*bins, strict=True)])


def _cut(rule: Operating, good: Array, other: Array, low: Array, high: Array) -> float:
    """Return the cut-off of one model, midway between the last bin that is approved and the first that is not."""
    there = low <= high
    at = np.tile(low[there], 2)
    weight = np.concatenate([good[there], other[there]])
    first = float(rule.place(at[None], np.arange(len(at)) < there.sum(), weight, between=False)[0])
    if first > low[there].max():  # nobody is approved
        return float(np.nextafter(high[there].max(), np.inf))
    below = high[there & (high < first)]
    return 0.5 * (first + float(below.max())) if len(below) else first


def score_edges(scores: Array) -> Array:
    """Return the edges of bins for N models, (N, BINS - 1): quantiles of their scores on some rows, (N, m)."""
    ranked = np.sort(scores, axis=1)
    places = np.linspace(0, ranked.shape[1] - 1, BINS - 1).round().astype(np.intp)
    return np.asarray(ranked[:, places])


def count_scores(scores: Array, positive: NDArray[np.bool_], weight: Array | None, edges: Array) -> ScoreBins:
    """Count the scores (N, n) of some rows; a bin begins with its lower edge."""
    w = np.ones(len(positive)) if weight is None else weight
    sides, rows = (np.where(positive, w, 0.0), np.where(positive, 0.0, w)), []
    for of_model, cuts in zip(scores, edges, strict=True):
        order = np.argsort(of_model)
        ranked = of_model[order]
        ends = np.concatenate([[0], np.searchsorted(ranked, cuts, side="left"), [len(ranked)]])
        some = ends[1:] > ends[:-1]
        low, high = np.full(len(some), np.inf), np.full(len(some), -np.inf)
        low[some], high[some] = ranked[ends[:-1][some]], ranked[ends[1:][some] - 1]
        sums = [np.diff(np.concatenate([[0.0], np.cumsum(each[order])])[ends]) for each in sides]
        rows.append((*sums, low, high))
    return ScoreBins(*(np.stack(column) for column in zip(*rows, strict=True)))


def auc(scores: ArrayLike, is_positive: ArrayLike, sample_weight: ArrayLike | None = None) -> Array:
    """Return the area under the ROC curve of N models, (N,), from scores (N, n) or (n,).

        P(score of a positive row > score of a negative row) + 1/2 P(the two are equal)

    Equals `sklearn.metrics.roc_auc_score`, weights and ties included; NaN when one of the two labels has no weight.
    """
    positive = np.asarray(is_positive, dtype=bool)
    ranked = np.atleast_2d(scores)
    weight = row_weight(sample_weight, len(positive))
    up, across = np.where(positive, weight, 0.0), np.where(positive, 0.0, weight)
    whole = up.sum() * across.sum()
    if whole == 0:
        return np.full(len(ranked), np.nan)
    area = [_area(ranked[part], up, across) for part in blocks(*ranked.shape)]
    return np.asarray(np.clip(np.concatenate([np.empty(0), *area]) / whole, 0.0, 1.0))


def _area(scores: NDArray[Any], up: Array, across: Array) -> Array:
    """Add, for each model, up-weight times the across-weight below it, ties counting half.

    Models are laid end to end, one entry per distinct score: the running sums at the last row of each tie.
    """
    order = np.argsort(scores, axis=1)
    ranked = np.take_along_axis(scores, order, axis=1)
    last = np.ones(ranked.shape, dtype=bool)
    last[:, :-1] = ranked[:, 1:] != ranked[:, :-1]
    model = np.repeat(np.arange(len(scores)), last.sum(axis=1))
    starts = np.flatnonzero(np.diff(model, prepend=-1))

    def before(running: Array) -> Array:
        shifted = np.concatenate([[0.0], running[:-1]])
        shifted[starts] = 0.0
        return shifted

    above = np.cumsum(up[order], axis=1)[last]
    beside = np.cumsum(across[order], axis=1)[last]
    area = np.bincount(model, (above - before(above)) * (beside + before(beside)), minlength=len(scores))
    return np.asarray(0.5 * area)
