"""What the labels are: the task, its classes and the label that is good for the person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Kind = Literal["binary", "multiclass", "regression"]


@dataclass(frozen=True)
class Task:
    """The kind of prediction and its classes.

    ``favourable`` is the index in ``classes`` of the label that is good for the person; it is 0 and
    without meaning for regression, whose ``classes`` are empty.
    """

    kind: Kind
    classes: tuple[Any, ...] = ()
    favourable: int = 0

    @property
    def favourable_label(self) -> Any:
        """Return the favourable label itself, or None for regression."""
        return self.classes[self.favourable] if self.classes else None

    @property
    def label_codes(self) -> tuple[int, ...]:
        """Return the codes that distinguish atoms: one per class, a single one for regression."""
        return tuple(range(max(1, len(self.classes))))

    def targets(self, y: NDArray[Any]) -> Array:
        """Turn encoded labels (class indices, or values) into what the losses read.

        Binary: -1 for ``classes[0]`` and +1 for ``classes[1]``; several classes: the class index;
        regression: the value itself.
        """
        values = np.asarray(y, dtype=np.float64)
        return 2.0 * values - 1.0 if self.kind == "binary" else values

    def target_of(self, label: int) -> float:
        """Return the target value that stands for a class index."""
        return 2.0 * label - 1.0 if self.kind == "binary" else float(label)
