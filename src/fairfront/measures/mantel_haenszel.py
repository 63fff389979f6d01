"""Gaps and ratios of rates pooled over levels with the weights of Mantel and Haenszel, n1 n0 / (n1 + n0)."""

from __future__ import annotations

import numpy as np

from ..objectives import Array
from .counts import ratio
from .proportions import Interval, normal_quantile


def mantel_haenszel_gap(s1: Array, n1: Array, s0: Array, n0: Array, confidence: float = 0.95) -> tuple[Array, Interval]:
    """Return the pooled difference of rates over strata (axis 0) with Sato's interval.

    Biometrics 45 (1989) 1323-1324: consistent for few large strata and for many small ones.
    """
    total = np.where(n1 + n0 > 0, n1 + n0, 1.0)
    weight = (n1 * n0 / total).sum(axis=0)
    gap = ratio(((s1 * n0 - s0 * n1) / total).sum(axis=0), weight)
    P = ((n1**2 * s0 - n0**2 * s1 + n1 * n0 * (n0 - n1) / 2.0) / total**2).sum(axis=0)
    Q = ((s1 * (n0 - s0) + s0 * (n1 - s1)) / (2.0 * total)).sum(axis=0)
    half = normal_quantile(confidence) * np.sqrt(np.maximum(ratio(gap * P + Q, weight**2), 0.0))
    return gap, (gap - half, gap + half)


def mantel_haenszel_ratio(
    s1: Array, n1: Array, s0: Array, n0: Array, confidence: float = 0.95
) -> tuple[Array, Interval]:
    """Return the pooled ratio of rates over strata (axis 0) with Greenland and Robins' interval.

    Biometrics 41 (1985) 55-68, the variance of the log of the ratio. The interval is (0, infinity) where nobody
    of the first group has it.
    """
    total = np.where(n1 + n0 > 0, n1 + n0, 1.0)
    R, S = (s1 * n0 / total).sum(axis=0), (s0 * n1 / total).sum(axis=0)
    spread = ((n1 * n0 * (s1 + s0) - s1 * s0 * total) / total**2).sum(axis=0)
    half = normal_quantile(confidence) * np.sqrt(ratio(spread, R * S))
    pooled, nobody = ratio(R, S), (R == 0) & (S > 0)
    return pooled, (np.where(nobody, 0.0, pooled * np.exp(-half)), np.where(nobody, np.inf, pooled * np.exp(half)))
