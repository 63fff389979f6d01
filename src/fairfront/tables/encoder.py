"""TableEncoder: from the columns of a table to a matrix of numbers, learnt on training rows, stored as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from ..exceptions import InputError
from ..records import Record
from .notation import PLAIN, Notation
from .statistics import TrainingRows
from .table import MISSING, Array, Column, Kind, Rows, Table, listed, nearest

OTHER, NONE = "(other)", "(missing)"
FEWEST = 10
"""Training rows that a level, an indicator or a median needs."""
WIDE = 256
RARE = 0.001  # share of the rows of train below which a level is pooled with others
FULL = 0.1
STATISTICS = ("median", "mean", "factor")
Entry = tuple[NDArray[Any], Array]
"""Each row's column in a block (-1: nowhere), and its value."""


@dataclass(frozen=True)
class NumberBlock:
    """A number, centred and scaled; missing ones become the median, with an indicator where enough were missing.

    ``factor`` is 1 / standard deviation, and 0 for a column that is constant or known in too few training rows: it
    then says nothing. ``notation`` is how training files write it.
    """

    name: str
    median: float
    mean: float
    factor: float
    indicator: bool
    notation: Notation = PLAIN
    kind: Kind = "number"

    @property
    def feature_names(self) -> tuple[str, ...]:
        return (self.name, f"{self.name} (missing)") if self.indicator else (self.name,)

    def entries(self, column: Column) -> Iterator[Entry]:
        absent = column.absent
        known = np.where(absent, self.median, column.values)
        yield np.zeros(len(absent), dtype=np.intp), (known - self.mean) * self.factor
        if self.indicator:
            yield np.where(absent, 1, -1), np.ones(len(absent))


@dataclass(frozen=True)
class CategoryBlock:
    """One indicator per level that is frequent enough, one for all others together, one for missing.

    The columns for others and missing are there where enough training rows were; elsewhere such rows are zero in
    the whole block, like levels that were never seen.
    """

    name: str
    levels: tuple[str, ...]
    other: bool
    missing: bool
    kind: Kind = "category"

    @property
    def feature_names(self) -> tuple[str, ...]:
        tail = [label for label, there in ((OTHER, self.other), (NONE, self.missing)) if there]
        return tuple(f"{self.name}={level}" for level in (*self.levels, *tail))

    def entries(self, column: Column) -> Iterator[Entry]:
        rest = len(self.levels) if self.other else -1
        absent = len(self.levels) + self.other if self.missing else -1
        yield column.codes_in(self.levels, rest, absent), np.ones(len(column.values))


Block = NumberBlock | CategoryBlock


@dataclass(frozen=True, repr=False)
class TableEncoder(Record):
    """How columns become a matrix: one block per column, and the texts that were read as missing in training.

    Numbers: missing ones are replaced by the training median and marked by an indicator column, then centred and
    scaled by the training mean and standard deviation. Categories: one indicator per level; levels
    with few training rows are pooled in "(other)" and their names forgotten; missing is a level of its own; a level
    never seen counts as other. Columns for missing or pooled rows exist where at least ``min_count`` training rows
    need them; rows without a column of their own are zero in the block. Matrices are ``sparse`` where training needed
    256 columns or more of which at most a tenth is filled. ``reference`` are the means of the matrix's columns in
    training; None in files of earlier versions.
    """

    blocks: tuple[Block, ...]
    sparse: bool = False
    missing: tuple[str, ...] = MISSING
    reference: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
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
        rare: float = RARE,
        min_count: int = FEWEST,
        sparse: bool | None = None,
        notations: Mapping[str, Notation] | None = None,
    ) -> TableEncoder:
        """Learn from training rows; levels in fewer than ``max(min_count, rare * n)`` of them are pooled.

        Matrices are sparse where that is smaller, unless ``sparse`` says which. ``notations`` are those of columns
        whose numbers are not written plainly.
        """
        if not features:
            raise InputError("features is empty, expected at least one column to learn from; drop fewer columns.")
        if not rows.n:
            raise InputError("the table has no rows, expected training rows.")
        known = TrainingRows.of(rows, features) if isinstance(rows, Table) else rows
        numbers = known.moments([name for name in features if known.columns[name].kind == "number"])
        blocks: list[Block] = []
        reference: list[float] = []
        for name in features:
            tally = known.columns[name]
            absent, notation = known.n - tally.present >= min_count, (notations or {}).get(name, PLAIN)
            if tally.kind == "category":
                if not tally.named:
                    raise InputError(
                        f"column {name!r} has {tally.n_distinct} different values, expected a category with few; leave "
                        f"it out with --drop {name}."
                    )
                limit = max(min_count, rare * known.n)
                kept = {level for level, count in tally.counts.items() if count >= limit} - {OTHER, NONE}
                pooled = tally.present - sum(tally.counts[level] for level in kept)
                other = pooled >= min_count
                blocks.append(CategoryBlock(name, tuple(sorted(kept)), other, absent))
                reference += _shares([*(tally.counts[level] for level in sorted(kept)), *[pooled] * other], known.n)
            elif tally.present < min_count:
                blocks.append(NumberBlock(name, 0.0, 0.0, 0.0, absent, notation))
            else:
                median, moments = numbers[name]
                blocks.append(NumberBlock(name, median, moments.mean, moments.factor, absent, notation))
            reference += [0.0] * (tally.kind == "number") + _shares([known.n - tally.present] * absent, known.n)
        width = sum(len(block.feature_names) for block in blocks)
        thin = is_thin(width, len(features)) if sparse is None else sparse
        return cls(tuple(blocks), thin, rows.missing, tuple(reference))

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(block.name for block in self.blocks)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Return the names of the matrix's columns: "age", "hours (missing)", "work=Private", "work=(other)"."""
        return tuple(name for block in self.blocks for name in block.feature_names)

    def check(self, names: Sequence[str]) -> None:
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
        shape = table.n, len(self.feature_names)
        if self.sparse:
            rows, columns, values = (np.concatenate(each) for each in zip(*self._cells(table), strict=True))
            there = values != 0.0
            return sp.csr_array((values[there], (rows[there], columns[there])), shape=shape)
        X = np.zeros(shape)
        for rows, columns, values in self._cells(table):
            X[rows, columns] = values
        return X

    def _cells(self, table: Table) -> Iterator[tuple[Rows, NDArray[Any], Array]]:
        """Yield rows, columns and values of the matrix, block by block; columns ascend in every row."""
        start = 0
        for block in self.blocks:
            column = table.columns[block.name]
            if block.kind != column.kind:
                raise _other_kind(block)
            for places, values in block.entries(column):
                rows = np.flatnonzero(places >= 0)
                yield rows, start + places[rows], values[rows]
            start += len(block.feature_names)

    def to_content(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return plain JSON values and arrays of numbers; they hold no rare value and no extreme of any row."""
        keys = {"number": ("name", "kind", "indicator"), "category": ("name", "kind", "levels", "other", "missing")}
        columns: list[dict[str, Any]] = []
        for block in self.blocks:
            columns.append({key: getattr(block, key) for key in keys[block.kind]})
            if isinstance(block, NumberBlock) and block.notation != PLAIN:
                columns[-1]["notation"] = asdict(block.notation)
        content = {"schema": 1, "sparse": self.sparse, "missing": list(self.missing), "columns": columns}
        numbers = [block for block in self.blocks if isinstance(block, NumberBlock)]
        arrays = {key: np.array([getattr(block, key) for block in numbers]) for key in STATISTICS}
        return content, arrays if self.reference is None else {**arrays, "reference": np.array(self.reference)}

    @classmethod
    def from_content(cls, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> TableEncoder:
        """Read what `to_content` gave; whatever does not fit is refused."""
        try:
            if content["schema"] != 1:
                raise ValueError(f"schema {content['schema']}, expected 1")
            statistics = iter(zip(*(arrays[key].tolist() for key in STATISTICS), strict=True))
            blocks = tuple(_read_block(each, statistics) for each in content["columns"])
            if next(statistics, None) is not None:
                raise ValueError("more numbers than columns")
            means = arrays["reference"].tolist() if "reference" in arrays else None
            found = cls(blocks, bool(content["sparse"]), tuple(map(str, content["missing"])), means and tuple(means))
            if means is not None and (len(means) != len(found.feature_names) or not np.isfinite(means).all()):
                raise ValueError("a reference that is not one finite number per column")
            return found
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"the encoder cannot be read ({error!r}), expected what to_content wrote; write it again, or use the "
                "version that wrote it."
            ) from error


def _shares(counts: Sequence[int], n: int) -> list[float]:
    return [each / n for each in counts]


def is_thin(width: int, filled: int) -> bool:
    """Tell whether a matrix so wide is smaller as a sparse one, with so many filled cells in a row."""
    return width >= WIDE and filled <= FULL * width


def _other_kind(block: Block) -> InputError:
    if block.kind == "number":
        return InputError(
            f"the column {block.name!r} is a category, expected numbers as in training; mend the words in it, or name "
            "them with --missing."
        )
    return InputError(
        f"the column {block.name!r} holds numbers, expected a category as in training; read it with --text "
        f"{block.name}, or convert the rows with coerce."
    )


def _read_block(found: Mapping[str, Any], statistics: Iterator[tuple[Any, ...]]) -> Block:
    if found["kind"] == "number":
        median, mean, factor = (float(value) for value in next(statistics, ()))
        if not np.isfinite([median, mean, factor]).all():
            raise ValueError(f"statistics of {found['name']!r} that are not finite")
        notation = Notation.from_content(found.get("notation", {}))
        return NumberBlock(str(found["name"]), median, mean, factor, bool(found["indicator"]), notation)
    if found["kind"] != "category":
        raise ValueError(f"unknown kind {found['kind']!r}")
    levels = tuple(str(level) for level in found["levels"])
    return CategoryBlock(str(found["name"]), levels, bool(found["other"]), bool(found["missing"]))
