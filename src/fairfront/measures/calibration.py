"""Calibration of binary scores: how well probabilities fit each group.

A calibrated probability of 0.7 comes true for 70 of 100 rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from ..objectives import Array
from ..problems.threads import one_blas_thread
from .counts import membership, ratio, row_weight
from .rates import PerGroup

BINS, RELIABILITY_BINS = 10, 6
"""Bins of the expected calibration error, and the most that a page draws for a group."""
MAX_ITER = 100
COARSE = 20_000
BLOCK = 1 << 14
STEP = 1e-5
"""A step of s leaves an error of about s^2."""
SMALLEST = 1e-300
"""Keeps what is divided by from being 0."""


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(PerGroup):
    """Calibration of a model in the c groups of one attribute; shapes (1, c), NaN where a group has no rows.

    - ``predicted``     mean predicted probability
    - ``observed``      share of rows with the positive label
    - ``in_the_large``  observed - predicted: above 0 where the group is underrated
    - ``slope``, ``intercept``  logistic regression of the label on the log odds predicted: 1 and 0 when
      calibrated, a slope below 1 when predictions are too extreme; NaN where there is no such line (one label
      only, one prediction only, or labels that a cutoff separates)
    - ``brier``         mean of (probability - label)^2
    - ``ece``           expected calibration error: mean of abs(observed - predicted) over 10 bins with about
      equal weight; equal predictions share a bin. It is above 0 by chance alone, more so in small groups.

    `gaps` and `worst_gap` compare any of them between groups.
    """

    names: ClassVar[tuple[str, ...]] = ("predicted", "observed", "in_the_large", "slope", "intercept", "brier", "ece")

    predicted: Array
    observed: Array
    in_the_large: Array
    slope: Array
    intercept: Array
    brier: Array
    ece: Array


@one_blas_thread()
def calibration_table(
    p: Array,
    positive: NDArray[np.bool_],
    codes: NDArray[Any],
    levels: Sequence[str],
    sample_weight: Array | None = None,
) -> Calibration:
    """Measure how well probabilities p (n,) of the positive label fit each group; ``codes`` as in `membership`."""
    member = membership(codes, len(levels))
    columns = member * row_weight(sample_weight, len(p))[:, None]
    total = columns.sum(axis=0)
    predicted, brier = (ratio(each[None] @ columns, total) for each in (p, (p - positive) ** 2))
    observed = ratio(positive @ columns, total)[None]
    slope, intercept, ece = np.full((3, 1, len(levels)), np.nan)
    for g in np.flatnonzero(total > 0):
        rows = columns[:, g] > 0
        some, labels, share = p[rows], positive[rows], columns[rows, g]
        slope[0, g], intercept[0, g] = _line(_log_odds(some), labels.astype(np.float64), share)
        ece[0, g] = _binned_error(some, labels, share)
    figures = (predicted, observed, observed - predicted, slope, intercept, brier, ece)
    return Calibration(tuple(levels), member.sum(axis=0), total, *figures)


def _binned_error(p: Array, positive: NDArray[np.bool_], weight: Array) -> float:
    """Put a row in the bin of the middle of its value's place in the weighted order.

    Equal values stay together, and a weight of 2 is a row given twice.
    """
    order = np.argsort(p)
    ranked, mass = p[order], weight[order]
    after = np.cumsum(mass)
    new = np.append(True, ranked[1:] != ranked[:-1])
    first = np.maximum.accumulate(np.where(new, after - mass, 0.0))
    last = np.where(np.roll(new, -1), after, np.inf)
    last = np.minimum.accumulate(last[::-1])[::-1]
    place = np.minimum(BINS * (first + last) / (2.0 * after[-1]), BINS - 1).astype(np.intp)
    sums = np.bincount(place, mass * (positive[order] - ranked), minlength=BINS)
    return float(np.abs(sums).sum() / weight.sum())


def reliability_bins(probability: Array, good: NDArray[np.bool_], weight: Array) -> tuple[Array, Array, Array] | None:
    """Return mean probability, share with the favourable label and rows of a few bins, or None with one label only.

    Bins start with about equal numbers of rows and are joined from the left until each has rows of either label; what
    is left over joins the last.
    """
    order = np.argsort(probability, kind="stable")
    pieces, started = list[NDArray[np.intp]](), np.empty(0, dtype=np.intp)
    for piece in np.array_split(order[weight[order] > 0], RELIABILITY_BINS):
        started = np.concatenate([started, piece])
        if len(piece) and min(good[started].sum(), (~good[started]).sum()) >= 1:
            pieces.append(started)
            started = started[:0]
    if not pieces:
        return None
    pieces[-1] = np.concatenate([pieces[-1], started])
    predicted = np.array([np.average(probability[piece], weights=weight[piece]) for piece in pieces])
    weights = np.array([[weight[piece][good[piece]].sum(), weight[piece][~good[piece]].sum()] for piece in pieces])
    rows = np.array([len(piece) for piece in pieces], dtype=np.float64)
    return predicted, ratio(weights[:, 0], weights.sum(axis=1)), rows


def _line(x: Array, targets: Array, weight: Array) -> tuple[float, float]:
    """Fit slope and offset on standardised values; NaN where there is none to be had."""
    share = weight / weight.sum()
    centre = float(x @ share)
    spread = float(np.sqrt((x - centre) ** 2 @ share))
    varied = spread > 1e-9 * (1.0 + abs(centre))
    spread = spread if varied else 1.0
    slope, offset, settled = _newton((x - centre) / spread, targets, share)
    if not (varied and settled):
        slope = offset = np.nan
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
    middle, positive, mass = value, up, up + down
    if len(value) > 2 * COARSE:
        starts = np.linspace(0, len(value), COARSE, endpoint=False).astype(np.intp)
        middle = value[(starts + np.append(starts[1:], len(value))) // 2]
        positive = np.add.reduceat(up, starts)
        mass = positive + np.add.reduceat(down, starts)
    x, share = _log_odds(middle, sign), mass / total
    centre = float(x @ share)
    spread = float(np.sqrt((x - centre) ** 2 @ share)) or 1.0
    start = spread, centre  # the line of scores that are calibrated
    slope, offset, settled = _newton((x - centre) / spread, positive / mass, share, start)
    if not settled and len(x) == len(value):
        return np.nan, np.nan
    line = np.array([slope, offset]) if settled else np.zeros(2)
    for _ in range(MAX_ITER):
        g, gx, h, hx, hxx = _sums(value, up, down, (sign, centre, spread), line) / total
        information = hxx - hx**2 / max(h, SMALLEST)
        if h < 1e-10 or information <= 0.0:
            break
        along = (gx - hx / h * g) / information
        step = np.array([along, (g - hx * along) / h])
        change = float(np.abs(step[0] * (ends - centre) / spread + step[1]).max())
        line = line + step * (np.log1p(change) / max(change, SMALLEST))
        if change < STEP:
            return float(line[0] / spread), float(1.0 / np.sqrt(information * size) / spread)
    return np.nan, np.nan


def _log_odds(value: Array, sign: float = 1.0) -> Array:
    return np.asarray(sign * logit(np.clip(value, 1e-12, 1.0 - 1e-12)))


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
    x: Array, targets: Array, share: Array, start: tuple[float, float] = (0.0, 0.0)
) -> tuple[float, float, bool]:
    """Minimise the logistic loss of slope x + offset; say whether it has settled.

    A step that changes scores by at most s changes curvatures by at most a factor exp(s): scaled by
    log(1 + s) / s it lowers the loss from anywhere, and is Newton's own near the end. Large steps are first
    tried in full. Without a finite optimum curvature fades while s stays near 1.
    """

    def loss(score: Array) -> float:
        return float((np.logaddexp(0.0, score) - targets * score) @ share)

    (slope, offset), settled = start, False
    for _ in range(MAX_ITER):
        score = slope * x + offset
        p = expit(score)
        residual, curvature = targets - p, p * (1.0 - p)
        g, gx, h = float(residual @ share), float((residual * x) @ share), max(float(curvature @ share), SMALLEST)
        middle = float((curvature * x) @ share) / h
        along = (gx - middle * g) / max(float((curvature * (x - middle) ** 2) @ share), SMALLEST)
        up = g / h - middle * along
        move = along * x + up
        change = float(np.abs(move).max())
        settled = change < 1e-9
        if settled or h < 1e-10:
            break
        scale = float(np.log1p(change)) / max(change, SMALLEST)
        if change > 1.0 and loss(score + move) < loss(score) - (along * gx + up * g) / 4.0:
            scale = 1.0
        slope, offset = slope + scale * along, offset + scale * up
    return slope, offset, settled
