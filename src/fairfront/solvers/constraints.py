"""Constraints of a point: caps on gaps first, guards of groups after them, bounds on signed weights last."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import InputError
from ..objectives import Algebra, Array
from ..problems import LinearProblem
from ..problems.point import Augmented

if TYPE_CHECKING:
    from .newton import Newton

INSIDE = 1e-9  # how far below its cap a gap is inside it, as a share of the largest gap


def constraints(newton: Newton, problem: LinearProblem, plain: Array) -> Algebra:
    """Return the rows of caps, of guards that the options ask for, and of signs, after plain training (K, d)."""
    rows = problem.algebra
    if newton.no_group_worse is not None:
        rows = with_guards(problem, rows, plain, newton.no_group_worse)
    return rows.bounded(len(problem.terms))


def with_guards(problem: LinearProblem, rows: Algebra, plain: Array, allowed: float) -> Algebra:
    """Add one row per compared average: it may not get worse than under plain training by more than ``allowed``.

    Better is a smaller loss, a smaller smooth error, or a larger share decided as the label in question; where all rows
    are compared on every class, only the favourable class has a better side.
    """
    averages = problem.layout.averages
    if any(average.quantity.kind in ("score", "prediction") for average in averages):
        raise InputError(
            "no_group_worse has no meaning for mean predictions, which have no better side; "
            "use notion='disparate_mistreatment'."
        )
    assert rows.means is not None
    high = np.array([a.quantity.kind == "rate" and a.quantity.label is not None for a in averages])
    stated = np.array([a.labels is not None or a.quantity.label in (None, problem.task.favourable) for a in averages])
    assert rows.signs is not None
    better = np.zeros((len(rows.means), int(stated.sum())))  # averages of terms of the weights come last
    better[: len(averages)] = np.diag(np.where(high, -1.0, 1.0))[:, stated]
    signed = better.T @ rows.means
    b = np.concatenate([rows.b, signed @ problem.values(plain[None])[0] + allowed])
    two_sided = np.concatenate([rows.two_sided, np.zeros(len(signed), dtype=bool)])
    signs = np.hstack([rows.signs, better])
    return replace(rows, B=np.vstack([rows.B, signed]), b=b, two_sided=two_sided, signs=signs)


def true_multipliers(rows: Algebra, factor: Any, x: Array, move: Array, z: Array, ahead: Array, caps: Array) -> Array:
    """Return the multipliers of a step that takes constraints from z to ``ahead``, in the metric without additions."""
    if not isinstance(factor, Augmented):
        return x
    inside = np.where(rows.two_sided, np.abs(ahead), ahead) < caps - INSIDE * np.abs(z).max()
    return np.where((x == 0) & inside, 0.0, factor.corrected(x, move))
