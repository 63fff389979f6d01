"""Preparation: read, split and encode a table; whatever is learnt comes from train alone.

A large Parquet file gets the same split and the same encoder, learnt from streamed rows.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, progress_bar
from ..measures.report import count_text
from ..objectives import GroupProbabilities
from ..problems.dask.partition import lazy_column
from ..problems.dask.passes import require_dask
from ..tables import Schema, Source, Table, TrainingRows, infer, load
from ..tables.arrow import ArrowSource, ParquetBlocks
from ..tables.encoder import TableEncoder, is_thin
from ..tables.findings import MAX_LEVELS, Finding, reading_findings, screen
from ..tables.notation import time_words
from ..tables.sensitive_names import sensitive_finding
from ..tables.split import PARTS, Split, covered, parse_split
from ..tables.target import Codes, ungrouped_notes
from .rows import Kept, Part, People, atoms, digest_of, drawn_rows, lazy_rows, parts_note, people_of, streamed_rows
from .settings import Settings

IN_MEMORY = 4e9
"""Bytes that a run may take in memory before a Parquet file is read in parts."""
TRAINED = 0.6
FEWEST_ROWS = 10
"""A part of fewer rows is refused: rates of so few people say nothing."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table made ready: its schema, what was found wrong with it, the encoder learnt on train, and the rows.

    ``place`` (rows of the source) is that of a row's part in `PARTS`, -1 for rows that are not used: those without a
    label or of weight 0. The ``people``, and a table of ``rows`` in memory, are of the rows that are used.
    """

    settings: Settings
    schema: Schema
    findings: tuple[Finding, ...]
    encoder: TableEncoder
    people: People
    split_words: str
    periods: tuple[Mapping[str, Any], ...]
    place: NDArray[np.int8]
    rows: Table | ParquetBlocks
    person: NDArray[np.intp] | None = None

    def __post_init__(self) -> None:
        """Refuse a part of a few people."""
        for name, size in self.sizes.items():
            if size < FEWEST_ROWS and (size or name != "validation"):  # a split may have no validation part
                raise InputError(
                    f"the {name} part of the split has fewer than {FEWEST_ROWS} rows, expected more: rates of so few "
                    "people say nothing; use more rows, or another split."
                )

    @property
    def sizes(self) -> dict[str, int]:
        return {name: int((self.place == i).sum()) for i, name in enumerate(PARTS)}

    @property
    def split_digest(self) -> str:
        return digest_of(self.place)

    def part(self, name: str) -> Part:
        """Encode the rows of one part; matrices are made when they are needed and not kept, those of a file lazily."""
        kept = self.place == PARTS.index(name)
        rows = self._used(kept)
        if isinstance(self.rows, Table):
            return self._held(self.encoder.transform(self.rows.take(rows)), kept)
        groups, weight = self.people.groups, self.people.weight
        assert not isinstance(groups, GroupProbabilities)
        X, lengths = lazy_rows(self.rows, self.encoder, kept)
        codes = (self.people.labels, *groups.values())
        y, *columns = (lazy_column(each.codes[rows], each.values, lengths) for each in codes)
        lazy = None if weight is None else lazy_column(weight[rows], None, lengths)
        wanted = (self.rows, self.encoder, kept, self.settings.seed)
        named = dict(zip(groups, columns, strict=True))
        return Part(X, y, named, lazy, lambda: self._held(*drawn_rows(*wanted)))

    def _used(self, kept: Kept) -> NDArray[np.intp]:
        return np.flatnonzero(kept[self.place >= 0])

    def _held(self, X: Any, kept: Kept) -> Part:
        rows, known = self._used(kept), self.people
        if isinstance(known.groups, GroupProbabilities):
            some: Any = known.groups.take(rows)
        else:
            some = {name: codes.take(rows) for name, codes in known.groups.items()}
        weight = None if known.weight is None else known.weight[rows]
        control = None if known.control is None else {name: each[rows] for name, each in known.control.items()}
        person = None if self.person is None else self.person[rows]
        return Part(X, known.labels.take(rows), some, weight, None, person, control)


def prepare(source: Source, settings: Settings, progress: Any = "auto") -> Prepared:
    """Bad columns are refused before anything is trained."""
    split = parse_split(settings.split, settings.person)
    _check_columns(source, settings, split)
    with progress_bar(progress, "reading", 2 * source.size) as bar:
        schema = infer(
            source,
            text=tuple(dict.fromkeys((*settings.text, *settings.groups))),
            numbers=tuple(dict.fromkeys((*settings.numbers, *settings.group_probabilities))),
            columns=[name for name in source.names if name not in settings.drop],
            on_progress=lambda done: bar.update(done, "finding types"),
            **settings.notation,
        )
        _check_times(schema, split)
        streamed = _is_streamed(source, schema, settings)
        if streamed:
            require_dask()
        narrow = (settings.target, *settings.groups, *settings.aside, *split.columns)
        table = load(
            source,
            schema,
            narrow if streamed else schema.names,
            times=split.times,
            on_progress=lambda done: bar.update(source.size + done, "loading"),
        )
    table, used, people = people_of(table, settings)
    labels, groups = people.labels, {} if isinstance(people.groups, GroupProbabilities) else people.groups
    place = np.full(schema.n, -1, dtype=np.int8)
    place[used] = codes = split.codes(table, atoms(labels, groups), settings.seed)
    periods, person = _periods(schema, split, table, codes), split.people(table)
    del used
    train = np.flatnonzero(codes == 0)
    candidates = _candidates(schema, settings, split)
    rows: Table | ParquetBlocks = table
    if isinstance(source, ArrowSource) and streamed:
        del table  # of a file larger than memory, a few bytes per row stay
        rows, known = streamed_rows(source, schema, candidates, place == 0)
    else:
        known = TrainingRows.of(table.take(train), candidates)
    drawn = train[known.drawn]
    members = {name: each.take(drawn) for name, each in groups.items()}
    findings = screen(
        known,
        labels.take(drawn),
        members,
        regression=settings.regression,
        allow=settings.allow,
        notations=schema.notations,
        copies=source.copies,
    )
    kept = _kept_columns(candidates, findings)
    encoder = TableEncoder.fit(known, kept, notations=schema.notations)
    read = reading_findings(each for each in schema.columns if not each.notation.is_date or each.name in split.columns)
    numbers = {each.name for each in schema.columns if each.kind == "number"} - {*settings.numbers}
    named = sensitive_finding([name for name in kept if name not in settings.compared], numbers)
    notes = (*_notes(source, settings, people.idle, groups), *read)
    if streamed:
        notes = (parts_note(bytes_needed(schema, settings), encoder, np.bincount(codes).tolist()), *notes)
    return Prepared(
        settings=settings,
        schema=schema,
        findings=(*notes, *findings, *named),
        encoder=encoder,
        people=people,
        split_words=split.describe(grouped=not settings.group_probabilities),
        periods=periods,
        place=place,
        rows=rows,
        person=person,
    )


def _check_columns(source: Source, settings: Settings, split: Split) -> None:
    lists = ("groups", "drop", "text", "allow", "group_probabilities", "numbers", "control")
    named = {"target": (settings.target,), **{what: getattr(settings, what) for what in lists}}
    named |= {what: tuple(dict(getattr(settings, what))) for what in ("dates", "signs")}
    one = {name: getattr(settings, name) for name in ("weight", "person")}
    named |= {name: () if given is None else (given,) for name, given in one.items()} | {"split": split.columns}
    for what, names in named.items():
        for name in names:
            source.check_column(name, what)


def bytes_needed(schema: Schema, settings: Settings) -> float:
    """Estimate what a run in memory takes: the table, its training rows, and their matrix twice.

    The matrix has one column per number and one per level of a category, up to the most that screening lets through.
    """
    aside = {settings.target, *settings.compared, *settings.aside}
    features = [column for column in schema.columns if column.name not in aside and not column.unique]
    width = sum(1 if c.kind == "number" else min(c.n_distinct, MAX_LEVELS) + 2 for c in features)
    thin = is_thin(width, len(features))
    table = sum(8 if column.kind == "number" else 4 for column in schema.columns)
    return schema.n * ((1.0 + TRAINED) * table + 2.0 * TRAINED * (12 * len(features) if thin else 8 * width))


def _is_streamed(source: Source, schema: Schema, settings: Settings) -> bool:
    """Tell whether a file is read in parts: a large one of Parquet, for linear models and groups in columns."""
    parquet = isinstance(source, ArrowSource) and source.kind == "Parquet"
    in_parts = parquet and settings.model == "linear" and not (settings.group_probabilities or settings.control)
    return in_parts and bytes_needed(schema, settings) > IN_MEMORY


def _periods(schema: Schema, split: Split, table: Table, codes: NDArray[np.int8]) -> tuple[dict[str, Any], ...]:
    """Return the times that each part covers: of the column that rows are split by, else of every column with dates."""
    own = split.period(table, codes)
    if own is not None:
        return ({**own, "split": True},)
    found = []
    for column in (each for each in schema.columns if each.notation.has_century):
        dates = table.columns.get(column.name)
        if dates is not None and dates.kind == "category" and dates.named:  # few enough to be kept as texts
            seconds = np.array([*map(column.notation.read, dates.levels), np.nan])[dates.values]
            parts = covered(np.where(np.isfinite(seconds), seconds, np.nan), codes, time_words)
            found += [{"column": column.name, "parts": parts, "split": False}] if parts else []
    return tuple(found)


def _check_times(schema: Schema, split: Split) -> None:
    """Refuse dates that may be day first or month first where rows are split by them."""
    for name in split.times:
        if schema.column(name).notation.kind == "dates":
            raise InputError(
                f"column {name!r} has dates that can be read day first or month first, expected one of them; give "
                f"--date {shlex.quote(f'{name}=%d/%m/%Y')} or another format."
            )


def _notes(source: Source, settings: Settings, idle: int, groups: Mapping[str, Codes]) -> tuple[Finding, ...]:
    """Say what was guessed of the file, what is not done where groups are probabilities, and rows left out."""
    twice = "The file has {!r} more than once: another one is called {!r}."
    said = [*source.notes, *(twice.format(name, copy) for copy, name in source.copies.items())]
    if settings.group_probabilities:
        said.append(
            f"Groups are probabilities ({', '.join(settings.group_probabilities)}): the split keeps the proportions of "
            "labels alone, and features are not screened for what tells the group."
        )
    if idle:
        said.append(f"Rows with 0 in {settings.weight!r} were left out: {count_text(idle)}.")
    said += ungrouped_notes(groups)
    return tuple(Finding((), "noted", sentence) for sentence in said)


def _candidates(schema: Schema, settings: Settings, split: Split) -> tuple[str, ...]:
    aside = {settings.target, *settings.aside, *split.columns}
    if not settings.use_sensitive:
        aside |= set(settings.compared)
    found = tuple(name for name in schema.names if name not in aside)
    if not found:
        raise InputError("no column is left to learn from, expected at least one feature; drop fewer columns.")
    return found


def _kept_columns(candidates: tuple[str, ...], findings: tuple[Finding, ...]) -> tuple[str, ...]:
    refused = [found.sentence for found in findings if found.kind == "refused"]
    if refused:
        raise InputError(" ".join(refused))
    dropped = {name for found in findings if found.kind == "dropped" for name in found.columns}
    kept = tuple(name for name in candidates if name not in dropped)
    if not kept:
        reasons = "; ".join(found.sentence for found in findings)
        raise InputError(f"every column was dropped ({reasons}), expected features.")
    return kept
