"""TableEncoder: from the columns of a table to a matrix of numbers, learnt on training rows, stored as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from ..exceptions import InputError
from ..validation import counted
from .blocks import OTHER, Block, CategoryBlock, NumberBlock, Positions, fit_block
from .raw_cells import Array, CodeBook
from .source import MISSING, SHOWN, Chunk, nearest
from .table import Column, Table

WIDE = 256
FULL = 0.1


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
                f"every value of {_listed(self.columns)} is in too few training rows to be learnt from, expected more "
                "rows, or another column."
            )

    @classmethod
    def fit(
        cls,
        table: Table,
        features: Sequence[str],
        *,
        rare: float = 0.001,
        min_count: int = 10,
        sparse: bool | None = None,
    ) -> TableEncoder:
        """Learn from training rows.

        Parameters
        ----------
        table : Table
            Training rows.
        features : sequence of str
            Columns to encode, in this order.
        rare, min_count : float, int
            Levels in fewer than ``max(min_count, rare * n)`` rows are pooled.
        sparse : bool, optional
            Whether matrices are sparse; default: where that is smaller.
        """
        if not features:
            raise InputError("features is empty, expected at least one column to learn from; drop fewer columns.")
        if not table.n:
            raise InputError("the table has no rows, expected training rows.")
        blocks = tuple(fit_block(name, table.column(name), rare, min_count) for name in features)
        return cls(blocks, is_thin(blocks) if sparse is None else sparse, table.missing)

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that are read."""
        return tuple(block.name for block in self.blocks)

    @property
    def kinds(self) -> dict[str, str]:
        """Return the kind of each column that is read."""
        return {block.name: block.kind for block in self.blocks}

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Return the names of the matrix's columns: "age", "hours (missing)", "work=Private", "work=(other)"."""
        return tuple(name for block in self.blocks for name in block.feature_names)

    def check(self, names: Sequence[str], kinds: Mapping[str, str] | None = None) -> tuple[str, ...]:
        """Refuse a table that lacks a column, or has words for numbers; return notes on columns that are not read."""
        for block in self.blocks:
            if block.name not in names:
                raise InputError(
                    f"the column {block.name!r} is missing, expected all of {_listed(self.columns)}"
                    f"{_hint(block.name, [name for name in names if name not in self.columns])}"
                )
            if kinds is not None and block.kind == "number" and kinds.get(block.name, "number") != "number":
                raise InputError(
                    f"the column {block.name!r} is a category, expected numbers as in training; mend the words in it, "
                    "or name them with --missing."
                )
        extra = [name for name in names if name not in self.columns]
        return (f"{counted(len(extra), 'column')} not read: {_listed(extra)}.",) if extra else ()

    def transform(self, table: Table) -> Any:
        """Return the matrix (n, d) of a table: a float64 array, or a CSR array where ``sparse``."""
        self.check(tuple(table.columns), table.kinds)
        fill = _Sparse(table.n, len(self.feature_names)) if self.sparse else _Dense(table.n, len(self.feature_names))
        for block in self.blocks:
            column = table.columns[block.name]
            if block.kind != column.kind:
                raise InputError(
                    f"the column {block.name!r} holds numbers, expected a category as in training; read it with "
                    f"--text {block.name}, or convert the rows with coerce."
                )
            block.put(column, fill.put)
            fill.start += len(block.feature_names)
        return fill.matrix()

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


def is_thin(blocks: Sequence[Block]) -> bool:
    """Tell whether a matrix of these blocks is smaller as a sparse one."""
    width = sum(len(block.feature_names) for block in blocks)
    return width >= WIDE and len(blocks) <= FULL * width


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


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f", ... ({len(names)} in all)" if len(names) > SHOWN else "")


def _hint(name: str, others: list[str]) -> str:
    end = nearest(name, others)
    return end if end.startswith(";") else "; add it, or use a file with the columns of training."


class _Dense:
    """A dense matrix that is being filled, block by block."""

    def __init__(self, n: int, width: int) -> None:
        self.X = np.zeros((n, width))
        self.rows, self.start = np.arange(n), 0

    def put(self, positions: Positions | None, values: Array) -> None:
        """Write values into one column, or each row's value into its own position (-1: nowhere)."""
        if positions is None:
            self.X[:, self.start] = values
        else:
            there = positions >= 0
            self.X[self.rows[there], self.start + positions[there]] = values[there]

    def matrix(self) -> Array:
        return self.X


class _Sparse:
    """A CSR array that is being filled, block by block, columns ascending."""

    def __init__(self, n: int, width: int) -> None:
        self.n, self.width, self.start = n, width, 0
        self.places: list[NDArray[np.int64]] = []
        self.values: list[Array] = []

    def put(self, positions: Positions | None, values: Array) -> None:
        """Note values of one column, or each row's value at its own position (-1: nowhere)."""
        place = (
            np.full(self.n, self.start) if positions is None else np.where(positions < 0, -1, self.start + positions)
        )
        self.places.append(np.where(values == 0.0, -1, place))
        self.values.append(values)

    def matrix(self) -> Any:
        places, values = np.column_stack(self.places), np.column_stack(self.values)
        there = places >= 0
        ends = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
        return sp.csr_array((values[there], places[there], ends), shape=(self.n, self.width))


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
            columns[block.name] = Column.of_codes(codes, levels)
        else:
            columns[block.name] = Column(numbers=known.numbers(block.name, absent))
    return Table(known.n, columns, encoder.missing)


def _arrays(chunk: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    arrays = {name: np.asarray(cells) for name, cells in chunk.items()}
    return {name: cells if cells.dtype.kind in "iuf" else cells.astype(object) for name, cells in arrays.items()}
