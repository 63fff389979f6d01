"""Preparation: from a table to matrices of train, validation and test; whatever is learnt comes from train alone.

A Parquet file that is larger than memory gets the same split and the same encoder, learnt from streamed rows, and its
matrices are read and encoded block by block, when needed. What is kept of it in memory is narrow: per row a byte for
the part, one or two for the label and for each group column, and eight for a weight or a number to be predicted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..exceptions import InputError
from ..objectives import Array
from ..problems.dask.passes import reduced
from ..problems.dask.runner import lazy_column, lazy_matrix, require_dask
from ..problems.limits import GIGABYTE, memory
from ..progress import progress_bar
from ..tables import Schema, Source, TrainingRows, infer, load
from ..tables.arrow import ArrowSource, Block, ParquetBlocks
from ..tables.encoder import TableEncoder, is_thin
from ..tables.findings import MAX_LEVELS, Finding, screen
from ..tables.source import FrameSource
from ..tables.split import Split, parse_split
from ..tables.target import Codes, read_groups, read_target
from .prepared_rows import (
    PARTS,
    Part,
    Prepared,
    TableParts,
    atoms_of,
    candidate_columns,
    digest_of,
    idle_finding,
    kept_columns,
    proxies_of,
    proxy_finding,
    rows_of,
    weights_of,
)
from .settings import Settings

SHARE = 0.5
"""Share of the memory that a table may take before it is read in parts."""
TRAINED = 0.6
STREAMED_ROWS = 65_536
BLOCK_BYTES = 32_000_000
"""Size of an encoded block; a few are in memory at a time."""
LEAST_ROWS, MOST_ROWS = 4_096, 262_144
SEEN_BYTES = 256_000_000
"""Size of the encoded rows that are brought into memory for the card and the explorer; more are sampled."""


def prepare(source: Source, settings: Settings, progress: Any = "auto") -> Prepared:
    """Read, check, split and encode a table; bad columns are refused before anything is trained.

    A Parquet file that would fill half of the memory is read in parts, again and again.
    """
    _check_columns(source, settings)
    split = parse_split(settings.split)
    with progress_bar(progress, "reading", 2 * source.size) as bar:

        def looking(done: int) -> None:
            bar.update(done, "finding types")

        def loading(done: int) -> None:
            bar.update(source.size + done, "loading")

        schema = _schema(source, settings, looking)
        if is_too_large(source, schema, settings):
            return prepare_parts(source, schema, split, settings, loading)
        return _prepare_table(source, schema, split, settings, loading)


def _prepare_table(source: Source, schema: Schema, split: Split, settings: Settings, loading: Any) -> Prepared:
    table = load(source, schema, schema.names, times=split.times, on_progress=loading)
    weight = weights_of(table, settings)
    idle = idle_finding(weight, settings)
    if idle and weight is not None:
        table = table.take(np.flatnonzero(weight))
    target = read_target(table, settings.target, settings.favourable, regression=settings.regression)
    if target.dropped:
        table = table.take(target.rows)
    groups, proxies = read_groups(table, settings.groups), proxies_of(table, settings)
    codes = split.codes(table, atoms_of(target.column, groups), settings.seed)
    rows = rows_of(codes)
    candidates = candidate_columns(schema.names, settings, split.columns)
    train = TrainingRows.of(table.take(rows["train"]), candidates)
    findings = screened(train, rows["train"], target.column, groups, settings)
    features = kept_columns(candidates, findings)
    encoder = TableEncoder.fit(train, features)
    del train
    return Prepared(
        settings=settings,
        schema=schema,
        findings=(*proxy_finding(settings), *idle, *findings),
        features=features,
        encoder=encoder,
        favourable=target.favourable,
        unlabelled=target.dropped,
        split_digest=digest_of(codes),
        split_words=split.describe(grouped=proxies is None),
        parts=TableParts(table, encoder, target.column, proxies or groups, weights_of(table, settings), rows),
    )


def _schema(source: Source, settings: Settings, looking: Any) -> Schema:
    """Find the kinds of all columns in one pass."""
    texts = tuple(dict.fromkeys((*settings.text, *settings.groups)))
    wanted = [name for name in source.names if name not in settings.drop]
    numbers = (*settings.numbers, *settings.group_probabilities)
    return infer(source, text=texts, numbers=numbers, columns=wanted, on_progress=looking)


def _check_columns(source: Source, settings: Settings) -> None:
    """Refuse names that the table does not have, before it is read."""
    named = {"target": (settings.target,), "groups": settings.groups, "drop": settings.drop, "text": settings.text}
    named |= {"allow": settings.allow, "group_probabilities": settings.group_probabilities}
    named |= {"numbers": settings.numbers, "weight": () if settings.weight is None else (settings.weight,)}
    named |= {"split": parse_split(settings.split).columns}
    for what, names in named.items():
        for name in names:
            source.check_column(name, what)


def bytes_needed(schema: Schema, settings: Settings) -> float:
    """Estimate what a run in memory takes: the table, its training rows, and their matrix twice.

    The matrix has one column per number and one per level of a category, up to the most that screening lets through.
    """
    aside = {settings.target, *settings.compared, settings.weight}
    features = [column for column in schema.columns if column.name not in aside and not column.unique]
    width = sum(1 if c.kind == "number" else min(c.n_distinct, MAX_LEVELS) + 2 for c in features)
    thin = is_thin(width, len(features))
    table = sum(8 if column.kind == "number" else 4 for column in schema.columns)
    return schema.n * ((1.0 + TRAINED) * table + 2.0 * TRAINED * (12 * len(features) if thin else 8 * width))


def is_too_large(source: Source, schema: Schema, settings: Settings) -> bool:
    """Tell whether a file is to be read in parts; refuse one that neither fits in memory nor can be."""
    need, room = bytes_needed(schema, settings), memory()
    if need <= SHARE * room or isinstance(source, FrameSource):
        return False
    parquet = isinstance(source, ArrowSource) and source.kind == "Parquet"
    if parquet and settings.model == "linear" and not settings.group_probabilities:
        return True
    if need <= room:
        return False
    remedy = "convert it to Parquet, which is read in parts" if not parquet else "use --model linear, which reads parts"
    if settings.group_probabilities:
        remedy = "give columns of groups, because groups given as probabilities are for tables in memory"
    raise InputError(
        f"{source.title} needs about {need / GIGABYTE:.3g} GB in memory, expected at most {room / GIGABYTE:.3g} GB; "
        f"{remedy}, or take fewer rows."
    )


def prepare_parts(source: Source, schema: Schema, split: Split, settings: Settings, loading: Any) -> Prepared:
    """Load the narrow columns, split rows by them, and learn the encoder from a stream of training rows."""
    assert isinstance(source, ArrowSource)
    require_dask()
    names = (settings.target, *settings.groups, *((settings.weight,) if settings.weight else ()), *split.columns)
    table = load(source, schema, names, times=split.times, on_progress=loading)
    given = weights_of(table, settings)
    idle = idle_finding(given, settings)
    rows = np.arange(table.n) if given is None else np.flatnonzero(given)
    table = table.take(rows) if idle else table
    target = read_target(table, settings.target, settings.favourable, regression=settings.regression)
    if target.dropped:
        table = table.take(target.rows)
    groups = read_groups(table, settings.groups)
    codes = split.codes(table, atoms_of(target.column, groups), settings.seed)
    place = np.full(schema.n, -1, dtype=np.int8)
    place[rows[target.rows]] = codes
    labels, weight = target.column, weights_of(table, settings)
    favourable, unlabelled = target.favourable, target.dropped
    del table, target, given, rows  # from here on a few bytes per row
    blocks = ParquetBlocks.of(Path(source.path), source.names, schema)
    candidates = candidate_columns(schema.names, settings, split.columns)
    train = np.flatnonzero(codes == 0)
    stream = partial(blocks.stream, rows=STREAMED_ROWS, kept=place == 0)
    known = TrainingRows(stream, {name: schema.kinds[name] for name in candidates}, schema.missing, len(train))
    findings = screened(known, train, labels, groups, settings)
    features = kept_columns(candidates, findings)
    encoder = TableEncoder.fit(known, features)
    parts = StreamParts(blocks, encoder, place, labels, groups, weight, settings.seed)
    return Prepared(
        settings=settings,
        schema=schema,
        findings=(_note(schema, settings, encoder, parts), *idle, *findings),
        features=features,
        encoder=encoder,
        favourable=favourable,
        unlabelled=unlabelled,
        split_digest=digest_of(codes),
        split_words=split.describe(),
        parts=parts,
    )


def screened(
    known: TrainingRows, train: NDArray[np.intp], labels: Codes, groups: dict[str, Codes], settings: Settings
) -> tuple[Finding, ...]:
    """Look for columns that should not be learnt from; ``train`` are the training rows among those with a label."""
    drawn = train[known.drawn]
    some = {name: codes.take(drawn) for name, codes in groups.items()}
    return screen(known, labels.take(drawn), some, regression=settings.regression, allow=settings.allow)


def _note(schema: Schema, settings: Settings, encoder: TableEncoder, parts: StreamParts) -> Finding:
    need, room = bytes_needed(schema, settings) / GIGABYTE, memory() / GIGABYTE
    most = seen_rows(encoder)
    sampled = [f"{most} of {n} {name} rows" for name, n in parts.sizes.items() if name != "train" and n > most]
    seen = f"; the card and the explorer rest on random samples ({', '.join(sampled)})" if sampled else ""
    return Finding(
        "",
        "noted",
        f"The table would take about {need:.3g} GB, more than half of the memory ({room:.3g} GB): it is read in parts "
        f"from the file, again and again{seen}.",
    )


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
