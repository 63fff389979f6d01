"""How decisions of many models vary together: sums over people that add up, and what follows from them.

Of a rate of one group let a person p weigh a_p and have the values u_p (N,), one per model, times that weight: sums
over the person's rows that the rate is about. Then with T = sum u / sum a and W = sum a

    cov = sum (u - a T)(u - a T)^T / W^2

is the covariance of the N models' rates. Neighbours on a frontier share nearly all decisions, so their errors are
nearly one: ends that have to hold for all points at once (max-t) cost far less than Bonferroni's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array, Attribute, Task
from ..records import Record
from .people_sets import SetSums

MODELS = 256
"""Most models whose covariances are kept; ends of more hold together by Bonferroni's correction."""
DRAWS = 2_000
STEP = 0.05
"""Design effects are rounded up to multiples of it."""
ROWS = 1 << 15
"""Rows that are taken at once."""
Rows = NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class Moments(Record):
    """Sums over people of one rate in G groups: a (G,), a^2 (G,), u (G, N), a u (G, N) and u u^T (G, N, N)."""

    weight: Array
    own: Array
    first: Array
    cross: Array
    second: Array

    def __add__(self, other: Moments) -> Moments:
        return Moments(*(getattr(self, name) + getattr(other, name) for name in vars(self)))

    def take(self, places: Sequence[int]) -> Moments:
        second = self.second[:, places][:, :, places]
        return Moments(self.weight, self.own, self.first[:, places], self.cross[:, places], second)

    @property
    def rest(self) -> Moments:
        """Return the sums of 1 less each value."""
        own, cross, across = self.own[:, None, None], self.cross[:, :, None], self.cross[:, None]
        first, second = self.weight[:, None] - self.first, own - cross - across + self.second
        return Moments(self.weight, self.own, first, self.own[:, None] - self.cross, second)

    @property
    def means(self) -> Array:
        """Return T, (G, N); 0 in groups without weight."""
        return np.asarray(self.first / np.where(self.weight > 0, self.weight, 1.0)[:, None])

    @property
    def covariance(self) -> Array:
        """Return the covariance of the models' rates in each group, (G, N, N)."""
        T = self.means
        mixed = self.cross[:, :, None] * T[:, None]
        centred = self.second - mixed - mixed.swapaxes(1, 2) + self.own[:, None, None] * T[:, :, None] * T[:, None]
        return np.asarray(centred / np.where(self.weight > 0, self.weight, 1.0)[:, None, None] ** 2)

    @property
    def variance(self) -> Array:
        """Return the variance of each rate, (G, N)."""
        return np.maximum(np.diagonal(self.covariance, axis1=1, axis2=2), 0.0)


Spread = dict[str, Any]
"""Moments of an attribute's groups by rate, of the recall of class k by ``recall[k]``; of parts maybe `SetSums`."""


def added(some: tuple[Spread, ...] | None, others: tuple[Spread, ...] | None) -> tuple[Spread, ...] | None:
    if some is None or others is None:
        return None
    return tuple({name: one[name] + two[name] for name in one} for one, two in zip(some, others, strict=True))


def settled(some: tuple[Spread, ...] | None) -> tuple[Spread, ...] | None:
    """Return the moments of sums over sets of people, once all parts are in them."""
    return some and tuple({name: Moments(*each.moments) for name, each in spread.items()} for spread in some)


def taken(some: tuple[Spread, ...] | None, places: Sequence[int]) -> tuple[Spread, ...] | None:
    return some and tuple({name: each.take(places) for name, each in spread.items()} for spread in some)


def spreads_of(
    decided: Rows,
    truth: Rows,
    task: Task,
    attributes: Sequence[Attribute],
    weight: Array | None,
    person: NDArray[np.intp] | None,
    sets: int = 0,
) -> tuple[Spread, ...] | None:
    """Return the moments of every attribute, and those of all rows as the last; None of more than `MODELS` models.

    With ``sets``, ``person`` are sets of people of whom other parts have rows too, and sums of sets are returned.
    """
    if len(decided) > MODELS:
        return None
    everyone = [(np.arange(len(truth)), None)]
    found = [_spread(decided, truth, task, everyone, weight, person, sets)]
    for attribute in attributes:
        if attribute.codes is None:
            shares = attribute.membership()
            groups: Any = [(np.flatnonzero(column), column) for column in shares.T[: len(attribute.levels)]]
        else:
            groups = [(np.flatnonzero(attribute.codes == g), None) for g in range(len(attribute.levels))]
        found.append(_spread(decided, truth, task, groups, weight, person, sets))
    return (*found[1:], found[0])


def _spread(
    decided: Rows,
    truth: Rows,
    task: Task,
    groups: Sequence[tuple[NDArray[np.intp], Array | None]],
    weight: Array | None,
    person: NDArray[np.intp] | None,
    sets: int,
) -> Spread:
    """Sum rates of groups, given as rows and the shares that they belong to it by."""

    def sums(value: Callable[[NDArray[np.intp]], Array], mask: NDArray[np.bool_] | None = None) -> Any:
        parts: list[Any] = []
        for rows, share in groups:
            some = rows if mask is None else rows[mask[rows]]
            w = None if weight is None else weight[some]
            if share is not None:
                w = share[some] if w is None else w * share[some]
            if sets and person is not None:
                parts.append(SetSums.of(value(some), w, person[some], sets))
            else:
                parts.append(_summed(partial(_at, value, some), len(some), w, _codes(person, some)))
        return type(parts[0])(*(np.stack([getattr(part, name) for part in parts]) for name in vars(parts[0])))

    if task.kind == "regression":
        return {
            "prediction": sums(lambda at: decided[:, at]),
            "residual": sums(lambda at: truth[at] - decided[:, at]),
            "mse": sums(lambda at: (truth[at] - decided[:, at]) ** 2),
        }
    good = truth == task.favourable
    chosen = (lambda at: decided[:, at] == task.favourable) if len(task.classes) > 2 or not task.favourable else None
    plain: Any = chosen or (lambda at: decided[:, at])
    found = {"tpr": sums(plain, good), "fpr": sums(plain, ~good)}
    if person is None and len(task.classes) == 2:  # rows are people: those of the two labels add up
        return found | {"selection": found["tpr"] + found["fpr"], "error": found["tpr"].rest + found["fpr"]}
    found |= {"selection": sums(plain), "error": sums(lambda at: decided[:, at] != truth[at])}
    if len(task.classes) > 2:
        for k in range(len(task.classes)):
            found[f"recall[{k}]"] = sums(partial(_decided_as, decided, k), truth == k)
    return found


def _at(value: Callable[[Any], Array], rows: NDArray[np.intp], at: Any) -> Array:
    return value(rows[at])


def _decided_as(decided: Rows, k: int, at: Any) -> Any:
    return decided[:, at] == k


def _codes(person: NDArray[np.intp] | None, rows: NDArray[np.intp]) -> NDArray[np.intp] | None:
    return None if person is None else np.unique(person[rows], return_inverse=True)[1]


def _summed(value: Callable[[Any], Array], n: int, weight: Array | None, person: NDArray[np.intp] | None) -> Moments:
    """Sum over rows, or over people with several; without weights and people in single precision, which is exact."""
    if person is not None:
        order = np.argsort(person, kind="stable")
        starts = np.flatnonzero(np.diff(person[order], prepend=-1))
        w = np.ones(n) if weight is None else weight
        u = np.asarray(value(order), dtype=np.float64) * w[order]
        if n:
            u, a = np.add.reduceat(u, starts, axis=1), np.add.reduceat(w[order], starts)
        else:
            a = np.zeros(0)
        return Moments(np.array(a.sum()), np.array(a @ a), u.sum(axis=1), u @ a, u @ u.T)
    found = None
    for start in range(0, max(n, 1), ROWS):
        at = slice(start, start + ROWS)
        rows = value(at)
        if weight is None and rows.dtype == bool:
            u = rows.astype(np.float32)
            total, m = u.sum(axis=1, dtype=np.float64), float(u.shape[1])
            part = Moments(np.array(m), np.array(m), total, total, (u @ u.T).astype(np.float64))
        else:
            w = np.ones(rows.shape[1]) if weight is None else weight[at]
            wide = rows.astype(np.float64) * w
            part = Moments(np.array(w.sum()), np.array(w @ w), wide.sum(axis=1), wide @ w, wide @ wide.T)
        found = part if found is None else found + part
    assert found is not None
    return found


def design_effects(spread: Spread, sizes: dict[str, Array]) -> dict[str, Array]:
    """Return by how much less sure rates are of people with several rows, or weights, than of rows of these sizes.

    That is the variance over that of independent rows, all models together; at least 1, and rounded up to `STEP`.
    Sizes are (G,), those of ``recall`` (G, classes).
    """
    same = {"accuracy": "error"}
    found = {name: _effect(spread[same.get(name, name)], size) for name, size in sizes.items() if size.ndim == 1}
    for name, size in sizes.items():
        if size.ndim == 2:
            found[name] = np.stack([_effect(spread[f"{name}[{k}]"], each) for k, each in enumerate(size.T)], axis=1)
    return found


def largest_of(effects: Iterable[Array]) -> Array:
    """Return the largest design effect of any rate, (c,); those of ``recall`` are (c, classes)."""
    return np.asarray(np.max([each if each.ndim == 1 else each.max(axis=1) for each in effects], axis=0))


def _effect(moments: Moments, size: Array) -> Array:
    T = moments.means
    alone = (T * (1.0 - T)).sum(axis=1) / np.where(size > 0, size, 1.0)
    more = moments.variance.sum(axis=1) / np.where(alone > 0, alone, 1.0)
    effect = np.where(alone > 0, np.maximum(more, 1.0), 1.0)
    return np.asarray(np.ceil(effect / STEP - 1e-9) * STEP)


def least_variance(value: Array, size: Array) -> Array:
    """Return half the variance of rates moved towards 1/2 by one success and one failure: none is surer than that."""
    near = (value * size + 1.0) / (size + 2.0)
    return np.asarray(0.5 * near * (1.0 - near) / (size + 2.0))


def critical_values(
    parts: Iterable[tuple[Moments, Array, bool]], levels: Sequence[float], *, relative: bool = False
) -> Array:
    """Return the quantiles of the largest |error| / standard error over models and pairs of groups, one per level.

    Errors are drawn with a fixed seed from the covariances of groups, which are independent. ``parts`` are moments, the
    least variances (G, N) or 0, and whether groups are compared in pairs; several parts are drawn independently, which
    is no less than what any dependence gives (Royen 2014). ``relative`` is for ratios of rates.
    """
    random, top = np.random.default_rng(0), np.zeros(DRAWS)
    for moments, least, pairs in parts:
        there = np.flatnonzero(moments.weight > 0)
        errors, spread = [], []
        for g in there:
            scale = 1.0 / np.maximum(moments.means[g], 1e-9) if relative else np.ones(moments.first.shape[1])
            root = symmetric_root(moments.covariance[g])
            errors.append(random.standard_normal((DRAWS, len(root))) @ root * scale)
            spread.append(np.maximum(moments.variance[g], np.broadcast_to(least, moments.first.shape)[g]) * scale**2)
        if not pairs:
            for error, variance in zip(errors, spread, strict=True):
                top = np.maximum(top, _largest(error, variance))
            continue
        for a, b in combinations(range(len(there)), 2):
            top = np.maximum(top, _largest(errors[a] - errors[b], spread[a] + spread[b]))
    return np.quantile(top, levels, method="higher")


def symmetric_root(covariance: Array) -> Array:
    """Return the symmetric square root of a covariance, (N, N).

    It is unique, so that errors drawn by it are the same on every machine. Eigenvectors alone are not: their signs,
    and their directions where eigenvalues are equal, are those of the linear algebra library.
    """
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def _largest(error: Array, variance: Array) -> Array:
    known = variance > 0
    return np.asarray(np.abs(error[:, known] / np.sqrt(variance[known])).max(axis=1, initial=0.0))
