"""Curves: smooth functions of a few averages of a group, compared where one average alone is not what people compare.

    m = means L                 averages (e,) of the cells
    f = psi(m)                  figures (F,), each a curve of some averages, or one of them as it is
    z = signs^T f - b           signed gaps

Near some cells a gap is linear, with slopes signs^T psi'(m) means; its second derivative in the cells has at most their
number as its rank. A curve knows nothing about groups, weights or solvers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from .losses import Array

ROOT = float(np.sqrt(2.0 * np.pi))
LEAST = 1e-30  # what a share or a mean counts for at least where its logarithm is taken
FLAT = 1e-100  # what a variance counts for at least: all scores are equal at zero weights
TINY = 1e-300  # what a denominator counts for at least: smooth shares are above 0, but for underflow


class Curve(ABC):
    """A smooth function of P averages."""

    @abstractmethod
    def value(self, m: Array) -> Array:
        """Return values (R,) of averages (R, P)."""

    @abstractmethod
    def slope(self, m: Array) -> Array:
        """Return the derivatives (R, P)."""

    @abstractmethod
    def bend(self, m: Array) -> Array:
        """Return the second derivatives (P, P) of averages (P,)."""


@dataclass(frozen=True)
class Log(Curve):
    """log m: a difference of two is the logarithm of a ratio."""

    def value(self, m: Array) -> Array:
        return np.asarray(np.log(np.maximum(m[:, 0], LEAST)))

    def slope(self, m: Array) -> Array:
        return np.asarray(1.0 / np.maximum(m, LEAST))

    def bend(self, m: Array) -> Array:
        return np.asarray(-1.0 / np.maximum(m[None], LEAST) ** 2)


@dataclass(frozen=True)
class LogQuotient(Curve):
    """log(m_0 / m_1), such as what is expected over what was."""

    def value(self, m: Array) -> Array:
        return np.asarray(np.log(np.maximum(m[:, 0], LEAST)) - np.log(np.maximum(m[:, 1], LEAST)))

    def slope(self, m: Array) -> Array:
        return np.asarray(np.array([1.0, -1.0]) / np.maximum(m, LEAST))

    def bend(self, m: Array) -> Array:
        return np.diag(np.array([-1.0, 1.0]) / np.maximum(m, LEAST) ** 2)


@dataclass(frozen=True)
class Mix(Curve):
    """weights . m, such as the mean of two rates: linear, of averages of different quantities."""

    weights: tuple[float, ...]

    def value(self, m: Array) -> Array:
        return np.asarray(m @ np.array(self.weights))

    def slope(self, m: Array) -> Array:
        return np.broadcast_to(np.array(self.weights), m.shape)

    def bend(self, m: Array) -> Array:
        return np.zeros((len(m), len(m)))


@dataclass(frozen=True)
class Quotient(Curve):
    """(top . m) / (bottom . m), a share such as the precision: right favourable decisions over all of them."""

    top: tuple[float, ...]
    bottom: tuple[float, ...]

    def _parts(self, m: Array) -> tuple[Array, Array, Array, Array]:
        a, c = np.array(self.top), np.array(self.bottom)
        below = np.maximum(m @ c, TINY)
        return a, c, np.asarray(m @ a / below), np.asarray(below)

    def value(self, m: Array) -> Array:
        return self._parts(m)[2]

    def slope(self, m: Array) -> Array:
        a, c, value, below = self._parts(m)
        return np.asarray((a - value[:, None] * c) / below[:, None])

    def bend(self, m: Array) -> Array:
        a, c, value, below = self._parts(m)
        return np.asarray(-(np.outer(a, c) + np.outer(c, a) - 2.0 * value * np.outer(c, c)) / below**2)


@dataclass(frozen=True)
class Standardised(Curve):
    """m_0 / sqrt(m_2 - m_1^2): a mean of scores in units of the standard deviation of all of them."""

    def value(self, m: Array) -> Array:
        return np.asarray(m[:, 0] / np.sqrt(np.maximum(m[:, 2] - m[:, 1] ** 2, FLAT)))

    def slope(self, m: Array) -> Array:
        v = np.maximum(m[:, 2] - m[:, 1] ** 2, FLAT)
        return np.stack([np.ones_like(v), m[:, 0] * m[:, 1] / v, -0.5 * m[:, 0] / v], axis=1) / np.sqrt(v)[:, None]

    def bend(self, m: Array) -> Array:
        v = max(float(m[2] - m[1] ** 2), FLAT)
        first, second = m[1] / v, -0.5 / v
        inner = np.array([[1.0 / v + 3.0 * first**2, -1.5 * m[1] / v**2], [-1.5 * m[1] / v**2, 0.75 / v**2]])
        found = np.zeros((3, 3))
        found[0, 1:] = found[1:, 0] = first, second
        found[1:, 1:] = m[0] * inner
        return np.asarray(found / np.sqrt(v))


@dataclass(frozen=True)
class PairLoss(Curve):
    """1 - 2 (a - b) + A + B - 2 a b of means a, b and mean squares A, B, in the order a, A, b, B.

    That is the mean of (1 - (s - t))^2 over all pairs of a score s of the first rows and t of the second: the quadratic
    surrogate of the share of pairs in the wrong order, 1 - AUC, without any pair.
    """

    def value(self, m: Array) -> Array:
        a, A, b, B = m.T
        return np.asarray(1.0 - 2.0 * (a - b) + A + B - 2.0 * a * b)

    def slope(self, m: Array) -> Array:
        a, _, b, _ = m.T
        ones = np.ones_like(a)
        return np.stack([-2.0 - 2.0 * b, ones, 2.0 - 2.0 * a, ones], axis=1)

    def bend(self, m: Array) -> Array:
        found = np.zeros((4, 4))
        found[0, 2] = found[2, 0] = -2.0
        return found


@dataclass(frozen=True)
class NormalAuc(Curve):
    """Phi((a - b) / sqrt(A - a^2 + B - b^2)), means and mean squares in the order of `PairLoss`.

    That is the AUC of scores that are normal among the first rows and among the second; like the AUC it does not change
    when all scores are stretched.
    """

    def _parts(self, m: Array) -> tuple[Array, Array, Array]:
        """Return the distance over its spread, (...,), its derivatives (..., 4), and the variance."""
        a, A, b, B = np.moveaxis(m, -1, 0)
        v = np.maximum(A - a**2 + B - b**2, FLAT)
        zero, one = np.zeros_like(a), np.ones_like(a)
        along, across = np.stack([one, zero, -one, zero], axis=-1), np.stack([-2.0 * a, one, -2.0 * b, one], axis=-1)
        slope = along / np.sqrt(v)[..., None] - 0.5 * ((a - b) / v**1.5)[..., None] * across
        return np.asarray((a - b) / np.sqrt(v)), slope, v

    def value(self, m: Array) -> Array:
        return np.asarray(ndtr(self._parts(m)[0]))

    def slope(self, m: Array) -> Array:
        t, slope, _ = self._parts(m)
        return np.asarray((np.exp(-0.5 * t**2) / ROOT)[:, None] * slope)

    def bend(self, m: Array) -> Array:
        t, slope, v = self._parts(m)
        along, across = np.array([1.0, 0.0, -1.0, 0.0]), np.array([-2.0 * m[0], 1.0, -2.0 * m[2], 1.0])
        mixed = np.outer(along, across)
        curved = -0.5 * np.diag([-2.0, 0.0, -2.0, 0.0]) / v**1.5 + 0.75 * np.outer(across, across) / v**2.5
        inner = -0.5 * (mixed + mixed.T) / v**1.5 + (m[0] - m[2]) * curved
        return np.asarray(np.exp(-0.5 * t**2) / ROOT * (inner - t * np.outer(slope, slope)))


@dataclass(frozen=True, eq=False)
class Figures:
    """What contrasts compare: one (curve, places of its averages) each; without a curve the average itself."""

    parts: Sequence[tuple[Curve | None, NDArray[np.intp]]]

    @property
    def bent(self) -> NDArray[np.bool_]:
        """Tell which figures are curves, (F,)."""
        return np.array([curve is not None for curve, _ in self.parts])

    def values(self, m: Array) -> Array:
        """Return figures (R, F) of averages (R, e)."""
        found = [m[:, at[0]] if curve is None else curve.value(m[:, at]) for curve, at in self.parts]
        return np.stack(found, axis=1)

    def slopes(self, m: Array) -> Array:
        """Return their derivatives (R, F, e)."""
        found = np.zeros((len(m), len(self.parts), m.shape[1]))
        for j, (curve, at) in enumerate(self.parts):
            found[:, j, at] = 1.0 if curve is None else curve.slope(m[:, at])
        return found

    def bends(self, m: Array, weight: Array) -> Array:
        """Return the second derivatives (e, e) of weight . f at averages (e,)."""
        found = np.zeros((len(m), len(m)))
        for (curve, at), each in zip(self.parts, weight, strict=True):
            if curve is not None and each != 0.0:
                found[np.ix_(at, at)] += each * curve.bend(m[at])
        return found
