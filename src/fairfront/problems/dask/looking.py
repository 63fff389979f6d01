"""Looking: one pass over all partitions that finds labels, groups and sizes, and refuses what cannot be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...exceptions import InputError
from ...objectives import Array
from ...validation import check_matrix
from .parts import Key, digest, keys_of, read_sides
from .passes import check_sizes

Kind = tuple[bool, bool | None]
"""Whether a column of groups has objects, and whether its first numbers are floats, None where all are missing."""


@dataclass(frozen=True)
class Seen:
    """What some partitions hold; ``fault`` is what is wrong with the first that cannot be used.

    rows            rows that count (weight above 0), of ``columns`` features, ``nbytes`` as sorted doubles
    tally           per key the number of rows and the sum of weights
    names           of the sensitive features
    squares (d,)    sums of squares of the features
    unit            whether every weight is 1
    mean, spread    mean of a regression's targets, and the sum of squared deviations from it
    sparse          whether some partition is a sparse matrix
    digests         of the labels, groups and weights of every partition
    kinds           per sensitive feature whether its column has objects, and whether its first numbers are floats
    """

    rows: int = 0
    columns: int = 0
    nbytes: int = 0
    tally: dict[Key, tuple[int, float]] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    squares: Array | float = 0.0
    unit: bool = True
    mean: float = 0.0
    spread: float = 0.0
    fault: str = ""
    sparse: bool = False
    digests: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()


def look(place: int, x: Any, y: Any, groups: Any, weight: Any, regression: bool) -> Seen:
    """Return what one partition holds, or what is wrong with it."""
    try:
        return _looked(x, y, groups, weight, regression)
    except InputError as error:
        return Seen(fault=f"partition {place}: {error}")


def _looked(x: Any, y: Any, groups: Any, weight: Any, regression: bool) -> Seen:
    if not x.shape[0]:
        check_sizes(x, y, groups, weight)
        return Seen(columns=int(x.shape[1]), digests=("",))
    matrix = check_matrix(x)
    n, d = matrix.shape
    columns, names, target, given = read_sides(y, groups, weight, n, regression)
    busy = np.arange(n) if given is None or given.all() else np.flatnonzero(given > 0.0)
    place, keys = keys_of(columns)
    counts = np.bincount(place[busy], minlength=len(keys))
    sums = counts if given is None else np.bincount(place, given, minlength=len(keys))
    known = zip(keys, counts.tolist(), sums.tolist(), strict=True)
    tally = {key: (rows, float(total)) for key, rows, total in known if rows}
    unit = given is None or bool((given == 1.0).all())
    thin = sparse.issparse(matrix)
    marks = (digest(place, keys, target, given),)
    first = len(columns) - len(names)
    kinds = tuple(_kind(columns[j], [key[j] for key in keys]) for j in range(first, len(columns)))
    found = Seen(
        len(busy), d, _bytes(matrix), tally, names, _squares(matrix, busy), unit,
        sparse=thin, digests=marks, kinds=kinds,
    )  # fmt: skip
    if target is None or not len(busy):
        return found
    values = target[busy]
    return replace(found, mean=float(values.mean()), spread=float(values.var()) * len(values))


def _kind(values: NDArray[Any], levels: list[Any]) -> Kind:
    known = [level for level in levels if level is not None]
    floats = values.dtype.kind == "f" or any(isinstance(level, float) for level in known)
    return values.dtype == object, floats if known else None


def _bytes(matrix: Any) -> int:
    """Return what the rows take in memory as a sorted copy."""
    n, d = matrix.shape
    return int(12 * matrix.nnz + 16 * n if sparse.issparse(matrix) else 8 * n * (d + 2))


def _squares(matrix: Any, rows: NDArray[np.intp]) -> Array:
    total = np.zeros(matrix.shape[1])
    for start in range(0, len(rows), 4096):
        part = matrix[rows[start : start + 4096]].astype(np.float64)
        total += part.power(2).sum(axis=0) if sparse.issparse(part) else np.einsum("ij,ij->j", part, part)
    return total


def together(parts: Sequence[Seen]) -> Seen:
    """Join what partitions hold, in their order."""
    return reduce(_joined, parts)


def _joined(one: Seen, other: Seen) -> Seen:
    if one.fault or other.fault:
        return one if one.fault else other
    if not other.rows or not one.rows:
        kept = other if other.rows else one
        return replace(
            kept,
            columns=one.columns or other.columns,
            unit=one.unit and other.unit,
            digests=one.digests + other.digests,
            kinds=_both_kinds(one.kinds, other.kinds),
        )
    if one.columns != other.columns or one.names != other.names:
        return Seen(fault=f"partitions have {one.columns} and {other.columns} features and the groups {one.names} and "
                    f"{other.names}, expected the same columns in all.")  # fmt: skip
    tally = dict(one.tally)
    for key, (rows, weight) in other.tally.items():
        before = tally.get(key, (0, 0.0))
        tally[key] = (before[0] + rows, before[1] + weight)
    rows, apart = one.rows + other.rows, other.mean - one.mean
    return Seen(
        rows,
        one.columns,
        one.nbytes + other.nbytes,
        tally,
        one.names,
        one.squares + other.squares,
        one.unit and other.unit,
        one.mean + apart * other.rows / rows,
        one.spread + other.spread + apart**2 * one.rows * other.rows / rows,
        sparse=one.sparse or other.sparse,
        digests=one.digests + other.digests,
        kinds=_both_kinds(one.kinds, other.kinds),
    )


def _both_kinds(one: tuple[Kind, ...], other: tuple[Kind, ...]) -> tuple[Kind, ...]:
    if not one or not other:
        return one or other
    pairs = zip(one, other, strict=True)
    return tuple((a[0] or b[0], b[1] if a[1] is None else a[1]) for a, b in pairs)
