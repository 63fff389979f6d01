"""Gap functions phi: how a signed gap z becomes an objective to be minimised (paper, section 2.2)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..registry import Registry
from .labels import Array


class Gap(ABC):
    """An increasing function of |z| with phi(0) = 0; changes the path of a descent, never the frontier."""

    name: ClassVar[str]
    even: ClassVar[bool] = True

    @abstractmethod
    def value(self, z: Array) -> Array:
        """Return phi(z)."""

    @abstractmethod
    def slope(self, z: Array) -> Array:
        """Return phi'(z)."""

    @abstractmethod
    def inverse(self, value: Array) -> Array:
        """Return the z >= 0 with phi(z) = value."""


@dataclass(frozen=True)
class SquaredGap(Gap):
    """z^2 / 2."""

    name: ClassVar[str] = "squared"

    def value(self, z: Array) -> Array:
        """Return z^2 / 2."""
        return 0.5 * z**2

    def slope(self, z: Array) -> Array:
        """Return z."""
        return z.copy()

    def inverse(self, value: Array) -> Array:
        """Return sqrt(2 value)."""
        return np.asarray(np.sqrt(2.0 * value))


@dataclass(frozen=True)
class AbsoluteGap(Gap):
    """|z|; at 0 its slope is taken as 0."""

    name: ClassVar[str] = "absolute"

    def value(self, z: Array) -> Array:
        """Return |z|."""
        return np.abs(z)

    def slope(self, z: Array) -> Array:
        """Return the sign of z."""
        return np.sign(z)

    def inverse(self, value: Array) -> Array:
        """Return the value itself."""
        return value.copy()


@dataclass(frozen=True)
class ExponentialGap(Gap):
    """cosh(z) - 1, the even form of an exponential penalty.

    Differs from the paper: it names exp(-z), which rewards a gap of one sign (`PaperExponential`).
    """

    name: ClassVar[str] = "exponential"

    def value(self, z: Array) -> Array:
        """Return cosh(z) - 1 = 2 sinh(z / 2)^2, which keeps its digits near 0."""
        return np.asarray(2.0 * np.sinh(0.5 * z) ** 2)

    def slope(self, z: Array) -> Array:
        """Return sinh(z)."""
        return np.asarray(np.sinh(z))

    def inverse(self, value: Array) -> Array:
        """Return 2 asinh(sqrt(value / 2))."""
        return np.asarray(2.0 * np.arcsinh(np.sqrt(0.5 * value)))


@dataclass(frozen=True)
class PaperExponential(Gap):
    """exp(-z), as the paper prints it, on both orders of each pair; in paper mode only.

    With both orders any two points with different gaps are mutually non-dominated.
    """

    name: ClassVar[str] = "paper_exponential"
    even: ClassVar[bool] = False

    def value(self, z: Array) -> Array:
        """Return exp(-z)."""
        return np.asarray(np.exp(-z))

    def slope(self, z: Array) -> Array:
        """Return -exp(-z)."""
        return np.asarray(-np.exp(-z))

    def inverse(self, value: Array) -> Array:
        """Return -log(value)."""
        return np.asarray(-np.log(value))


@dataclass(frozen=True)
class Identity(Gap):
    """z itself: for objectives that need no gap function, as in `minimize`."""

    name: ClassVar[str] = "identity"
    even: ClassVar[bool] = False

    def value(self, z: Array) -> Array:
        """Return z."""
        return z.copy()

    def slope(self, z: Array) -> Array:
        """Return 1."""
        return np.ones_like(z)

    def inverse(self, value: Array) -> Array:
        """Return the value itself."""
        return value.copy()


GAPS: Registry[type[Gap]] = Registry("gap")
for _gap in (SquaredGap, AbsoluteGap, ExponentialGap, PaperExponential):
    GAPS.add(_gap.name, _gap)
