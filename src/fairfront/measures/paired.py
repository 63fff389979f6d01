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
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..objectives import Array, Attribute, Task
from ..objectives.people import STEP
from .counts import ratio, sums_of, weighted_sums
from .disclosure import pool_of
from .evaluation import Evaluation, judgement_of
from .figures import PARTS, VALUES
from .moves import Sided, Sides, changed_sides, moves_by_rate
from .proportions import normal_quantile
from .published import published, published_people
from .ranges import TableRange
from .rates import Margins, PerGroup

SHARES = ("selection", "tpr", "fpr", "error")
MEANS = ("prediction", "mse")
People = tuple[Margins, Margins, TableRange]


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


def mean_changes(values: NDArray[Any], plain: int, columns: Array, people: Array, confidence: float) -> Change:
    """Of weighted means of N models against one of them in each column of weights (n, q), (N, q).

    ``people`` (q,) are published over exact rows.
    """
    before, total = values[plain], columns.sum(axis=0)
    mean = ratio(weighted_sums(values, columns, lambda block: block - before), total)
    square = ratio(weighted_sums(values, columns, lambda block: (block - before) ** 2), total)
    return mean_change(mean, square, effective_rows(columns) * people, confidence)


def share_changes(
    values: NDArray[np.bool_], plain: int, columns: Array, weight: Array, sides: Sides, people: Array, confidence: float
) -> Change:
    """Of weighted shares, as `mean_changes`; ``sides`` are the rows, as published, that came in and went out."""
    before, total = values[plain], columns.sum(axis=0)
    size = effective_rows(columns) * people
    exact = changed_sides(values, before, columns / weight[:, None])
    weights = changed_sides(values, before, columns)
    scale, unit = np.nan_to_num(ratio(size, total * people)), np.nan_to_num(ratio(total, (columns > 0).sum(axis=0)))
    gained, lost = (
        np.where(all_rows > 0, w * np.nan_to_num(ratio(shown, all_rows)), shown * unit) * scale
        for w, shown, all_rows in zip(weights, sides, exact, strict=True)
    )
    return share_change(gained, lost, size, confidence)


@dataclass(frozen=True, eq=False)
class GroupChanges:
    """One attribute's rates against those of the plain model: members (n, c), and by rate changes (N, c + 1).

    Groups come first and everyone last; ``sides`` are the rows of each that came in and went out (none for means).
    """

    levels: tuple[str, ...]
    member: Array
    changes: dict[str, Change]
    sides: dict[str, Sided]


@dataclass(frozen=True, eq=False)
class PairedRows:
    """Rows with the decisions of N models, to compare each with the ``plain`` one; it is never stored.

    ``decided`` (N, n) says who is decided favourably and ``wrong`` (N, n) where the decision is not the label; for
    regression they are the predictions and the squared errors. ``record`` judges the models on these rows, with exact
    counts; what is told is made of published ones unless ``small`` is 0.
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
    small: int = 0

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

    @cached_property
    def shown(self) -> Evaluation:
        """Return the judgement as it is told."""
        return published(self.record, self.task) if self.small else self.record

    def values(self, rate: str) -> NDArray[Any]:
        """What a rate is the mean of, (N, n)."""
        return self.wrong if rate in ("error", "mse") else self.decided

    def columns(self, member: Array, rate: str) -> Array:
        """Weights (n, c + 1) of the rows that a rate is about: of members of each group (n, c), and of everyone."""
        among = self.weight * {"tpr": self.good, "fpr": ~self.good}.get(rate, True)
        return np.column_stack([member * among[:, None], among])

    def by_group(self, place: int) -> GroupChanges:
        """Compare the groups of an attribute; changes are differences of the rates as they are told."""
        rates, (member, people) = self.shown.groups[self.attributes[place].name], self._pooled(place)
        sides: dict[str, Sided] = {}
        if not self.regression:
            shown = people and (people[0], people[2])
            sides = moves_by_rate(self.decided, self.wrong, self.plain, self.good, member, shown)
        changes, c = {}, member.shape[1]
        for rate in MEANS if self.regression else SHARES:
            columns, values = self.columns(member, rate), rates.rate(rate)
            moved = sides[rate].most if rate in sides else None
            change = self._change(rate, columns, moved, self._people(rates, rate, columns, people))
            changes[rate] = change.moved_to(np.column_stack([values - values[self.plain], change.value[:, c:]]))
        return GroupChanges(rates.levels, member, changes, sides)

    def overall(self, first: GroupChanges) -> dict[str, Change]:
        """Compare all rows, (N,) each; ``first`` is of any attribute."""
        found, shown = {}, {"error": "error", "selection": "approval_rate"}
        for rate, column in ({"mse": "mse"} if self.regression else shown).items():
            sides = None
            if rate in first.sides:
                up, down = first.sides[rate].most
                sides = up[:, -1:], down[:, -1:]
            change = self._change(rate, self.weight[:, None], sides, np.ones(1)).columns(0)
            found[rate] = change.moved_to(self.shown[column] - self.shown[column][self.plain])
        return found

    def _change(self, rate: str, columns: Array, sides: Sides | None, people: Array) -> Change:
        values = self.values(rate)
        if sides is None:
            return mean_changes(values, self.plain, columns, people, self.confidence)
        return share_changes(values, self.plain, columns, self.weight, sides, people, self.confidence)

    def _pooled(self, place: int) -> tuple[Array, People | None]:
        """Members (n, c) of an attribute's groups, and what `published_people` has of these and of no group.

        Groups of a few people are together, as in `published`, unless counts are exact.
        """
        attribute, sums = self.attributes[place], self.record.sums
        member = attribute.membership()
        if not self.small:
            return member, None
        pool = pool_of(attribute.levels, member.sum(axis=0))
        joined = np.column_stack([member[:, list(some)].sum(axis=1) for some in pool.members])
        if self.regression or sums is None:
            return joined, None
        counts: Any = sums.groups[place].pooled((*pool.members, (len(attribute.levels),)))
        half = STEP / 2 if attribute.is_proxy else STEP // 2
        return joined, published_people(counts.rows, self.task.favourable, half=half)

    def _people(self, rates: PerGroup, rate: str, columns: Array, people: People | None) -> Array:
        """Published over exact rows behind a rate, of every group and of everyone, (c + 1,)."""
        if not self.small:
            return np.ones(columns.shape[1])
        behind = (columns / self.weight[:, None]).sum(axis=0)
        shown, everyone = rates.n, behind[-1]
        if people is not None:
            groups, all_rows = (getattr(each, PARTS[rate][1]) for each in people[:2])
            shown, everyone = groups[:-1], all_rows[0]
        return np.nan_to_num(ratio(np.append(shown, everyone), behind))
