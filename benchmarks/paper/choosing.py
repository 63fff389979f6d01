"""How a model is chosen among candidates: on the rows that are handed in, which are validation rows unless said."""

from __future__ import annotations

import numpy as np

KEEP = 0.97
"""Candidates must keep this share of plain training's accuracy to be chosen for their small gap."""


def least_gap(error: np.ndarray, gap: np.ndarray, plain_error: float, keep: float = KEEP) -> int:
    """Return the candidate with the smallest |gap| among those that keep enough of plain training's accuracy.

    If none does, the most accurate one.
    """
    allowed = np.flatnonzero(1.0 - error >= keep * (1.0 - plain_error))
    if not len(allowed):
        return int(np.argmin(error))
    return int(allowed[np.argmin(np.abs(gap[allowed]))])


def least_error(error: np.ndarray, gap: np.ndarray, cap: float) -> int:
    """Return the candidate with the smallest error among those with |gap| <= cap, or with the smallest |gap|."""
    size = np.abs(gap)
    allowed = np.flatnonzero(size <= max(cap, float(size.min())))
    return int(allowed[np.argmin(error[allowed])])
