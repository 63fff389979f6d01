"""Screening: columns that should not be learnt from, found before training and named with the reason."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives.small_counts import rounded_part
from .association import class_association, number_association
from .column_facts import WHOLE, ColumnFacts, facts_of
from .table import Column, Table

MAX_LEVELS = 1_000
FEW_LEVELS = 20
LEVELS_PER_ROW = 0.1
LIMITS = {"AUC": 0.99, "share of errors removed": 0.98, "correlation": 0.999}
NEARLY_ALL = 0.95
ENOUGH = 20
SAMPLE = 100_000
ID_WORDS = frozenset({"id", "ids", "uuid", "guid", "key", "identifier", "index", "rowid"})


@dataclass(frozen=True)
class Finding:
    """One thing noticed about a column.

    ``kind`` is "refused" (training must not go on with it), "dropped" (left out by itself), "flagged" (kept), or
    "noted" (about all columns, and ``column`` is empty).
    """

    column: str
    kind: Literal["refused", "dropped", "flagged", "noted"]
    sentence: str


def screen(
    table: Table,
    features: Sequence[str],
    labels: NDArray[Any],
    groups: Mapping[str, NDArray[Any]],
    *,
    regression: bool = False,
    allow: Collection[str] = (),
) -> tuple[Finding, ...]:
    """Look at every feature for what should not be learnt from.

    Parameters
    ----------
    table : Table
        Training rows.
    features : sequence of str
        Columns that a model would see.
    labels : ndarray of shape (n,)
        Target of the same rows.
    groups : mapping of str to ndarray of shape (n,)
        Sensitive columns, None where missing.
    regression : bool
        Whether the target is a number to be predicted.
    allow : names of columns
        Kept although they would be refused; flagged instead.

    Notes
    -----
    Dropped: constant columns and identifiers. Refused: a column that predicts the target alone (AUC of at least
    0.99; 98 % of the majority guess's errors removed for several classes; absolute correlation of at least 0.999
    for regression), and a category with more than 1 000 levels or more than one level per ten rows. Flagged: a
    column that tells a group as surely, because the model then knows the group although it was left out. Relations
    are judged on at most 100 000 rows.
    """
    if len(labels) != table.n:
        raise InputError(f"labels have {len(labels)} rows, expected {table.n}, as many as the table.")
    rows, halves = drawn_rows(table.n)
    some = {name: np.asarray(values)[rows] for name, values in groups.items()}
    sample = Sample(table.take(rows), labels[rows], some, halves)
    facts = {name: facts_of(table.column(name)) for name in features}
    return screen_sample(facts, table.n, sample, regression=regression, allow=allow)


@dataclass(frozen=True, eq=False)
class Sample:
    """Training rows that relations are judged on, cut into two random halves."""

    table: Table
    labels: NDArray[Any]
    groups: Mapping[str, NDArray[Any]]
    halves: NDArray[np.bool_]


def drawn_rows(n: int) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return at most 100 000 of n rows, drawn at random and in order, and which of them are the first half."""
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(n)[:SAMPLE])
    return rows, rng.random(len(rows)) < 0.5


def screen_sample(
    facts: Mapping[str, ColumnFacts], n: int, sample: Sample, *, regression: bool = False, allow: Collection[str] = ()
) -> tuple[Finding, ...]:
    """Look at features as `screen` does: ``facts`` are those of all n training rows."""
    target = sample.labels.astype(np.float64) if regression else _codes(sample.labels)
    compared = {name: _codes(values) for name, values in sample.groups.items()}
    found: list[Finding] = []
    for name, known in facts.items():
        useless = _unusable(name, known, n)
        found += [] if useless is None else [useless]
        if useless is None or useless.kind == "flagged":
            some = sample.table.column(name)
            found += _leaks(name, some, target, sample.halves, regression)
            found += [proxy for each in compared for proxy in _proxies(name, some, each, compared[each], sample.halves)]
    return tuple(_allowed(each) if each.column in allow else each for each in found)


def _codes(values: NDArray[Any]) -> NDArray[np.intp]:
    if values.dtype != object:
        return np.unique(values, return_inverse=True)[1].astype(np.intp)
    place = {value: code for code, value in enumerate(sorted({str(v) for v in values.tolist() if v is not None}))}
    return np.array([-1 if v is None else place[str(v)] for v in values.tolist()], dtype=np.intp)


def _allowed(found: Finding) -> Finding:
    return replace(found, kind="flagged") if found.kind == "refused" else found


def _unusable(name: str, facts: ColumnFacts, n: int) -> Finding | None:
    count, present = facts.n_distinct, facts.present
    if count == 0 or (count == 1 and n - present < 10):
        return Finding(name, "dropped", f"{name!r} has {'one value' if count else 'no value'} in all rows: left out.")
    identity = _identity(name, facts, n)
    if identity is not None:
        return identity
    limit = min(MAX_LEVELS, max(FEW_LEVELS, int(LEVELS_PER_ROW * n)))
    if facts.kind == "category" and count > limit:
        return Finding(
            name,
            "refused",
            f"{name!r} is a category with {_counted(facts, n)} values in {n} rows, expected at most {limit}: group its "
            f"values in the file, or leave it out with --drop {name}.",
        )
    return None


def _counted(facts: ColumnFacts, n: int) -> str:
    """Return the number of different values; what it leaves of n rows does not tell a small count."""
    shown = rounded_part(facts.n_distinct, n)
    return str(shown) if facts.exact else f"about {shown}"


def _identity(name: str, facts: ColumnFacts, n: int) -> Finding | None:
    """Find texts or whole numbers that differ in nearly every row, or in most rows of a column that is called an ID."""
    share = facts.n_distinct / facts.present
    called = not ID_WORDS.isdisjoint(re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower().replace("_", " ").split())
    if facts.present < ENOUGH or share < (0.5 if called else NEARLY_ALL):
        return None
    how = f"{_counted(facts, n)} different values in {rounded_part(facts.present, n)} rows"
    sure = Finding(name, "dropped", f"{name!r} has {how}, as identifiers have: left out.")
    if facts.kind == "category":
        return sure
    if max(-facts.low, facts.high) >= WHOLE or not facts.integers:
        return None
    if called or facts.high - facts.low <= 2.5 * facts.n_distinct:
        return sure
    return Finding(name, "flagged", f"{name!r} has {how}: if it is an identifier, leave it out with --drop {name}.")


def _leaks(
    name: str, column: Column, target: NDArray[Any], halves: NDArray[np.bool_], regression: bool
) -> Iterator[Finding]:
    strength, scale = (number_association if regression else class_association)(column, target, halves)
    if strength >= LIMITS[scale]:
        yield Finding(
            name,
            "refused",
            f"{name!r} alone predicts the target ({scale} {strength:.3f}, limit {LIMITS[scale]}): it is probably "
            f"known only after the outcome; leave it out with --drop {name}, or keep it with --allow {name}.",
        )


def _proxies(
    name: str, column: Column, group: str, codes: NDArray[np.intp], halves: NDArray[np.bool_]
) -> Iterator[Finding]:
    if name == group:
        return
    strength, scale = class_association(column, codes, halves)
    if strength >= LIMITS[scale]:
        yield Finding(
            name,
            "flagged",
            f"{name!r} alone tells {group!r} ({scale} {strength:.3f}): a model that reads it knows the group; consider "
            f"--drop {name}.",
        )
