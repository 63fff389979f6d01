"""Passes over Dask collections: a function of each partition's rows, its results joined in the order of partitions.

Rows stay where they are, on Dask's local scheduler or with the workers of a client; what comes back is as small as the
function makes it. The join is a tree of fixed shape: the same partitions give the same bytes on any number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from ...exceptions import InputError, require
from ...validation import is_dask
from ...validation.inputs import as_columns

NAMES = ("X", "y", "sensitive_features", "sample_weight", "person")
"""What collections are called, in the order in which they are given."""
ALIKE = "take them from one data frame, or rechunk or repartition them alike."
JOINED = 8
"""How many results one step of a sum takes."""


def require_dask(module: str = "dask") -> Any:
    return require(module, "dask", "data larger than memory")


@dataclass(frozen=True)
class DaskSettings:
    """How fairfront uses Dask; each field is a key of Dask's configuration, ``fairfront.<name>``.

    keep            where prepared rows stay between passes: "memory" (Dask persists them), "source" (each pass reads
                    its partitions again), or "auto": persisted on a cluster, and up to 4 GB on this machine
    small_bytes     data up to this size (as double precision) are brought to memory, where Dask would cost more time
    """

    keep: Literal["auto", "memory", "source"] = "auto"
    small_bytes: float = 1 << 27

    @classmethod
    def current(cls) -> DaskSettings:
        config = require_dask().config
        given = {name: config.get(f"fairfront.{name}", getattr(cls, name)) for name in cls.__dataclass_fields__}
        if given["keep"] not in ("auto", "memory", "source"):
            raise InputError(f"fairfront.keep is {given['keep']!r}, expected 'auto', 'memory' or 'source'.")
        small = given["small_bytes"]
        if isinstance(small, bool) or not isinstance(small, (int, float)) or not small >= 0:
            raise InputError(f"fairfront.small_bytes is {small!r}, expected a number of at least 0.")
        return cls(**given)


def computed_over(
    parts: Iterable[tuple[Any, ...]], function: Callable[..., Any], combine: Callable[[list[Any]], Any]
) -> Any:
    """Return the combination of a function's results on parts, which meet in a tree of fixed shape.

    What the function carries goes inside every task: as a task of its own, workers would wait for it.
    """
    dask = require_dask()
    call, join = dask.delayed(function, pure=False), dask.delayed(combine, pure=False)
    level = [call(*part) for part in parts]
    while len(level) > 1:
        split = [level[i : i + JOINED] for i in range(0, len(level), JOINED)]
        level = [join(group) if len(group) > 1 else group[0] for group in split]
    return dask.compute(level[0])[0]


def reduced(
    function: Callable[..., Any],
    *collections: Any,
    combine: Callable[[list[Any]], Any],
    places: Callable[[int], Iterable[int]] | None = None,
) -> Any:
    """Return the combination of a function's results on blocks of aligned partitions: arrays, frames, series, dicts.

    The first collection is Dask's, and has the partitions that the others must have too: Dask collections, mappings of
    them, arrays of as many rows, a number, or None. Several are X, y, sensitive features and weights, in this order.
    ``combine`` joins a list of results, in the order of partitions, to one of the same kind; ``places`` takes the
    number of partitions and returns which of them are looked at (default: all).
    """
    parts = aligned_blocks(*collections)
    chosen = parts if places is None else [parts[i] for i in places(len(parts))]
    return computed_over(chosen, partial(_called, function), combine)


def _called(function: Callable[..., Any], *blocks: Any) -> Any:
    check_sizes(*blocks)
    return function(*blocks)


def check_sizes(*blocks: Any) -> None:
    flat = [each for block in blocks for each in (block.values() if isinstance(block, Mapping) else [block])]
    sizes = {int(block.shape[0]) for block in flat if block is not None and np.ndim(block)}
    if len(sizes) > 1:
        found = " and ".join(map(str, sorted(sizes)))
        raise InputError(f"a partition has {found} rows in two collections, expected the same rows; {ALIKE}")


def aligned_blocks(*collections: Any) -> list[tuple[Any, ...]]:
    """Return, per partition, the delayed blocks of all collections; mappings become dicts of blocks."""
    first, *others = collections
    with require_dask().config.set({"optimization.tune.active": False}):  # tuning joins partitions of narrow columns
        lengths, blocks = row_counts(first), blocks_of(NAMES[0] if others else "the collection", first, None, 0)
        named = zip(NAMES[1:], others, strict=False)
        parts = [blocks, *(blocks_of(name, each, lengths, len(blocks)) for name, each in named)]
    return list(zip(*parts, strict=True))


def row_counts(collection: Any) -> tuple[int, ...] | None:
    """Only where a Dask collection knows them without being computed."""
    chunks = getattr(collection, "chunks", None)
    if not chunks or any(size != size for size in chunks[0]):
        return None
    return tuple(int(size) for size in chunks[0])


def blocks_of(what: str, collection: Any, lengths: tuple[int, ...] | None, n: int) -> list[Any]:
    """Return the blocks of one collection: n of them where that is above 0, with these numbers of rows where known.

    A number, like None, goes to all partitions; of an array in memory each gets its rows.
    """
    if isinstance(collection, Mapping):
        columns: list[list[Any]] = []
        for key, each in collection.items():
            columns.append(blocks_of(f"{what}[{key!r}]", each, lengths, n))
            n = n or len(columns[0])
        return [dict(zip(collection, blocks, strict=True)) for blocks in zip(*columns, strict=True)]
    if is_dask(collection):
        found = _partitions(what, collection, lengths)
        if n and len(found) != n:
            both = " and ".join(map(str, sorted((n, len(found)))))
            raise InputError(f"found {both} partitions at {what}, expected the same partitions of rows in all; {ALIKE}")
        return found
    if np.ndim(collection) == 0:
        return [collection] * n
    if lengths is None:
        raise InputError(
            f"{what} is in memory next to a Dask collection of unknown partition sizes, expected both to be Dask "
            "collections; call compute_chunk_sizes() on the Dask array first."
        )
    if what == "sensitive_features":  # frames have names of columns
        return blocks_of(what, as_columns(collection, what, n=sum(lengths)), lengths, n)
    array = np.asarray(collection)
    _check_rows(what, len(array), sum(lengths))
    return [array[start:end] for start, end in pairwise(np.cumsum((0, *lengths)).tolist())]


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


def _check_rows(what: str, found: int, expected: int) -> None:
    if found != expected:
        raise InputError(f"{what} has {found} rows, expected {expected}, as many as the first collection.")
