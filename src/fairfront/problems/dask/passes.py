"""Passes over Dask collections: a function of each partition's rows, its results joined in the order of partitions.

Rows stay where they are; what comes back is as small as the function makes it. The join is a tree of fixed shape, so
that the same partitions give the same bytes on any number of workers.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from ...exceptions import InputError
from ...objectives import Array
from ...validation import as_columns, is_dask
from ..pieces import Bound, Factors, Piece, Product, summed
from ..resources import one_thread
from .partition import Spooled, loose
from .runner import ALIKE, DaskSettings, Runner, check_sizes, require_dask

NAMES = ("X", "y", "sensitive_features", "sample_weight")
"""What collections are called, in the order in which they are given."""


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


Ask = Callable[[Piece], tuple[Array, ...] | Array]
"""A pass: what to add up over a piece."""


def added(ask: Ask, *part: Any) -> tuple[Array, ...]:
    """Add up over one part: a piece, a spooled one, or features, side and plan; in one thread."""
    with one_thread():
        piece = loose(*part) if len(part) > 1 else part[0]
        found = ask(piece.mapped() if isinstance(piece, Spooled) else piece)
    return found if isinstance(found, tuple) else (found,)


def bent_diagonal(piece: Piece, measures: Any, factors: Any, W: Array) -> tuple[Array, ...]:
    """Return the diagonal of a Hessian that is never formed."""
    return (piece.diagonal(piece.curvatures(measures, factors, W), len(W)),)


def bent_product(piece: Piece, measures: Any, factors: Any, W: Array, V: Array) -> tuple[Array, ...]:
    """Return the product of rows V with a Hessian that is never formed; its curvatures are found anew."""
    return (piece.bent(piece.curvatures(measures, factors, W), V, len(W)),)


EAGER_BYTES = 1 << 25
"""Largest size of the cells' Hessians that a pass which has to read its rows brings along."""
MEMO_BYTES = 1 << 26
"""Size of what is remembered of single runs: solvers come back to where they were."""


class Memo:
    """Sums of single runs, the oldest forgotten first."""

    def __init__(self) -> None:
        self.found: OrderedDict[tuple[Any, ...], tuple[list[Any], tuple[Array, ...]]] = OrderedDict()
        self.size = 0

    def get(self, measures: Bound, W: Array) -> tuple[Array, ...] | None:
        """Return copies of what was found at W for the same measures."""
        bounds, arrays = self.found.get((W.shape, W.tobytes()), ([], ()))
        return tuple(array.copy() for array in arrays) if arrays and bounds == [b for b, _ in measures] else None

    def put(self, measures: Bound, W: Array, arrays: tuple[Array, ...]) -> None:
        """Remember what was found at W."""
        self._forget((W.shape, W.tobytes()))
        self.found[W.shape, W.tobytes()] = [b for b, _ in measures], tuple(array.copy() for array in arrays)
        self.size += sum(array.nbytes for array in arrays)
        while self.size > MEMO_BYTES and len(self.found) > 1:
            self._forget(next(iter(self.found)))

    def _forget(self, key: tuple[Any, ...]) -> None:
        _, arrays = self.found.pop(key, ([], ()))
        self.size -= sum(array.nbytes for array in arrays)


class DaskRows:
    """Rows in partitions. ``parts`` are what a pass opens: kept pieces, or features, side and plan to read anew.

    Parameters
    ----------
    eager : bool
        Bring the Hessians of all cells along with values and gradients, because reading rows is what costs.
    """

    def __init__(self, runner: Runner, parts: list[tuple[Any, ...]], n: int, squares: Array, eager: bool) -> None:
        self.runner, self.parts, self.n, self.d = runner, parts, n, len(squares)
        self.eager, self.passes, self.memo = eager, 0, Memo()
        self._squares = squares

    def total(self, ask: Ask) -> tuple[Array, ...]:
        """Add up over all rows: one pass."""
        self.passes += 1
        return tuple(np.array(array) for array in self.runner.over(self.parts, partial(added, ask), summed))

    def cell_sums(self, measures: Bound, k: int, W: Array, gradients: bool) -> tuple[Array, ...]:
        """Return the sums of the measures over their cells, and of the gradients, if asked for."""
        if len(W) > 1:
            return self.total(partial(Piece.cell_sums, measures=measures, k=k, W=W, gradients=gradients))
        known = self.memo.get(measures, W[0])
        if known is None or len(known) < 1 + gradients:
            known = self._single(measures, k, W, gradients)
            self.memo.put(measures, W[0], known)
        return known[: 1 + gradients]

    def _single(self, measures: Bound, k: int, W: Array, gradients: bool) -> tuple[Array, ...]:
        if gradients and self._brings(k, W[0]):
            return self.total(partial(Piece.evaluated, measures=measures, k=k, W=W[0]))
        return self.total(partial(Piece.cell_sums, measures=measures, k=k, W=W, gradients=gradients))

    def _brings(self, k: int, W: Array) -> bool:
        """Tell whether gradients at W (K, d) bring the Hessians of k cells along."""
        return self.eager and 8 * k * W.size**2 <= EAGER_BYTES

    def products(self, measures: Bound, factors: Factors, W: Array, float32: bool) -> Array:
        """Return X^T diag(v) X per pair of classes, from the cells' where passes bring them along."""
        k = 2 + max(int(where.max()) for _, where in measures)  # the penalty comes after all cells
        if not self._brings(k, W):
            return self.total(partial(Piece.products, measures=measures, factors=factors, W=W, float32=float32))[0]
        known = self.memo.get(measures, W)
        if known is None or len(known) < 3:  # the same way without the memo, which a resumed run does not have
            known = self.total(partial(Piece.evaluated, measures=measures, k=k, W=W))
            self.memo.put(measures, W, known)
        share = np.zeros(len(known[2]))
        for (_, where), per_cell in zip(measures, factors, strict=True):
            share[where[where >= 0]] += per_cell[where >= 0]
        return np.asarray(np.tensordot(share, known[2], axes=1))

    def bend(self, measures: Bound, factors: Factors, W: Array) -> tuple[Array, Product]:
        """Return the diagonal and the product of a Hessian that is never formed; each product is one pass."""
        given: dict[str, Any] = {"measures": measures, "factors": factors, "W": W}
        (diagonal,) = self.total(partial(bent_diagonal, **given))
        return diagonal, lambda V: self.total(partial(bent_product, V=V, **given))[0]

    def reach(self, W: Array) -> Array:
        """Return the largest score of any row, in size, without the mean of its classes: one pass."""
        self.passes += 1
        ask = partial(added, partial(Piece.reach, W=W))
        return np.asarray(self.runner.over(self.parts, ask, lambda parts: (np.max(parts, axis=0)[0],))[0])

    def squares(self) -> Array:
        """Return the sums of squares of the columns, which were found when the data were first read."""
        return self._squares
