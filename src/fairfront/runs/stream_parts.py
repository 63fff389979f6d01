"""Parts of a Parquet file that is larger than memory: matrices are read and encoded block by block, when needed.

What is kept in memory is narrow: per row a byte for the part, one or two for the label and for each group column, and
eight for a weight or a number to be predicted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..objectives import Array
from ..problems.dask.passes import reduced
from ..problems.dask.runner import lazy_column, lazy_matrix
from ..tables.arrow import Block, ParquetBlocks
from ..tables.encoder import TableEncoder
from ..tables.target import Codes
from .prepared import PARTS, Part

BLOCK_BYTES = 32_000_000
"""Size of an encoded block; a few are in memory at a time."""
LEAST_ROWS, MOST_ROWS = 4_096, 262_144
SEEN_BYTES = 256_000_000
"""Size of the encoded rows that are brought into memory for the card and the explorer; more are sampled."""


@dataclass(frozen=True, eq=False)
class StreamParts:
    """Parts of a file: ``place`` (rows of the file) is that of a row's part in `PARTS`, -1 for rows without a label.

    Labels, groups and weights are those of the rows with a label.
    """

    blocks: ParquetBlocks
    encoder: TableEncoder
    place: NDArray[np.int8]
    labels: Codes
    groups: Mapping[str, Codes]
    weight: Array | None
    seed: int

    @property
    def sizes(self) -> dict[str, int]:
        """Return the number of rows of every part."""
        return {name: int((self.place == i).sum()) for i, name in enumerate(PARTS)}

    def part(self, name: str) -> Part:
        """Return Dask arrays of the rows of one part, which read the file whenever they are computed."""
        kept = self.place == PARTS.index(name)
        X, lengths = self._matrix(kept)
        rows = kept[self.place >= 0]
        weight = None if self.weight is None else lazy_column(self.weight[rows], None, lengths)
        groups = {key: _lazy(codes.where(rows), lengths) for key, codes in self.groups.items()}
        return Part(X, _lazy(self.labels.where(rows), lengths), groups, weight, partial(self._seen, kept))

    def _matrix(self, kept: NDArray[np.bool_]) -> tuple[Any, list[int]]:
        width = len(self.encoder.feature_names)
        size = min(max(BLOCK_BYTES // (8 * width), LEAST_ROWS), MOST_ROWS)
        counted = [(block, kept[block.rows]) for block in self.blocks.cut(size)]
        parts = [(block, np.packbits(rows)) for block, rows in counted if rows.any()]
        lengths = [int(rows.sum()) for _, rows in counted if rows.any()]
        like = sparse.csr_array((0, width)) if self.encoder.sparse else np.empty((0, width))
        return lazy_matrix(partial(encoded, self.blocks, self.encoder), parts, lengths, width, like), lengths

    def _seen(self, kept: NDArray[np.bool_]) -> Part:
        """Read rows into memory, a random sample where they are many."""
        most, places = seen_rows(self.encoder), np.flatnonzero(kept)
        if len(places) > most:
            places = np.sort(np.random.default_rng(self.seed).choice(places, most, replace=False))
        some = np.zeros(len(kept), dtype=bool)
        some[places] = True
        X = reduced(lambda block: block, self._matrix(some)[0], combine=_stacked)
        rows = some[self.place >= 0]
        groups = {key: codes.take(rows) for key, codes in self.groups.items()}
        return Part(X, self.labels.take(rows), groups, None if self.weight is None else self.weight[rows])


def _lazy(column: Codes, lengths: list[int]) -> Any:
    return lazy_column(column.codes, column.values, lengths)


def seen_rows(encoder: TableEncoder) -> int:
    """Return the most rows that are brought into memory for the card and the explorer."""
    return SEEN_BYTES // (8 * len(encoder.feature_names))


def encoded(blocks: ParquetBlocks, encoder: TableEncoder, block: Block, kept: NDArray[np.uint8]) -> Any:
    """Read a block and encode the rows whose bits are set."""
    wanted = np.flatnonzero(np.unpackbits(kept, count=block.n))
    return encoder.transform(blocks.read(block, encoder.columns, wanted))


def _stacked(blocks: list[Any]) -> Any:
    return sparse.vstack(blocks, format="csr") if sparse.issparse(blocks[0]) else np.concatenate(blocks)
