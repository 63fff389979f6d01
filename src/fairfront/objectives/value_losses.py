"""Losses of values of at least 0: half the unit deviance of counts and amounts, whose mean is exp(score).

All are convex in the score, so that points are certified as those of other losses are. Counts or totals over a time or
an amount e at risk are modelled by y / e with weights times e.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import log
from typing import ClassVar

import numpy as np

from ..exceptions import InputError
from ..validation import refuse
from .losses import LOSSES, Array, Loss, Stock
from .stock_models import gamma_regressor, poisson_regressor, tweedie_regressor

LARGEST = 300.0  # scores beyond are taken as this, so that no step overflows; such means are no one's
LEAST = 1e-100  # mean of targets that a start is taken from at least


class LogLinkLoss(Loss):
    """A loss of values of at least 0, whose mean is exp(score)."""

    kinds = ("regression",)
    of_mean = True
    link = "log"
    zero: ClassVar[bool] = True

    def mean(self, score: Array) -> Array:
        return np.asarray(np.exp(np.clip(score, -LARGEST, LARGEST)))

    def begin(self, mean: float) -> float:
        return log(max(mean, LEAST))

    def of_values(self, values: Array) -> Loss:
        low, words = float(values.min(initial=1.0)), "at least 0" if self.zero else "above 0"
        if low < 0.0 or (low == 0.0 and not self.zero):
            raise InputError(
                f"y has values down to {low:g}, expected numbers {words} for loss {self.name!r}"
                + ("; model how many there are by loss='poisson', or totals by loss='tweedie'." if low == 0.0 else ".")
            )
        return self


@dataclass(frozen=True)
class Poisson(LogLinkLoss):
    """y log(y / m) - y + m, half the deviance of counts."""

    name = "poisson"
    stock: ClassVar[Stock | None] = poisson_regressor

    def value_slope(self, score: Array, target: Array) -> tuple[Array, Array]:
        near = np.clip(score, -LARGEST, LARGEST)
        m = np.exp(near)
        value = m[..., 0, :] - target * near[..., 0, :]
        value += target * np.log(np.where(target > 0.0, target, 1.0)) - target
        m -= target
        return value, m

    def curvature(self, score: Array, target: Array) -> Array:
        return self.mean(score)[..., None, :]

    def size(self, mean: float, variance: float) -> float:
        return mean


@dataclass(frozen=True)
class Gamma(LogLinkLoss):
    """y / m - log(y / m) - 1, half the deviance of amounts above 0, such as claims."""

    name = "gamma"
    stock: ClassVar[Stock | None] = gamma_regressor
    zero = False

    def value_slope(self, score: Array, target: Array) -> tuple[Array, Array]:
        share = target * self.mean(-score)
        return share[..., 0, :] + score[..., 0, :] - np.log(target) - 1.0, 1.0 - share

    def curvature(self, score: Array, target: Array) -> Array:
        return (target * self.mean(-score))[..., None, :]


@dataclass(frozen=True)
class Tweedie(LogLinkLoss):
    """Half the deviance of totals that are often 0, with a variance of m^power, 1 < power < 2.

    y^(2-p) / ((1-p) (2-p)) - y m^(1-p) / (1-p) + m^(2-p) / (2-p)
    """

    name = "tweedie"
    stock: ClassVar[Stock | None] = partial(tweedie_regressor)
    power: float = 1.5

    def __post_init__(self) -> None:
        given = self.power
        if isinstance(given, bool) or not isinstance(given, (int, float)) or not 1.0 < given < 2.0:
            raise refuse("power", given, "a number above 1 and below 2 (loss='poisson' is 1, loss='gamma' is 2)")

    def value_slope(self, score: Array, target: Array) -> tuple[Array, Array]:
        one, two = 1.0 - self.power, 2.0 - self.power
        less, more = target * self.mean(one * score), self.mean(two * score)
        value = target**two / (one * two) - less[..., 0, :] / one + more[..., 0, :] / two
        return value, more - less

    def curvature(self, score: Array, target: Array) -> Array:
        one, two = 1.0 - self.power, 2.0 - self.power
        return (two * self.mean(two * score) - one * target * self.mean(one * score))[..., None, :]

    def size(self, mean: float, variance: float) -> float:
        return float(mean ** (2.0 - self.power))


for _loss in (Poisson, Gamma, Tweedie):
    LOSSES.add(_loss.name, _loss)


def is_likelihood(name: str) -> bool:
    """Tell whether models of the loss with this name have log-odds as scores."""
    return name in LOSSES and LOSSES[name].likelihood


def predictions_of(scores: Array, name: str) -> Array:
    """Return scores of models of the loss with this name as they are, or what they predict where it has a link."""
    return LOSSES[name]().mean(scores) if name in LOSSES and LOSSES[name].link else scores
