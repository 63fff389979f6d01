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
from numpy.typing import NDArray

from ..objectives import Array
from ..problems import EstimatorProblem, Reading
from .quadratic import lasso

if TYPE_CHECKING:
    from .weighting import Weighting

FLIPPED = 6.0
"""How far below zero a weight may go, in shares of its cell, when its amount goes to the other label."""
PRIOR = 0.05
"""How much an even curvature counts beside the farthest fit."""


@dataclass(frozen=True)
class Space:
    """The few directions in which weights of cells can move: K (r, q) maps multipliers, its left inverse slopes."""

    K: Array
    inverse: Array
    B: Array
    shares: Array
    room: Array
    two_sided: NDArray[np.bool_]
    noise: float

    @classmethod
    def of(cls, problem: EstimatorProblem, beyond: bool = False) -> Space:
        """Return the directions of a problem; own-label weights stay at a fiftieth of their share, or go beyond 0."""
        B, shares = problem.algebra.B, problem.shares
        scale = np.divide(1.0, np.sqrt(shares), out=np.zeros_like(shares), where=shares > 0.0)
        U, sigma, _ = np.linalg.svd(B * scale, full_matrices=False)
        kept = sigma > 1e-9 * sigma.max()
        K = sigma[kept, None] * U[:, kept].T
        room = np.where(problem.own & (not beyond), 0.98, FLIPPED) * shares
        return cls(K, U[:, kept].T / sigma[kept, None], B, shares, room, problem.algebra.two_sided, problem.noise)

    def limited(self, start: Array, end: Array, most: float = 3.0) -> Array:
        """Return the way from start to end, cut where a weight gets too small or changes by too much at once."""
        here, move = start @ self.B, (end - start) @ self.B
        left = np.divide(here + self.room, -move, out=np.full(len(move), np.inf), where=move < -1e-15)
        change = float(np.max(np.abs(move)[self.shares > 0.0] / self.shares[self.shares > 0.0], initial=0.0))
        share = min(1.0, float(np.min(left, initial=np.inf)), most / max(change, 1e-300))
        return np.asarray(start + max(share, 0.0) * (end - start))

    def change(self, start: Array, end: Array) -> float:
        """Return the largest change of a cell's weight, relative to its share."""
        move = np.abs((end - start) @ self.B)
        return float(np.max(move[self.shares > 0.0] / self.shares[self.shares > 0.0], initial=0.0))


def bundle_path(
    problem: EstimatorProblem,
    config: Weighting,
    read: Callable[[Array], Reading],
    cap: float | None,
    fits: list[Reading],
) -> None:
    """Lower the cap on the worst gap level by level, or go to one cap, adding fits to the list.

    First inside non-negative weights; if they leave gaps open, and fits are left, beyond.
    """
    levels = _levels(problem, fits[0], cap, config.max_fits)
    if not len(levels):
        return
    fits.append(read(_first(Space.of(problem), fits[0], problem)))
    _descend(problem, Space.of(problem), config, read, levels, fits)
    left = levels[levels < _least(problem, fits) - config.tol * levels[0]]
    if len(left) and config.negative and problem.can_flip and problem.criterion.algebra.two_sided.all():
        _descend(problem, Space.of(problem, beyond=True), config, read, left, fits)


def _descend(
    problem: EstimatorProblem,
    space: Space,
    config: Weighting,
    read: Callable[[Array], Reading],
    levels: Array,
    fits: list[Reading],
) -> None:
    """Solve for one level after the other, sharing what is left of the fits among them."""
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
        if idle == 3:  # the gaps are as small as these weights make them
            return


def _least(problem: EstimatorProblem, fits: list[Reading]) -> float:
    """Return the smallest worst gap of the fits."""
    return min(float(problem.criterion.algebra.violation(fit.gaps).max()) for fit in fits)


def _levels(problem: EstimatorProblem, plain: Reading, cap: float | None, max_fits: int) -> Array:
    """Return falling caps: to zero, to the mean loss where only one side counts, or the one cap asked for."""
    algebra = problem.criterion.algebra
    top = float(algebra.violation(plain.gaps).max())
    if cap is not None:
        return np.array([cap] if top > cap else [])
    bottom = 0.0 if algebra.two_sided.all() else max(plain.loss - float(algebra.b.max()), 0.0)
    count = int(np.clip(max_fits // 2, 3, 20))
    return np.linspace(top, min(bottom, top), count + 1)[1:]


def _first(space: Space, plain: Reading, problem: EstimatorProblem) -> Array:
    """Return a first step: the worst gap's multiplier alone, changing no weight by more than half."""
    sizes = problem.criterion.algebra.violation(plain.gaps)
    worst = int(np.argmax(sizes))
    move = np.zeros(len(sizes))
    move[worst] = 1.0 if plain.driven[worst] >= 0.0 else -1.0
    return space.limited(np.zeros(len(sizes)), move / max(space.change(np.zeros(len(sizes)), move), 1e-300), 0.5)


def _next(space: Space, fits: list[Reading], level: float, tol: float) -> Array | None:
    """Return where the model of all fits has its solution; None where one of them has been there.

    Fits count by how near they are to the solution, so that it is found by looking for it a few times.
    """
    lam = np.stack([fit.multipliers for fit in fits])
    z = np.stack([fit.driven for fit in fits])
    u, y = lam @ space.K.T, z @ space.inverse.T
    size = _mean_curvature(u, y)
    blur = max(space.noise, 1e-7) * float(np.sqrt((u**2).sum(axis=1)).max())
    aim = lam[-1]
    for _ in range(4):
        weight = 1.0 / (((u - space.K @ aim) ** 2).sum(axis=1) + blur**2) ** 2
        weight /= weight.sum()
        M = space.K.T @ _curvature(u, y, weight, size) @ space.K
        aim = lasso(M, weight @ (z + lam @ M), level, space.two_sided, space.B, space.room)
    nearest = min(lam, key=lambda there: space.change(there, aim))
    if space.change(nearest, aim) < max(0.5 * tol, 0.2 * space.noise):
        return None
    return space.limited(nearest, aim)


def _mean_curvature(u: Array, y: Array) -> float:
    """Return how fast slopes fall per unit of u on average over the fits; positive whatever the noise."""
    du, dy = u[1:] - u[0], y[0] - y[1:]
    top, bottom = float((du * dy).sum()), float((du * du).sum())
    scale = float(np.abs(y[0]).max()) / max(float(np.sqrt(bottom)), 1e-300)
    return max(top / max(bottom, 1e-300), 0.05 * scale, 1e-300)


def _curvature(u: Array, y: Array, weight: Array, size: float) -> Array:
    """Return the symmetric positive C that explains how y falls with u best, fits counting by their weights."""
    r = u.shape[1]
    root = np.sqrt(weight)[:, None]
    du, dy = root * (u - weight @ u), root * (weight @ y - y)
    scale = max(float(np.sqrt((du**2).sum(axis=1)).max()), 1e-300)
    pairs = [(i, j) for i in range(r) for j in range(i, r)]
    rows = np.zeros((len(du), r, len(pairs)))
    for place, (i, j) in enumerate(pairs):
        rows[:, i, place] += du[:, j]
        if i != j:
            rows[:, j, place] += du[:, i]
    prior = PRIOR * np.eye(len(pairs))
    first = np.array([size if i == j else 0.0 for i, j in pairs])
    A = np.vstack([rows.reshape(-1, len(pairs)) / scale, prior])
    b = np.concatenate([dy.reshape(-1) / scale, prior @ first])
    found = np.linalg.lstsq(A, b, rcond=None)[0]
    C = np.zeros((r, r))
    for value, (i, j) in zip(found, pairs, strict=True):
        C[i, j] = C[j, i] = value
    values, vectors = np.linalg.eigh(C)
    return np.asarray((vectors * np.clip(values, 0.05 * size, 50.0 * size)) @ vectors.T)
