"""Markdown out of figures and of names that come from other people's files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of a Markdown table; cells must be plain already."""
    names = list(heads)
    head = f"| {' | '.join(names)} |"
    return [head, f"|{'---|' * len(names)}", *(f"| {' | '.join(row)} |" for row in rows)]


def cell(text: Any) -> str:
    """Return a name, cut at 200 characters, that cannot break a table or become markup: it is from others' files."""
    return line(text)[:200]


def line(text: Any) -> str:
    """Return text on one line in which nothing becomes markup."""
    plain = "".join(" " if ch in "\r\n\t\u2028\u2029" else ch for ch in str(text) if ch.isprintable() or ch in "\r\n\t")
    escaped = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("`", "'")
    for mark in "\\|*_[]":
        escaped = escaped.replace(mark, "\\" + mark)
    return escaped


def code(text: Any) -> str:
    """Return a name as code, on one line and without marks that would end it."""
    plain = "".join(ch for ch in str(text) if ch.isprintable()).replace("`", "'").replace("|", "/")
    return f"`{plain[:200]}`"


def digits(value: Any) -> str:
    """Return a figure: counts whole, shares with four digits, words as they are."""
    if value is None or value != value:
        return "not shown"
    if isinstance(value, str):
        return value
    whole = isinstance(value, int) or (float(value).is_integer() and abs(value) >= 2)
    return f"{value:.0f}" if whole else f"{value:.4f}"


def with_ends(columns: Mapping[str, list[Any]], key: str, i: int) -> str:
    """Return a figure of an audit's table with its interval."""
    value = columns[key][i]
    if isinstance(value, str):
        return digits(value)
    ends = [columns.get(key + end, [None] * (i + 1))[i] for end in ("_lower", "_upper")]
    if any(not isinstance(end, (int, float)) for end in ends):
        return f"{value:.3f}"
    return f"{value:.3f} ({ends[0]:.3f} to {ends[1]:.3f})"
