"""Figures of one model's scores in one group: ranking, calibration and level, each with bootstrap draws.

Rows come sorted by score. The bootstrap draws counts of (score bin, label) from a multinomial, so a draw costs as
much as there are bins, not rows; draws are shifted to the exact figure, which leaves only their spread to the bins.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from .logistic import logistic_line
from .sums import ratio

BINS = 200
DRAWN = ("auc", "ks", "brier", "in_the_large", "mean_score")
LIMITS = {"auc": (0.0, 1.0), "ks": (0.0, 1.0), "brier": (0.0, 1.0)}


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows of one group in the order of their scores: ``score`` oriented to the favourable label, ``raw`` as given."""

    score: Array
    raw: Array
    positive: NDArray[np.bool_]
    weight: Array | None
    probability: bool

    def mean(self, values: Array) -> float:
        """Return the weighted mean of values, NaN without weight."""
        if not len(values):
            return float("nan")
        return float(values.mean() if self.weight is None else ratio(values @ self.weight, self.weight.sum()))


def figures_of(rows: ScoredRows) -> dict[str, float]:
    """Return every figure of `SCORED`, NaN where it has no value, and the standard error of the slope."""
    found = dict.fromkeys((*DRAWN, "slope", "slope_error"), float("nan"))
    if not len(rows.score):
        return found
    found["mean_score"] = rows.mean(rows.raw)
    up, across = _running(rows)
    if up[-1] > 0 and across[-1] > 0:
        found |= _ranking(rows.score, up, across)
    if rows.probability:
        residual = rows.positive - rows.score
        found["brier"], found["in_the_large"] = rows.mean(residual**2), rows.mean(residual)
        found["slope"], found["slope_error"] = _slope(rows)
    return found


def _running(rows: ScoredRows) -> tuple[Array, Array]:
    """Return running weights of positive and other rows, exact counts without weights."""
    if rows.weight is None:
        up = np.cumsum(rows.positive, dtype=np.int64).astype(np.float64)
        return up, np.arange(1.0, len(up) + 1.0) - up
    return np.cumsum(rows.weight * rows.positive), np.cumsum(rows.weight * ~rows.positive)


def _ranking(score: Array, up: Array, across: Array) -> dict[str, float]:
    """Return the area under the ROC curve and Kolmogorov-Smirnov's distance, both exact with ties."""
    last = np.ones(len(score), dtype=bool)
    last[:-1] = score[1:] != score[:-1]
    up, across = up[last], across[last]
    area = 0.5 * (np.diff(up, prepend=0.0) @ (across + np.concatenate([[0.0], across[:-1]])))
    return {
        "auc": float(np.clip(area / (up[-1] * across[-1]), 0.0, 1.0)),
        "ks": float(np.abs(up / up[-1] - across / across[-1]).max()),
    }


def _slope(rows: ScoredRows) -> tuple[float, float]:
    weight = np.ones(len(rows.score)) if rows.weight is None else rows.weight
    if not weight.any():
        return float("nan"), float("nan")
    return logistic_line(rows.score, rows.positive, weight)


def drawn(rows: ScoredRows, exact: dict[str, float], n_resamples: int, random: np.random.Generator) -> dict[str, Array]:
    """Return n_resamples draws of each figure of `DRAWN`, (R,), around its exact value."""
    if not len(rows.score):
        return {name: np.full(n_resamples, np.nan) for name in DRAWN}
    share, means, size = _binned(rows)
    counts = random.multinomial(size, share.ravel(), size=n_resamples).reshape(n_resamples, *share.shape)
    draws, middle = _of_counts(counts.astype(np.float64), means), _of_counts(share[None], means)
    shifted = {name: exact[name] + draws[name] - middle[name] for name in DRAWN}
    return {name: np.clip(at, *LIMITS[name]) if name in LIMITS else at for name, at in shifted.items()}


def _binned(rows: ScoredRows) -> tuple[Array, Array, int]:
    """Return shares (2, bins) by label and bin, cell means (3, 2, bins) and the effective number of rows."""
    weight = np.ones(len(rows.score)) if rows.weight is None else rows.weight
    total = weight.sum()
    place = np.minimum(BINS * (np.cumsum(weight) - 0.5 * weight) / total, BINS - 1).astype(np.intp)
    new = np.ones(len(place), dtype=bool)
    new[1:] = rows.score[1:] != rows.score[:-1]
    place = place[np.maximum.accumulate(np.where(new, np.arange(len(place)), 0))]
    cell = place + BINS * ~rows.positive

    def sums(values: Array) -> Array:
        return np.asarray(np.bincount(cell, values, minlength=2 * BINS).reshape(2, BINS), dtype=np.float64)

    mass, residual = sums(weight), rows.positive - rows.score
    means = np.stack([np.nan_to_num(ratio(sums(weight * v), mass)) for v in (residual**2, residual, rows.raw)])
    return mass / mass.sum(), means, max(1, round(float(total**2 / (weight @ weight))))


def _of_counts(counts: Array, means: Array) -> dict[str, Array]:
    """Return the figures of binned counts (R, 2, bins)."""
    running = np.cumsum(counts, axis=2)
    ends = ratio(running, running[:, :, -1:])
    up, across = ends[:, 0], ends[:, 1]
    before = np.concatenate([np.zeros((len(counts), 1)), across[:, :-1]], axis=1)
    area = 0.5 * (np.diff(up, prepend=0.0, axis=1) * (across + before)).sum(axis=1)
    level = np.tensordot(counts, means, axes=([1, 2], [1, 2])) / counts.sum(axis=(1, 2))[:, None]
    return {
        "auc": area,
        "ks": np.abs(up - across).max(axis=1),
        "brier": level[:, 0],
        "in_the_large": level[:, 1],
        "mean_score": level[:, 2],
    }
