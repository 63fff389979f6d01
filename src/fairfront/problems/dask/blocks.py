"""Dask arrays of rows that are made when they are needed: matrices read from files, columns kept as small codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...exceptions import require


def require_dask(module: str = "dask") -> Any:
    """Return a module of Dask, or say which extra brings it."""
    return require(module, "dask", "data larger than memory")


def lazy_matrix(
    read: Callable[..., Any], parts: Sequence[tuple[Any, ...]], lengths: Sequence[int], width: int, like: Any
) -> Any:
    """Return an array (n, width) whose partitions are ``read(*part)``, each with the given number of rows.

    ``like`` is an empty matrix of the kind that ``read`` returns.
    """
    array, call = require_dask("dask.array"), require_dask().delayed(read, pure=False)
    blocks = [array.from_delayed(call(*part), (n, width), meta=like) for part, n in zip(parts, lengths, strict=True)]
    return blocks[0] if len(blocks) == 1 else array.concatenate(blocks, axis=0)


def lazy_column(codes: NDArray[Any], values: NDArray[Any] | None, lengths: Sequence[int]) -> Any:
    """Return an array (n,) of what codes stand for, looked up partition by partition; of the codes where no values."""
    known = require_dask("dask.array").from_array(codes, chunks=(tuple(lengths),), name=False)
    if values is None:
        return known
    return known.map_blocks(_looked_up, values, dtype=values.dtype, meta=values[:0])


def _looked_up(codes: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(values[codes])
