"""Preparing: from a table to matrices of train, validation and test; whatever is learnt comes from train alone."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Array
from ..progress import progress_bar
from ..tables.encoding import TableEncoder
from ..tables.reading import Schema, Source, Table, infer, load
from ..tables.screening import Finding, screen
from ..tables.splitting import parse_split
from ..tables.targets import read_groups, read_target
from .settings import Settings

PARTS = ("train", "validation", "test")


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of one part of the split: features, labels, groups and weights."""

    X: Any
    y: NDArray[Any]
    groups: dict[str, NDArray[Any]]
    weight: Array | None

    @property
    def n(self) -> int:
        """Return the number of rows."""
        return len(self.y)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table made ready: its schema, what was found wrong with it, the encoder learnt on train, and the rows."""

    settings: Settings
    schema: Schema
    findings: tuple[Finding, ...]
    features: tuple[str, ...]
    encoder: TableEncoder
    favourable: Any
    unlabelled: int
    split_digest: str
    split_words: str
    table: Table
    labels: NDArray[Any]
    groups: Mapping[str, NDArray[Any]]
    weight: Array | None
    rows: Mapping[str, NDArray[np.intp]]

    def part(self, name: str) -> Part:
        """Encode the rows of one part; matrices are made when they are needed and not kept."""
        rows = self.rows[name]
        return Part(
            X=self.encoder.transform(self.table.take(rows)),
            y=self.labels[rows],
            groups={key: values[rows] for key, values in self.groups.items()},
            weight=None if self.weight is None else self.weight[rows],
        )

    @property
    def sizes(self) -> dict[str, int]:
        """Return the number of rows of every part."""
        return {name: len(rows) for name, rows in self.rows.items()}


def prepare(source: Source, settings: Settings, progress: Any = "auto") -> Prepared:
    """Read, check, split and encode a table; bad columns are refused before anything is trained."""
    _check_columns(source, settings)
    split = parse_split(settings.split)
    schema, table = _read(source, settings, split.times, progress)
    target = read_target(table, settings.target, settings.favourable, regression=settings.regression)
    if target.dropped:
        table = table.take(target.rows)
    groups = read_groups(table, settings.groups)
    rows = split.parts(table, _atoms(target.labels, groups, settings), settings.seed)
    train = table.take(rows["train"])
    features, findings = _features(train, settings, split.columns, target.labels[rows["train"]])
    encoder = TableEncoder.fit(train, features)
    return Prepared(
        settings=settings,
        schema=schema,
        findings=findings,
        features=features,
        encoder=encoder,
        favourable=target.favourable,
        unlabelled=target.dropped,
        split_digest=_digest(rows, table.n),
        split_words=split.describe(),
        table=table,
        labels=target.labels,
        groups=groups,
        weight=_weights(table, settings),
        rows=rows,
    )


def _read(source: Source, settings: Settings, times: tuple[str, ...], progress: Any) -> tuple[Schema, Table]:
    """Find the kinds of all columns in one pass, and load them in a second."""
    with progress_bar(progress, "reading", 2 * source.size) as bar:

        def looking(done: int) -> None:
            bar.update(done, "finding types")

        def loading(done: int) -> None:
            bar.update(source.size + done, "loading")

        texts = tuple(dict.fromkeys((*settings.text, *settings.groups)))
        wanted = [name for name in source.names if name not in settings.drop]
        schema = infer(source, text=texts, numbers=settings.numbers, columns=wanted, on_progress=looking)
        return schema, load(source, schema, wanted, times=times, on_progress=loading)


def _check_columns(source: Source, settings: Settings) -> None:
    """Refuse names that the table does not have, before it is read."""
    named = {"target": (settings.target,), "groups": settings.groups, "drop": settings.drop, "text": settings.text}
    named |= {"allow": settings.allow}
    named |= {"numbers": settings.numbers, "weight": (settings.weight,) if settings.weight else ()}
    named |= {"split": parse_split(settings.split).columns}
    for what, names in named.items():
        for name in names:
            source.check_column(name, what)


def _features(
    train: Table, settings: Settings, split_columns: tuple[str, ...], labels: NDArray[Any]
) -> tuple[tuple[str, ...], tuple[Finding, ...]]:
    """Return the columns to learn from, and what was noticed on the way; refused columns stop the run."""
    aside = {settings.target, *settings.drop, *split_columns} | ({settings.weight} if settings.weight else set())
    if not settings.use_sensitive:
        aside |= set(settings.groups)
    candidates = tuple(name for name in train.columns if name not in aside)
    if not candidates:
        raise InputError("no column is left to learn from, expected at least one feature; drop fewer columns.")
    groups = {name: train.texts(name) for name in settings.groups}
    findings = screen(train, candidates, labels, groups, regression=settings.regression, allow=settings.allow)
    refused = [found for found in findings if found.kind == "refused"]
    if refused:
        raise InputError(" ".join(found.sentence for found in refused))
    dropped = {found.column for found in findings if found.kind == "dropped"}
    kept = tuple(name for name in candidates if name not in dropped)
    if not kept:
        raise InputError(
            "every column was dropped (" + "; ".join(f.sentence for f in findings) + "), expected features."
        )
    return kept, findings


def _atoms(labels: NDArray[Any], groups: Mapping[str, NDArray[Any]], settings: Settings) -> NDArray[np.intp]:
    """Return the (label, groups) class of every row, which the split keeps in proportion."""
    if settings.regression:
        edges = np.quantile(labels, [0.25, 0.5, 0.75])
        code = np.searchsorted(edges, labels).astype(np.intp)
    else:
        code = np.unique(labels, return_inverse=True)[1].astype(np.intp)
    for values in groups.values():
        level = np.unique(np.array([str(v) for v in values.tolist()]), return_inverse=True)[1]
        code = code * (int(level.max()) + 1) + level
    return np.unique(code, return_inverse=True)[1].astype(np.intp)


def _weights(table: Table, settings: Settings) -> Array | None:
    if settings.weight is None:
        return None
    values = table.columns[settings.weight].numbers
    if values is None or not np.isfinite(values).all() or (values < 0).any():
        raise InputError(
            f"weight column {settings.weight!r} has words, missing or negative values, expected numbers >= 0."
        )
    return values


def _digest(rows: Mapping[str, NDArray[np.intp]], n: int) -> str:
    """Return a fingerprint of which row is in which part."""
    code = np.full(n, 255, dtype=np.uint8)
    for i, name in enumerate(PARTS):
        code[rows[name]] = i
    return hashlib.sha256(code.tobytes()).hexdigest()
