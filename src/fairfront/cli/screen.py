"""The console that commands print to: names, paths and sentences appear as they are."""

from __future__ import annotations

from typing import Any

from rich.console import Console

SMALL = "Counts below it are rounded: 10, or 0 for exact counts, for use where the rows are kept."
SIGN = "PEM file of an Ed25519 private key that signs what is written (extra sign)."
DATA = "With --small 0: the file that the run was traced from."


def screen(**options: Any) -> Console:
    """Return a console without emoji, so that a group or path with ``:id:`` in it is printed so."""
    return Console(emoji=False, **options)


def say(console: Console, text: str) -> None:
    """Print text as it is, without markup and without breaking lines that people copy."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def printable(text: str) -> str:
    """Return text in one line: control characters of a name or path are written as Python does."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
