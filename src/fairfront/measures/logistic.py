"""Logistic lines, slope times score plus offset: one per model for many models at once, or one for many rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from ..objectives import Array

FLAT = 1e-6
MAX_ITER = 100
COARSE = 2000


def fit_lines(values: Array, targets: Array, weight: Array, flat: bool) -> tuple[Array, Array]:
    """Fit on standardised values and turn the line back; NaN, or a flat line, where there is none to be had."""
    share = weight / weight.sum()
    centre = values @ share
    spread = np.sqrt((values - centre[:, None]) ** 2 @ share)
    varied = spread > 1e-9 * (1.0 + np.abs(centre))
    spread = np.where(varied, spread, 1.0)
    slope, offset, settled = _newton((values - centre[:, None]) / spread[:, None], targets, share)
    if flat:
        falls = ~varied | (slope < FLAT)
        slope, offset = np.where(falls, FLAT, slope), np.where(falls, logit(targets @ share), offset)
    else:
        known = varied & settled
        slope, offset = np.where(known, slope, np.nan), np.where(known, offset, np.nan)
    return slope / spread, offset - slope * centre / spread


def logistic_line(probability: Array, positive: NDArray[np.bool_], weight: Array) -> tuple[float, float]:
    """Return the calibration slope of one model on rows sorted by probability, and its standard error.

    Many rows are first fitted as means of `COARSE` runs of rows; Newton's steps on the rows themselves follow, so
    the line is that of the rows. The standard error is Wald's, with Kish's effective number of rows.
    """
    x = logit(np.clip(probability, 1e-12, 1.0 - 1e-12))
    share = weight / weight.sum()
    centre = float(x @ share)
    spread = float(np.sqrt((x - centre) ** 2 @ share))
    if spread <= 1e-9 * (1.0 + abs(centre)) or not 0.0 < positive @ share < 1.0:
        return np.nan, np.nan
    x = ((x - centre) / spread)[None]
    targets = positive.astype(np.float64)
    start = _coarse(x[0], targets, share) if x.size > 20 * COARSE else (np.zeros(1), np.zeros(1))
    slope, offset, settled = _newton(x, targets, share, start, tol=1e-6)  # a step of s leaves an error of about s^2
    if not settled[0]:
        return np.nan, np.nan
    p = expit(slope[0] * x[0] + offset[0])
    curvature = p * (1.0 - p) * share
    middle = (curvature @ x[0]) / curvature.sum()
    information = curvature @ (x[0] - middle) ** 2 / (share @ share)
    return float(slope[0] / spread), float(1.0 / np.sqrt(information) / spread)


def _coarse(x: Array, targets: Array, share: Array) -> tuple[Array, Array]:
    """Fit the line to means of runs of rows: a start that is right to several digits."""
    starts = np.linspace(0, len(x), COARSE, endpoint=False).astype(np.intp)
    mass = np.maximum(np.add.reduceat(share, starts), 1e-300)
    means = [np.add.reduceat(share * values, starts) / mass for values in (x, targets)]
    slope, offset, settled = _newton(means[0][None], means[1], mass / mass.sum(), (np.zeros(1), np.zeros(1)))
    return (slope, offset) if settled[0] else (np.zeros(1), np.zeros(1))


def _newton(
    x: Array, targets: Array, share: Array, start: tuple[Array, Array] | None = None, tol: float = 1e-9
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Minimise the logistic loss of slope x + offset for all models at once; say which have settled.

    A step that changes scores by at most s changes curvatures by at most a factor exp(s): scaled by
    log(1 + s) / s it lowers the loss from anywhere, and is Newton's own near the end. Large steps are first
    tried in full. Without a finite optimum curvature fades while s stays near 1.
    """
    slope, offset = (np.zeros(len(x)), np.zeros(len(x))) if start is None else start
    settled = np.zeros(len(x), dtype=bool)
    for _ in range(MAX_ITER):
        score = slope[:, None] * x + offset[:, None]
        probability = expit(score)
        along, up, gain, curvature = _direction(x, targets - probability, probability * (1.0 - probability), share)
        move = along[:, None] * x + up[:, None]
        change = np.abs(move).max(axis=1)
        settled = change < tol
        if (settled | (curvature < 1e-10)).all():
            break
        scale = np.log1p(change) / np.maximum(change, 1e-300)
        if (change > 1.0).any():
            better = _loss(score + move, targets, share) < _loss(score, targets, share) - gain / 4.0
            scale = np.where((change > 1.0) & better, 1.0, scale)
        slope, offset = slope + scale * along, offset + scale * up
    return slope, offset, settled


def _direction(x: Array, residual: Array, curvature: Array, share: Array) -> tuple[Array, Array, Array, Array]:
    """Return Newton's step in slope and offset, its squared length, and the mean curvature, each (N,)."""
    g, gx = residual @ share, (residual * x) @ share
    h = np.maximum(curvature @ share, 1e-300)
    middle = (curvature * x) @ share / h
    spread = np.maximum((curvature * (x - middle[:, None]) ** 2) @ share, 1e-300)
    along = (gx - middle * g) / spread
    up = g / h - middle * along
    return along, up, along * gx + up * g, h


def _loss(score: Array, targets: Array, share: Array) -> Array:
    return np.asarray((np.logaddexp(0.0, score) - targets * score) @ share)
