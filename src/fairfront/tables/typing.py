"""Typing: raw cells of new rows as the kinds that a model was trained on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .blocks import OTHER, CategoryBlock
from .cells import CodeBook
from .encoding import TableEncoder
from .loading import numbers_of
from .source import Chunk
from .table import Column, Table


def coerce(
    chunk: Mapping[str, NDArray[Any]], encoder: TableEncoder, first_row: int = 0, missing: tuple[str, ...] = ()
) -> Table:
    """Convert raw cells to what the encoder reads.

    Parameters
    ----------
    chunk : mapping of column names to cells
        A chunk of a source, or arrays by name.
    encoder : TableEncoder
    first_row : int
        Rows before this chunk, for sentences, where the chunk does not know its lines.
    missing : texts
        Stand for a missing value besides those that the encoder knows.

    Returns
    -------
    Table
        The encoder's columns. Levels that the encoder does not know are one level, "(other)".
    """
    encoder.check(tuple(chunk))
    known = chunk if isinstance(chunk, Chunk) else Chunk(_arrays(chunk), first_row)
    absent = frozenset((*encoder.missing, *missing))
    columns: dict[str, Column] = {}
    for block in encoder.blocks:
        if isinstance(block, CategoryBlock):
            levels = (*block.levels, OTHER)
            codes = CodeBook(absent, block.levels, other=len(block.levels)).codes(known[block.name])
            columns[block.name] = Column(codes=codes, levels=levels, n_levels=len(levels))
        else:
            columns[block.name] = Column(numbers=numbers_of(known, block.name, absent))
    return Table(known.n, columns, encoder.missing)


def _arrays(chunk: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    arrays = {name: np.asarray(cells) for name, cells in chunk.items()}
    return {name: cells if cells.dtype.kind in "iuf" else cells.astype(object) for name, cells in arrays.items()}
