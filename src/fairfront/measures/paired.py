"""Differences of two models on the same rows, with intervals: shares and means, of groups and of everyone.

A difference of two shares rests on the rows where the two models differ. With b rows for the one and c for the other of
n, Agresti and Min (Statistics in Medicine 24, 2005, 729-740) add half a row to each of the four cells:

    (b - c) / (n + 2)  -+  z sqrt(b + c + 1 - (b - c)^2 / (n + 2)) / (n + 2)

Means of values (regression) take the plain normal interval of the differences. With unequal weights, n is Kish's
effective number of rows and b, c are scaled to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..objectives import Array, Attribute, Task
from .counts import ratio, sums_of, weighted_sums
from .evaluation import Evaluation, judgement_of
from .figures import VALUES
from .moves import Sides, changed_sides, moves_by_rate
from .proportions import normal_quantile

SHARES = ("selection", "tpr", "fpr", "error")
MEANS = ("prediction", "mse")


def rounded(values: ArrayLike, digits: int = 6, figure: str = "") -> list[Any]:
    """None for NaN. Digits are those after the point; of a ``figure`` in the target's unit, those that count."""
    array = np.asarray(values, dtype=np.float64)
    if figure in VALUES:
        array = np.array([float(f"{each:.{digits}g}") for each in array.ravel()]).reshape(array.shape)
    else:
        array = np.round(array, digits)
    found = array.astype(object)
    found[~np.isfinite(array)] = None
    return list(found.tolist())


@dataclass(frozen=True, eq=False)
class Change:
    """A difference with the ends of its interval, arrays of one shape."""

    value: Array
    lower: Array
    upper: Array

    def less(self, other: Change) -> Change:
        """Of other people: squared and added, as Newcombe does for two shares."""
        value = self.value - other.value
        down = np.hypot(self.value - self.lower, other.upper - other.value)
        up = np.hypot(self.upper - self.value, other.value - other.lower)
        return Change(value, value - down, value + up)

    def moved_to(self, value: Array) -> Change:
        return Change(value, self.lower - self.value + value, self.upper - self.value + value)

    def columns(self, part: slice | int) -> Change:
        return Change(self.value[:, part], self.lower[:, part], self.upper[:, part])

    def at(self, place: int) -> Change:
        return Change(self.value[place], self.lower[place], self.upper[place])

    def listed(self) -> dict[str, Any]:
        return {"change": rounded(self.value), "lower": rounded(self.lower), "upper": rounded(self.upper)}

    @property
    def excludes_zero(self) -> NDArray[np.bool_]:
        return np.asarray((self.lower > 0) | (self.upper < 0))


def share_change(gained: Array, lost: Array, size: Array, confidence: float) -> Change:
    """Of a share when ``gained`` of ``size`` rows come in and ``lost`` go out."""
    net, differ = gained - lost, gained + lost
    n = np.where(size > 0, size, np.nan)
    half = normal_quantile(confidence) * np.sqrt(np.maximum(differ + 1.0 - net**2 / (n + 2.0), 0.0)) / (n + 2.0)
    middle, value = net / (n + 2.0), net / n
    return Change(value, np.minimum(middle - half, value), np.maximum(middle + half, value))


def mean_change(mean: Array, square: Array, size: Array, confidence: float) -> Change:
    """From the mean and mean square of the rows' differences."""
    n = np.where(size > 1, size, np.nan)
    half = normal_quantile(confidence) * np.sqrt(np.maximum(square - mean**2, 0.0) / n)
    return Change(mean, mean - half, mean + half)


def effective_rows(columns: Array) -> Array:
    """Kish's effective number of rows of each column of weights, (q,)."""
    squared = (columns**2).sum(axis=0)
    return np.asarray(columns.sum(axis=0) ** 2 / np.where(squared > 0, squared, 1.0))


def mean_changes(values: NDArray[Any], plain: int, columns: Array, confidence: float) -> Change:
    """Of weighted means of N models against one of them in each column of weights (n, q), (N, q)."""
    before, total = values[plain], columns.sum(axis=0)
    mean = ratio(weighted_sums(values, columns, lambda block: block - before), total)
    square = ratio(weighted_sums(values, columns, lambda block: (block - before) ** 2), total)
    return mean_change(mean, square, effective_rows(columns), confidence)


def share_changes(values: NDArray[np.bool_], plain: int, columns: Array, confidence: float) -> Change:
    """Of weighted shares, as `mean_changes`."""
    size = effective_rows(columns)
    scale = np.nan_to_num(ratio(size, columns.sum(axis=0)))
    gained, lost = (side * scale for side in changed_sides(values, values[plain], columns))
    return share_change(gained, lost, size, confidence)


@dataclass(frozen=True, eq=False)
class GroupChanges:
    """One attribute's rates against those of the plain model: members (n, c), and by rate changes (N, c + 1).

    Groups come first and everyone last; ``sides`` are the rows of each that came in and went out (none for means).
    """

    levels: tuple[str, ...]
    member: Array
    changes: dict[str, Change]
    sides: dict[str, Sides]


@dataclass(frozen=True, eq=False)
class PairedRows:
    """Rows with the decisions of N models, to compare each with the ``plain`` one; it is never stored.

    ``decided`` (N, n) says who is decided favourably and ``wrong`` (N, n) where the decision is not the label; for
    regression they are the predictions and the squared errors. ``record`` judges the models on these rows.
    """

    task: Task
    plain: int
    good: NDArray[np.bool_]
    attributes: Sequence[Attribute]
    weight: Array
    decided: NDArray[Any]
    wrong: NDArray[Any]
    record: Evaluation
    confidence: float

    @classmethod
    def of(
        cls,
        decided: NDArray[Any],
        labels: NDArray[Any],
        task: Task,
        attributes: Sequence[Attribute],
        weight: Array | None,
        **more: Any,
    ) -> PairedRows:
        """Take decisions (N, n) as class indices, or predictions."""
        record = judgement_of(sums_of(decided, labels, task, attributes, weight), task, attributes, "rows", None)
        values, good, wrong = decided == task.favourable, labels == task.favourable, decided != labels
        if task.kind == "regression":
            values, good, wrong = decided, np.zeros(len(labels), dtype=bool), (decided - labels) ** 2
        more |= {"weight": np.ones(len(labels)) if weight is None else weight, "record": record}
        return cls(task, good=good, attributes=attributes, decided=values, wrong=wrong, **more)

    @property
    def regression(self) -> bool:
        return self.task.kind == "regression"

    def values(self, rate: str) -> NDArray[Any]:
        """What a rate is the mean of, (N, n)."""
        return self.wrong if rate in ("error", "mse") else self.decided

    def columns(self, member: Array, rate: str) -> Array:
        """Weights (n, c + 1) of the rows that a rate is about: of members of each group (n, c), and of everyone."""
        among = self.weight * {"tpr": self.good, "fpr": ~self.good}.get(rate, True)
        return np.column_stack([member * among[:, None], among])

    def by_group(self, place: int) -> GroupChanges:
        """Compare the groups of an attribute; changes are differences of the rates of the judgement."""
        attribute = self.attributes[place]
        rates, member = self.record.groups[attribute.name], attribute.membership()
        sides: dict[str, Sides] = {}
        if not self.regression:
            sides = moves_by_rate(self.decided, self.wrong, self.plain, self.good, member)
        changes, c = {}, member.shape[1]
        for rate in MEANS if self.regression else SHARES:
            values, change = rates.rate(rate), self._change(rate, self.columns(member, rate))
            changes[rate] = change.moved_to(np.column_stack([values - values[self.plain], change.value[:, c:]]))
        return GroupChanges(rates.levels, member, changes, sides)

    def overall(self) -> dict[str, Change]:
        """Compare all rows, (N,) each."""
        found, columns = {}, {"error": "error", "selection": "approval_rate"}
        for rate, column in ({"mse": "mse"} if self.regression else columns).items():
            change = self._change(rate, self.weight[:, None]).columns(0)
            found[rate] = change.moved_to(self.record[column] - self.record[column][self.plain])
        return found

    def _change(self, rate: str, columns: Array) -> Change:
        change = mean_changes if self.regression else share_changes
        return change(self.values(rate), self.plain, columns, self.confidence)
