"""What runs where the rows are: read a partition's labels, groups and weights, prepare its rows. No Dask in here."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...exceptions import InputError
from ...objectives import Array, Cells
from ...storage.folders import writing
from ..design import LooseDesign, SparseDesign, sorted_design
from ..frame import Frame
from ..pieces import Piece
from .scan import Key, digest, keys_of, read_sides


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


CHUNK = 4096
"""Rows that are sorted and written at a time."""


class SpoolError(InputError):
    """Rows that could not be written to the disk; they may still be read where they come from."""


@dataclass(frozen=True)
class Spooled:
    """A piece in files of its own, which are mapped into memory for the time of a pass."""

    stem: str
    offsets: NDArray[np.intp]
    plan: Plan

    def mapped(self) -> Piece:
        """Return the piece; its rows stay on disk."""
        rows = np.load(f"{self.stem}-rows.npy", mmap_mode="r")
        targets = np.load(f"{self.stem}-targets.npy")
        weight = np.load(f"{self.stem}-weights.npy") if self.plan.weighted else None
        cells = Cells(np.empty(0, dtype=np.intp), self.offsets, self.plan.weight, weight, None)
        return Piece(LooseDesign(rows, None, self.plan.fit_intercept, self.plan.frame), targets, cells)


def spooled(x: Any, known: Side, plan: Plan, stem: str) -> Spooled:
    """Write a partition's sorted rows, in the precision that they have, to files that begin with ``stem``."""
    order, targets, cells = sorted_rows(known, plan)
    matrix = matrix_of(x)
    _save(f"{stem}-rows.npy", matrix.dtype, (len(order), int(matrix.shape[1])), _taken(matrix, order))
    _save(f"{stem}-targets.npy", targets.dtype, targets.shape, [targets])
    if cells.row_weight is not None:
        _save(f"{stem}-weights.npy", cells.row_weight.dtype, cells.row_weight.shape, [cells.row_weight])
    return Spooled(stem, cells.offsets, plan)


def _taken(matrix: NDArray[Any], order: NDArray[np.intp]) -> Iterator[NDArray[Any]]:
    return (matrix[order[start : start + CHUNK]] for start in range(0, len(order), CHUNK))


def _save(path: str, dtype: Any, shape: tuple[int, ...], chunks: Iterable[NDArray[Any]]) -> None:
    """Write an array chunk by chunk; through a mapped file, a full disk would end the process instead of an error."""
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    try:
        with writing(path, overwrite=True) as file:
            np.lib.format.write_array_header_1_0(file, header)
            for chunk in chunks:
                file.write(np.ascontiguousarray(chunk).data)
    except InputError as error:
        raise SpoolError(str(error)) from error


def temporary_folder(config: Any) -> str:
    """Return the folder that Dask is told to use for what is temporary, or the system's; refuse one that is not."""
    folder = config.get("temporary_directory", None) or tempfile.gettempdir()
    try:
        with tempfile.TemporaryFile(dir=folder):
            return str(folder)
    except (OSError, TypeError) as error:
        raise InputError(
            f"Dask's temporary_directory is {folder!r}, expected a folder that can be written to ({error}); make "
            "it, or set another."
        ) from error
