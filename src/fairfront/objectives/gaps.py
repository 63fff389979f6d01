"""Gaps: how a signed gap z becomes an objective (paper, section 2.2), and the algebra from cell values to objectives.

    loss = p.L          p holds the shares of the cells on the training loss, and the ridge on the last cell
    z    = B L - b      signed gaps
    h    = [loss, phi(z)]           the paper's objective vector
    dh   = A G,  A = [p ; diag(phi'(z)) B]

The last cell is the penalty |w|^2 / 2 (intercepts excepted), so that the ridge is linear in the cells too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..validation import Registry
from .losses import Array


class Gap(ABC):
    """An increasing function of |z| with phi(0) = 0; changes the path of a descent, never the frontier."""

    name: ClassVar[str]
    even: ClassVar[bool] = True

    @abstractmethod
    def value(self, z: Array) -> Array:
        """Return phi(z) in a new array.

        Parameters
        ----------
        z : array of shape (R, q)
            Signed gaps; not negative for notions that count on one side only.
        """

    @abstractmethod
    def slope(self, z: Array) -> Array:
        """Return phi'(z) in a new array.

        Parameters
        ----------
        z : array of shape (R, q)
            As in `value`.
        """

    @abstractmethod
    def inverse(self, value: Array) -> Array:
        """Return the z >= 0 with phi(z) = value in a new array.

        Parameters
        ----------
        value : array of shape (R, q)
            Values of phi, at least 0.
        """


@dataclass(frozen=True)
class SquaredGap(Gap):
    """z^2 / 2."""

    name = "squared"

    def value(self, z: Array) -> Array:
        return 0.5 * z**2

    def slope(self, z: Array) -> Array:
        return z.copy()

    def inverse(self, value: Array) -> Array:
        return np.asarray(np.sqrt(2.0 * value))


@dataclass(frozen=True)
class AbsoluteGap(Gap):
    """|z|; at 0 its slope is taken as 0."""

    name = "absolute"

    def value(self, z: Array) -> Array:
        return np.abs(z)

    def slope(self, z: Array) -> Array:
        return np.sign(z)

    def inverse(self, value: Array) -> Array:
        return value.copy()


@dataclass(frozen=True)
class ExponentialGap(Gap):
    """cosh(z) - 1, the even form of an exponential penalty.

    Differs from the paper: it names exp(-z), which rewards a gap of one sign (`PaperExponential`).
    """

    name = "exponential"

    def value(self, z: Array) -> Array:
        """cosh(z) - 1 = 2 sinh(z / 2)^2, which keeps its digits near 0."""
        return np.asarray(2.0 * np.sinh(0.5 * z) ** 2)

    def slope(self, z: Array) -> Array:
        return np.asarray(np.sinh(z))

    def inverse(self, value: Array) -> Array:
        return np.asarray(2.0 * np.arcsinh(np.sqrt(0.5 * value)))


@dataclass(frozen=True)
class PaperExponential(Gap):
    """exp(-z), as the paper prints it, on both orders of each pair; in paper mode only.

    With both orders any two points with different gaps are mutually non-dominated.
    """

    name = "paper_exponential"
    even = False

    def value(self, z: Array) -> Array:
        return np.asarray(np.exp(-z))

    def slope(self, z: Array) -> Array:
        return np.asarray(-np.exp(-z))

    def inverse(self, value: Array) -> Array:
        return np.asarray(-np.log(value))


@dataclass(frozen=True)
class Identity(AbsoluteGap):
    """z itself: for objectives that need no gap function, as in `minimize`."""

    name = "identity"
    even = False

    def value(self, z: Array) -> Array:
        return z.copy()

    def slope(self, z: Array) -> Array:
        return np.ones_like(z)


GAPS: Registry[type[Gap]] = Registry("gap", SquaredGap, AbsoluteGap, ExponentialGap, PaperExponential)


@dataclass(frozen=True)
class Algebra:
    """Loss row, contrasts and gap function. Shapes: L (R, k), z (R, q), h (R, m), A (R, m, k), m = 1 + q.

    ``means`` (e, k) are the averages per group that the contrasts compare, B = signs^T means with ``signs`` (e, q),
    and ``mean_names`` say which group and rows each average is of.
    """

    p: Array
    B: Array
    b: Array
    two_sided: NDArray[np.bool_]
    gap: Gap
    names: tuple[str, ...]
    notions: tuple[str, ...] = ("objectives",)
    notion_of: NDArray[np.intp] | None = None
    means: Array | None = None
    signs: Array | None = None
    mean_names: tuple[str, ...] = ()

    @property
    def m(self) -> int:
        return 1 + len(self.b)

    def loss(self, L: Array) -> Array:
        return np.asarray(L @ self.p)

    def gaps(self, L: Array) -> Array:
        return np.asarray(L @ self.B.T - self.b)

    def widened(self, count: int) -> Algebra:
        """Return the algebra of cells with ``count`` more before the last, which no gap is of."""
        if not count:
            return self
        at = [len(self.p) - 1] * count
        means = None if self.means is None else np.insert(self.means, at, 0.0, axis=1)
        return replace(self, p=np.insert(self.p, at, 0.0), B=np.insert(self.B, at, 0.0, axis=1), means=means)

    def bounded(self, count: int) -> Algebra:
        """Return the algebra with rows that keep the ``count`` cells before the last at most at 0."""
        if not count:
            return self
        assert self.means is not None
        assert self.signs is not None
        means, signs = self.means, self.signs
        cells = np.eye(len(self.p))[-1 - count : -1]
        return replace(
            self,
            B=np.vstack([self.B, cells]),
            b=np.append(self.b, np.zeros(count)),
            two_sided=np.append(self.two_sided, np.zeros(count, dtype=bool)),
            means=np.vstack([means, cells]),
            signs=np.block([[signs, np.zeros((len(signs), count))], [np.zeros((count, len(self.b))), np.eye(count)]]),
        )

    def _effective(self, L: Array) -> Array:
        """Return z, with the harmless side of one-sided gaps set to 0 when phi is even."""
        z = self.gaps(L)
        return np.where(self.two_sided, z, np.maximum(z, 0.0)) if self.gap.even else z

    def objectives(self, L: Array) -> Array:
        return np.column_stack([self.loss(L), self.gap.value(self._effective(L))])

    def jacobian(self, L: Array) -> Array:
        """A with dh/dw = A G."""
        fair = self.gap.slope(self._effective(L))[:, :, None] * self.B
        return np.concatenate([np.broadcast_to(self.p, (len(L), 1, len(self.p))), fair], axis=1)

    def violation(self, z: Array) -> Array:
        return np.where(self.two_sided, np.abs(z), np.maximum(z, 0.0))

    def worst(self, L: Array) -> Array:
        """The worst gap of each notion, (R, notions)."""
        size = self.violation(self.gaps(L))
        if self.notion_of is None:
            return np.asarray(size.max(axis=1, keepdims=True))
        return np.stack([size[:, self.notion_of == i].max(axis=1) for i in range(len(self.notions))], axis=1)
