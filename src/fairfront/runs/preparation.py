"""Preparation: read, split and encode a table; whatever is learnt comes from train alone.

A Parquet file that is larger than memory gets the same split and the same encoder, learnt from streamed rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, progress_bar
from ..objectives import Array, GroupProbabilities, count_in_words
from ..problems.dask.passes import require_dask
from ..problems.resources import GIGABYTE, memory
from ..tables import Schema, Source, Table, TrainingRows, infer, load
from ..tables.arrow import ArrowSource, FrameSource, ParquetBlocks
from ..tables.encoder import TableEncoder, is_thin
from ..tables.findings import MAX_LEVELS, Finding, screen
from ..tables.roles import PARTS, Codes, Split, parse_split, read_groups, read_target
from ..validation.data import factorize
from .prepared_rows import Prepared, seen_rows
from .settings import PROXY, Settings

SHARE = 0.5
"""Share of the memory that a table may take before it is read in parts."""
TRAINED = 0.6
STREAMED_ROWS = 65_536


def prepare(source: Source, settings: Settings, progress: Any = "auto") -> Prepared:
    """Read, check, split and encode a table; bad columns are refused before anything is trained.

    A Parquet file that would fill half of the memory is read in parts, again and again.
    """
    split = parse_split(settings.split)
    _check_columns(source, settings, split)
    with progress_bar(progress, "reading", 2 * source.size) as bar:
        schema = infer(
            source,
            text=tuple(dict.fromkeys((*settings.text, *settings.groups))),
            numbers=(*settings.numbers, *settings.group_probabilities),
            columns=[name for name in source.names if name not in settings.drop],
            on_progress=lambda done: bar.update(done, "finding types"),
        )
        streamed = _is_too_large(source, schema, settings)
        if streamed:
            require_dask()
        narrow = (settings.target, *settings.groups, *((settings.weight,) if settings.weight else ()), *split.columns)
        table = load(
            source,
            schema,
            narrow if streamed else schema.names,
            times=split.times,
            on_progress=lambda done: bar.update(source.size + done, "loading"),
        )
    weight = _weights(table, settings)
    used = np.arange(table.n) if weight is None else np.flatnonzero(weight)
    notes = _notes(settings, table.n - len(used))
    table = table.take(used) if len(used) < table.n else table
    target = read_target(table, settings.target, settings.favourable, regression=settings.regression)
    table = table.take(target.rows) if target.dropped else table
    labels, favourable, unlabelled = target.column, target.favourable, target.dropped
    groups, weight = read_groups(table, settings.groups), _weights(table, settings)
    proxies = {name: table.complete(name).numbers for name in settings.group_probabilities}
    place = np.full(schema.n, -1, dtype=np.int8)
    place[used[target.rows]] = codes = split.codes(table, _atoms(labels, groups), settings.seed)
    del target, used  # of a file larger than memory, a few bytes per row stay
    train = np.flatnonzero(codes == 0)
    candidates = _candidates(schema, settings, split)
    rows: Table | ParquetBlocks = table
    if streamed:
        del table
        assert isinstance(source, ArrowSource)
        rows = ParquetBlocks.of(source, schema)
        stream = partial(rows.stream, rows=STREAMED_ROWS, kept=place == 0)
        known = TrainingRows(stream, {name: schema.kinds[name] for name in candidates}, schema.missing, len(train))
    else:
        known = TrainingRows.of(table.take(train), candidates)
    drawn = train[known.drawn]
    findings = screen(
        known,
        labels.take(drawn),
        {name: each.take(drawn) for name, each in groups.items()},
        regression=settings.regression,
        allow=settings.allow,
    )
    features = _kept_columns(candidates, findings)
    encoder = TableEncoder.fit(known, features)
    if streamed:
        notes = (_parts_note(schema, settings, seen_rows(encoder), np.bincount(codes).tolist()), *notes)
    return Prepared(
        settings=settings,
        schema=schema,
        findings=(*notes, *findings),
        features=features,
        encoder=encoder,
        favourable=favourable,
        unlabelled=unlabelled,
        split_words=split.describe(grouped=not proxies),
        place=place,
        labels=labels,
        groups=GroupProbabilities(proxies, name=PROXY) if proxies else groups,
        weight=weight,
        rows=rows,
    )


def _check_columns(source: Source, settings: Settings, split: Split) -> None:
    lists = ("groups", "drop", "text", "allow", "group_probabilities", "numbers")
    named: dict[str, tuple[str, ...]] = {
        "target": (settings.target,),
        **{what: getattr(settings, what) for what in lists},
    }
    named |= {"weight": () if settings.weight is None else (settings.weight,), "split": split.columns}
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


def _is_too_large(source: Source, schema: Schema, settings: Settings) -> bool:
    """Refuse a file that neither fits in memory nor can be read in parts."""
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


def _parts_note(schema: Schema, settings: Settings, most: int, sizes: list[int]) -> Finding:
    need, room = bytes_needed(schema, settings) / GIGABYTE, memory() / GIGABYTE
    held = zip(PARTS[1:], sizes[1:], strict=True)
    sampled = [f"{most} of {n} {name} rows" for name, n in held if n > most]
    seen = f"; the card and the explorer rest on random samples ({', '.join(sampled)})" if sampled else ""
    return Finding(
        "",
        "noted",
        f"The table would take about {need:.3g} GB, more than half of the memory ({room:.3g} GB): it is read in parts "
        f"from the file, again and again{seen}.",
    )


def _notes(settings: Settings, idle: int) -> tuple[Finding, ...]:
    """Say what is not done where groups are probabilities, and that rows of weight 0 were left out."""
    said = []
    if settings.group_probabilities:
        said.append(
            f"Groups are probabilities ({', '.join(settings.group_probabilities)}): the split keeps the proportions of "
            "labels alone, features are not screened for what tells the group, and no bootstrap refits are made."
        )
    if idle:
        said.append(f"Rows with 0 in {settings.weight!r} were left out: {count_in_words(idle)}.")
    return tuple(Finding("", "noted", sentence) for sentence in said)


def _weights(table: Table, settings: Settings) -> Array | None:
    if settings.weight is None:
        return None
    values = table.columns[settings.weight].numbers
    if values is None or not np.isfinite(values).all() or (values < 0).any():
        raise InputError(
            f"weight column {settings.weight!r} has words, missing or negative values, expected numbers >= 0."
        )
    return values


def _atoms(labels: Codes, groups: Mapping[str, Codes]) -> NDArray[np.intp]:
    """The (label, groups) class of every row, which the split keeps in proportion; numbers by quarters."""
    if labels.values is None:
        code = np.searchsorted(np.quantile(labels.codes, [0.25, 0.5, 0.75]), labels.codes).astype(np.intp)
    else:
        code = factorize(labels.codes)[0]
    for group in groups.values():
        assert group.values is not None
        texts = [str(each) for each in group.values.tolist()]
        occurs = np.bincount(group.codes, minlength=len(texts)) > 0
        names = sorted({text for text, there in zip(texts, occurs.tolist(), strict=True) if there})
        level = np.array([names.index(text) if text in names else -1 for text in texts], dtype=np.intp)
        code = code * len(names) + level[group.codes]
    return factorize(code)[0]


def _candidates(schema: Schema, settings: Settings, split: Split) -> tuple[str, ...]:
    aside = {settings.target, settings.weight, *split.columns}
    if not settings.use_sensitive:
        aside |= set(settings.compared)
    found = tuple(name for name in schema.names if name not in aside)
    if not found:
        raise InputError("no column is left to learn from, expected at least one feature; drop fewer columns.")
    return found


def _kept_columns(candidates: tuple[str, ...], findings: tuple[Finding, ...]) -> tuple[str, ...]:
    refused = [found for found in findings if found.kind == "refused"]
    if refused:
        raise InputError(" ".join(found.sentence for found in refused))
    dropped = {found.column for found in findings if found.kind == "dropped"}
    kept = tuple(name for name in candidates if name not in dropped)
    if not kept:
        raise InputError(
            "every column was dropped (" + "; ".join(f.sentence for f in findings) + "), expected features."
        )
    return kept
