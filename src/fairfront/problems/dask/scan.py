"""The scan: one pass over all partitions that finds labels, groups and sizes, and refuses what cannot be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...exceptions import InputError
from ...objectives import Array
from ...validation.inputs import as_columns, as_weights, check_labels, check_matrix, factorize, weighted_rows
from ..design import Moments
from ..sparse_design import moments
from .passes import check_sizes

Key = tuple[Any, ...]
"""The label (where there is one) and the groups of a row, None where a group is missing."""
Kind = tuple[bool, bool | None]
"""Whether a column of groups has objects, and whether its first numbers are floats, None where all are missing."""
MOST, MOST_IN_ALL = 100_000, 1_000_000
"""Most combinations of label and groups in one partition, and in all of them."""


def keys_of(columns: Sequence[NDArray[Any]]) -> tuple[NDArray[np.intp], list[Key]]:
    """Return the place of every row's key among the keys that occur, and those keys."""
    place, keys = np.zeros(len(columns[0]), dtype=np.intp), [()]
    for values in columns:
        codes, levels = factorize(values)
        known, size = [None, *levels], len(levels) + 1
        place, pairs = factorize(place * size + codes + 1)
        keys = [(*keys[pair // size], known[pair % size]) for pair in pairs]
        _check_number(keys, MOST, "one partition")
    return place, keys


def _check_number(keys: Any, most: int, where: str) -> None:
    if len(keys) > most:
        raise InputError(
            f"y and sensitive_features have more than {most} combinations of values in {where}, expected labels and "
            "groups; use loss='squared' for a target of numbers, and cut numbers such as age into groups."
        )


@dataclass(frozen=True)
class Tally:
    """The keys that are ``found``, each with its rows and sum of weights; names and kinds of the columns of groups."""

    names: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()
    found: dict[Key, tuple[int, float]] = field(default_factory=dict)

    def joined(self, other: Tally) -> Tally:
        if self.names and other.names and self.names != other.names:
            raise InputError(
                f"partitions have the groups {self.names} and {other.names}, expected the same columns in all."
            )
        found = dict(self.found)
        for key, (rows, weight) in other.found.items():
            before = found.get(key, (0, 0.0))
            found[key] = (before[0] + rows, before[1] + weight)
        _check_number(found, MOST_IN_ALL, "all partitions")
        pairs = zip(self.kinds, other.kinds, strict=False)  # without rows there are no kinds
        kinds = tuple((a[0] or b[0], b[1] if a[1] is None else a[1]) for a, b in pairs)
        return Tally(self.names or other.names, kinds or self.kinds or other.kinds, found)

    @cached_property
    def keys(self) -> tuple[Key, ...]:
        """In an order that does not depend on partitions."""
        return tuple(sorted(self.found, key=lambda key: [(v is None, str(type(v)), str(v)) for v in key]))

    @property
    def counts(self) -> Array:
        return np.array([float(self.found[key][0]) for key in self.keys])

    @property
    def weight(self) -> Array:
        return np.array([self.found[key][1] for key in self.keys])

    @property
    def groups(self) -> dict[str, NDArray[Any]]:
        """One entry per key; groups come last in a key."""
        keys, width = self.keys, len(self.names)
        kinds = self.kinds or [(False, None)] * width  # of no rows
        named = enumerate(zip(self.names, kinds, strict=True))
        return {name: _column([key[j - width] for key in keys], kind) for j, (name, kind) in named}


def _kind(values: NDArray[Any], levels: Sequence[Any]) -> Kind:
    known = [level for level in levels if level is not None]
    floats = values.dtype.kind == "f" or any(isinstance(level, float) for level in known)
    return values.dtype == object, floats if known else None


def _column(values: list[Any], kind: Kind) -> NDArray[Any]:
    """Return values as a column of the kind that it has in memory; partitions without missing ones hide that."""
    (objects, floats), known = kind, [v for v in values if v is not None]
    if not objects and len(known) < len(values) and known and all(map(_is_number, known)):
        return np.array([np.nan if v is None else float(v) for v in values])
    if objects and floats:
        values = [float(v) if _is_number(v) else v for v in values]
    return np.array(values, dtype=object)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass(frozen=True)
class Sides:
    """Labels, groups and weights of the rows of a partition, as ``columns`` of which the last are groups of ``names``.

    ``target`` holds the values of a regression, whose keys have no label.
    """

    columns: list[NDArray[Any]]
    names: tuple[str, ...]
    target: Array | None = None
    weight: Array | None = None

    @classmethod
    def of(cls, y: Any, groups: Any, weight: Any, n: int, regression: bool) -> Sides:
        labels = check_labels(y, n)
        columns = as_columns(groups, "sensitive_features", n=n)
        if regression and labels.dtype.kind not in "biuf":
            raise InputError(f"y has values of type {labels.dtype}, expected numbers for regression.")
        given = None if weight is None else as_weights(weight, n)  # a partition of weights 0 is not yet an error
        if regression:
            return cls(list(columns.values()), tuple(columns), labels.astype(np.float64), given)
        return cls([labels, *columns.values()], tuple(columns), None, given)

    @cached_property
    def keyed(self) -> tuple[NDArray[np.intp], list[Key]]:
        return keys_of(self.columns)

    @property
    def tally(self) -> Tally:
        (place, keys), weight = self.keyed, self.weight
        counts = np.bincount(place if weight is None else place[weight > 0.0], minlength=len(keys))
        sums = counts if weight is None else np.bincount(place, weight, minlength=len(keys))
        known = zip(keys, counts.tolist(), sums.tolist(), strict=True)
        first, levels = len(self.columns) - len(self.names), list(zip(*keys, strict=True))
        kinds = tuple(map(_kind, self.columns[first:], levels[first:]))  # none where there are no rows
        return Tally(self.names, kinds, {key: (rows, float(total)) for key, rows, total in known if rows})


def group_tally(block: Any) -> Tally:
    columns = as_columns(block, "sensitive_features")
    return Sides(list(columns.values()), tuple(columns)).tally


@dataclass(frozen=True)
class Scan:
    """What some partitions hold; ``fault`` is what is wrong with the first that cannot be used.

    moments         of the features of rows that count (weight above 0), None where there are none
    target          of a regression's targets
    nbytes          of the rows as sorted doubles
    tally           combinations of label and groups, with their rows and sums of weights
    unit            whether every weight is 1
    """

    moments: Moments | None = None
    target: Moments | None = None
    nbytes: int = 0
    tally: Tally = field(default_factory=Tally)
    unit: bool = True
    fault: str = ""

    @property
    def rows(self) -> int:
        return 0 if self.moments is None else self.moments.n

    @property
    def columns(self) -> int:
        return 0 if self.moments is None else len(self.moments.mean)

    def joined(self, other: Scan) -> Scan:
        if self.fault or other.fault:
            return self if self.fault else other
        if self.rows and other.rows and self.columns != other.columns:
            return Scan(fault=f"partitions have {self.columns} and {other.columns} features, expected the same in all.")
        return Scan(
            _both(self.moments, other.moments),
            _both(self.target, other.target),
            self.nbytes + other.nbytes,
            self.tally.joined(other.tally),
            self.unit and other.unit,
        )


def _both(one: Moments | None, other: Moments | None) -> Moments | None:
    return one.joined(other) if one and other else one or other


def scan(place: int, x: Any, y: Any, groups: Any, weight: Any, regression: bool) -> Scan:
    try:
        return _scanned(x, y, groups, weight, regression)
    except InputError as error:
        return Scan(fault=f"partition {place}: {error}")


def _scanned(x: Any, y: Any, groups: Any, weight: Any, regression: bool) -> Scan:
    if not x.shape[0]:
        check_sizes(x, y, groups, weight)
        return Scan()
    matrix = check_matrix(x)
    n, d = matrix.shape
    sides = Sides.of(y, groups, weight, n, regression)
    target, given = sides.target, sides.weight
    unit = given is None or bool((given == 1.0).all())
    known: dict[str, Any] = {"tally": sides.tally, "unit": unit}
    if (busy := weighted_rows(given)) is not None:
        matrix, target = matrix[busy], None if target is None else target[busy]
    if not matrix.shape[0]:
        return Scan(**known)
    nbytes = int(12 * matrix.nnz + 16 * n if sparse.issparse(matrix) else 8 * n * (d + 2))  # as a sorted copy
    return Scan(moments(matrix), None if target is None else moments(target[:, None]), nbytes, **known)
