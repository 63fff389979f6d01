"""Iterates of the exact solver, and what a checkpoint keeps of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from ..storage.checkpoints import Entry
from .lagrangian import Curved


@dataclass(frozen=True)
class Iterate:
    """A point with its cells, gradients, multipliers and the factor of the last Hessian.

    kkt         largest of stationarity (columns at unit scale), violation, complementarity and wrong signs
    violation   how far the worst gap is above its cap
    level       pi_1 loss of a preference, NaN with fixed caps
    """

    W: Array
    L: Array
    G: Array
    multipliers: Array
    factor: Curved | None = None
    kkt: float = np.inf
    violation: float = np.inf
    level: float = np.nan
    n_iter: int = 0


NUMBERS = ("kkt", "violation", "level", "n_iter")


def stored(at: Iterate) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return weights, multipliers and where the Hessian was taken, and the iterate's numbers."""
    arrays = {"W": at.W, "multipliers": at.multipliers}
    numbers = {name: getattr(at, name) for name in NUMBERS}
    if at.factor is not None:
        arrays |= {"curved_W": at.factor.W, "curved_multipliers": at.factor.multipliers}
        numbers["curved_half"] = at.factor.half
    return arrays, numbers


def restored(there: Iterate, entry: Entry) -> Iterate:
    """Return the iterate of an entry, evaluated at its weights; its Hessian is taken again when it is needed."""
    arrays, numbers = entry.arrays, entry.numbers
    factor = None
    if "curved_W" in arrays:
        factor = Curved(None, arrays["curved_W"], arrays["curved_multipliers"], bool(numbers["curved_half"]))
    return replace(there, factor=factor, **{name: numbers[name] for name in NUMBERS})
