"""Weighted sums over rows for many models at once: matrix products, in blocks of models.

Axes, always in this order: model (N), row (n); membership is (n, c), one column per group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from functools import reduce
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exceptions import InputError
from ..objectives import Array

BLOCK = 1 << 20
Record = TypeVar("Record")


def as_models(values: ArrayLike, n: int, what: str) -> NDArray[Any]:
    """Return values as (N, n), one row per model; a single model may come as (n,)."""
    array = np.asarray(values)
    array = array[None, :] if array.ndim == 1 else array
    if array.ndim != 2 or array.shape[1] != n:
        raise InputError(f"{what} has shape {np.shape(values)}, expected (N, {n}) or ({n},): models by rows.")
    return array


def membership(codes: ArrayLike, n: int, c: int) -> Array:
    """Return the (n, c) shares of membership in c groups.

    ``codes`` are (n,) integers, -1 for rows without a group, or already (n, c) shares.
    """
    array = np.asarray(codes)
    if array.shape == (n, c) and array.dtype.kind == "f":
        return np.asarray(array, dtype=np.float64)
    if array.shape != (n,) or array.dtype.kind not in "iu":
        raise InputError(
            f"codes has shape {array.shape} and type {array.dtype}, "
            f"expected ({n},) integers, or ({n}, {c}) shares of membership as floats."
        )
    if n and not -1 <= array.min() <= array.max() < c:
        raise InputError(f"codes run from {array.min()} to {array.max()}, expected -1 (no group) to {c - 1}.")
    return np.asarray(array[:, None] == np.arange(c), dtype=np.float64)


def blocks(N: int, n: int) -> Iterator[slice]:
    """Cut N models into blocks of about `BLOCK` entries, so that copies stay small."""
    size = max(1, BLOCK // max(1, n))
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


def added(records: Sequence[Record]) -> Record:
    """Add records of sums field by field, in the order given."""
    first: Any = records[0]
    sums = {each.name: reduce(np.add, [getattr(record, each.name) for record in records]) for each in fields(first)}
    return replace(first, **sums)  # type: ignore[no-any-return]


BY_MODEL = frozenset({"hit", "false_alarm", "hits", "prediction", "residual", "squared"})
"""Fields of sums with an axis of models before that of groups."""


def along_groups(record: Record, change: Callable[[Array, int], Array]) -> Record:
    """Return a record of sums with every field changed along its axis of groups."""
    known: Any = record
    names = [each.name for each in fields(known)]
    changed = {name: change(getattr(known, name), int(name in BY_MODEL)) for name in names}
    return replace(known, **changed)  # type: ignore[no-any-return]


def of_groups(record: Record, places: Sequence[int]) -> Record:
    """Return the sums of some groups."""
    return along_groups(record, lambda values, axis: np.take(values, places, axis))


def pooled(record: Record, members: Sequence[Sequence[int]]) -> Record:
    """Return sums in which each new group is made of several old ones."""

    def joined(values: Array, axis: int) -> Array:
        return np.stack([np.take(values, some, axis).sum(axis=axis) for some in members], axis=axis)

    return along_groups(record, joined)
