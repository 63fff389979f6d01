"""Several gaps at once: the dual of the capped problem, from all fits so far, with few of them.

    max_lambda  g(lambda) - eps |lambda|_1,    g(lambda) = min loss + lambda.z,    grad g = z,    p + B^T lambda >= 0

Pairs of c groups have c - 1 degrees of freedom: u = Sigma U^T lambda, from B D = U Sigma V^T with D scaling cells to
relative weights. Every fit gives a slope y = Sigma^-1 U^T z of the dual; the bundle of all of them gives a curvature C
(symmetric, positive, least squares), and the quadratic model of the capped dual is a small lasso.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..objectives import Array
from ..problems import EstimatorProblem, Reading
from .base import TINY
from .least_distance import lasso

if TYPE_CHECKING:
    from .search import Weighting

Read = Callable[[Array], Reading]
"""Fits at multipliers (q,) and measures; raises `StopSearch` where a fit fails."""
FLIPPED = 6.0  # how far below zero a weight may go, in shares of its cell, when its amount goes to the other label
KEPT = 0.02  # share of its cell that a weight of own labels keeps: a fit without a cell's rows says nothing about them
FARTHEST, FIRST = 3.0, 0.5  # most that a cell's weight changes in one step, and in the first, in shares of the cell
LEVELS = (3, 20)  # fewest and most levels of the cap
IDLE = 3  # levels in a row without a smaller gap: the gaps are as small as these weights make them
LOOKS = 4  # times that the solution is looked for: fits count by how near they are to it
FLATTEST, STEEPEST = 0.05, 50.0  # bounds on curvatures, in units of the mean one: noise makes others
DEPENDENT, UNMOVED, SHARP = 1e-9, 1e-15, 1e-7
"""Shares of the largest singular value below which gaps depend on each other, changes of a cell's weight that are none,
and how near two fits are at least taken to be, as a share of the farthest: their distance is divided by."""
PRIOR = 0.05  # how much an even curvature counts beside the farthest fit


@dataclass(frozen=True)
class Space:
    """The few directions in which weights of cells can move: K (r, q) maps multipliers, its left inverse slopes."""

    problem: EstimatorProblem
    K: Array
    inverse: Array
    room: Array

    @classmethod
    def of(cls, problem: EstimatorProblem, beyond: bool = False) -> Space:
        """Return the directions of a problem; own-label weights keep some of their share, or go beyond 0."""
        shares = problem.shares
        scale = np.divide(1.0, np.sqrt(shares), out=np.zeros_like(shares), where=shares > 0.0)
        U, sigma, _ = np.linalg.svd(problem.algebra.B * scale, full_matrices=False)
        kept = sigma > DEPENDENT * sigma.max()
        room = np.where(problem.own & (not beyond), 1.0 - KEPT, FLIPPED) * shares
        return cls(problem, sigma[kept, None] * U[:, kept].T, U[:, kept].T / sigma[kept, None], room)

    def limited(self, start: Array, end: Array, most: float = FARTHEST) -> Array:
        """Return the way from start to end, cut where a weight gets too small or changes by too much at once."""
        B = self.problem.algebra.B
        here, move = start @ B, (end - start) @ B
        left = np.divide(here + self.room, -move, out=np.full(len(move), np.inf), where=move < -UNMOVED)
        share = min(1.0, float(np.min(left, initial=np.inf)), most / max(self.change(start, end), TINY))
        return np.asarray(start + max(share, 0.0) * (end - start))

    def change(self, start: Array, end: Array) -> float:
        """The largest change of a cell's weight, relative to its share."""
        move, shares = np.abs((end - start) @ self.problem.algebra.B), self.problem.shares
        return float(np.max(move[shares > 0.0] / shares[shares > 0.0], initial=0.0))


def bundle_path(
    problem: EstimatorProblem, config: Weighting, read: Read, cap: float | None, fits: list[Reading]
) -> None:
    """Lower the cap on the worst gap level by level, or go to one cap, adding fits to the list.

    Levels fall to zero, or to the mean loss where only one side counts. First inside non-negative weights; if they
    leave gaps open, and fits are left, beyond.
    """
    algebra, plain = problem.criterion.algebra, fits[0]
    sizes, space = algebra.violation(plain.gaps), Space.of(problem)
    top = float(sizes.max())
    bottom = 0.0 if algebra.two_sided.all() else max(plain.loss - float(algebra.b.max()), 0.0)
    levels = np.linspace(top, min(bottom, top), int(np.clip(config.max_fits // 2, *LEVELS)) + 1)[1:]
    if cap is not None:
        levels = np.array([cap] if top > cap else [])
    if not len(levels):
        return
    none, move, worst = np.zeros(len(sizes)), np.zeros(len(sizes)), int(np.argmax(sizes))
    move[worst] = 1.0 if plain.driven[worst] >= 0.0 else -1.0
    fits.append(read(space.limited(none, move / max(space.change(none, move), TINY), FIRST)))
    _descend(space, config, read, levels, fits)
    left = levels[levels < _least(problem, fits) - config.tol * levels[0]]
    if len(left) and config.negative and problem.can_flip and algebra.two_sided.all():
        _descend(Space.of(problem, beyond=True), config, read, left, fits)


def _descend(space: Space, config: Weighting, read: Read, levels: Array, fits: list[Reading]) -> None:
    """Solve for one level after the other, sharing what is left of the fits among them."""
    problem = space.problem
    best, idle = _least(problem, fits), 0
    for place, level in enumerate(levels):
        left = config.max_fits - len(fits)
        for _ in range(min(left, max(1, left // (len(levels) - place)))):
            end = _next(space, fits, float(level), config.tol)
            if end is None:
                break
            fits.append(read(end))
        gain, best = best - _least(problem, fits), _least(problem, fits)
        width = config.tol * (_least(problem, fits[:1]) - best)
        idle = 0 if gain > width or best <= level + width else idle + 1
        if idle == IDLE:
            return


def _least(problem: EstimatorProblem, fits: list[Reading]) -> float:
    return min(float(problem.criterion.algebra.violation(fit.gaps).max()) for fit in fits)


def _next(space: Space, fits: list[Reading], level: float, tol: float) -> Array | None:
    """Return where the model of all fits has its solution; None where one of them has been there.

    Fits count by how near they are to the solution, so that it is found by looking for it a few times.
    """
    lam = np.stack([fit.multipliers for fit in fits])
    z = np.stack([fit.driven for fit in fits])
    u, y = lam @ space.K.T, z @ space.inverse.T
    du, dy = u[1:] - u[0], y[0] - y[1:]
    bottom = float((du * du).sum())
    scale = float(np.abs(y[0]).max()) / max(float(np.sqrt(bottom)), TINY)
    size = max(float((du * dy).sum()) / max(bottom, TINY), FLATTEST * scale, TINY)  # mean curvature, whatever the noise
    algebra, noise = space.problem.algebra, space.problem.noise
    blur = max(noise, SHARP) * float(np.sqrt((u**2).sum(axis=1)).max())
    aim = lam[-1]
    for _ in range(LOOKS):
        weight = 1.0 / (((u - space.K @ aim) ** 2).sum(axis=1) + blur**2) ** 2
        weight /= weight.sum()
        M = space.K.T @ _curvature(u, y, weight, size) @ space.K
        aim = lasso(M, weight @ (z + lam @ M), level, algebra.two_sided, algebra.B, space.room)
    nearest = min(lam, key=lambda there: space.change(there, aim))
    if space.change(nearest, aim) < max(0.5 * tol, 0.2 * noise):
        return None
    return space.limited(nearest, aim)


def _curvature(u: Array, y: Array, weight: Array, size: float) -> Array:
    """Return the symmetric positive C that explains how y falls with u best, fits counting by their weights."""
    r = u.shape[1]
    root = np.sqrt(weight)[:, None]
    du, dy = root * (u - weight @ u), root * (weight @ y - y)
    scale = max(float(np.sqrt((du**2).sum(axis=1)).max()), TINY)
    i, j = np.triu_indices(r)
    each = np.arange(len(i))
    rows = np.zeros((len(du), r, len(each)))
    rows[:, i, each], rows[:, j, each] = du[:, j], du[:, i]
    prior = PRIOR * np.eye(len(each))
    A = np.vstack([rows.reshape(-1, len(each)) / scale, prior])
    b = np.concatenate([dy.reshape(-1) / scale, prior @ np.where(i == j, size, 0.0)])
    C = np.zeros((r, r))
    C[i, j] = C[j, i] = np.linalg.lstsq(A, b, rcond=None)[0]
    values, vectors = np.linalg.eigh(C)
    return np.asarray((vectors * np.clip(values, FLATTEST * size, STEEPEST * size)) @ vectors.T)
