"""Counts of many models at once: rows by model, group, label and decision, which add up, and ordered pairs of rows.

Axes, always in this order: model (N), group (c), label (K), decision (K); rows (n) come last. The last group of counts
are the rows without a group, so that groups add up to all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..objectives import Array, Attribute, Task
from ..records import Record
from ..validation.inputs import check_weights
from .moments import Spread, added, spreads_of, taken

if TYPE_CHECKING:
    from ..frontier.dask_judgement import ScoreBins

BLOCK, SORTED = 1 << 20, 1 << 15
"""Entries of models by rows that are copied at once, and those that are sorted at once in the processor's cache."""


def row_weight(sample_weight: ArrayLike | None, n: int) -> Array:
    weight = check_weights(sample_weight, n)
    return np.ones(n) if weight is None else weight


def membership(codes: NDArray[Any], c: int) -> Array:
    """Return the (n, c) shares of membership in c groups; ``codes`` (n,) are -1 without one, or are such shares."""
    return codes if codes.ndim == 2 else np.asarray(codes[:, None] == np.arange(c), dtype=np.float64)


def blocks(N: int, n: int, entries: int = BLOCK) -> Iterator[slice]:
    """Cut N models into blocks of about so many entries, so that copies stay small."""
    size = max(1, entries // max(1, n))
    for start in range(0, N, size):
        yield slice(start, min(N, start + size))


def weighted_sums(values: NDArray[Any], columns: Array, transform: Callable[[Array], Array] | None = None) -> Array:
    """Return transform(values) @ columns, (N, q), in double precision; values are (N, n), columns (n, q)."""
    total = np.empty((len(values), columns.shape[1]))
    for part in blocks(*values.shape):
        block = values[part].astype(np.float64)
        total[part] = (block if transform is None else transform(block)) @ columns
    return total


def ratio(top: Array, bottom: Array | float) -> Array:
    """Divide, with NaN where nothing is there to divide by."""
    shape = np.broadcast_shapes(top.shape, np.shape(bottom))
    known = np.broadcast_to(np.asarray(bottom) > 0, shape)
    return np.asarray(np.divide(top, bottom, out=np.full(shape, np.nan), where=known))


@dataclass(frozen=True, eq=False, repr=False)
class Counts(Record):
    """Rows, weights and squared weights of N models by group, label and decision, each (N, c, K, K).

    Without sample weights and shares of membership the three are one array.
    """

    rows: Array
    weight: Array
    squared: Array

    def __add__(self, other: Counts) -> Counts:
        rows = self.rows + other.rows
        if self.weight is self.rows and other.weight is other.rows:
            return Counts(rows, rows, rows)
        return Counts(rows, self.weight + other.weight, self.squared + other.squared)

    def changed(self, change: Callable[[Array], Array]) -> Counts:
        rows = change(self.rows)
        return (
            Counts(rows, rows, rows)
            if self.weight is self.rows
            else Counts(rows, change(self.weight), change(self.squared))
        )

    def take(self, places: int | Sequence[int]) -> Counts:
        """Return the counts of some models, or those of one without its axis."""
        return self.changed(lambda cells: cells[places])

    def together(self) -> Counts:
        return self.changed(lambda cells: cells.sum(axis=1, keepdims=True))

    def with_everyone(self) -> Counts:
        """Return the counts with all rows as one more group, the last."""
        return self.changed(lambda cells: np.concatenate([cells, cells.sum(axis=1, keepdims=True)], axis=1))

    @property
    def sizes(self) -> Array:
        """Return the rows of every group, (c,); none where there are no models."""
        return np.asarray(self.rows[:1].sum(axis=(0, 2, 3)))


@dataclass(frozen=True, eq=False, repr=False)
class Means(Record):
    """Rows and weights of groups, (c,), and weighted sums of N models, (N, c, 3).

    These are sums of predictions, of residuals (value minus prediction) and of squared residuals.
    """

    rows: Array
    weight: Array
    sums: Array

    def __add__(self, other: Means) -> Means:
        return Means(self.rows + other.rows, self.weight + other.weight, self.sums + other.sums)

    def take(self, places: Sequence[int]) -> Means:
        return replace(self, sums=self.sums[places])


@dataclass(frozen=True, eq=False, repr=False)
class Overall(Record):
    """Weights of all rows, of wrong ones (N,) (squared errors for regression), by label (K,), by decision (N, K)."""

    n: int
    weight: float
    wrong: Array
    labels: Array
    decided: Array


@dataclass(frozen=True, eq=False, repr=False)
class Sums(Record):
    """What a set of rows adds to an evaluation.

    ``total`` are the number of rows, their weight, squared weight, and how many weigh anything but 1; ``everyone`` has
    all rows as one group, ``groups`` those of each attribute, and ``bins`` scores where rows lie in parts. ``spreads``
    are how models vary in each attribute's groups and, the last, in all rows; of people with several rows if
    ``clustered``.
    """

    total: Array
    everyone: Counts | Means
    groups: tuple[Counts | Means, ...]
    bins: ScoreBins | None = None
    spreads: tuple[Spread, ...] | None = None
    clustered: bool = False

    @property
    def n(self) -> int:
        return int(self.total[0])

    @property
    def weight(self) -> float:
        return float(self.total[1])

    @property
    def effective_n(self) -> float | None:
        """Return Kish's effective number of rows; None where all weigh 1."""
        return float(self.total[1] ** 2 / self.total[2]) if self.total[3] else None

    @property
    def overall(self) -> Overall:
        if isinstance(self.everyone, Means):
            return Overall(self.n, self.weight, self.everyone.sums[:, 0, 2], np.empty(0), np.empty((0, 0)))
        cells = self.everyone.weight[:, 0]
        wrong = cells.sum(axis=(1, 2)) - np.trace(cells, axis1=1, axis2=2)
        return Overall(self.n, self.weight, wrong, cells[:1].sum(axis=(0, 2)), cells.sum(axis=1))

    def take(self, places: Sequence[int]) -> Sums:
        """Return the sums of some models, without their scores."""
        groups, spreads = tuple(each.take(places) for each in self.groups), taken(self.spreads, places)
        return Sums(self.total, self.everyone.take(places), groups, None, spreads, self.clustered)

    def __add__(self, other: Sums) -> Sums:
        groups: Any = tuple(one + two for one, two in zip(self.groups, other.groups, strict=True))  # type: ignore[operator]
        bins = None if self.bins is None or other.bins is None else self.bins + other.bins
        everyone: Any = self.everyone + other.everyone  # type: ignore[operator]
        spreads, clustered = added(self.spreads, other.spreads), self.clustered or other.clustered
        return Sums(self.total + other.total, everyone, groups, bins, spreads, clustered)


def sums_of(
    decided: NDArray[Any],
    truth: NDArray[Any],
    task: Task,
    attributes: Sequence[Attribute],
    weight: Array | None,
    *,
    person: NDArray[np.intp] | None = None,
    together: bool = False,
    sets: int = 0,
) -> Sums:
    """Sum what N models decide, (N, n), on n rows; no weight may be 0.

    ``together`` asks how models vary together, over rows or those of one ``person`` (n,): codes, or one of ``sets``.
    """
    n, w = len(truth), np.ones(len(truth)) if weight is None else weight

    def of(codes: NDArray[Any], c: int) -> Counts | Means:
        if task.kind == "regression":
            return mean_sums(decided, truth, codes, c, weight)
        return count(decided, truth, len(task.classes), codes, c, weight)

    groups: Any = tuple(of(a.membership() if a.codes is None else a.codes, len(a.levels)) for a in attributes)
    exact = [] if task.kind == "regression" else [k for k, a in enumerate(attributes) if a.codes is not None]
    everyone = groups[exact[0]].together() if exact else of(np.full(n, -1), 0)  # other sums round
    total = np.array([n, w.sum(), w @ w, (w != 1.0).sum()])
    spreads = spreads_of(decided, truth, task, attributes, weight, person, sets) if together else None
    return Sums(total, everyone, groups, None, spreads, person is not None)


def count(
    decided: NDArray[Any], truth: NDArray[Any], K: int, codes: NDArray[Any], c: int, weight: Array | None = None
) -> Counts:
    shape = (len(decided), c + 1, K, K)
    if codes.ndim == 1:
        place = (np.where(codes < 0, c, codes).astype(np.intp) * K + truth) * K

        def counted(w: Array | None) -> Array:
            found = [np.bincount(place + each, w, minlength=(c + 1) * K * K) for each in decided]
            return np.asarray(found, dtype=np.float64).reshape(shape)

        rows = counted(None)
        return Counts(rows, rows, rows) if weight is None else Counts(rows, counted(weight), counted(weight**2))

    def shared(columns: Array) -> Array:
        by_label = (columns[:, :, None] * (truth[:, None] == np.arange(K))[:, None]).reshape(len(truth), -1)
        return np.stack([weighted_sums(decided == k, by_label) for k in range(K)], axis=2).reshape(shape)

    everyone = np.column_stack([codes, 1.0 - codes.sum(axis=1)])
    weighted = everyone if weight is None else everyone * weight[:, None]
    return Counts(shared(everyone), shared(weighted), shared(weighted**2))


def mean_sums(predicted: NDArray[Any], truth: Array, codes: NDArray[Any], c: int, weight: Array | None = None) -> Means:
    member = membership(codes, c)
    member = np.column_stack([member, 1.0 - member.sum(axis=1)])
    columns = member if weight is None else member * weight[:, None]
    sums = np.empty((len(predicted), columns.shape[1], 3))
    for part in blocks(*predicted.shape):
        block = predicted[part].astype(np.float64)
        residual = truth - block
        for k, values in enumerate((block, residual, residual**2)):
            sums[part, :, k] = values @ columns
    return Means(member.sum(axis=0), columns.sum(axis=0), sums)


def auc(scores: ArrayLike, is_positive: ArrayLike, sample_weight: ArrayLike | None = None) -> Array:
    """Return the area under the ROC curve of N models, (N,), from scores (N, n) or (n,).

        P(score of a positive row > score of a negative row) + 1/2 P(the two are equal)

    Equals `sklearn.metrics.roc_auc_score`, weights and ties included; NaN when one of the two labels has no weight.
    """
    positive = np.asarray(is_positive, dtype=bool)
    ranked = np.atleast_2d(scores)
    weight = row_weight(sample_weight, len(positive))
    up, across = np.where(positive, weight, 0.0), np.where(positive, 0.0, weight)
    whole = up.sum() * across.sum()
    if whole == 0:
        return np.full(len(ranked), np.nan)
    area = [_area(ranked[part], up, across) for part in blocks(len(ranked), len(positive), SORTED)]
    return np.asarray(np.clip(np.concatenate([np.empty(0), *area]) / whole, 0.0, 1.0))


def _area(scores: NDArray[Any], up: Array, across: Array) -> Array:
    """Add, for each model, up-weight times the across-weight below it, ties counting half.

    Models are laid end to end, one entry per distinct score: the running sums at the last row of each tie.
    """
    order = np.argsort(scores, axis=1)
    ranked = np.take_along_axis(scores, order, axis=1)
    last = np.ones(ranked.shape, dtype=bool)
    last[:, :-1] = ranked[:, 1:] != ranked[:, :-1]
    model = np.repeat(np.arange(len(scores)), last.sum(axis=1))
    starts = np.flatnonzero(np.diff(model, prepend=-1))

    def before(running: Array) -> Array:
        shifted = np.concatenate([[0.0], running[:-1]])
        shifted[starts] = 0.0
        return shifted

    above = np.cumsum(up[order], axis=1)[last]
    beside = np.cumsum(across[order], axis=1)[last]
    area = np.bincount(model, (above - before(above)) * (beside + before(beside)), minlength=len(scores))
    return np.asarray(0.5 * area)
