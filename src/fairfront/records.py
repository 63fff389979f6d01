"""Records: dataclasses that print on one screen, whatever they hold."""

from __future__ import annotations

import reprlib
from dataclasses import fields
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
