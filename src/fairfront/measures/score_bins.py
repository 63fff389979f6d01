"""The area under the ROC curve of rows that lie in parts: scores counted in bins, with a bound on what that costs.

Bins are cut at quantiles of some rows. Pairs of rows in different bins are ordered exactly; pairs in one bin count
half, as ties do, so that the area is off by at most half their share. A bin with a single score holds true ties.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from .operating import Operating
from .sums import ratio

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

    def auc(self) -> tuple[Array, Array]:
        """Return the area of each model and how far it may be off, both (N,); NaN where a label has no weight."""
        whole = self.up.sum(axis=1) * self.across.sum(axis=1)
        before = np.cumsum(self.across, axis=1) - self.across
        area = (self.up * (before + 0.5 * self.across)).sum(axis=1)
        mixed = np.where(self.low < self.high, self.up * self.across, 0.0)
        return np.clip(ratio(area, whole), 0.0, 1.0), ratio(0.5 * mixed.sum(axis=1), whole)

    def place(self, rule: Operating, favourable: int) -> Array:
        """Return each model's cut-off, (N,), between two bins; the favourable label is that of ``up`` rows if 1."""
        if favourable == 1:
            rows = zip(self.up, self.across, self.low, self.high, strict=True)
            return np.array([_cut(rule, *each) for each in rows])
        rows = zip(self.across, self.up, -self.high, -self.low, strict=True)
        return -np.array([_cut(rule, *each) for each in rows])


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
    up, across = np.where(positive, w, 0.0), np.where(positive, 0.0, w)
    rows = [_of_model(s, up, across, e) for s, e in zip(scores, edges, strict=True)]
    return ScoreBins(*(np.stack(column) for column in zip(*rows, strict=True)))


def joined_bins(parts: Sequence[ScoreBins]) -> ScoreBins:
    """Put the bins of several sets of rows together, in the order given."""
    up, across = (reduce(np.add, [getattr(part, name) for part in parts]) for name in ("up", "across"))
    low, high = reduce(np.minimum, [part.low for part in parts]), reduce(np.maximum, [part.high for part in parts])
    return ScoreBins(up, across, low, high)


def _of_model(scores: Array, up: Array, across: Array, edges: Array) -> tuple[Array, Array, Array, Array]:
    order = np.argsort(scores)
    ranked = scores[order]
    ends = np.concatenate([[0], np.searchsorted(ranked, edges, side="left"), [len(ranked)]])
    some = ends[1:] > ends[:-1]
    low, high = np.full(len(some), np.inf), np.full(len(some), -np.inf)
    low[some], high[some] = ranked[ends[:-1][some]], ranked[ends[1:][some] - 1]
    sums = [np.diff(np.concatenate([[0.0], np.cumsum(each[order])])[ends]) for each in (up, across)]
    return sums[0], sums[1], low, high
