"""Bounds on gaps between people whose groups are known by probabilities only, under these probabilities.

Within people of one proxy value, P(group) is known, and so are the shares of decisions and labels; their joint
distribution is not. Frechet's bounds on it give the smallest and the largest rate of every group, and those of two
groups are attained together, so that the bounds on gaps are sharp (Kallus, Mao and Zhou, "Assessing algorithmic
fairness with unobserved protected class using data combination", Management Science 68, 2022, 1959-1981).

A proxy value is what shares all probabilities. Where fewer than ten rows do so on average, it is taken as what shares
them to one digit: a coarser proxy knows less, so that bounds are wider and hold all the same. That probabilities are
right is taken for granted, and the sampling error of rates is not in the bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array, Attribute, Task
from .evaluation import Evaluation

if TYPE_CHECKING:
    from .judged import Judged
    from .lines import Lines

Mask = NDArray[np.bool_]
FIGURES = ("selection", "tpr", "fpr", "error")
DIGIT = 1
"""Digits of probabilities that make a coarse proxy."""
FEWEST = 10
"""Rows that share a proxy value on average, at least, where the proxy is not coarse."""


@dataclass(frozen=True)
class ProxyBound:
    """The gap of a figure, the first group's less the second's, is from ``low`` to ``high``."""

    figure: str
    between: tuple[str, str]
    low: float
    high: float

    @property
    def plain(self) -> dict[str, Any]:
        return {"figure": f"{self.figure}_gap", "between": list(self.between), "low": self.low, "high": self.high}

    def __str__(self) -> str:
        one, other = self.between
        figure = self.figure.upper() if self.figure in ("tpr", "fpr") else self.figure
        return f"{figure} gap of {one} less {other} from {self.low:.3f} to {self.high:.3f}"


def proxy_values(shares: Array) -> NDArray[np.intp]:
    """Return the proxy value of every row, as codes (n,), of probabilities (n, c)."""
    exact = np.unique(shares.round(9), axis=0, return_inverse=True)[1].reshape(-1)
    if len(shares) >= FEWEST * (int(exact.max(initial=0)) + 1):
        return exact.astype(np.intp)
    return np.unique(shares.round(DIGIT), axis=0, return_inverse=True)[1].reshape(-1).astype(np.intp)


def rate_bounds(part: Array, rest: Array, shares: Array, mass: Array) -> tuple[Array, Array]:
    """Return the smallest and the largest rate of every group, (c,) each.

    ``part`` and ``rest`` (v,) are the shares, among people of a proxy value, of those that the rate counts and of the
    others that it is a share of; ``shares`` (v, c) are probabilities of groups and ``mass`` (v,) the weights of values.
    """

    def most(of: Array) -> Array:
        return mass @ np.minimum(shares, of[:, None])

    def least(of: Array) -> Array:
        return mass @ np.maximum(shares + of[:, None] - 1.0, 0.0)

    ends = []
    for counted, others in ((least(part), most(rest)), (most(part), least(rest))):
        whole = counted + others
        ends.append(np.divide(counted, whole, out=np.full_like(whole, np.nan), where=whole > 0.0))
    return ends[0], ends[1]


def group_bounds(decided: Mask, labelled: Mask, shares: Array, weight: Array | None) -> dict[str, tuple[Array, Array]]:
    """Return the ends of the rates (c,) of every figure: of decisions (n,) for the favourable label and labels (n,)."""
    value, w = proxy_values(shares), np.ones(len(decided)) if weight is None else weight
    mass = np.asarray(np.bincount(value, w), dtype=np.float64)

    def share(mask: Mask) -> Array:
        return np.asarray(np.bincount(value, w * mask, minlength=len(mass)) / mass)

    inside = np.stack([np.bincount(value, w * column) for column in shares.T], axis=1) / mass[:, None]
    wrong = decided != labelled
    parts = {
        "selection": (decided, ~decided),
        "tpr": (decided & labelled, ~decided & labelled),
        "fpr": (decided & ~labelled, ~decided & ~labelled),
        "error": (wrong, ~wrong),
    }
    return {name: rate_bounds(share(part), share(rest), inside, mass) for name, (part, rest) in parts.items()}


def gap_bounds(
    levels: tuple[str, ...], decided: Mask, labelled: Mask, shares: Array, weight: Array | None
) -> tuple[ProxyBound, ...]:
    """Return the bounds of every figure's gap between every two groups."""
    found = []
    for figure, (low, high) in group_bounds(decided, labelled, shares, weight).items():
        for i, j in combinations(range(len(levels)), 2):
            if np.isfinite([low[i], high[i], low[j], high[j]]).all():
                pair = (levels[i], levels[j])
                found.append(ProxyBound(figure, pair, float(low[i] - high[j]), float(high[i] - low[j])))
    return tuple(found)


def bounds_of(judged: Judged, lines: Sequence[Lines]) -> dict[str, tuple[ProxyBound, ...]]:
    """Of two classes: bounds on gaps between people of groups given as probabilities."""
    if judged.task.kind != "binary":
        return {}
    good, proxies = judged.task.favourable, [each for each in lines if each.is_proxy]
    known = (judged.decided == good, judged.truth == good)
    return {
        each.attribute: gap_bounds(each.names[: each.codes.shape[1]], *known, each.codes, judged.weight)
        for each in proxies
    }


def worst_bounds(decided: Mask, labelled: Mask, shares: Array, weight: Array | None) -> dict[str, tuple[Array, Array]]:
    """Return the smallest and the largest worst gap of every figure, (N,), of decisions (N, n)."""
    found: dict[str, tuple[Array, Array]] = {
        figure: (np.empty(len(decided)), np.empty(len(decided))) for figure in FIGURES
    }
    names = tuple(map(str, range(shares.shape[1])))
    for place, each in enumerate(decided):
        known = gap_bounds(names, each, labelled, shares, weight)
        for figure, (least, most) in found.items():
            ends = np.array([(bound.low, bound.high) for bound in known if bound.figure == figure]).reshape(-1, 2)
            most[place] = np.abs(ends).max() if len(ends) else np.nan
            apart = np.maximum(np.maximum(ends[:, 0], -ends[:, 1]), 0.0)
            least[place] = apart.max() if len(ends) else np.nan
    return found


def with_bounds(
    record: Evaluation,
    decided: NDArray[Any],
    task: Task,
    labels: NDArray[Any],
    attributes: Sequence[Attribute],
    weight: Array | None,
) -> Evaluation:
    """Add what worst gaps between people can be, of groups given as probabilities."""
    columns = dict(record.columns)
    for attribute in attributes if task.kind == "binary" else ():
        if attribute.shares is not None:
            prefix = f"{attribute.name}." if len(attributes) > 1 else ""
            known = (decided == (task.favourable == 1), labels == task.favourable)
            for name, (least, most) in worst_bounds(*known, attribute.shares, weight).items():
                columns |= {f"{prefix}{name}_gap_least": least, f"{prefix}{name}_gap_most": most}
    return replace(record, columns=columns)


def bound_sentences(attribute: str, bounds: tuple[ProxyBound, ...]) -> tuple[str, ...]:
    """Say the widest bound of every figure."""
    if not bounds:
        return ()
    widest = [
        max((b for b in bounds if b.figure == name), key=lambda b: b.high - b.low, default=None) for name in FIGURES
    ]
    told = "; ".join(str(each) for each in widest if each is not None)
    return (
        f"Between people of {attribute}, gaps can be anything within these bounds if the probabilities are right "
        f"(Kallus, Mao and Zhou 2022), without sampling error: {told}.",
    )
