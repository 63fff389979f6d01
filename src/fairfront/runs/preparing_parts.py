"""Preparing a Parquet file that is larger than memory: the same split, the same encoder, learnt from streamed rows."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..problems.dask.runner import require_dask
from ..problems.limits import GIGABYTE, memory
from ..tables import Schema, Source, TrainingRows, load
from ..tables.arrow import ArrowSource, ParquetBlocks
from ..tables.encoder import TableEncoder, is_thin
from ..tables.findings import MAX_LEVELS, Finding, screen
from ..tables.source import FrameSource
from ..tables.split import Split
from ..tables.target import Codes, read_groups, read_target
from .prepared import (
    Prepared,
    atoms_of,
    candidate_columns,
    digest_of,
    idle_finding,
    kept_columns,
    weights_of,
)
from .settings import Settings
from .stream_parts import StreamParts, seen_rows

SHARE = 0.5
"""Share of the memory that a table may take before it is read in parts."""
TRAINED = 0.6
STREAMED_ROWS = 65_536


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
