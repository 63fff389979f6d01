"""Logistic lines, slope times score plus offset: one per model for many models at once, or one for many rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from ..objectives import Array

FLAT = 1e-6
MAX_ITER = 100
COARSE = 20_000
BLOCK = 1 << 14
STEP = 1e-5  # a step of s leaves an error of about s^2


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


def logistic_line(value: Array, up: Array, down: Array, size: float, sign: float = 1.0) -> tuple[float, float]:
    """Return the slope of the label on the log odds of ``value`` (m,), ascending in [0, 1], and its standard error.

    ``up`` and ``down`` (m,) are the weights of positive and other rows at each value; a ``sign`` of -1 turns the odds
    round. Many values are first fitted as `COARSE` runs; Newton's steps on the values themselves follow, so the line
    is theirs. The standard error is Wald's with the effective number of rows ``size``. NaN where there is no line.
    """
    ends = _log_odds(value[[0, -1]], sign)
    total = float(up.sum() + down.sum())
    varied = abs(ends[1] - ends[0]) > 1e-9 * (1.0 + abs(ends[0]))
    if not varied or not 0.0 < up.sum() / total < 1.0:
        return np.nan, np.nan
    middle, positive, mass = _runs(value, up, down)
    x, share = _log_odds(middle, sign), mass / total
    centre = float(x @ share)
    spread = float(np.sqrt((x - centre) ** 2 @ share)) or 1.0
    start = np.array([[spread], [centre]])  # the line of scores that are calibrated
    slope, offset, settled = _newton(((x - centre) / spread)[None], positive / mass, share, start)
    if not settled[0] and len(x) == len(value):
        return np.nan, np.nan
    line = np.array([slope[0], offset[0]]) if settled[0] else np.zeros(2)
    for _ in range(MAX_ITER):
        g, gx, h, hx, hxx = _sums(value, up, down, (sign, centre, spread), line) / total
        information = hxx - hx**2 / max(h, 1e-300)
        if h < 1e-10 or information <= 0.0:
            break
        along = (gx - hx / h * g) / information
        step = np.array([along, (g - hx * along) / h])
        change = float(np.abs(step[0] * (ends - centre) / spread + step[1]).max())
        line = line + step * (np.log1p(change) / max(change, 1e-300))
        if change < STEP:
            return float(line[0] / spread), float(1.0 / np.sqrt(information * size) / spread)
    return np.nan, np.nan


def _log_odds(value: Array, sign: float) -> Array:
    return np.asarray(sign * logit(np.clip(value, 1e-12, 1.0 - 1e-12)))


def _runs(value: Array, up: Array, down: Array) -> tuple[Array, Array, Array]:
    """Return the middle of runs of values, and their positive and whole weights; few values as they are."""
    if len(value) <= 2 * COARSE:
        return value, up, up + down
    starts = np.linspace(0, len(value), COARSE, endpoint=False).astype(np.intp)
    positive = np.add.reduceat(up, starts)
    return value[(starts + np.append(starts[1:], len(value))) // 2], positive, positive + np.add.reduceat(down, starts)


def _sums(value: Array, up: Array, down: Array, scale: tuple[float, float, float], line: Array) -> Array:
    """Return the sums of residuals and of curvatures, times powers of x, in blocks that stay in the cache."""
    total, (sign, centre, spread) = np.zeros(5), scale
    for start in range(0, len(value), BLOCK):
        part = slice(start, start + BLOCK)
        x = (_log_odds(value[part], sign) - centre) / spread
        p, mass = expit(line[0] * x + line[1]), up[part] + down[part]
        residual, curvature = up[part] - mass * p, mass * p * (1.0 - p)
        bent = curvature * x
        total += [residual.sum(), residual @ x, curvature.sum(), bent.sum(), bent @ x]
    return total


def _newton(
    x: Array, targets: Array, share: Array, start: Array | None = None
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Minimise the logistic loss of slope x + offset for all models at once; say which have settled.

    ``start`` (2, N) are slopes and offsets to begin with, 0 by default.

    A step that changes scores by at most s changes curvatures by at most a factor exp(s): scaled by
    log(1 + s) / s it lowers the loss from anywhere, and is Newton's own near the end. Large steps are first
    tried in full. Without a finite optimum curvature fades while s stays near 1.
    """
    slope, offset = np.zeros((2, len(x))) if start is None else start
    settled = np.zeros(len(x), dtype=bool)
    for _ in range(MAX_ITER):
        score = slope[:, None] * x + offset[:, None]
        probability = expit(score)
        along, up, gain, curvature = _direction(x, targets - probability, probability * (1.0 - probability), share)
        move = along[:, None] * x + up[:, None]
        change = np.abs(move).max(axis=1)
        settled = change < 1e-9
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
