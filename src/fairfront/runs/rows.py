"""Rows of a table: who is in them, and those of files larger than memory.

A Parquet file that does not fit in memory is read and encoded block by block, when needed. What is kept of it is
narrow: per row a byte for the part, one or two for the label and for each group column, and eight for a weight or a
number to be predicted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..exceptions import InputError
from ..objectives import Array, GroupProbabilities, Groups
from ..problems.dask.partition import lazy_matrix
from ..problems.dask.passes import reduced
from ..tables import Schema, Table, TrainingRows, read_groups
from ..tables.arrow import ArrowSource, Block, ParquetBlocks
from ..tables.encoder import TableEncoder
from ..tables.findings import Finding
from ..tables.split import PARTS
from ..tables.target import Codes, read_target
from ..validation.inputs import factorize
from .attributes import PROXY

if TYPE_CHECKING:
    from ..frontier.points import Facts, Named
    from .settings import Settings


@dataclass(frozen=True, eq=False)
class People:
    """Labels, groups and weights of the rows of a table that are used.

    Those without a label (``unlabelled`` of them) and of weight 0 (``idle``) are not.
    """

    labels: Codes
    favourable: Any
    groups: Mapping[str, Codes] | GroupProbabilities
    weight: Array | None
    unlabelled: int
    idle: int
    control: Mapping[str, NDArray[Any]] | None = None


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
    person: NDArray[np.intp] | None = None
    control: Mapping[str, NDArray[Any]] | None = None

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def people(self) -> dict[str, Any]:
        return {"sensitive_features": self.groups, "sample_weight": self.weight}

    @property
    def within(self) -> dict[str, Any]:
        return {} if self.control is None else {"control_features": self.control}

    def seen(self) -> Part:
        return self if self.drawn is None else self.drawn()


def digest_of(place: NDArray[np.int8]) -> str:
    """Return the fingerprint of a split: of the parts of the rows that are used, those from 0 on."""
    return hashlib.sha256(place[place >= 0].astype(np.uint8).tobytes()).hexdigest()


def people_of(table: Table, settings: Settings) -> tuple[Table, NDArray[np.intp], People]:
    """Return a table with the rows that are used alone, their places in the one given, and the people in them."""
    weight, n = _weights(table, settings), table.n
    used = np.arange(n) if weight is None else np.flatnonzero(weight)
    idle = n - len(used)
    table = table.take(used) if idle else table
    target = read_target(table, settings.target, settings.favourable, regression=settings.regression)
    table = table.take(target.rows) if target.dropped else table
    used = used[target.rows]
    proxies = {name: table.complete(name).numbers for name in settings.group_probabilities}
    groups = GroupProbabilities(proxies, name=PROXY) if proxies else read_groups(table, settings.groups, settings.allow)
    weight = None if weight is None else weight[used]
    control = {name: np.asarray(table.texts(name), dtype=object) for name in settings.control} or None
    return table, used, People(target.column, target.favourable, groups, weight, target.dropped, idle, control)


def _weights(table: Table, settings: Settings) -> Array | None:
    if settings.weight is None:
        return None
    values = table.columns[settings.weight].numbers
    if values is None or not np.isfinite(values).all() or (values < 0).any():
        raise InputError(
            f"weight column {settings.weight!r} has words, missing or negative values, expected numbers >= 0."
        )
    return values


def uncompared(facts: Facts, groups: Any, cross: bool, below: float = np.inf) -> Named:
    """Return, by attribute, the groups of rows that training did not compare, of fewer rows than ``below``."""
    if isinstance(groups, GroupProbabilities):
        return ()
    compared, rows = dict(facts.sensitive), {name: codes.take() for name, codes in groups.items()}
    found = []
    for each in Groups(cross=cross, min_size=1).resolve(rows, len(next(iter(rows.values())))):
        sizes = zip(each.levels, each.sizes().tolist(), strict=True)
        found.append((each.name, tuple(name for name, n in sizes if n < below and name not in compared[each.name])))
    return tuple((name, levels) for name, levels in found if levels)


def atoms(labels: Codes, groups: Mapping[str, Codes]) -> NDArray[np.intp]:
    """The (label, groups) class of every row, which the split keeps in proportion; numbers by quarters."""
    if labels.values is None:
        code = np.searchsorted(np.quantile(labels.codes, [0.25, 0.5, 0.75]), labels.codes).astype(np.intp)
    else:
        code = factorize(labels.codes)[0]
    for group in groups.values():
        assert group.values is not None
        texts = np.array([str(each) for each in group.values.tolist()], dtype=object)
        names, level = np.unique(texts, return_inverse=True)
        code = code * len(names) + level[group.codes]
    return factorize(code)[0]


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
        f"The table would take about {need / 1e9:.3g} GB in memory: it is read from the file in parts, several "
        f"times{seen}.",
    )


def _encoded(blocks: ParquetBlocks, encoder: TableEncoder, block: Block, kept: NDArray[np.uint8]) -> Any:
    """Bits of ``kept`` are set for the rows to encode."""
    wanted = np.flatnonzero(np.unpackbits(kept, count=block.n))
    return encoder.transform(blocks.read(block, encoder.columns, wanted))


def _stacked(blocks: list[Any]) -> Any:
    return sparse.vstack(blocks, format="csr") if sparse.issparse(blocks[0]) else np.concatenate(blocks)
