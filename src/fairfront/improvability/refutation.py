"""Refutation: what no linear model does, by a dual bound, and how much further draws of random models could find.

Loss and gap of a linear model w are F(w) = mean logistic loss + ridge/2 |w|^2 (the intercept is not penalised) and z(w)
= mean loss of the compared rows of one group less that of another. For every multiplier l the Lagrangian F + l z is the
same loss with row weights v = 1/n + l (1_A/n_A - 1_B/n_B). While v >= 0 it is convex, and Fenchel's dual

    D(a) = sum_i v_i H(a_i / v_i) - |sum_i a_i y_i x_i|^2 / (2 ridge),   0 <= a <= v,   sum_i a_i y_i = 0,

with H the entropy of two outcomes, is at most F(w) + l z(w) for every w, whatever a is. So no model with F(w) <= T has
|z(w)| below (D - T) / |l|. The best l is the one whose own minimiser has F = T; its gap is then just above the bound.

Models that are drawn independently, from one law of settings and seeds: if the best of n draws is b, the chance that a
further draw is below b is at most 1 - alpha^(1/n), with confidence 1 - alpha, whatever the law (the search as a problem
of stopping: Laufer, Hays, Raghavan and Barocas 2025). A gap is not below 0, so the expected gain of a further draw is
at most this chance times b.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import entr, expit

from ..objectives import Array

STEPS, SETTLED = 100, 1e-13
"""Most steps of Newton's method, and the decrement at which it ends."""
SLACK = 1e-6
"""How far a model that is known may be from a bound for it to be shown."""
EDGE = 1e-9  # share of the largest multiplier that is kept away from: row weights stay above zero


@dataclass(frozen=True, eq=False)
class LinearLoss:
    """Rows (n, d), labels of -1 and 1, shares that sum to 1, the ridge, and who is compared with whom."""

    X: Array
    sign: Array
    share: Array
    ridge: float
    one: NDArray[np.bool_]
    two: NDArray[np.bool_]

    def weights(self, multiplier: float) -> Array:
        sides = (np.where(side, self.share, 0.0) / self.share[side].sum() for side in (self.one, self.two))
        first, second = sides
        return np.asarray(self.share + multiplier * (first - second))

    def furthest(self, side: float) -> float:
        """Return the largest multiplier of a sign for which no row has a negative weight."""
        against = self.two if side > 0 else self.one
        return side * float(self.share[against].sum()) * (1.0 - EDGE)

    def losses(self, w: Array) -> Array:
        return np.asarray(np.logaddexp(0.0, -self.sign * (self.X @ w[:-1] + w[-1])))

    def value(self, w: Array, weight: Array) -> float:
        return float(weight @ self.losses(w)) + 0.5 * self.ridge * float(w[:-1] @ w[:-1])

    def gap(self, w: Array) -> float:
        loss = self.losses(w)
        one, two = (float(self.share[side] @ loss[side] / self.share[side].sum()) for side in (self.one, self.two))
        return one - two

    def minimise(self, weight: Array, start: Array) -> Array:
        """Return the weights of least value, by Newton's method with halved steps."""
        w, d = start.copy(), self.X.shape[1]
        for _ in range(STEPS):
            chance = expit(-self.sign * (self.X @ w[:-1] + w[-1]))
            pull, curve = -weight * self.sign * chance, weight * chance * (1.0 - chance)
            slope = np.append(self.X.T @ pull + self.ridge * w[:-1], pull.sum())
            scaled = self.X * curve[:, None]
            H = np.empty((d + 1, d + 1))
            H[:d, :d], H[d, d] = self.X.T @ scaled + self.ridge * np.eye(d), curve.sum() + 1e-300
            H[d, :d] = H[:d, d] = scaled.sum(axis=0)
            step = np.linalg.solve(H, slope)
            fall, length, here = float(slope @ step), 1.0, self.value(w, weight)
            while length > 1e-10 and self.value(w - length * step, weight) > here - 1e-4 * length * fall + 1e-16:
                length *= 0.5
            w = w - length * step
            if fall < SETTLED:
                break
        return w

    def dual(self, w: Array, weight: Array) -> float:
        """Return a lower bound of the value of all models, by the dual point that a model gives."""
        a = weight * expit(-self.sign * (self.X @ w[:-1] + w[-1]))
        for_, against = float(a[self.sign > 0].sum()), float(a[self.sign < 0].sum())
        if min(for_, against) <= 0.0:
            return -np.inf
        a *= np.where(self.sign > 0, min(1.0, against / for_), min(1.0, for_ / against))
        part = a / np.where(weight > 0, weight, 1.0)
        slope = self.X.T @ (a * self.sign)
        return float(weight @ (entr(part) + entr(1.0 - part))) - float(slope @ slope) / (2.0 * self.ridge)


@dataclass(frozen=True)
class Refuted:
    """No linear model with a loss of at most ``loss`` has a gap below ``gap``; one with this loss is at ``reached``.

    ``shown`` where the two are within `SLACK`; otherwise nothing is claimed.
    """

    loss: float
    gap: float
    reached: float
    shown: bool


def refute(data: LinearLoss, above: Array, target: float | None = None) -> tuple[float, list[Refuted]]:
    """Return the least loss, and bounds of the gap for losses of so much ``above`` it, and of ``target`` besides."""
    zero = data.weights(0.0)
    plain = data.minimise(zero, np.zeros(data.X.shape[1] + 1))
    least, first = data.value(plain, zero), data.gap(plain)
    goals = [least + float(each) for each in above] + ([] if target is None else [target])
    return least, [_bound(data, goal, plain, least, first) for goal in goals]


def _bound(data: LinearLoss, goal: float, start: Array, least: float, first: float) -> Refuted:
    if goal < least:  # no model at all has this loss
        short = data.dual(start, data.weights(0.0)) - goal
        return Refuted(goal, np.inf, np.inf, short > 0.0)
    if first == 0.0:
        return Refuted(goal, 0.0, 0.0, False)
    far, models = data.furthest(np.sign(first)), {0.0: start}

    def over(multiplier: float) -> float:
        near = min(models, key=lambda each: abs(each - multiplier))
        models[multiplier] = data.minimise(data.weights(multiplier), models[near])
        return data.value(models[multiplier], data.weights(0.0)) - goal

    if over(far) <= 0.0:
        at = far
    else:
        at = float(brentq(over, 0.0, far, xtol=1e-13, rtol=1e-13))
        over(at)
    w = models[at]
    gap, reached = (data.dual(w, data.weights(at)) - goal) / abs(at), np.sign(first) * data.gap(w)
    within = data.value(w, data.weights(0.0)) <= goal + 1e-9
    return Refuted(goal, gap, float(reached), bool(within and gap > 0.0 and reached - gap <= SLACK))


def further_draws(values: Array, alpha: float = 0.05) -> tuple[float, float]:
    """Return bounds, at confidence 1 - alpha, of a further draw: its chance to be below all values, and its gain."""
    chance = 1.0 - alpha ** (1.0 / len(values))
    return chance, chance * max(float(np.min(values)), 0.0)
