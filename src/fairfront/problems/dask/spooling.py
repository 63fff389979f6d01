"""Spooling: the sorted rows of partitions in files of this machine, mapped into memory for the time of a pass."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...exceptions import InputError
from ...objectives import Cells
from ...storage.folders import writing
from ..design import LooseDesign
from ..pieces import Piece
from .parts import Plan, Side, matrix_of, sorted_rows

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
