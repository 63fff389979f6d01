"""Measures: what is averaged over a cell, a loss or a smooth rate, as a per-sample function of the score.

A `Quantity` names a measure without knowing the loss; `measure` binds it to one. Shapes as in `losses`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit

from .losses import Array, Loss, Task, softmax


@dataclass(frozen=True)
class Quantity:
    """The name of a measure.

    ``loss`` on ``label`` (None: the row's own label); ``rate``, the smooth share decided as ``label``
    (None: the smooth error, one minus the share decided as the own label); ``score``, the prediction itself.
    """

    kind: Literal["loss", "rate", "score"]
    label: int | None = None


class Measure(ABC):
    """A per-sample function of (score, own target)."""

    convex: bool = True
    linear: bool = False

    @abstractmethod
    def value_slope(self, score: Array, target: Array) -> tuple[Array, Array]:
        """Return value (..., n) and derivative with respect to the score (..., K, n)."""

    @abstractmethod
    def curvature(self, score: Array, target: Array) -> Array:
        """Return the second derivative (..., K, K, n)."""


@dataclass(frozen=True)
class LossMeasure(Measure):
    """The loss, on the row's own label or as if the label were a given one (demographic parity)."""

    loss: Loss
    label: float | None = None

    def _target(self, target: Array) -> Array:
        return target if self.label is None else np.full_like(target, self.label)

    def value_slope(self, score: Array, target: Array) -> tuple[Array, Array]:
        """Return the loss's value and slope."""
        return self.loss.value_slope(score, self._target(target))

    def curvature(self, score: Array, target: Array) -> Array:
        """Return the loss's curvature."""
        return self.loss.curvature(score, self._target(target))


@dataclass(frozen=True)
class BinaryRate(Measure):
    """Smooth share decided as ``label`` (-1 or +1): sigmoid(label * score); None: smooth error."""

    label: float | None = None
    convex: bool = False

    def _sign(self, target: Array) -> Array | float:
        return -target if self.label is None else self.label

    def value_slope(self, score: Array, target: Array) -> tuple[Array, Array]:
        """Return s and sign * s (1 - s) with s = sigmoid(sign * score)."""
        sign = self._sign(target)
        s = expit(sign * score)
        return s[..., 0, :], sign * s * (1.0 - s)

    def curvature(self, score: Array, target: Array) -> Array:
        """Return s (1 - s) (1 - 2 s), as sign^2 = 1."""
        s = expit(self._sign(target) * score)
        return np.asarray((s * (1.0 - s) * (1.0 - 2.0 * s))[..., None, :])


@dataclass(frozen=True)
class ClassRate(Measure):
    """Smooth share decided as class ``label``: its softmax probability; None: one minus the own class's."""

    label: int | None = None
    convex: bool = False

    def _pick(self, s: Array, target: Array) -> tuple[Array, Array, float]:
        """Return the probability in question, its indicator over classes, and the sign of the measure."""
        if self.label is None:
            hot = (np.arange(s.shape[-2])[:, None] == target).astype(np.float64)
            return (s * hot).sum(axis=-2), hot, -1.0
        hot = np.zeros((s.shape[-2], 1))
        hot[self.label] = 1.0
        return s[..., self.label, :], hot, 1.0

    def value_slope(self, score: Array, target: Array) -> tuple[Array, Array]:
        """Return s_l (or 1 - s_l) and its derivative s_l (e_l - s)."""
        s = softmax(score)
        picked, hot, sign = self._pick(s, target)
        value = picked if sign > 0 else 1.0 - picked
        return value, sign * picked[..., None, :] * (hot - s)

    def curvature(self, score: Array, target: Array) -> Array:
        """Return s_l ((e_l - s)(e_l - s)^T - diag(s) + s s^T)."""
        s = softmax(score)
        picked, hot, sign = self._pick(s, target)
        away = hot - s
        block = away[..., :, None, :] * away[..., None, :, :] + s[..., :, None, :] * s[..., None, :, :]
        index = np.arange(s.shape[-2])
        block[..., index, index, :] -= s
        return np.asarray(sign * picked[..., None, None, :] * block)


@dataclass(frozen=True)
class Score(Measure):
    """The prediction itself (regression): equal means are demographic parity."""

    linear: bool = True

    def value_slope(self, score: Array, target: Array) -> tuple[Array, Array]:
        """Return the score and 1."""
        return score[..., 0, :].copy(), np.ones_like(score)

    def curvature(self, score: Array, target: Array) -> Array:
        """Return 0."""
        return np.zeros_like(score)[..., None, :]


def measure(quantity: Quantity, loss: Loss, task: Task) -> Measure:
    """Bind a named quantity to a loss and a task."""
    if quantity.kind == "score":
        return Score()
    if quantity.kind == "loss":
        label = None if quantity.label is None else task.target_of(quantity.label)
        return LossMeasure(loss, label)
    if task.kind == "multiclass":
        return ClassRate(quantity.label)
    return BinaryRate(None if quantity.label is None else task.target_of(quantity.label))
