"""The loss of a quantile, with its kink rounded so that it has second derivatives everywhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from scipy.special import expit

from ..validation import check_positive, refuse
from .losses import LOSSES, Array, Loss, Stock
from .stock_models import linear_predictor

WIDTH = 0.05
"""Width of the rounding, as a share of the standard deviation of values."""


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


LOSSES.add(Quantile.name, Quantile)
