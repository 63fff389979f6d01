"""The algebra: from cell values to objectives, everything linear in the cells but the gap function.

    loss = p.L          p holds the shares of the cells on the training loss, and the ridge on the last cell
    z    = B L - b      signed gaps
    h    = [loss, phi(z)]           the paper's objective vector
    dh   = A G,  A = [p ; diag(phi'(z)) B]

The last cell is the penalty |w|^2 / 2 (intercepts excepted), so that the ridge is linear in the cells too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .gaps import Gap
from .labels import Array


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
        """Return the number of objectives."""
        return 1 + len(self.b)

    def loss(self, L: Array) -> Array:
        """Return the training loss with its ridge, (R,)."""
        return np.asarray(L @ self.p)

    def gaps(self, L: Array) -> Array:
        """Return the signed gaps z, (R, q)."""
        return np.asarray(L @ self.B.T - self.b)

    def _effective(self, z: Array) -> Array:
        """Return z, with the harmless side of one-sided gaps set to 0 when phi is even."""
        return np.where(self.two_sided, z, np.maximum(z, 0.0)) if self.gap.even else z

    def objectives(self, L: Array) -> Array:
        """Return the objective vectors h, (R, m)."""
        phi = self.gap.value(self._effective(self.gaps(L)))
        return np.column_stack([self.loss(L), phi])

    def jacobian(self, L: Array) -> Array:
        """Return A with dh/dw = A G, (R, m, k)."""
        slope = self.gap.slope(self._effective(self.gaps(L)))
        fair = slope[:, :, None] * self.B
        return np.concatenate([np.broadcast_to(self.p, (len(L), 1, len(self.p))), fair], axis=1)

    def violation(self, z: Array) -> Array:
        """Return |z|, or max(z, 0) where only one side counts, (R, q)."""
        return np.where(self.two_sided, np.abs(z), np.maximum(z, 0.0))

    def worst(self, L: Array) -> Array:
        """Return the worst gap of each notion, (R, notions)."""
        size = self.violation(self.gaps(L))
        if self.notion_of is None:
            return np.asarray(size.max(axis=1, keepdims=True))
        return np.stack([size[:, self.notion_of == i].max(axis=1) for i in range(len(self.notions))], axis=1)
