"""Quantities: names of what is averaged over a cell, and the measures besides losses that they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit, softmax

from .losses import Array, Loss, Measure, one_hot


@dataclass(frozen=True)
class Quantity:
    """The name of a measure.

    ``loss`` on ``label`` (None: the row's own label); ``rate``, the smooth share decided as ``label``
    (None: the smooth error, one minus the share decided as the own label); ``score``, the prediction itself;
    ``prediction``, the mean that a score stands for behind a link.
    """

    kind: Literal["loss", "rate", "score", "prediction"]
    label: int | None = None


@dataclass(frozen=True)
class Relabelled(Measure):
    """The loss as if every label were a given one (demographic parity)."""

    loss: Loss
    label: float

    def value_slope(self, score: Array, target: Array) -> tuple[Array, Array]:
        return self.loss.value_slope(score, np.full_like(target, self.label))

    def curvature(self, score: Array, target: Array) -> Array:
        return self.loss.curvature(score, np.full_like(target, self.label))


@dataclass(frozen=True)
class BinaryRate(Measure):
    """Smooth share decided as ``label`` (-1 or +1): sigmoid(label * score); None: smooth error."""

    label: float | None = None
    convex = False

    def value_slope(self, score: Array, target: Array) -> tuple[Array, Array]:
        sign = -target if self.label is None else self.label
        s = expit(sign * score)
        return s[..., 0, :], sign * s * (1.0 - s)

    def curvature(self, score: Array, target: Array) -> Array:
        """Return s (1 - s) (1 - 2 s), as sign^2 = 1."""
        s = expit((-target if self.label is None else self.label) * score)
        return np.asarray((s * (1.0 - s) * (1.0 - 2.0 * s))[..., None, :])


@dataclass(frozen=True)
class ClassRate(Measure):
    """Smooth share decided as class ``label``: its softmax probability; None: one minus the own class's."""

    label: int | None = None
    convex = False

    def _pick(self, s: Array, target: Array) -> tuple[Array, Array]:
        """Return the probability in question, (..., n), and its indicator over classes."""
        hot = one_hot(target if self.label is None else self.label, s.shape[-2])
        return (s * hot).sum(axis=-2) if self.label is None else s[..., self.label, :], hot

    def value_slope(self, score: Array, target: Array) -> tuple[Array, Array]:
        """Return s_l (or 1 - s_l) and its derivative s_l (e_l - s)."""
        s = softmax(score, axis=-2)
        picked, hot = self._pick(s, target)
        slope = picked[..., None, :] * (hot - s)
        return (1.0 - picked, -slope) if self.label is None else (picked, slope)

    def curvature(self, score: Array, target: Array) -> Array:
        """Return s_l ((e_l - s)(e_l - s)^T - diag(s) + s s^T)."""
        s = softmax(score, axis=-2)
        picked, hot = self._pick(s, target)
        away = hot - s
        block = away[..., :, None, :] * away[..., None, :, :] + s[..., :, None, :] * s[..., None, :, :]
        index = np.arange(s.shape[-2])
        block[..., index, index, :] -= s
        found = picked[..., None, None, :] * block
        return np.asarray(-found if self.label is None else found)


@dataclass(frozen=True)
class Score(Measure):
    """The prediction itself: equal means are demographic parity of a regression."""

    linear = True

    def value_slope(self, score: Array, target: Array) -> tuple[Array, Array]:
        return score[..., 0, :].copy(), np.ones_like(score)

    def curvature(self, score: Array, target: Array) -> Array:
        return np.zeros_like(score)[..., None, :]


@dataclass(frozen=True)
class Prediction(Measure):
    """The mean behind a log link, exp(score): equal means are not convex in the scores."""

    loss: Loss
    convex = False

    def value_slope(self, score: Array, target: Array) -> tuple[Array, Array]:
        m = self.loss.mean(score)
        return m[..., 0, :], m.copy()

    def curvature(self, score: Array, target: Array) -> Array:
        return self.loss.mean(score)[..., None, :]
