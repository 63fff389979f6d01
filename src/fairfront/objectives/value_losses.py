"""Losses of values: half the unit deviance of counts, amounts and shares, for scores behind a link; and of quantiles.

    exp(score) is the mean of counts and amounts, 1 / (1 + exp(-score)) that of shares

An exposure e is how long or how much a row was at risk, or how many trials it stands for: its loss is that of its value
per unit, weighted by e. All are convex in the score, so that points are certified as those of other losses are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import log
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, xlog1py, xlogy

from ..exceptions import InputError, setting, spelled, spelling
from ..validation import check_positive, refuse
from ..validation.inputs import as_numbers, as_weights, check_labels, check_weights, shape_of
from .losses import LOSSES, Array, Loss, Stock
from .stock_models import gamma_regressor, linear_predictor, poisson_regressor, tweedie_regressor

LARGEST = 300.0  # scores beyond are taken as this, so that no step overflows; such means are no one's
LEAST = 1e-12  # mean of targets that a start is taken from at least
WIDTH = 0.05
"""Width of the rounding, as a share of the standard deviation of values."""


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
    """y log(y / m) - y + m, half the deviance of counts, or of counts per unit of exposure."""

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


@dataclass(frozen=True)
class Binomial(Loss):
    """Half the deviance of shares of successes among trials, whose number is the exposure."""

    name = "binomial"
    kinds = ("regression",)
    of_mean = True
    link = "logit"
    stock: ClassVar[Stock | None] = partial(linear_predictor, "logit")

    def mean(self, score: Array) -> Array:
        return np.asarray(expit(score))

    def begin(self, mean: float) -> float:
        share = min(max(mean, LEAST), 1.0 - LEAST)
        return log(share / (1.0 - share))

    def of_values(self, values: Array) -> Loss:
        low, high = float(values.min(initial=0.0)), float(values.max(initial=1.0))
        if low < 0.0 or high > 1.0:
            raise InputError(
                f"y has values from {low:g} to {high:g}, expected shares of successes from 0 to 1 for loss 'binomial'; "
                "give successes as y and the number of trials, at least as many, as exposure."
            )
        return self

    def value_slope(self, score: Array, target: Array) -> tuple[Array, Array]:
        value = np.logaddexp(0.0, score[..., 0, :]) - target * score[..., 0, :]
        return value + (xlogy(target, target) + xlog1py(1.0 - target, -target)), expit(score) - target

    def curvature(self, score: Array, target: Array) -> Array:
        p = self.mean(score)
        return (p * (1.0 - p))[..., None, :]


@dataclass(frozen=True)
class Quantile(Loss):
    """q r + width log(1 + exp(-r / width)) of residuals r = y - score: the pinball loss of the quantile q, rounded.

    It is above max(q r, (q - 1) r) by width log 2 at most, at r = 0, and convex. A ``width`` of None is a twentieth of
    the standard deviation of values.
    """

    name = "quantile"
    kinds = ("regression",)
    stock: ClassVar[Stock | None] = partial(linear_predictor, "identity")
    q: float = 0.5
    width: float | None = None

    def __post_init__(self) -> None:
        given = self.q
        if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0.0 < given < 1.0:
            raise refuse("q", given, "a number above 0 and below 1, such as 0.9")
        if self.width is not None:
            check_positive(self.width, "width")

    def of_values(self, values: Array) -> Loss:
        spread = float(np.std(values))
        return self if self.width is not None else replace(self, width=WIDTH * (spread if spread > 0.0 else 1.0))

    def _parts(self, score: Array, target: Array) -> tuple[Array, float]:
        width = 1.0 if self.width is None else self.width
        return (target - score) / width, width

    def value_slope(self, score: Array, target: Array) -> tuple[Array, Array]:
        r, width = self._parts(score, target)
        return width * (self.q * r + np.logaddexp(0.0, -r))[..., 0, :], expit(-r) - self.q

    def curvature(self, score: Array, target: Array) -> Array:
        r, width = self._parts(score, target)
        return np.asarray(expit(-r) * expit(r) / width)[..., None, :]


for _loss in (Poisson, Gamma, Tweedie, Binomial, Quantile):
    LOSSES.add(_loss.name, _loss)


def is_likelihood(name: str) -> bool:
    """Tell whether models of the loss with this name have log-odds as scores."""
    return name in LOSSES and LOSSES[name].likelihood


def predictions_of(scores: Array, name: str) -> Array:
    """Return scores of models of the loss with this name as they are, or what they predict where it has a link."""
    return LOSSES[name]().mean(scores) if name in LOSSES and LOSSES[name].link else scores


def is_regression(loss: Any) -> bool:
    """Tell whether a loss, given by name or as it is, is for values first."""
    return bool(LOSSES.made(loss, Loss).kinds[0] == "regression")


def per_exposure(y: Any, sample_weight: Any, exposure: Any, *, regression: bool = True) -> tuple[Any, Any]:
    """Return values per unit of exposure, and weights times exposure; both as they are where there is none.

    Parameters
    ----------
    y : array of shape (n,), counts or totals
    sample_weight : array of shape (n,), or None for 1
    exposure : array of shape (n,) of numbers above 0, or None
    regression : bool, whether y are values, of which there is so much per unit
    """
    if exposure is None:
        return y, sample_weight
    if not regression:
        what, use = spelled("exposure"), setting("loss", "poisson")
        raise InputError(f"{what} is for counts and totals, found labels; give {use}, or leave it out.")
    n = (*shape_of(y, "y"), 0)[0]
    with spelling({"sample_weight": "exposure"}):
        found = as_weights(exposure, n)
    if not found.all():
        raise InputError("exposure is 0 in some rows, expected numbers above 0; leave out rows never at risk.")
    weight = check_weights(sample_weight, n)
    values = as_numbers(check_labels(y, n), "y")
    return values / found, found if weight is None else weight * found
