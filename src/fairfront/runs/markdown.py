"""Markdown of a card: sections, tables, and names from others' files that cannot become markup."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "`": "'", **{mark: f"\\{mark}" for mark in "\\|*_[]"}})


def section(title: str, *lines: str) -> str:
    return "\n".join([f"## {title}", "", *lines])


def by_attribute(tables: Mapping[str, Mapping[str, list[Any]]]) -> list[str]:
    """Return a table per attribute from columns by their headings, of which the first is that of groups."""
    lines = []
    for name, columns in tables.items():
        groups, *figures = columns.values()
        rows = zip(map(cell, groups), *(map(digits, values) for values in figures), strict=True)
        lines += ["", f"### {cell(name)}", "", *table(columns, rows)]
    return lines


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Cells must be plain already."""
    names = list(heads)
    return [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}", *(f"| {' | '.join(row)} |" for row in rows)]


def cell(text: Any) -> str:
    """Return a name, cut at 200 characters, that cannot break a table or become markup: it is from others' files."""
    return line(text)[:200]


def line(text: Any) -> str:
    breaks = "\r\n\t\u2028\u2029"
    plain = "".join(" " if ch in breaks else ch for ch in str(text) if ch.isprintable() or ch in breaks)
    return plain.translate(MARKUP)


def code(text: Any) -> str:
    plain = "".join(ch for ch in str(text) if ch.isprintable()).replace("`", "'").replace("|", "/")
    return f"`{plain[:200]}`"


def digits(value: Any) -> str:
    if value is None or value != value:
        return "not shown"
    if isinstance(value, str):
        return value
    whole = isinstance(value, int) or (float(value).is_integer() and abs(value) >= 2)
    return f"{value:.0f}" if whole else f"{value:.4f}"
