"""Names of things: one registry per kind, with the nearest known name when one is unknown."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Generic, TypeVar

from .exceptions import InputError

T = TypeVar("T")


class Registry(Generic[T]):
    """Map names to items of one kind, in the order in which they were added."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._items: dict[str, T] = {}

    def add(self, name: str, item: T) -> T:
        if name in self._items:
            raise ValueError(f"{self.kind} {name!r} is registered already")
        self._items[name] = item
        return item

    def __getitem__(self, name: str) -> T:
        if name not in self:
            near = difflib.get_close_matches(str(name), self._items, n=1, cutoff=0.5)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            found = repr(str(name)) if isinstance(name, str) else str(name)
            raise InputError(f"unknown {self.kind} {found}, expected one of {', '.join(self._items)}{hint}")
        return self._items[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._items

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def names(self) -> tuple[str, ...]:
        return tuple(self._items)
