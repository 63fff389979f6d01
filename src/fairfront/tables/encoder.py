"""TableEncoder: from the columns of a table to a matrix of numbers, learnt on training rows, stored as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from ..exceptions import InputError
from .features import OTHER, Block, CategoryBlock, NumberBlock, Positions, TrainingRows
from .raw_cells import Array, CodeBook
from .source import MISSING, Chunk, listed, nearest
from .table import Column, Table

WIDE = 256
FULL = 0.1
Entry = tuple[int, Positions | None, Array]
"""The first column of a block, each row's column in the block (-1: nowhere; None: all in the first), and its value."""


@dataclass(frozen=True)
class TableEncoder:
    """How columns become a matrix.

    Numbers: missing ones are replaced by the training median and marked by an indicator column, then centred and
    scaled by the training mean and standard deviation, in which the median stands for values that fewer than
    ``min_count`` training rows have where there are few different ones. Categories: one indicator per level; levels
    with few training rows are pooled in "(other)" and their names forgotten; missing is a level of its own; a level
    never seen counts as other. Columns for missing or pooled rows exist where at least ``min_count`` training rows
    need them; rows without a column of their own are zero in the block.

    Attributes
    ----------
    blocks : tuple of NumberBlock and CategoryBlock
        One per column.
    sparse : bool
        Whether `transform` gives a CSR array: decided when fitted, for 256 columns or more of which at most a tenth
        is filled.
    missing : tuple of str
        Texts that were read as missing values in the training table, so that prediction reads them alike.
    """

    blocks: tuple[Block, ...]
    sparse: bool = False
    missing: tuple[str, ...] = MISSING

    def __post_init__(self) -> None:
        """Refuse columns of which nothing is left."""
        if not self.feature_names:
            raise InputError(
                f"every value of {listed(self.columns)} is in too few training rows to be learnt from, expected more "
                "rows, or another column."
            )

    @classmethod
    def fit(
        cls,
        rows: Table | TrainingRows,
        features: Sequence[str],
        *,
        rare: float = 0.001,
        min_count: int = 10,
        sparse: bool | None = None,
    ) -> TableEncoder:
        """Learn from training rows.

        Parameters
        ----------
        rows : Table or TrainingRows
        features : sequence of str
            Columns to encode, in this order.
        rare, min_count : float, int
            Levels in fewer than ``max(min_count, rare * n)`` rows are pooled.
        sparse : bool, optional
            Whether matrices are sparse; default: where that is smaller.
        """
        if not features:
            raise InputError("features is empty, expected at least one column to learn from; drop fewer columns.")
        if not rows.n:
            raise InputError("the table has no rows, expected training rows.")
        known = TrainingRows.of(rows, features) if isinstance(rows, Table) else rows
        blocks = known.blocks(features, rare, min_count)
        width = sum(len(block.feature_names) for block in blocks)
        return cls(blocks, is_thin(width, len(features)) if sparse is None else sparse, rows.missing)

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that are read."""
        return tuple(block.name for block in self.blocks)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Return the names of the matrix's columns: "age", "hours (missing)", "work=Private", "work=(other)"."""
        return tuple(name for block in self.blocks for name in block.feature_names)

    def check(self, names: Sequence[str]) -> None:
        """Refuse a table that lacks a column."""
        for column in self.columns:
            if column not in names:
                others = [name for name in names if name not in self.columns]
                raise InputError(
                    f"the column {column!r} is missing, expected all of {listed(self.columns)}"
                    f"{nearest(column, others, '; add it, or use a file with the columns of training.')}"
                )

    def transform(self, table: Table) -> Any:
        """Return the matrix (n, d) of a table: a float64 array, or a CSR array where ``sparse``."""
        self.check(tuple(table.columns))
        return (_sparse if self.sparse else _dense)(table.n, len(self.feature_names), self._entries(table))

    def _entries(self, table: Table) -> Iterator[Entry]:
        start = 0
        for block in self.blocks:
            column = table.columns[block.name]
            if block.kind != column.kind and block.kind == "number":
                raise InputError(
                    f"the column {block.name!r} is a category, expected numbers as in training; mend the words in it, "
                    "or name them with --missing."
                )
            if block.kind != column.kind:
                raise InputError(
                    f"the column {block.name!r} holds numbers, expected a category as in training; read it with "
                    f"--text {block.name}, or convert the rows with coerce."
                )
            yield from ((start, *entry) for entry in block.entries(column))
            start += len(block.feature_names)

    def to_content(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return plain JSON values and arrays of numbers; they hold no rare value and no extreme of any row."""
        numbers = [block for block in self.blocks if isinstance(block, NumberBlock)]
        content = {
            "schema": 1,
            "sparse": self.sparse,
            "missing": list(self.missing),
            "columns": [_described(block) for block in self.blocks],
        }
        statistics = {key: np.array([getattr(b, key) for b in numbers]) for key in ("median", "mean", "factor")}
        return content, statistics

    @classmethod
    def from_content(cls, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> TableEncoder:
        """Read what `to_content` gave; whatever does not fit is refused."""
        try:
            if content["schema"] != 1:
                raise ValueError(f"schema {content['schema']}, expected 1")
            statistics = iter(zip(*(arrays[key].tolist() for key in ("median", "mean", "factor")), strict=True))
            blocks = tuple(_read(each, statistics) for each in content["columns"])
            if next(statistics, None) is not None:
                raise ValueError("more numbers than columns")
            return cls(blocks, bool(content["sparse"]), tuple(str(text) for text in content["missing"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"the encoder cannot be read ({error!r}), expected what to_content wrote; write it again, or use the "
                "version that wrote it."
            ) from error


def is_thin(width: int, filled: int) -> bool:
    """Tell whether a matrix so wide is smaller as a sparse one, with so many filled cells in a row."""
    return width >= WIDE and filled <= FULL * width


def _described(block: Block) -> dict[str, Any]:
    if isinstance(block, NumberBlock):
        return {"name": block.name, "kind": "number", "indicator": block.indicator}
    levels = list(block.levels)
    return {"name": block.name, "kind": "category", "levels": levels, "other": block.other, "missing": block.missing}


def _read(found: Mapping[str, Any], statistics: Any) -> Block:
    if found["kind"] == "number":
        median, mean, factor = (float(value) for value in next(statistics, ()))
        if not np.isfinite([median, mean, factor]).all():
            raise ValueError(f"statistics of {found['name']!r} that are not finite")
        return NumberBlock(str(found["name"]), median, mean, factor, bool(found["indicator"]))
    if found["kind"] != "category":
        raise ValueError(f"unknown kind {found['kind']!r}")
    levels = tuple(str(level) for level in found["levels"])
    return CategoryBlock(str(found["name"]), levels, bool(found["other"]), bool(found["missing"]))


def _dense(n: int, width: int, entries: Iterator[Entry]) -> Array:
    X, rows = np.zeros((n, width)), np.arange(n)
    for start, positions, values in entries:
        if positions is None:
            X[:, start] = values
        else:
            there = positions >= 0
            X[rows[there], start + positions[there]] = values[there]
    return X


def _sparse(n: int, width: int, entries: Iterator[Entry]) -> Any:
    """Return a CSR array; entries come with columns ascending."""
    found = []
    for start, positions, values in entries:
        places = np.full(n, start) if positions is None else np.where(positions < 0, -1, start + positions)
        found.append((np.where(values == 0.0, -1, places), values))
    places, values = (np.column_stack(each) for each in zip(*found, strict=True))
    there = places >= 0
    ends = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    return sp.csr_array((values[there], places[there], ends), shape=(n, width))


def coerce(chunk: Mapping[str, NDArray[Any]], encoder: TableEncoder, missing: tuple[str, ...] = ()) -> Table:
    """Convert raw cells to what the encoder reads.

    Parameters
    ----------
    chunk : mapping of column names to cells
        A chunk of a source, or arrays by name.
    encoder : TableEncoder
    missing : texts
        Stand for a missing value besides those that the encoder knows.

    Returns
    -------
    Table
        The encoder's columns. Levels that the encoder does not know are one level, "(other)".
    """
    encoder.check(tuple(chunk))
    known = chunk if isinstance(chunk, Chunk) else Chunk(_arrays(chunk))
    absent = frozenset((*encoder.missing, *missing))
    columns: dict[str, Column] = {}
    for block in encoder.blocks:
        if isinstance(block, CategoryBlock):
            levels = (*block.levels, OTHER)
            codes = CodeBook(absent, block.levels, other=len(block.levels)).codes(known[block.name])
            columns[block.name] = Column.of_codes(codes, levels)
        else:
            columns[block.name] = Column(numbers=known.numbers(block.name, absent))
    return Table(known.n, columns, encoder.missing)


def _arrays(chunk: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    arrays = {name: np.asarray(cells) for name, cells in chunk.items()}
    return {name: cells if cells.dtype.kind in "iuf" else cells.astype(object) for name, cells in arrays.items()}
