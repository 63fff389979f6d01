"""Records: dataclasses that print on one screen, whatever they hold, and how notebooks show them, without a script."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import fields
from html import escape
from typing import Any

WIDTH = 600
"""Characters for the values of all fields together."""
SHORTEST = 12


class _Short(reprlib.Repr):
    """Arrays are written as their shape, collections and texts as their beginning."""

    def __init__(self) -> None:
        super().__init__()
        self.maxdict = self.maxlist = self.maxtuple = 3
        self.maxlevel, self.maxstring, self.maxother = 2, 60, 120

    def repr_ndarray(self, array: Any, level: int) -> str:
        return f"array{array.shape}"


class Record:
    """Base of dataclasses with ``repr=False`` that hold arrays or much text."""

    def __repr__(self) -> str:
        known = [each.name for each in fields(self) if each.repr]  # type: ignore[arg-type]  # subclasses are dataclasses
        room = max(SHORTEST, WIDTH // max(1, len(known)))
        parts = [f"{name}={_cut(_Short().repr(getattr(self, name)), room)}" for name in known]
        return f"{type(self).__name__}({', '.join(parts)})"


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 3]}..."


def html_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return an escaped table; the first cell of a row is its heading."""

    def cell(tag: str, scope: str, text: str) -> str:
        return f'<{tag}{scope} style="text-align:right;padding:2px 8px">{escape(text)}</{tag}>'

    top = "".join(cell("th", ' scope="col"', head) for head in heads)
    lines = (cell("th", ' scope="row"', row[0]) + "".join(cell("td", "", each) for each in row[1:]) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def html_record(title: str, sentence: str, parts: str, after: str) -> str:
    """Return a record for a notebook: its name, one sentence, HTML that is escaped already, and what to do next."""
    head = f"<b>{escape(title)}</b>: {escape(sentence)}<br>"
    return f'<div style="font:13px/1.4 system-ui,sans-serif">{head}{parts}<small>{escape(after)}</small></div>'


def plain(text: str) -> str:
    """Return a text in one line, without what cannot be printed, such as marks that turn the direction of others."""
    breaks = "\r\n\t\u2028\u2029"
    return "".join(" " if each in breaks else each for each in text if each.isprintable() or each in breaks)
