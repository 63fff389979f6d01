"""Gaps of scores between groups, which notions of scores and of ranking are about: means and AUCs of many models.

A gap is the first group's figure less the second's; its standard error is that of means, or of areas by Hanley and
McNeil (Radiology 143, 1982, 29-36), with effective numbers of rows (Kish) where rows are weighted. Groups, and people
of either label, are different people, so that squared errors are added. The standard deviation of all scores, the unit
of the SMD, is taken as known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from .counts import auc, ratio
from .intervals import bonferroni, worst_gap_floor, worst_gap_lower, worst_gap_upper
from .proportions import normal_quantile
from .rates import kish

Pairs = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True, eq=False)
class PairGaps:
    """Gaps of all pairs of groups, (N, pairs), in the order of ``numpy.triu_indices``, and their standard errors."""

    gap: Array
    error: Array

    def take(self, places: Sequence[int]) -> PairGaps:
        return PairGaps(self.gap[places], self.error[places])

    @property
    def worst(self) -> Array:
        """Return the largest absolute gap, (N,); NaN where a pair has none."""
        return np.asarray(np.abs(self.gap).max(axis=1))

    def _half(self, confidence: float) -> Array:
        return normal_quantile(confidence) * self.error

    def upper(self, confidence: float) -> Array:
        """Return the upper end of the worst gap, (N,): it fails only if that of the worst pair does."""
        return np.asarray((np.abs(self.gap) + self._half(confidence)).max(axis=1))

    def lower(self, confidence: float) -> Array:
        """Return the lower end of the worst gap, (N,): of pairs whose intervals hold together (Bonferroni)."""
        half = self._half(bonferroni(confidence, self.gap.shape[1]))
        return np.asarray(np.maximum(np.abs(self.gap) - half, 0.0).max(axis=1))

    def floor(self, confidence: float) -> Array:
        """Return the smallest gap that could be demonstrated, (N,): half of the widest interval."""
        return np.asarray(self._half(confidence).max(axis=1))


ENDS: dict[Any, Callable[[PairGaps, float], Array]] = {
    worst_gap_upper: PairGaps.upper,
    worst_gap_lower: PairGaps.lower,
    worst_gap_floor: PairGaps.floor,
}
"""The ends of gaps of scores that stand for those of gaps of shares."""


def score_gaps(name: str, responses: Array, good: NDArray[np.bool_], member: Array) -> PairGaps:
    """Return the gaps of a figure of responses (N, n) that speak for the label of ``good`` rows (n,).

    ``member`` (n, c) are weights of rows in groups.
    """
    pairs = np.triu_indices(member.shape[1], 1)
    if name == "auc":
        area, square = _areas(responses, good, [(g, g) for g in range(member.shape[1])], member)
    elif name == "xauc":
        both = [place for i, j in combinations(range(member.shape[1]), 2) for place in ((i, j), (j, i))]
        area, square = _areas(responses, good, both, member)
        return PairGaps(area[:, ::2] - area[:, 1::2], np.sqrt(square[:, ::2] + square[:, 1::2]))
    else:
        area, square = _means(name, responses, good, member)
    one, other = pairs
    return PairGaps(area[:, one] - area[:, other], np.sqrt(square[:, one] + square[:, other]))


def ordered_pair(gap: Array, c: int) -> tuple[int, int]:
    """Return the two of c groups with the largest gap, (pairs,), that of the lower figure first."""
    at = int(np.argmax(np.abs(gap)))
    one, other = (int(each[at]) for each in np.triu_indices(c, 1))
    return (one, other) if gap[at] < 0.0 else (other, one)


def _means(name: str, responses: Array, good: NDArray[np.bool_], member: Array) -> tuple[Array, Array]:
    """Return means (N, c) and their squared errors."""
    weight = member * {"positive_score": good, "negative_score": ~good}.get(name, np.ones(len(good)))[:, None]
    values = good - responses if name == "in_the_large" else responses
    if name == "smd":
        share = member.sum(axis=1) / member.sum()
        spread = np.sqrt(np.maximum((responses**2) @ share - (responses @ share) ** 2, 0.0))
        values = responses / np.where(spread > 0.0, spread, np.nan)[:, None]
    total = weight.sum(axis=0)
    mean = ratio(values @ weight, total)
    spread = np.maximum(ratio((values**2) @ weight, total) - mean**2, 0.0)
    return mean, ratio(spread, np.maximum(kish(total, (weight**2).sum(axis=0)) - 1.0, 0.0))


def _areas(
    responses: Array, good: NDArray[np.bool_], pairs: Sequence[tuple[int, int]], member: Array
) -> tuple[Array, Array]:
    """Return areas (N, pairs) of good rows of one group above other rows of another, and their squared errors."""
    area = np.empty((len(responses), len(pairs)))
    square = np.empty_like(area)
    for k, (one, other) in enumerate(pairs):
        weight = np.where(good, member[:, one], member[:, other])
        rows = weight > 0.0
        found = area[:, k] = auc(responses[:, rows], good[rows], weight[rows])
        sizes = [weight[rows & mask] for mask in (good, ~good)]
        n, m = (float(kish(each.sum(), (each**2).sum())) for each in sizes)
        both = (n - 1.0) * (found / (2.0 - found) - found**2) + (m - 1.0) * (2.0 * found**2 / (1.0 + found) - found**2)
        square[:, k] = ratio(np.maximum(found * (1.0 - found) + both, 0.0), np.array(n * m))
    return area, square
