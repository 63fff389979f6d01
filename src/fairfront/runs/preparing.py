"""Preparing: from a table to matrices of train, validation and test; whatever is learnt comes from train alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..progress import progress_bar
from ..tables import Schema, Source, TrainingRows, infer, load
from ..tables.encoder import TableEncoder
from ..tables.split import Split, parse_split
from ..tables.target import read_groups, read_target
from .prepared import (
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
from .preparing_parts import is_too_large, prepare_parts, screened
from .settings import Settings

__all__ = ["PARTS", "Part", "Prepared", "prepare"]


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
