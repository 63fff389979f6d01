"""What runs where the rows are: read a partition's labels, groups and weights, prepare its rows. No Dask in here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...exceptions import InputError
from ...objectives import Array, Cells
from ...validation import as_columns, as_numbers, check_labels, check_weights
from ..design import LooseDesign, SparseDesign, sorted_design
from ..frame import Frame
from ..pieces import Piece
from .tallying import Key, keys_of


@dataclass(frozen=True)
class Plan:
    """How rows become a piece: per key its cell and target, the cells' weights, and what the model needs.

    The key after the last stands for rows of weight 0, which are left out; its cell is the one after the last.
    """

    keys: dict[Key, int]
    cell: NDArray[np.intp]
    target: Array
    weight: Array
    regression: bool
    weighted: bool
    fit_intercept: bool
    frame: Frame


@dataclass(frozen=True)
class Side:
    """What a partition's labels, groups and weights say of its rows, in a byte per row where keys are few.

    ``target`` holds the values of a regression, ``weight`` the weights of rows, None when all are 1.
    """

    key: NDArray[Any]
    target: Array | None
    weight: Array | None


def read_sides(y: Any, groups: Any, weight: Any, n: int, regression: bool) -> tuple[list[NDArray[Any]], Any, Any, Any]:
    """Return the columns of the keys, the names of groups, values of a regression, and weights of n rows."""
    labels = check_labels(y, n)
    columns = as_columns(groups, "sensitive_features", n=n)
    if regression and labels.dtype.kind not in "biuf":
        raise InputError(f"y has values of type {labels.dtype}, expected numbers for regression.")
    given = None if weight is None else as_numbers(np.asarray(weight), "sample_weight")
    given = np.full(n, given) if given is not None and given.ndim == 0 else given
    if given is not None and (given.shape != (n,) or given.any()):  # a partition of weights 0 is not yet an error
        check_weights(given, n)
    target = labels.astype(np.float64) if regression else None
    return [*([] if regression else [labels]), *columns.values()], tuple(columns), target, given


def digest(place: NDArray[np.intp], keys: Sequence[Key], *numbers: Array | None) -> str:
    """Return a digest of every row's key and numbers, by which a partition is known again; "" for no rows."""
    if not len(place):
        return ""
    found = blake2b(repr(keys).encode(), digest_size=8)
    found.update(place.astype(np.min_scalar_type(len(keys))).tobytes())
    for values in numbers:
        found.update(b"" if values is None else values.tobytes())
    return found.hexdigest()


def matrix_of(x: Any) -> Any:
    """Return a partition's features, which were looked at before, as an array of floats or a CSR matrix."""
    if sparse.issparse(x):
        return sparse.csr_array(x)
    array = x.to_numpy() if hasattr(x, "to_numpy") else np.asarray(x)
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def side(y: Any, groups: Any, weight: Any, plan: Plan, known: str) -> Side:
    """Look up every row of a partition in the plan; ``known`` is the digest of the partition when it was looked at."""
    columns, _, target, given = read_sides(y, groups, weight, len(y), plan.regression)
    place, keys = keys_of(columns)
    if digest(place, keys, target, given) != known:
        raise InputError(
            "a partition has labels, groups or weights that it did not have when it was first read, expected "
            "collections that give the same rows each time; store or persist them before tracing."
        )
    small = np.min_scalar_type(len(plan.keys))
    codes = np.array([plan.keys.get(key, len(plan.keys)) for key in keys], dtype=small)[place]
    busy = np.ones(len(codes), dtype=bool) if given is None else given > 0.0
    codes[~busy] = len(plan.keys)
    return Side(codes, target, given if plan.weighted else None)


def sorted_rows(known: Side, plan: Plan) -> tuple[NDArray[np.intp], Array, Cells]:
    """Return the order of the rows that count, their targets and their cells."""
    count = len(plan.weight)
    cell = plan.cell.astype(np.min_scalar_type(count))[known.key]  # small numbers sort by counting
    offsets = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=count + 1)[:count])]).astype(np.intp)
    order = np.argsort(cell, kind="stable")[: offsets[-1]]
    targets = known.target[order] if known.target is not None else plan.target[known.key[order]]
    weight = None if known.weight is None else known.weight[order]
    return order, targets, Cells(order, offsets, plan.weight, weight, None)


def prepared(x: Any, known: Side, plan: Plan) -> Piece:
    """Return a partition's rows as a piece to keep in memory: a sorted copy in double precision."""
    order, targets, cells = sorted_rows(known, plan)
    return Piece(sorted_design(matrix_of(x), order, plan.fit_intercept, plan.frame), targets, cells)


def loose(x: Any, known: Side, plan: Plan) -> Piece:
    """Return a partition's rows as a piece for one pass: rows are sorted a chunk at a time."""
    order, targets, cells = sorted_rows(known, plan)
    matrix, intercept = matrix_of(x), plan.fit_intercept
    design = (SparseDesign if sparse.issparse(matrix) else LooseDesign)(matrix, order, intercept, plan.frame)
    return Piece(design, targets, cells)
