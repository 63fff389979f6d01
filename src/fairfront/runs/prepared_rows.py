"""What a table becomes before training: a schema, findings, an encoder, and the rows of train, validation and test."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Array, GroupProbabilities, count_in_words
from ..objectives.small_counts import FEWEST, rounded_count
from ..tables import Schema, Table
from ..tables.encoder import TableEncoder
from ..tables.findings import Finding
from ..tables.split import dense
from ..tables.target import Codes
from .settings import PROXY, Settings

PARTS = ("train", "validation", "test")


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
        """Return the number of rows."""
        return len(self.y)

    def seen(self) -> Part:
        """Return rows in memory: all of them, or a random sample where they are too many."""
        return self if self.drawn is None else self.drawn()


class Parts(Protocol):
    """Where the rows of the three parts are."""

    @property
    def sizes(self) -> dict[str, int]:
        """Return the number of rows of every part."""
        ...

    def part(self, name: str) -> Part:
        """Encode the rows of one part; matrices are made when they are needed and not kept."""
        ...


@dataclass(frozen=True, eq=False)
class TableParts:
    """Parts of a table in memory."""

    table: Table
    encoder: TableEncoder
    labels: Codes
    groups: Mapping[str, Codes] | GroupProbabilities
    weight: Array | None
    rows: Mapping[str, NDArray[np.intp]]

    @property
    def sizes(self) -> dict[str, int]:
        """Return the number of rows of every part."""
        return {name: len(rows) for name, rows in self.rows.items()}

    def part(self, name: str) -> Part:
        """Encode the rows of one part; matrices are made when they are needed and not kept."""
        rows = self.rows[name]
        return Part(
            X=self.encoder.transform(self.table.take(rows)),
            y=self.labels.take(rows),
            groups=groups_of(self.groups, rows),
            weight=None if self.weight is None else self.weight[rows],
        )


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
    parts: Parts

    def __post_init__(self) -> None:
        """Refuse a part of a few people, whose figures would be facts about them."""
        for name, size in self.sizes.items():
            if size < FEWEST:
                raise InputError(
                    f"the {name} part of the split has fewer than {FEWEST} rows, expected more: figures of so few "
                    "people are not written; use more rows, or another split."
                )

    def part(self, name: str) -> Part:
        """Return the rows of one part."""
        return self.parts.part(name)

    @property
    def n(self) -> int:
        """Return the number of rows of the table that may be told beside those of its parts.

        What is left of it are rows without a label and rows of weight 0, of which a few are not counted exactly.
        """
        used = sum(self.sizes.values())
        idle = self.schema.n - self.unlabelled - used
        return used + rounded_count(self.unlabelled) + rounded_count(idle)

    @property
    def sizes(self) -> dict[str, int]:
        """Return the number of rows of every part."""
        return self.parts.sizes


def candidate_columns(names: tuple[str, ...], settings: Settings, split_columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns that may be learnt from."""
    aside = {settings.target, *settings.drop, *split_columns} | ({settings.weight} if settings.weight else set())
    if not settings.use_sensitive:
        aside |= set(settings.compared)
    candidates = tuple(name for name in names if name not in aside)
    if not candidates:
        raise InputError("no column is left to learn from, expected at least one feature; drop fewer columns.")
    return candidates


def kept_columns(candidates: tuple[str, ...], findings: tuple[Finding, ...]) -> tuple[str, ...]:
    """Return the columns to learn from after screening; refused columns stop the run."""
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


def atoms_of(labels: Codes, groups: Mapping[str, Codes]) -> NDArray[np.intp]:
    """Return the (label, groups) class of every row, which the split keeps in proportion; numbers by quarters."""
    if labels.values is None:
        code = np.searchsorted(np.quantile(labels.codes, [0.25, 0.5, 0.75]), labels.codes).astype(np.intp)
    else:
        code = dense(labels.codes)
    for group in groups.values():
        assert group.values is not None
        texts = [str(group.values[i]) for i in range(len(group.values))]
        occurs = np.bincount(group.codes, minlength=len(texts)) > 0
        names = sorted({text for text, there in zip(texts, occurs.tolist(), strict=True) if there})
        level = np.array([names.index(text) if text in names else -1 for text in texts], dtype=np.intp)
        code = code * len(names) + level[group.codes]
    return dense(code)


def groups_of(groups: Mapping[str, Codes] | GroupProbabilities, rows: NDArray[np.intp]) -> Any:
    """Return the groups of some rows: a column for each attribute, or probabilities."""
    if isinstance(groups, GroupProbabilities):
        return groups.take(rows)
    return {key: codes.take(rows) for key, codes in groups.items()}


def proxies_of(table: Table, settings: Settings) -> GroupProbabilities | None:
    """Return the columns of probabilities, if there are any."""
    if not settings.group_probabilities:
        return None
    return GroupProbabilities({name: table.complete(name).numbers for name in settings.group_probabilities}, name=PROXY)


def proxy_finding(settings: Settings) -> tuple[Finding, ...]:
    """Say what is not done where groups are probabilities."""
    if not settings.group_probabilities:
        return ()
    return (
        Finding(
            "",
            "noted",
            f"Groups are probabilities ({', '.join(settings.group_probabilities)}): the split keeps the proportions of "
            "labels alone, features are not screened for what tells the group, and no bootstrap refits are made.",
        ),
    )


def weights_of(table: Table, settings: Settings) -> Array | None:
    """Return the column of weights, if there is one."""
    if settings.weight is None:
        return None
    values = table.columns[settings.weight].numbers
    if values is None or not np.isfinite(values).all() or (values < 0).any():
        raise InputError(
            f"weight column {settings.weight!r} has words, missing or negative values, expected numbers >= 0."
        )
    return values


def idle_finding(weight: Array | None, settings: Settings) -> tuple[Finding, ...]:
    """Say that rows of weight 0 were left out, with the count unless it is small."""
    n = 0 if weight is None else int((weight == 0).sum())
    if not n:
        return ()
    return (Finding("", "noted", f"Rows with 0 in {settings.weight!r} were left out: {count_in_words(n)}."),)


def digest_of(codes: NDArray[np.int8]) -> str:
    """Return a fingerprint of which row is in which part."""
    return hashlib.sha256(codes.astype(np.uint8).tobytes()).hexdigest()


def rows_of(codes: NDArray[np.int8]) -> dict[str, NDArray[np.intp]]:
    """Return the rows of every part."""
    return {name: np.flatnonzero(codes == i) for i, name in enumerate(PARTS)}
