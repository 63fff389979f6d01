"""Findings about columns, each a sentence: how it was read, and whether it should be learnt from."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..validation.inputs import factorize
from .notation import PERCENT, PLAIN, Notation, marks_in, seconds_of, several_spellings
from .schema import ColumnSchema
from .statistics import ColumnTally, TrainingRows
from .strength import LEAST, TOGETHER, Scale, tells_class, tells_number, tells_together
from .table import Column

MAX_LEVELS = 1_000
FEW_LEVELS = 20
LEVELS_PER_ROW = 0.1
LIMITS: dict[Scale, float] = {"AUC": 0.99, "share of errors removed": 0.98, "correlation": 0.999}
DOUBTS: dict[Scale, float] = {"AUC": 0.9, "share of errors removed": 0.8, "correlation": 0.99}
"""How well a column alone predicts the target from which it is refused, and from which people are asked to look."""
NEARLY_ALL, MOST = 0.95, 0.5
"""Share of rows with a value of their own from which a column is an identifier, and one that is called so."""
DENSE = 2.5
"""Range of whole numbers over their count below which they are running numbers: amounts leave larger holes."""
ENOUGH = 20
WHOLE = 2**53
"""From here on every float is whole."""
ID_WORDS = frozenset({"id", "ids", "uuid", "guid", "key", "identifier", "index", "rowid"})
STRANGE, STRANGERS = 0.01, 10
"""Share and number of rows with values that training did not know by name, above which it is said."""
PROSE = 3
"""Words in most values from which a column is free text."""


@dataclass(frozen=True)
class Finding:
    """One thing noticed about columns.

    ``kind`` is "refused" (training must not go on with it), "dropped" (left out by itself), "read" (how its texts were
    read), "flagged" (kept), or "noted" (about the file). ``columns`` are those that it is about.
    """

    columns: tuple[str, ...]
    kind: Literal["refused", "dropped", "read", "flagged", "noted"]
    sentence: str


def screen(
    rows: TrainingRows,
    labels: NDArray[Any],
    groups: Mapping[str, NDArray[Any]],
    *,
    regression: bool = False,
    allow: Collection[str] = (),
    notations: Mapping[str, Notation] | None = None,
    copies: Mapping[str, str] | None = None,
) -> tuple[Finding, ...]:
    """Look at every column for what should not be learnt from.

    ``labels`` and ``groups`` (None where missing) are those of the sampled rows, ``rows.drawn``, on which relations are
    judged. Columns in ``allow`` are flagged where they would be refused. ``notations`` are those of columns that are
    not written plainly, ``copies`` map columns to others of the same name in the file.

    Dropped: constant columns, identifiers, free text, dates and copies. Refused: a column that predicts the target
    alone (AUC of at least 0.99; 98 % of the majority guess's errors removed for several classes; absolute correlation
    of at least 0.999 for regression), and a category with more than 1 000 levels or more than one level per ten rows.
    Flagged: a column that nearly predicts the target (AUC of at least 0.9, 80 % of errors, correlation of 0.99), one
    that tells a group surely, because the model then knows the group although it was left out, and columns that
    together tell it well.
    """
    if len(labels) != len(rows.drawn):
        raise InputError(f"labels have {len(labels)} rows, expected {len(rows.drawn)}, as many as were drawn.")
    target: NDArray[Any] = labels.astype(np.float64) if regression else factorize(labels)[0]
    compared = {name: factorize(values)[0] for name, values in groups.items()}
    found: list[Finding] = []
    told: dict[str, set[str]] = {}
    for name, tally in rows.columns.items():
        notation, copied = (notations or {}).get(name, PLAIN), (copies or {}).get(name, "")
        if copied in rows.columns and _equal(tally.sample(), rows.columns[copied].sample()):
            found.append(Finding((name,), "dropped", f"the same values as {copied!r}"))
            continue
        useless = _as_date(name, notation, tally, name in allow) or _unusable(name, tally, rows.n, notation)
        if useless is not None and notation.kind == "amounts" and useless.kind != "flagged":
            sentence = f"{name!r} {notation.expected}, or leave it out with {leave_out(name)}."
            useless = Finding((name,), "refused", sentence)
        if useless is not None:
            found.append(useless)
            if useless.kind != "flagged":
                continue
        if several := several_spellings(tally.counts):
            found.append(Finding((name,), "flagged", f"{name!r} {several}, which are kept apart; fix them."))
        sample = tally.sample()
        strength, scale = (tells_number if regression else tells_class)(sample, target, rows.halves)
        if strength >= DOUBTS[scale]:
            found.append(_foretelling(name, strength, scale))
        for group, codes in compared.items():
            strength, scale = tells_class(sample, codes, rows.halves) if name != group else (0.0, scale)
            if strength >= LIMITS[scale]:
                sentence = (
                    f"{name!r} alone tells {group!r} ({scale} {strength:.3f}): a model that reads it knows the group; "
                    f"consider {leave_out(name)}."
                )
                found.append(Finding((name,), "flagged", sentence))
                told.setdefault(group, set()).add(name)
    gone = {name for each in found if each.kind in ("dropped", "refused") for name in each.columns}
    for group, codes in compared.items():
        columns = {name: tally.sample() for name, tally in rows.columns.items() if name not in gone}
        alone = told.get(group, set())
        found += _joint(group, codes, {name: columns[name] for name in columns if name not in alone}, rows.halves)
    found += _marks(rows, groups)
    return tuple(
        replace(f, kind="flagged") if f.kind == "refused" and set(f.columns) <= set(allow) else f
        for f in _together(found)
    )


def _together(found: list[Finding]) -> Iterator[Finding]:
    """Say of columns that are dropped for one reason, which is all that their findings have, that they are."""
    reasons: dict[str, list[str]] = {}
    for each in found:
        if each.kind == "dropped":
            reasons.setdefault(each.sentence, []).extend(each.columns)
    for each in found:
        if each.kind != "dropped":
            yield each
        elif names := reasons.pop(each.sentence, None):
            yield Finding(tuple(names), "dropped", f"Dropped {', '.join(map(repr, names))}: {each.sentence}.")


def _foretelling(name: str, strength: float, scale: Scale) -> Finding:
    """Refuse a column that tells the target, and ask people to look at one that nearly does."""
    how = f"{name!r} alone predicts the target ({scale} {strength:.3f}"
    if strength < LIMITS[scale]:
        sentence = f"{how}): if it is known only after the outcome, leave it out with {leave_out(name)}."
        return Finding((name,), "flagged", sentence)
    keep = f"leave it out with {leave_out(name)}, or keep it with --allow {shlex.quote(name)}"
    sentence = f"{how}, limit {LIMITS[scale]}): it is probably known only after the outcome; {keep}."
    return Finding((name,), "refused", sentence)


def _unusable(name: str, tally: ColumnTally, n: int, notation: Notation) -> Finding | None:
    count, present = tally.n_distinct, tally.present
    if count == 0 or (count == 1 and n - present < LEAST):
        return Finding((name,), "dropped", f"{'one' if count else 'no'} value in all rows")
    shown = f"{'' if tally.exact else 'about '}{count}"
    # texts or whole numbers that differ in nearly every row, or in most rows of a column that is called an identifier
    called = not ID_WORDS.isdisjoint(words_of(name))
    if (
        present >= ENOUGH
        and notation.kind not in ("point", "comma")
        and count / present >= (MOST if called else NEARLY_ALL)
    ):
        how = f"{shown} distinct values in {present} rows"
        running = called or tally.high - tally.low <= DENSE * count
        whole = tally.integers and max(-tally.low, tally.high) < WHOLE
        if tally.kind == "category" or (whole and running):
            what = "free text" if _is_prose(tally) else "an identifier"
            return Finding((name,), "dropped", f"looks like {what} ({how})")
        if whole:
            sentence = f"{name!r} has {how}: if it is an identifier, leave it out with {leave_out(name)}."
            return Finding((name,), "flagged", sentence)
    limit = min(MAX_LEVELS, max(FEW_LEVELS, int(LEVELS_PER_ROW * n)))
    if tally.kind == "number" or count <= limit:
        return None
    sentence = (
        f"{name!r} is a category with {shown} values in {n} rows, expected at most {limit}: group its values in the "
        f"file, or leave it out with {leave_out(name)}."
    )
    return Finding((name,), "refused", sentence)


def leave_out(*names: str) -> str:
    """Return the words of a command that leave columns out."""
    return " ".join(f"--drop {shlex.quote(name)}" for name in names)


def words_of(name: str) -> list[str]:
    """Return the words of a name, in lower case and without accents."""
    plain = "".join(each for each in unicodedata.normalize("NFKD", name) if not unicodedata.combining(each))
    return re.findall(r"[^\W_]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", plain).casefold())


def _as_date(name: str, notation: Notation, tally: ColumnTally, kept: bool) -> Finding | None:
    """Digits alone, 20240131, were read as numbers, which they may stay (``kept``)."""
    compact = not kept and _is_compact(tally)
    if not notation.is_date and not compact:
        return None
    how = f"in {'YYYYMMDD' if compact else notation.form_words} format"
    how = "that can be read day first or month first" if notation.kind == "dates" else how
    reason = f"dates {how}; to learn from them, add a column such as an age or a number of months to the file"
    return Finding((name,), "dropped", reason)


def _is_compact(tally: ColumnTally) -> bool:
    if tally.kind != "number" or not tally.integers or tally.low < 19_000_101 or tally.high > 21_001_231:
        return False
    values = tally.sample().values
    return all(np.isfinite(seconds_of(f"{each:.0f}", "%Y%m%d")) for each in np.unique(values[~np.isnan(values)]))


def _is_prose(tally: ColumnTally) -> bool:
    return 2 * sum(len(text.split()) >= PROSE for text in tally.counts) > len(tally.counts) > 0


def _equal(one: Column, other: Column) -> bool:
    if one.kind != other.kind or one.levels != other.levels:
        return False
    return bool(np.array_equal(one.values, other.values, equal_nan=one.kind == "number"))


def _joint(
    group: str, codes: NDArray[np.intp], columns: Mapping[str, Column], halves: NDArray[np.bool_]
) -> list[Finding]:
    """Say whether columns tell a group together; one that is itself a feature needs no guess."""
    strength, scale, most = tells_together({} if group in columns else columns, codes, halves)
    if strength < TOGETHER[scale]:
        return []
    by = f", most of all by {', '.join(most)}" if most else ""
    consider = f"; consider {leave_out(*most)}" if most else ""
    sentence = (
        f"The columns together tell {group!r} ({scale} {strength:.2f}, cross-fitted){by}: a model that reads them can "
        f"guess the group{consider}."
    )
    return [Finding(tuple(most or columns), "flagged", sentence)]


def _marks(rows: TrainingRows, groups: Mapping[str, NDArray[Any]]) -> tuple[Finding, ...]:
    """Name the columns with a text that often stands for a missing value and was kept as a level, or as a group."""
    known: dict[str, Iterable[Any]] = {name: tally.counts for name, tally in rows.columns.items() if tally.named}
    known |= {name: {value for value in values.tolist() if value is not None} for name, values in groups.items()}
    marks = {name: marks_in(map(str, found)) for name, found in known.items()}
    said = {name: some for name, some in marks.items() if some}
    if not said:
        return ()
    told = ", ".join(f"{' and '.join(map(repr, some))} in {name!r}" for name, some in said.items())
    option = " ".join(
        f"--missing {shlex.quote(text)}" for text in sorted({text for some in said.values() for text in some})
    )
    sentence = f"Kept as values of their own: {told}; give {option} if they stand for missing ones."
    return (Finding(tuple(said), "flagged", sentence),)


def reading_findings(columns: Iterable[ColumnSchema]) -> tuple[Finding, ...]:
    """Say how columns were read that are not written plainly, and why."""
    said = ((column.name, _reading(column)) for column in columns)
    return tuple(Finding((name,), "read", f"{name!r} {words}.") for name, words in said if words)


def _reading(column: ColumnSchema) -> str:
    notation = column.notation
    if notation.kind == "code":
        return "has leading zeros: read as a category of codes"
    if notation.kind == "amounts":
        return f"was read as a category: it {notation.expected}"
    if notation.kind == "date":
        return f"has dates in {notation.form_words} format"
    if column.kind == "number" and column.otherwise:
        mark = "point" if column.otherwise == "comma" else "comma"
        why = "" if notation == PLAIN else ", as other columns are written"
        return (
            f"has numbers that can be read in two ways (1.234 and 1,234): read with a decimal {mark}{why}; "
            f"--decimal {column.otherwise} says otherwise"
        )
    if column.kind != "number" or notation.kind not in ("point", "comma"):
        return ""
    if notation.unit == PERCENT:
        return "has percentages: read as numbers, 12.5 % as 12.5"
    what = f"amounts in {notation.unit}" if notation.unit else "numbers with separators"
    return f"has {what}: read as numbers with a decimal {notation.kind}"


def unknown_notes(strange: Mapping[str, int], n: int) -> list[str]:
    return [
        f"{count / n:.0%} of rows have a value of {name!r} that was rare or unknown in training."
        for name, count in strange.items()
        if count >= max(STRANGERS, STRANGE * n)
    ]
