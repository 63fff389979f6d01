"""The archive of points that runs pass on their way: those that no other dominates, thinned to a number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from ..pareto import nondominated

PILED = 20
"""How many times its size an archive may hold before it is thinned: often enough for memory, seldom for time."""


class Archive:
    """Keep points that no other dominates on ``axes`` (loss and worst gap per notion).

    When there are more than ``size``, they are thinned by a fixed rule (`spread`), so that equal input gives an
    equal archive whatever the machine. ``axes_of`` finds the axes of weights (N, K, d) where a checkpoint may not keep
    them.
    """

    def __init__(self, size: int, axes_of: Callable[[Array], Array] | None = None) -> None:
        self.size, self._axes_of = size, axes_of
        self._axes: list[Array] = []
        self._weights: list[Array] = []
        self._count = 0

    def add(self, axes: Array, weights: Array) -> None:
        """Axes (N, a), weights (N, K, d)."""
        self._axes.append(axes)
        self._weights.append(weights)
        self._count += len(axes)
        if self._count > PILED * self.size:
            self._set(*self.points())

    def _set(self, axes: Array, weights: Array) -> None:
        self._axes, self._weights = [axes], [weights]
        self._count = len(axes)

    def points(self) -> tuple[Array, Array]:
        """Axes and weights, thinned to ``size``."""
        axes, weights = (np.concatenate(part) for part in (self._axes, self._weights))
        kept = np.flatnonzero(nondominated(axes))
        kept = kept[spread(axes[kept], self.size)]
        return axes[kept], weights[kept]

    def stored(self) -> dict[str, NDArray[Any]]:
        """Return the points for a checkpoint, and go on with just those, as a resumed run has no others."""
        axes, weights = self.points()
        self._set(axes if self._axes_of is None else self._axes_of(weights), weights)
        return {"archive.weights": weights, **({"archive.axes": axes} if self._axes_of is None else {})}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        weights = arrays["archive.weights"]
        self._set(arrays["archive.axes"] if self._axes_of is None else self._axes_of(weights), weights)


def spread(axes: Array, size: int) -> NDArray[np.intp]:
    """Choose at most ``size`` points that cover the others: the ends first, then always the farthest one."""
    if len(axes) <= size:
        return np.arange(len(axes))
    low, high = axes.min(axis=0), axes.max(axis=0)
    scaled = (axes - low) / np.where(high > low, high - low, 1.0)
    chosen = list(dict.fromkeys(int(i) for i in scaled.argmin(axis=0)))[:size]
    distance = np.min([np.abs(scaled - scaled[i]).max(axis=1) for i in chosen], axis=0)
    while len(chosen) < size:
        farthest = int(np.argmax(distance))
        chosen.append(farthest)
        distance = np.minimum(distance, np.abs(scaled - scaled[farthest]).max(axis=1))
    return np.sort(np.array(chosen, dtype=np.intp))
