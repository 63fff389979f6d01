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

from .losses import Array

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
        return np.asarray(np.log(np.maximum(m[:, 0], TINY)))

    def slope(self, m: Array) -> Array:
        return np.asarray(1.0 / np.maximum(m, TINY))

    def bend(self, m: Array) -> Array:
        return np.asarray(-1.0 / np.maximum(m[None], TINY) ** 2)


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
