"""Preferences for runs that were given none: lines through evenly shrinking gaps."""

from __future__ import annotations

import numpy as np

from ..objectives import Array
from ..problems import LinearProblem
from .base import TINY, tops

NO_GAP = 1e-6
"""Gap that counts as one, as a share of the largest: a gap of 0 has no preference."""


def largest_gaps(problem: LinearProblem, plain: Array) -> Array:
    """Return the worst gap of each notion under the unconstrained model, one number per gap (q,)."""
    algebra = problem.algebra
    sizes = algebra.violation(algebra.gaps(problem.values(plain[None])))[0]
    top = tops(algebra, sizes)
    return np.maximum(top, NO_GAP * max(float(top.max()), NO_GAP))


def preferences_through(problem: LinearProblem, plain: Array, gaps: Array) -> Array:
    """Return preferences (R, m) whose lines pass through gaps (R, q) at the loss of ``plain``."""
    algebra = problem.algebra
    loss = float(algebra.loss(problem.values(plain[None]))[0])
    ratios = loss / np.maximum(algebra.gap.value(gaps), TINY)
    return np.column_stack([np.ones(len(gaps)), ratios])


def even_gaps(top: Array, lowest: Array, count: int, smallest: float) -> Array:
    """Return gaps (count, q) that shrink evenly from ``top``, itself left out, to ``lowest``.

    The last ones are a share ``smallest`` of the way above it.
    """
    shares = np.linspace(1.0, smallest, count + 1)[1:, None]
    return np.asarray(lowest + shares * np.maximum(top - lowest, 0.0))
