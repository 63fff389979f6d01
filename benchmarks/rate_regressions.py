"""Regressions, and paired differences at equal held-out gap."""

from __future__ import annotations

import numpy as np

from . import judge
from .contest import Contest
from .peers import regression

HELD_SHARE = 2.0 / 3.0
"""Held-out rows (validation and test, 40 %) over training rows, for the corrected interval."""
REGRESSIONS = Contest(
    "regression", regression.PEERS, ("communities",), "fairfront_newton", caps=(0.25, 0.5), relative=True
)


def difference(
    mine: dict[str, float], other: dict[str, float], comparisons: int, share: float
) -> tuple[float, float, float] | None:
    """Return the paired difference with an interval that holds for so many comparisons at once."""
    shared = [seed for seed in mine if seed in other]
    if len(shared) < 3:
        return None
    values = np.array([mine[seed] - other[seed] for seed in shared])
    return judge.paired_interval(values, share, 1.0 - 0.05 / comparisons)
