"""Figures of one model's scores in one group: ranking, calibration and level, each with bootstrap draws.

One pass over a tally, bin by bin, gives every figure and the sums of its bins. The bootstrap draws counts of (score
bin, label) from a multinomial, so a draw costs as much as there are bins, not rows; draws are shifted to the exact
figure, which leaves only their spread to the bins.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from .logistic import logistic_line
from .sums import ratio
from .tallies import Tally

BINS = 200
DRAWN = ("auc", "ks", "brier", "in_the_large", "mean_score")
LIMITS = {"auc": (0.0, 1.0), "ks": (0.0, 1.0), "brier": (0.0, 1.0)}


@dataclass(frozen=True, eq=False)
class Binned:
    """A tally in bins of about equal weight.

    ``sums`` (3, 2, bins) are weights, weighted scores and weighted squared scores of rows with the favourable label
    and with another; scores are counted from ``origin``. ``area`` is that under the ROC curve in pairs of weights,
    ``distance`` the largest between the two running shares; NaN where there is one label only.
    """

    sums: Array
    origin: float
    area: float
    distance: float


def figures_of(tally: Tally) -> tuple[dict[str, float], Binned | None]:
    """Return every figure of `SCORED`, the slope's standard error and the spread, NaN where unknown; and the bins."""
    found = dict.fromkeys((*DRAWN, "slope", "slope_error", "spread"), float("nan"))
    if not len(tally.value):
        return found, None
    binned = bins_of(tally)
    values = _of_sums(binned.sums.sum(axis=2)[None], binned.origin, tally)
    found |= {name: float(value[0]) for name, value in values.items()}
    up, down = binned.sums[0].sum(axis=1)
    if up > 0 and down > 0:
        area = binned.area / (up * down)
        found |= {"auc": float(np.clip(1.0 - area if tally.below else area, 0.0, 1.0)), "ks": binned.distance}
    if tally.probability:
        line = logistic_line(tally.value, tally.up, tally.down, tally.size, -1.0 if tally.below else 1.0)
        found["slope"], found["slope_error"] = line
    return found, binned


def bins_of(tally: Tally) -> Binned:
    """Add up the rows of every bin in one pass; a bin is small enough to stay in the cache."""
    starts = _starts(tally)
    up, down = tally.up.sum(), tally.down.sum()
    origin = 0.0 if tally.probability else float(tally.value[len(tally.value) // 2])  # keeps squares from cancelling
    sums, area, distance, before = np.empty((3, 2, len(starts))), 0.0, 0.0, np.zeros(2)
    for k, (start, stop) in enumerate(zip(starts, [*starts[1:], len(tally.value)], strict=True)):
        value, sides = tally.value[start:stop] - origin, (tally.up[start:stop], tally.down[start:stop])
        running = [side.cumsum() for side in sides]
        ends = np.array([each[-1] for each in running])
        sums[:, :, k] = ends, [s @ value for s in sides], [s @ (value * value) for s in sides]
        area += before[1] * ends[0] + sides[0] @ (running[1] - 0.5 * sides[1])
        if up > 0 and down > 0:
            apart = np.abs((before[0] + running[0]) / up - (before[1] + running[1]) / down)
            distance = max(distance, float(apart.max()))
        before += ends
    return Binned(sums, origin, float(area), distance)


def _starts(tally: Tally) -> NDArray[np.intp]:
    """Return the first place of every bin; equal scores share one."""
    if tally.size == len(tally.value):  # rows without weights or ties
        return np.unique(np.arange(BINS) * len(tally.value) // BINS)
    mass = tally.up + tally.down
    after = np.cumsum(mass)
    edges = np.searchsorted(after - 0.5 * mass, after[-1] * np.arange(BINS) / BINS)
    return np.unique(edges[edges < len(mass)])


def drawn(
    tally: Tally, binned: Binned | None, exact: dict[str, float], n_resamples: int, random: np.random.Generator
) -> dict[str, Array]:
    """Return n_resamples draws of each figure of `DRAWN`, (R,), around its exact value."""
    if binned is None:
        return {name: np.full(n_resamples, np.nan) for name in DRAWN}
    share = binned.sums[0] / binned.sums[0].sum()
    size = max(1, round(tally.size))
    counts = random.multinomial(size, share.ravel(), size=n_resamples).reshape(n_resamples, *share.shape)
    draws, middle = (_of_counts(each, binned, tally) for each in (counts.astype(np.float64), share[None]))
    shifted = {name: exact[name] + draws[name] - middle[name] for name in DRAWN}
    return {name: np.clip(at, *LIMITS[name]) if name in LIMITS else at for name, at in shifted.items()}


def _of_counts(counts: Array, binned: Binned, tally: Tally) -> dict[str, Array]:
    """Return the figures of binned counts (R, 2, bins)."""
    running = np.cumsum(counts, axis=2)
    ends = ratio(running, running[:, :, -1:])
    up, across = ends[:, 0], ends[:, 1]
    before = np.concatenate([np.zeros((len(counts), 1)), across[:, :-1]], axis=1)
    area = 0.5 * (np.diff(up, prepend=0.0, axis=1) * (across + before)).sum(axis=1)
    means = np.nan_to_num(ratio(binned.sums[1:], binned.sums[0]))
    sums = np.stack([counts.sum(axis=2), *(np.einsum("rlb,lb->rl", counts, mean) for mean in means)], axis=1)
    found = _of_sums(sums, binned.origin, tally)
    return {**found, "auc": 1.0 - area if tally.below else area, "ks": np.abs(up - across).max(axis=1)}


def _of_sums(sums: Array, origin: float, tally: Tally) -> dict[str, Array]:
    """Return level, spread and calibration from sums (R, 3, 2) of weights, scores and squared scores by label."""
    weight, score, squared = np.moveaxis(sums / sums[:, :1].sum(axis=2, keepdims=True), 1, 0)
    mean, good = score.sum(axis=1), weight[:, 0]
    spread = np.sqrt(np.maximum(squared.sum(axis=1) - mean**2, 0.0))
    found = {"mean_score": origin + mean, "spread": spread}
    if not tally.probability:
        return found | dict.fromkeys(("brier", "in_the_large"), np.full(len(sums), np.nan))
    wrong = 1 if tally.below else 0  # the label that a score of 0 speaks against
    brier = squared.sum(axis=1) - 2.0 * score[:, wrong] + weight[:, wrong]
    return found | {"brier": brier, "in_the_large": good - (1.0 - mean if tally.below else mean)}
