"""Tables on the screen: one look, and no wider than it."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .screen import printable


def table_of(title: str, heads: Iterable[str], left: Iterable[str] = ("",), pad: int = 1) -> Table:
    """Return a table without rows; columns of text are those on the ``left``, the others are of numbers."""
    found = Table(title=escape(title), box=SIMPLE_HEAD, pad_edge=False, padding=(0, pad, 0, 0), title_justify="left")
    for head in heads:
        found.add_column(escape(head), justify="left" if head in left else "right", overflow="fold")
    return found


def print_table(console: Console, table: Table) -> None:
    """Print a table; one that is too wide has headings of several lines and no space to spare: figures stay whole.

    Where that is not enough, columns that have no room are below the others, each time beside the first column. Control
    characters of names are written out.
    """
    for column in table.columns:
        column._cells = [printable(cell) if isinstance(cell, str) else cell for cell in column._cells]
    if _width(console, table) > console.width:
        table.padding, table.show_edge = (0, 0, 0, 0), False
        for column in table.columns:
            column.header = str(column.header).replace(" ", "\n")
    first, *rest = table.columns
    while rest:
        n = len(rest)
        while n > 1 and _width(console, _part(table, first, *rest[:n])) > console.width:
            n -= 1
        console.print(_part(table, first, *rest[:n]))
        rest, table.title = rest[n:], None


def _width(console: Console, table: Table) -> int:
    return console.measure(table, options=console.options.update(max_width=1_000)).maximum


def _part(table: Table, *columns: Any) -> Table:
    """Return a table of some columns of another."""
    found = copy(table)
    found.columns = [replace(column, _index=i) for i, column in enumerate(columns)]
    return found
