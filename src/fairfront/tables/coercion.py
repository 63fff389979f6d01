"""Cells of a table as an encoder reads them: numbers as they are written, levels by their codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .encoder import OTHER, CategoryBlock, TableEncoder
from .notation import Decimal, Notation
from .table import Chunk, CodeBook, Column, Table


def coerce(
    chunk: Mapping[str, NDArray[Any]],
    encoder: TableEncoder,
    missing: tuple[str, ...] = (),
    decimal: Decimal | None = None,
) -> Table:
    """Convert raw cells, a chunk of a source or arrays by name, to the columns that the encoder reads.

    The texts in ``missing`` stand for a missing value besides those that the encoder knows, and ``decimal`` is the mark
    of numbers where it is not that of training. Levels that the encoder does not know are one level, "(other)".
    """
    encoder.check(tuple(chunk))
    if not isinstance(chunk, Chunk):
        arrays = {name: np.asarray(cells) for name, cells in chunk.items()}
        chunk = Chunk({name: a if a.dtype.kind in "iuf" else a.astype(object) for name, a in arrays.items()})
    absent = frozenset((*encoder.missing, *missing))
    columns: dict[str, Column] = {}
    for block in encoder.blocks:
        if isinstance(block, CategoryBlock):
            codes = CodeBook(absent, block.levels, other=len(block.levels)).codes(chunk[block.name])
            columns[block.name] = Column.of_codes(codes, (*block.levels, OTHER))
        else:
            notation = block.notation if decimal is None else Notation(decimal, block.notation.unit)
            columns[block.name] = Column(chunk.numbers(block.name, absent, notation))
    return Table(chunk.n, columns, encoder.missing)


def count_others(table: Table, encoder: TableEncoder) -> dict[str, int]:
    """Return the rows of a table from `coerce`, by column, whose value was rare or unknown in training."""
    columns = {block.name: table.columns[block.name] for block in encoder.blocks if isinstance(block, CategoryBlock)}
    return {name: int((column.values == column.n_levels - 1).sum()) for name, column in columns.items()}
