"""Interpolation: weights, multipliers and Hessians between solved points of a path.

A *branch* is a run of points at which the same constraints bind, on the same sides. Unconstrained
training, where the caps just begin to bind, belongs to the branch next to it. On a branch all three
are analytic functions of the share of the gap that is allowed, so that a polynomial through a few
points predicts the others to many digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..objectives import Array
from ..problems.factorisation import Factor
from .points import PathPoint

INTERPOLATION_NODES = 8
EXTRAPOLATION_NODES = 4  # beyond their nodes polynomials of higher degree are no better


@dataclass(frozen=True, eq=False)
class Interpolation:
    """The polynomial through points of one branch, at another share; the nearest point is first."""

    nodes: tuple[PathPoint, ...]
    coefficients: Array

    @property
    def nearest(self) -> PathPoint:
        return self.nodes[0]

    @property
    def W(self) -> Array:
        return self.blend([node.solution.W for node in self.nodes])

    @property
    def multipliers(self) -> Array:
        return self.blend([node.solution.multipliers for node in self.nodes])

    @property
    def hessian(self) -> Array:
        """Return the Hessian between those of the nodes, all of which have one."""
        hessians = []
        for node in self.nodes:
            assert isinstance(node.solution.factor, Factor)
            hessians.append(node.solution.factor.hessian)
        return self.blend(hessians)

    def blend(self, values: Sequence[Array]) -> Array:
        """Return the polynomial through values at the nodes."""
        total: Array = self.coefficients[0] * values[0]
        for coefficient, value in zip(self.coefficients[1:], values[1:], strict=True):
            total = total + coefficient * value
        return total


def interpolate(points: Sequence[PathPoint], share: float) -> Interpolation:
    """Interpolate on the branch of the nearest point, or extrapolate beyond its ends."""
    ordered = sorted(points, key=lambda point: point.share)
    nearest = min(ordered, key=lambda point: abs(point.share - share))
    branch = _branch(ordered, nearest)
    inside = branch[0].share <= share <= branch[-1].share
    branch.sort(key=lambda point: abs(point.share - share))
    nodes = tuple(branch[: INTERPOLATION_NODES if inside else EXTRAPOLATION_NODES])
    return Interpolation(nodes, lagrange_weights(np.array([node.share for node in nodes]), share))


def _branch(ordered: list[PathPoint], nearest: PathPoint) -> list[PathPoint]:
    """Return the run of points around one at which the same constraints bind as there."""
    is_plain = nearest.share == 1.0 and len(ordered) > 1
    inner = ordered[-2] if is_plain else nearest
    first = last = next(i for i, point in enumerate(ordered) if point is inner)
    while first > 0 and ordered[first - 1].active == inner.active:
        first -= 1
    while last + 1 < len(ordered) and ordered[last + 1].share < 1.0 and ordered[last + 1].active == inner.active:
        last += 1
    ends_at_training = last + 1 < len(ordered) and ordered[last + 1].share == 1.0
    return ordered[first : last + 1 + ends_at_training]


def lagrange_weights(nodes: Array, at: float) -> Array:
    """Return what values at the nodes count in the polynomial through them at a place."""
    return np.array([np.prod([(at - b) / (a - b) for b in nodes if b != a]) for a in nodes])
