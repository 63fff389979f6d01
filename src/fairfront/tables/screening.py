"""Screening: columns that should not be learnt from, found before training and named with the reason."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from .association import class_association, number_association
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

    ``kind`` is "refused" (training must not go on with it), "dropped" (left out by itself) or "flagged" (kept).
    """

    column: str
    kind: Literal["refused", "dropped", "flagged"]
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
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(table.n)[:SAMPLE])
    halves = rng.random(len(rows)) < 0.5
    target = labels[rows].astype(np.float64) if regression else _codes(labels[rows])
    compared = {name: _codes(np.asarray(values)[rows]) for name, values in groups.items()}
    found: list[Finding] = []
    for name in features:
        column = table.column(name)
        useless = _unusable(name, column, table.n)
        found += [] if useless is None else [useless]
        if useless is None or useless.kind == "flagged":
            some = column.take(rows)
            found += _leaks(name, some, target, halves, regression)
            found += [proxy for each in compared for proxy in _proxies(name, some, each, compared[each], halves)]
    return tuple(_allowed(each) if each.column in allow else each for each in found)


def _codes(values: NDArray[Any]) -> NDArray[np.intp]:
    if values.dtype != object:
        return np.unique(values, return_inverse=True)[1].astype(np.intp)
    place = {value: code for code, value in enumerate(sorted({str(v) for v in values.tolist() if v is not None}))}
    return np.array([-1 if v is None else place[str(v)] for v in values.tolist()], dtype=np.intp)


def _allowed(found: Finding) -> Finding:
    return replace(found, kind="flagged") if found.kind == "refused" else found


def _unusable(name: str, column: Column, n: int) -> Finding | None:
    _, values = column.distinct()
    present = n - int(column.absent.sum())
    if len(values) == 0 or (len(values) == 1 and n - present < 10):
        return Finding(
            name, "dropped", f"{name!r} has {'one value' if len(values) else 'no value'} in all rows: left out."
        )
    identity = _identity(name, column, values, present)
    if identity is not None:
        return identity
    limit = min(MAX_LEVELS, max(FEW_LEVELS, int(LEVELS_PER_ROW * n)))
    if column.kind == "category" and len(values) > limit:
        return Finding(
            name,
            "refused",
            f"{name!r} is a category with {len(values)} values in {n} rows, expected at most {limit}: group its values "
            f"in the file, or leave it out with --drop {name}.",
        )
    return None


def _identity(name: str, column: Column, values: NDArray[Any], present: int) -> Finding | None:
    """Find texts or whole numbers that differ in nearly every row, or in most rows of a column that is called an ID."""
    share = len(values) / present
    called = not ID_WORDS.isdisjoint(re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower().replace("_", " ").split())
    if present < ENOUGH or share < (0.5 if called else NEARLY_ALL):
        return None
    how = f"{len(values)} different values in {present} rows"
    sure = Finding(name, "dropped", f"{name!r} has {how}, as identifiers have: left out.")
    if column.numbers is None:
        return sure
    if np.abs(values).max() >= 2**53 or not (values == np.rint(values)).all():  # beyond, every float is whole
        return None
    if called or np.ptp(values) <= 2.5 * len(values):
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
