"""Looking: one pass over all partitions that finds labels, groups and sizes, and refuses what cannot be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
from scipy import sparse

from ...exceptions import InputError
from ...validation import check_matrix
from ..frame import Moments, moments
from .parts import digest, read_sides
from .passes import check_sizes
from .tallying import Tally, keys_of, tallied


@dataclass(frozen=True)
class Seen:
    """What some partitions hold; ``fault`` is what is wrong with the first that cannot be used.

    rows            rows that count (weight above 0), of ``columns`` features, ``nbytes`` as sorted doubles
    tally           combinations of label and groups, with their rows and sums of weights
    moments         of the features, None of no rows
    unit            whether every weight is 1
    mean, spread    mean of a regression's targets, and the sum of squared deviations from it
    sparse          whether some partition is a sparse matrix
    digests         of the labels, groups and weights of every partition
    """

    rows: int = 0
    columns: int = 0
    nbytes: int = 0
    tally: Tally = field(default_factory=Tally)
    moments: Moments | None = None
    unit: bool = True
    mean: float = 0.0
    spread: float = 0.0
    fault: str = ""
    sparse: bool = False
    digests: tuple[str, ...] = ()


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
    tally = tallied(columns, names, place, keys, given)
    unit = given is None or bool((given == 1.0).all())
    found = Seen(
        len(busy), d, _bytes(matrix), tally, moments(matrix, busy) if len(busy) else None, unit,
        sparse=sparse.issparse(matrix), digests=(digest(place, keys, target, given),),
    )  # fmt: skip
    if target is None or not len(busy):
        return found
    values = target[busy]
    with np.errstate(over="ignore", invalid="ignore"):  # such targets are refused
        return replace(found, mean=float(values.mean()), spread=float(values.var()) * len(values))


def _bytes(matrix: Any) -> int:
    """Return what the rows take in memory as a sorted copy."""
    n, d = matrix.shape
    return int(12 * matrix.nnz + 16 * n if sparse.issparse(matrix) else 8 * n * (d + 2))


def together(parts: Sequence[Seen]) -> Seen:
    """Join what partitions hold, in their order."""
    return reduce(_joined, parts)


def _joined(one: Seen, other: Seen) -> Seen:
    if one.fault or other.fault:
        return one if one.fault else other
    tally, digests, unit = one.tally.joined(other.tally), one.digests + other.digests, one.unit and other.unit
    if not other.rows or not one.rows:
        kept = other if other.rows else one
        return replace(kept, columns=one.columns or other.columns, tally=tally, unit=unit, digests=digests)
    if one.columns != other.columns:
        return Seen(fault=f"partitions have {one.columns} and {other.columns} features, expected the same in all.")
    rows, apart = one.rows + other.rows, other.mean - one.mean
    assert one.moments is not None
    assert other.moments is not None
    return Seen(
        rows,
        one.columns,
        one.nbytes + other.nbytes,
        tally,
        one.moments.joined(other.moments),
        unit,
        one.mean + apart * other.rows / rows,
        one.spread + other.spread + apart * apart * one.rows * other.rows / rows,
        sparse=one.sparse or other.sparse,
        digests=digests,
    )
