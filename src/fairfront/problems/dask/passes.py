"""Passes over Dask collections: a function of each partition's rows, its results joined in the order of partitions.

Rows stay where they are; what comes back is as small as the function makes it. The join is a tree of fixed shape, so
that the same partitions give the same bytes on any number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from ...exceptions import InputError
from ...validation import as_columns, is_dask
from .blocks import require_dask
from .running import DaskSettings, Runner

NAMES = ("X", "y", "sensitive_features", "sample_weight")
"""What collections are called, in the order in which they are given."""
ALIKE = "take them from one data frame, or rechunk or repartition them alike."


def reduced(
    function: Callable[..., Any],
    *collections: Any,
    combine: Callable[[list[Any]], Any],
    places: Callable[[int], Iterable[int]] | None = None,
) -> Any:
    """Return the combination of a function's results on aligned partitions.

    Parameters
    ----------
    function : callable
        Takes one block per collection: an array of rows, a pandas frame or series, a dict of such, or None.
    *collections : Dask array, data frame or series, mapping of them, array of as many rows, a number, or None
        The first one has the partitions that the others must have too; it is a Dask collection. Several are X, y,
        sensitive features and weights, in this order.
    combine : callable
        Joins a list of results, in the order of partitions, to one result of the same kind.
    places : callable, optional
        Takes the number of partitions and returns which of them are looked at; default: all.
    """
    runner = Runner(DaskSettings.current())
    parts = aligned_blocks(*collections)
    chosen = parts if places is None else [parts[i] for i in places(len(parts))]
    return runner.over(chosen, partial(_called, function), combine)


def aligned_blocks(*collections: Any) -> list[tuple[Any, ...]]:
    """Return, per partition, the delayed blocks of all collections; mappings become dicts of blocks."""
    first, *others = collections
    with require_dask().config.set({"optimization.tune.active": False}):  # tuning joins partitions of narrow columns
        lengths, blocks = row_counts(first), _blocks(NAMES[0] if others else "the collection", first, None, 0)
        named = zip(NAMES[1:], others, strict=False)
        parts = [blocks, *(_blocks(name, each, lengths, len(blocks)) for name, each in named)]
    return list(zip(*parts, strict=True))


def row_counts(collection: Any) -> tuple[int, ...] | None:
    """Return the rows of each partition where a Dask collection knows them without being computed."""
    chunks = getattr(collection, "chunks", None)
    if not chunks or any(size != size for size in chunks[0]):
        return None
    return tuple(int(size) for size in chunks[0])


def _blocks(what: str, collection: Any, lengths: tuple[int, ...] | None, n: int) -> list[Any]:
    """Return the blocks of one collection: n of them, with the given numbers of rows where these are known."""
    if collection is None:
        return [None] * n
    if isinstance(collection, Mapping):
        columns = [_blocks(f"{what}[{key!r}]", each, lengths, n) for key, each in collection.items()]
        _check_partitions(what, {len(blocks) for blocks in columns} | ({n} if n else set()))
        return [dict(zip(collection, blocks, strict=True)) for blocks in zip(*columns, strict=True)]
    if not is_dask(collection):
        return _sliced(what, collection, lengths, n)
    found = _partitions(what, collection, lengths)
    _check_partitions(what, {len(found), n or len(found)})
    return found


def _partitions(what: str, collection: Any, lengths: tuple[int, ...] | None) -> list[Any]:
    if isinstance(collection, (list, tuple)):
        raise InputError(
            f"{what} is a {type(collection).__name__} of Dask collections, expected one collection or a mapping of "
            "them; name them, as in {'sex': frame['sex'], 'race': frame['race']}."
        )
    if not isinstance(getattr(collection, "npartitions", None), int):
        raise InputError(
            f"{what} is a {type(collection).__name__}, expected a Dask array, data frame or series; make one with "
            "dask.array.from_delayed."
        )
    if not hasattr(collection, "chunks"):
        return list(collection.to_delayed())
    if collection.ndim == 2 and len(collection.chunks[1]) > 1:
        collection = collection.rechunk({1: -1})
    here = row_counts(collection)
    if lengths is not None and here is not None and here != lengths:
        _check_rows(what, sum(here), sum(lengths))
        collection = collection.rechunk({0: lengths})
    return list(collection.to_delayed().ravel())


def _sliced(what: str, values: Any, lengths: tuple[int, ...] | None, n: int) -> list[Any]:
    """Return the rows of an array in memory that belong to each partition; a number goes to all."""
    if np.ndim(values) == 0:
        return [values] * n
    if lengths is None:
        raise InputError(
            f"{what} is in memory next to a Dask collection of unknown partition sizes, expected both to be Dask "
            "collections; call compute_chunk_sizes() on the Dask array first."
        )
    if what == "sensitive_features":  # frames have names of columns
        columns = as_columns(values, what, n=sum(lengths))
        cut = [_sliced("", each, lengths, n) for each in columns.values()]
        return [dict(zip(columns, blocks, strict=True)) for blocks in zip(*cut, strict=True)]
    array = np.asarray(values)
    _check_rows(what, len(array), sum(lengths))
    ends = np.cumsum((0, *lengths)).tolist()
    return [array[start:end] for start, end in pairwise(ends)]


def _check_rows(what: str, found: int, expected: int) -> None:
    if found != expected:
        raise InputError(f"{what} has {found} rows, expected {expected}, as many as the first collection.")


def _check_partitions(what: str, counts: set[int]) -> None:
    if len(counts) > 1:
        found = " and ".join(map(str, sorted(counts)))
        raise InputError(f"found {found} partitions at {what}, expected the same partitions of rows in all; {ALIKE}")


def _called(function: Callable[..., Any], *blocks: Any) -> Any:
    """Call the function on one partition, whose blocks must have the same rows."""
    check_sizes(*blocks)
    return function(*blocks)


def check_sizes(*blocks: Any) -> None:
    """Refuse blocks of one partition that do not have the same rows."""
    sizes = {size for block in blocks for size in _sizes(block)}
    if len(sizes) > 1:
        found = " and ".join(map(str, sorted(sizes)))
        raise InputError(f"a partition has {found} rows in two collections, expected the same rows; {ALIKE}")


def _sizes(block: Any) -> list[int]:
    if isinstance(block, Mapping):
        return [size for each in block.values() for size in _sizes(each)]
    return [] if block is None or np.ndim(block) == 0 else [int(block.shape[0])]
