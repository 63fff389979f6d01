"""What a table becomes before training: a schema, findings, an encoder, and the rows of train, validation and test.

Rows are in memory, or in a Parquet file that is larger than it. Matrices of the latter are read and encoded block by
block, when needed, and what is kept of it is narrow: per row a byte for the part, one or two for the label and for each
group column, and eight for a weight or a number to be predicted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..exceptions import InputError
from ..objectives import Array, GroupProbabilities
from ..objectives.groups import FEWEST, rounded
from ..problems.dask.partition import lazy_column, lazy_matrix
from ..problems.dask.passes import reduced
from ..tables import Schema, Table
from ..tables.arrow import Block, ParquetBlocks
from ..tables.encoder import TableEncoder
from ..tables.findings import Finding
from ..tables.roles import PARTS, Codes
from .settings import Settings

BLOCK_BYTES = 32_000_000
"""Size of an encoded block; a few are in memory at a time."""
LEAST_ROWS, MOST_ROWS = 4_096, 262_144
SEEN_BYTES = 256_000_000
"""Size of the encoded rows that are brought into memory for the card and the explorer; more are sampled."""


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of one part of the split: features, labels, groups and weights, as arrays or as Dask arrays.

    ``drawn`` reads rows of Dask arrays into memory: all of them where they fit, else a random sample.
    """

    X: Any
    y: Any
    groups: Any
    weight: Any
    drawn: Callable[[], Part] | None = None

    @property
    def n(self) -> int:
        return len(self.y)

    def seen(self) -> Part:
        return self if self.drawn is None else self.drawn()


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table made ready: its schema, what was found wrong with it, the encoder learnt on train, and the rows.

    ``place`` (rows of the source) is that of a row's part in `PARTS`, -1 for rows that are not used: those without a
    label or of weight 0. Labels, groups, weights, and a table of ``rows`` in memory, are of the rows that are used.
    """

    settings: Settings
    schema: Schema
    findings: tuple[Finding, ...]
    features: tuple[str, ...]
    encoder: TableEncoder
    favourable: Any
    unlabelled: int
    split_words: str
    place: NDArray[np.int8]
    labels: Codes
    groups: Mapping[str, Codes] | GroupProbabilities
    weight: Array | None
    rows: Table | ParquetBlocks

    def __post_init__(self) -> None:
        """Refuse a part of a few people, whose figures would be facts about them."""
        for name, size in self.sizes.items():
            if size < FEWEST:
                raise InputError(
                    f"the {name} part of the split has fewer than {FEWEST} rows, expected more: figures of so few "
                    "people are not written; use more rows, or another split."
                )

    @property
    def n(self) -> int:
        """Return the number of rows of the table that may be told beside those of its parts.

        What is left of it are rows without a label and rows of weight 0, of which a few are not counted exactly.
        """
        used = sum(self.sizes.values())
        idle = self.schema.n - self.unlabelled - used
        return used + int(rounded(self.unlabelled)) + int(rounded(idle))

    @property
    def sizes(self) -> dict[str, int]:
        return {name: int((self.place == i).sum()) for i, name in enumerate(PARTS)}

    @property
    def split_digest(self) -> str:
        return hashlib.sha256(self.place[self.place >= 0].astype(np.uint8).tobytes()).hexdigest()

    def part(self, name: str) -> Part:
        """Encode the rows of one part; matrices are made when they are needed and not kept, those of a file lazily."""
        kept = self.place == PARTS.index(name)
        if isinstance(self.rows, Table):
            return self._held(self.encoder.transform(self.rows.take(self._used(kept))), kept)
        assert not isinstance(self.groups, GroupProbabilities)
        X, lengths = self._blocks(self.rows, kept)
        rows = self._used(kept)
        y, *columns = (
            lazy_column(each.codes[rows], each.values, lengths) for each in (self.labels, *self.groups.values())
        )
        weight = None if self.weight is None else lazy_column(self.weight[rows], None, lengths)
        return Part(X, y, dict(zip(self.groups, columns, strict=True)), weight, partial(self._sample, self.rows, kept))

    def _used(self, kept: NDArray[np.bool_]) -> NDArray[np.intp]:
        return np.flatnonzero(kept[self.place >= 0])

    def _held(self, X: Any, kept: NDArray[np.bool_]) -> Part:
        rows = self._used(kept)
        groups: Any = self.groups
        if isinstance(groups, GroupProbabilities):
            groups = groups.take(rows)
        else:
            groups = {name: codes.take(rows) for name, codes in groups.items()}
        return Part(X, self.labels.take(rows), groups, None if self.weight is None else self.weight[rows])

    def _blocks(self, file: ParquetBlocks, kept: NDArray[np.bool_]) -> tuple[Any, list[int]]:
        """Also the lengths of the blocks."""
        width = len(self.encoder.feature_names)
        size = min(max(BLOCK_BYTES // (8 * width), LEAST_ROWS), MOST_ROWS)
        found = [(block, kept[block.rows]) for block in file.cut(size) if kept[block.rows].any()]
        parts, lengths = [(block, np.packbits(rows)) for block, rows in found], [int(rows.sum()) for _, rows in found]
        like = sparse.csr_array((0, width)) if self.encoder.sparse else np.empty((0, width))
        return lazy_matrix(partial(_encoded, file, self.encoder), parts, lengths, width, like), lengths

    def _sample(self, file: ParquetBlocks, kept: NDArray[np.bool_]) -> Part:
        most, places = seen_rows(self.encoder), np.flatnonzero(kept)
        if len(places) > most:
            places = np.sort(np.random.default_rng(self.settings.seed).choice(places, most, replace=False))
        some = np.zeros(len(kept), dtype=bool)
        some[places] = True
        return self._held(reduced(lambda block: block, self._blocks(file, some)[0], combine=_stacked), some)


def seen_rows(encoder: TableEncoder) -> int:
    """The most that are brought into memory for the card and the explorer."""
    return SEEN_BYTES // (8 * len(encoder.feature_names))


def _encoded(blocks: ParquetBlocks, encoder: TableEncoder, block: Block, kept: NDArray[np.uint8]) -> Any:
    """Bits of ``kept`` are set for the rows to encode."""
    wanted = np.flatnonzero(np.unpackbits(kept, count=block.n))
    return encoder.transform(blocks.read(block, encoder.columns, wanted))


def _stacked(blocks: list[Any]) -> Any:
    return sparse.vstack(blocks, format="csr") if sparse.issparse(blocks[0]) else np.concatenate(blocks)
