"""Forecasts: what the two gaits of PB-PDO do to first order (the formulas are those of `pb_pdo`).

Either step is a combination of the gradients of loss and gaps,

    y = -eta (price_0 g + C^T prices),                                                   (1)

with price_0 = 1 where a run slides, and lambda_1 pi_1 where it descends (`level_step`). The prices
of a step that does not slide are multipliers, and its Lagrangian is price_0 loss + prices.z.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..objectives import Algebra, Array
from ..problems import Point
from .base import TINY, TOLERANCES, Mask
from .capped_step import (
    CappedStep,
    LinearModel,
    multipliers_within,
    share_along,
    signed_sizes,
    step_within,
)
from .level_step import level_step
from .roots import falling_root
from .simplex import factor

LEVEL_ACCURACY = 1e-2
"""Share of the predicted fall of the level to which the level that a step aims at is found: the
equation is linearised anew in every step."""


@dataclass(frozen=True, eq=False)
class WeightedPoint:
    """R runs at a point, with their preferences pi (R, m)."""

    algebra: Algebra
    point: Point
    pi: Array

    def take(self, runs: Mask) -> WeightedPoint:
        """Return some of the runs."""
        return WeightedPoint(self.algebra, self.point.take(runs), self.pi[runs])

    @cached_property
    def values(self) -> Array:
        """Return v_i = pi_i h_i, (R, m)."""
        return np.asarray(self.pi * self.algebra.objectives(self.point.L))

    @cached_property
    def level(self) -> Array:
        """Return M = max_i pi_i h_i, (R,)."""
        return np.asarray(self.values.max(axis=1))

    @cached_property
    def loss(self) -> Array:
        """Return the loss, (R,)."""
        return self.algebra.loss(self.point.L)

    @cached_property
    def model(self) -> LinearModel:
        """Return loss and gaps to first order."""
        return LinearModel(self.algebra, self.algebra.gaps(self.point.L), self.point.Q)

    @cached_property
    def penalty_slopes(self) -> Array:
        """Return phi'(z), (R, q)."""
        return self.algebra.gap.slope(_counted(self.algebra, self.model.z))

    def caps(self, level: Array) -> Array:
        """Return the caps c_j(t) = phi^-1(t / pi_j) of levels t, (R, q)."""
        return self.algebra.gap.inverse(np.maximum(level, 0.0)[:, None] / self.pi[:, 1:])

    def natural_steps(self) -> Array:
        """Return step sizes (R,) that are free of units.

        The steepest objective promises to fall by the size of the largest.
        """
        A = self.algebra.jacobian(self.point.L)
        slope2 = np.einsum("rik,rkl,ril->ri", A, self.point.Q, A).max(axis=1)
        size = np.abs(self.algebra.objectives(self.point.L)).max(axis=1)
        steps = np.ones_like(size)
        np.divide(size, slope2, out=steps, where=(slope2 > 0.0) & (size > 0.0))
        return np.asarray(steps)


@dataclass(frozen=True, eq=False)
class Forecast:
    """Per run: what a step is predicted to do, and with which prices.

    level_before                at the point itself
    level, loss, gaps (q,)      after the step, to first order
    loss_price, prices (q,)     price_0 and the prices of the gaps in (1)
    eta, length2                its step size, and |y|^2
    along                       it moves the gaps more than it goes down the loss
    relaxed                     its caps contradict each other, and wider ones were used
    descends                    its gait
    """

    level_before: Array
    level: Array
    loss: Array
    gaps: Array
    loss_price: Array
    prices: Array
    eta: Array
    length2: Array
    along: Mask
    relaxed: Mask
    descends: Mask

    def replaced(self, runs: Mask, other: Forecast) -> Forecast:
        """Return this forecast with the runs in the mask from the other one."""
        parts = {name: part.copy() for name, part in vars(self).items()}
        for name, part in vars(other).items():
            parts[name][runs] = part
        return Forecast(**parts)

    def beta(self, algebra: Algebra) -> Array:
        """Return (1) in cell coordinates, (R, k)."""
        combination = self.loss_price[:, None] * algebra.p + self.prices @ algebra.B
        return np.asarray(self.eta[:, None] * combination)

    def objective_weights(self, at: WeightedPoint) -> Array:
        """Return the weights (R, m) of the gradients g_i in (1); a gap of 0 has no gradient."""
        of_gaps = np.zeros_like(self.prices)
        np.divide(self.prices, at.penalty_slopes, out=of_gaps, where=np.abs(at.penalty_slopes) > TINY)
        return np.column_stack([self.loss_price, np.maximum(of_gaps, 0.0)])

    def longest_steps(self, algebra: Algebra, new: Point) -> Array:
        """Return 1 / the curvature of the Lagrangian along the step, where that can be measured."""
        # Prices of a step that slides are what the slide takes, not multipliers: the loss has to do.
        prices = np.where(self.along[:, None], 0.0, self.prices)
        bend = self.loss_price * (algebra.loss(new.L) - self.loss)
        bend += (prices * (algebra.gaps(new.L) - self.gaps)).sum(axis=1)
        unit = np.abs(self.loss_price * self.loss) + np.abs(prices * self.gaps).sum(axis=1)
        measurable = self.length2 / self.eta > TOLERANCES.measurable * unit
        longest = np.full(len(bend), np.inf)
        np.divide(0.5 * self.length2, bend, out=longest, where=measurable & (bend > 0.0))
        return np.where(measurable, longest, self.eta)


def slide_forecast(at: WeightedPoint, eta: Array, slide: Array) -> Forecast:
    """Return the capped step to the lowest level that it can keep, but one slide down at most."""
    algebra = at.algebra
    target = _lowest_level(at, eta, slide)
    step = step_within(at.model, at.caps(target), eta)
    gaps = at.model.z + step.gap_changes
    loss = at.loss + step.loss_change
    penalties = algebra.gap.value(_counted(algebra, gaps))
    return Forecast(
        level_before=at.level,
        level=(at.pi * np.column_stack([loss, penalties])).max(axis=1),
        loss=loss,
        gaps=gaps,
        loss_price=np.ones(len(loss)),
        prices=step.x / eta[:, None],
        eta=eta,
        length2=step.length2,
        along=share_along(at.model, step) > 0.5,
        relaxed=step.relaxed | _misses_caps(at, step, target),
        descends=np.zeros(len(loss), dtype=bool),
    )


def _lowest_level(at: WeightedPoint, eta: Array, slide: Array) -> Array:
    """Return the levels t (R,) with pi_1 (loss after the step to c(t)) = t, one slide down at most."""
    gap = at.algebra.gap
    worst = gap.inverse(np.maximum(at.values[:, 1:].max(axis=1), 0.0))
    lowest = gap.value(np.maximum(worst - slide, 0.0))

    def excess(t: Array) -> Array:
        """Return by how much the loss after the step to level t is above it."""
        found = multipliers_within(at.model, at.caps(t), eta)
        return at.pi[:, 0] * (at.loss + found.loss_change(at.model, eta)) - t

    return falling_root(excess, lowest, at.level, LEVEL_ACCURACY)


def _misses_caps(at: WeightedPoint, step: CappedStep, level: Array) -> Mask:
    """Tell which steps leave a gap above its cap, to first order."""
    caps, z = at.caps(level), at.model.z
    missed = signed_sizes(at.algebra, z + step.gap_changes) - caps
    beyond = np.maximum(signed_sizes(at.algebra, z) - caps, 0.0).max(axis=1)
    rounding = TOLERANCES.contradiction * np.abs(z).max(axis=1)
    return np.asarray(missed.max(axis=1) > TOLERANCES.violation * beyond + rounding)


def _counted(algebra: Algebra, z: Array) -> Array:
    """Return gaps as phi takes them: the harmless side of one-sided ones is 0 if phi is even."""
    return np.where(algebra.two_sided, z, np.maximum(z, 0.0)) if algebra.gap.even else z


def descent_forecast(at: WeightedPoint, eta: Array) -> Forecast:
    """Return the level step of every run."""
    algebra = at.algebra
    gradients = at.pi[:, :, None] * (algebra.jacobian(at.point.L) @ factor(at.point.Q))
    steps = [level_step(*run) for run in zip(at.values, gradients, eta.tolist(), strict=True)]
    weights = at.pi * np.array([step.weights for step in steps])  # of the gradients g_i
    eta = np.array([step.eta for step in steps])
    loss_price, prices = weights[:, 0], weights[:, 1:] * at.penalty_slopes
    beta = eta[:, None] * (loss_price[:, None] * algebra.p + prices @ algebra.B)
    cell_changes = -np.matvec(at.point.Q, beta)
    nowhere = np.zeros(len(eta), dtype=bool)
    return Forecast(
        level_before=at.level,
        level=np.array([step.level for step in steps]),
        loss=algebra.loss(at.point.L + cell_changes),
        gaps=algebra.gaps(at.point.L + cell_changes),
        loss_price=loss_price,
        prices=prices,
        eta=eta,
        length2=-np.vecdot(beta, cell_changes),
        along=nowhere,
        relaxed=nowhere,
        descends=~nowhere,
    )
