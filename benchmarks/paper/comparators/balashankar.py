"""Balashankar et al. (2019) as a notion: every group's loss against the best that it could reach alone.

The gap of a group is its mean loss minus the loss of a model fitted to that group only (same penalty); one-sided,
each group on its own. It is bounded group loss with one floor per group, which the algebra's offset b holds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import fairfront as ff
from fairfront.objectives.notions import GroupLoss

from .base import Array


def against_own_best(X: Any, y: Any, *, sensitive_features: Any, **options: Any) -> tuple[Any, Array]:
    """Return fairfront's problem with the notion, and the best loss of each group alone."""
    problem = ff.linear_problem(X, y, sensitive_features=sensitive_features, notion=GroupLoss(), **options)
    best = own_best(problem)
    return problem.with_algebra(replace(problem.algebra, b=best)), best


def own_best(problem: Any) -> Array:
    """Return the mean loss of each group under the model that is fitted to that group only."""
    best = []
    for row in problem.algebra.B:
        omega = row.copy()
        omega[-1] = problem.algebra.p[-1]
        best.append(float(row @ problem.values(problem.fit(omega)[None])[0]))
    return np.array(best)
