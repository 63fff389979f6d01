"""Rows of a Parquet file that is larger than memory: read and encoded block by block, when needed.

What is kept of it is narrow: per row a byte for the part, one or two for the label and for each group column, and eight
for a weight or a number to be predicted.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..problems.dask.partition import lazy_matrix
from ..problems.dask.passes import reduced
from ..problems.resources import GIGABYTE, memory
from ..tables import Schema, TrainingRows
from ..tables.arrow import ArrowSource, Block, ParquetBlocks
from ..tables.encoder import TableEncoder
from ..tables.findings import Finding
from ..tables.roles import PARTS

BLOCK_BYTES = 32_000_000
"""Size of an encoded block; a few are in memory at a time."""
STREAMED_ROWS = 65_536
LEAST_ROWS, MOST_ROWS = 4_096, 262_144
SEEN_BYTES = 256_000_000
"""Size of the encoded rows that are brought into memory for the card and the explorer; more are sampled."""
Kept = NDArray[np.bool_]
"""Which rows of the file are wanted."""


def streamed_rows(
    source: ArrowSource, schema: Schema, names: Sequence[str], train: Kept
) -> tuple[ParquetBlocks, TrainingRows]:
    """Return the file's blocks, and its rows for training as a stream."""
    file = ParquetBlocks.of(source, schema)
    stream = partial(file.stream, rows=STREAMED_ROWS, kept=train)
    kinds = {name: schema.kinds[name] for name in names}
    return file, TrainingRows(stream, kinds, schema.missing, int(train.sum()))


def lazy_rows(file: ParquetBlocks, encoder: TableEncoder, kept: Kept) -> tuple[Any, list[int]]:
    """Return a Dask array of encoded rows, and the lengths of its blocks."""
    width = len(encoder.feature_names)
    size = min(max(BLOCK_BYTES // (8 * width), LEAST_ROWS), MOST_ROWS)
    found = [(block, kept[block.rows]) for block in file.cut(size) if kept[block.rows].any()]
    parts, lengths = [(block, np.packbits(rows)) for block, rows in found], [int(rows.sum()) for _, rows in found]
    like = sparse.csr_array((0, width)) if encoder.sparse else np.empty((0, width))
    return lazy_matrix(partial(_encoded, file, encoder), parts, lengths, width, like), lengths


def drawn_rows(file: ParquetBlocks, encoder: TableEncoder, kept: Kept, seed: int) -> tuple[Any, Kept]:
    """Read rows into memory, a random sample where they are too many, and say which these are."""
    most, places = seen_rows(encoder), np.flatnonzero(kept)
    if len(places) > most:
        places = np.sort(np.random.default_rng(seed).choice(places, most, replace=False))
    some = np.zeros(len(kept), dtype=bool)
    some[places] = True
    return reduced(lambda block: block, lazy_rows(file, encoder, some)[0], combine=_stacked), some


def seen_rows(encoder: TableEncoder) -> int:
    return SEEN_BYTES // (8 * len(encoder.feature_names))


def parts_note(need: float, encoder: TableEncoder, sizes: list[int]) -> Finding:
    """``need`` is the memory that the table would take, in bytes."""
    most = seen_rows(encoder)
    held = list(zip(PARTS, sizes, strict=True))[1:]
    sampled = [f"{most} of {n} {name} rows" for name, n in held if n > most]
    seen = f"; the card and the explorer rest on random samples ({', '.join(sampled)})" if sampled else ""
    return Finding(
        (),
        "noted",
        f"The table would take about {need / GIGABYTE:.3g} GB, more than half of the memory ({memory() / GIGABYTE:.3g} "
        f"GB): it is read from the file in parts, several times{seen}.",
    )


def _encoded(blocks: ParquetBlocks, encoder: TableEncoder, block: Block, kept: NDArray[np.uint8]) -> Any:
    """Bits of ``kept`` are set for the rows to encode."""
    wanted = np.flatnonzero(np.unpackbits(kept, count=block.n))
    return encoder.transform(blocks.read(block, encoder.columns, wanted))


def _stacked(blocks: list[Any]) -> Any:
    return sparse.vstack(blocks, format="csr") if sparse.issparse(blocks[0]) else np.concatenate(blocks)
