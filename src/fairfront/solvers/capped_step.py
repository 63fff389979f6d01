"""The capped step: down the loss, and along it just as far as caps on the gaps ask.

With loss gradient g (r,) and gap gradients C (q, r), the step y (r,) solves

    min  eta g.y + |y|^2 / 2    subject to   |z + C y| <= caps                          (1)

without the absolute value where only one side of a gap counts. Its answer has signed multipliers x,

    y = -eta g - C^T x,    in cell coordinates  beta = eta p + B^T x.                   (2)

The part along the gap gradients is the shortest that reaches the caps; what is left of the loss
gradient goes down without moving the gaps that are at their caps. In v = y + eta g problem (1) is
least distance programming (`least_distance`), with the gaps r = z - eta C g that a plain gradient
step would leave. A single gap has a closed form, for all runs together: the soft threshold

    x = sign(r) max(|r| - cap, 0) / |C|^2.                                              (3)

All of it needs only the inner products Q of the cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..objectives import Algebra, Array
from ..problems.base import Runs
from .base import TINY, TOLERANCES, Mask
from .least_distance import least_distance
from .simplex import factor

RELAXATIONS = (0.0, 0.5, 0.9, 1.0)
"""Shares of the way from the caps to the present gaps, tried in turn until caps can be met."""
STANDING_STILL = 1e-12
"""Share of the largest eigenvalue below which gaps that are to stay as they are depend on others."""


def signed_sizes(algebra: Algebra, z: Array) -> Array:
    """Return what caps limit, (R, q): |z|, or z where only one side counts."""
    return np.where(algebra.two_sided, np.abs(z), z)


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Loss and gaps of R runs, linear around their points: gaps z (R, q), inner products Q."""

    algebra: Algebra
    z: Array
    Q: Array

    def take(self, runs: Runs) -> LinearModel:
        """Return the model of some runs."""
        return LinearModel(self.algebra, self.z[runs], self.Q[runs])

    @cached_property
    def loss_slopes(self) -> Array:
        """Return Q p, (R, k): how cells change along the loss gradient."""
        return np.asarray(self.Q @ self.algebra.p)

    @cached_property
    def loss_length2(self) -> Array:
        """Return |g|^2, (R,)."""
        return np.asarray(self.loss_slopes @ self.algebra.p)

    @cached_property
    def gap_slopes(self) -> Array:
        """Return C g, (R, q): how gaps change along the loss gradient."""
        return np.asarray(self.loss_slopes @ self.algebra.B.T)

    @cached_property
    def gap_length2(self) -> Array:
        """Return |C_j|^2, (R, q), 0 where it is rounding."""
        B = self.algebra.B
        length2 = np.vecdot(B @ self.Q, B)
        terms = np.vecdot(np.abs(B) @ np.abs(self.Q), np.abs(B))
        # Squares are known to the rounding of the terms that they are differences of.
        return np.where(length2 > TOLERANCES.zero_row * terms, length2, 0.0)

    @cached_property
    def gap_gradients(self) -> Array:
        """Return C (R, q, r) in orthonormal coordinates, with rows that are rounding set to 0."""
        F = factor(self.Q)
        C = self.algebra.B @ F
        terms = np.linalg.norm(F, axis=2) @ np.abs(self.algebra.B).T
        C[np.linalg.norm(C, axis=2) <= TOLERANCES.zero_gradient * terms] = 0.0
        return np.asarray(C)


@dataclass(frozen=True, eq=False)
class CappedStep:
    """A batch of solutions of (1), and what they promise to first order.

    beta (R, k), x (R, q)                (2); x / eta are the prices of the caps, in loss per gap
    loss_change (R,), gap_changes (R, q) negative loss changes are falls
    length2 (R,)                         |y|^2
    relaxed (R,)                         the caps contradict each other, and wider ones were used
    """

    beta: Array
    x: Array
    loss_change: Array
    gap_changes: Array
    length2: Array
    relaxed: Mask


def capped_step(algebra: Algebra, Q: Array, z: Array, caps: Array, eta: Array) -> CappedStep:
    """Solve (1) for every run: gaps z and caps (R, q), step sizes eta (R,)."""
    return step_within(LinearModel(algebra, z, Q), caps, eta)


def step_within(model: LinearModel, caps: Array, eta: Array) -> CappedStep:
    """Solve (1) for every run of a linear model."""
    algebra, found = model.algebra, multipliers_within(model, caps, eta)
    beta = eta[:, None] * algebra.p + found.x @ algebra.B  # (2)
    cell_changes = -np.matvec(model.Q, beta)
    return CappedStep(
        beta,
        found.x,
        loss_change=cell_changes @ algebra.p,
        gap_changes=cell_changes @ algebra.B.T,
        length2=-np.vecdot(beta, cell_changes),
        relaxed=found.relaxed,
    )


@dataclass(frozen=True, eq=False)
class Multipliers:
    """x (R, q) of (2), and the runs whose caps contradict each other."""

    x: Array
    relaxed: Mask

    def loss_change(self, model: LinearModel, eta: Array) -> Array:
        """Return g.y, (R,), without the rest of the step."""
        return np.asarray(-eta * model.loss_length2 - np.vecdot(self.x, model.gap_slopes))


def multipliers_within(model: LinearModel, caps: Array, eta: Array) -> Multipliers:
    """Return the multipliers of (1) for every run of a linear model."""
    r = model.z - eta[:, None] * model.gap_slopes
    beyond = signed_sizes(model.algebra, r) - caps
    if r.shape[1] == 1:
        relaxed = (beyond[:, 0] > 0.0) & (model.gap_length2[:, 0] == 0.0)
        return Multipliers(_soft_threshold(model, r, beyond), relaxed)
    x, relaxed = np.zeros_like(r), np.zeros(len(r), dtype=bool)
    for run in np.flatnonzero((beyond > 0.0).any(axis=1)).tolist():
        x[run], relaxed[run] = _multipliers(model, run, r[run], caps[run])
    return Multipliers(x, relaxed)


def _soft_threshold(model: LinearModel, r: Array, beyond: Array) -> Array:
    """Return the multipliers (3) of a single gap; 0 where it has no gradient to move along."""
    excess = np.maximum(beyond, 0.0)
    x = np.divide(excess, model.gap_length2, out=np.zeros_like(r), where=model.gap_length2 > 0.0)
    return np.where(model.algebra.two_sided, np.sign(r) * x, x)


def _multipliers(model: LinearModel, run: int, r: Array, caps: Array) -> tuple[Array, bool]:
    """Return the multipliers of one run, and whether its caps had to be relaxed."""
    C, two_sided = model.gap_gradients[run], model.algebra.two_sided
    present = signed_sizes(model.algebra, model.z[run])
    way = np.maximum(present - caps, 0.0)
    for share in RELAXATIONS:
        x = least_distance(C, r, caps + share * way, two_sided)
        if x is not None:
            return x, share > 0.0
    return _standing_still(C, r - model.z[run]), True


def _standing_still(C: Array, moved: Array) -> Array:
    """Return the multipliers that leave all gaps as they are, where even that is hard to solve for."""
    if len(C) > C.shape[1]:
        inner = np.linalg.pinv(C.T @ C, rcond=STANDING_STILL, hermitian=True)
        return np.asarray(C @ (inner @ (inner @ (C.T @ moved))))
    return np.asarray(np.linalg.pinv(C @ C.T, rcond=STANDING_STILL, hermitian=True) @ moved)


def share_along(model: LinearModel, step: CappedStep) -> Array:
    """Return the share (R,) of |y|^2 that moves the gaps at their caps; the rest goes down the loss."""
    length2 = np.maximum(step.length2, TINY)
    if model.z.shape[1] == 1:
        along2 = np.zeros_like(length2)
        moving = step.x[:, 0] != 0.0
        change2 = step.gap_changes[:, 0] ** 2
        np.divide(change2, model.gap_length2[:, 0], out=along2, where=moving)
        return np.asarray(along2 / length2)
    along2 = np.zeros_like(length2)
    for run in np.flatnonzero(step.x.any(axis=1)):
        at_caps = step.x[run] != 0.0
        C, change = model.gap_gradients[run][at_caps], step.gap_changes[run][at_caps]
        inverse = np.linalg.pinv(C @ C.T, rcond=TOLERANCES.dependent, hermitian=True)
        along2[run] = change @ inverse @ change
    return np.asarray(along2 / length2)
