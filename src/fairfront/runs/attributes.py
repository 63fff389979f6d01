"""Attributes: columns of groups or of their probabilities as people write them, with references."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from ..exceptions import InputError, spelled
from ..validation import check_names, check_text

PROXY = "group"
"""What the attribute is called whose groups are columns of probabilities."""


@dataclass(frozen=True)
class Attributes:
    """Columns of groups or of probabilities, and pairs of an attribute and its reference."""

    groups: tuple[str, ...] = ()
    group_probabilities: tuple[str, ...] = ()
    reference: tuple[tuple[str, str], ...] = ()

    def choosing(self, attribute: str, group: str) -> str:
        """Return the option of a command that makes a group the reference; none where it cannot be written."""
        if attribute not in self.groups or len(self.groups) == 1:  # crossed columns, probabilities, one column
            return f"--ref {shlex.quote(group)}"
        chosen = {**dict(self.reference), attribute: group}
        written = [f"{name}:ref={chosen[name]}" if name in chosen else name for name in self.groups]
        return "" if "," in group else f"--groups {shlex.quote(','.join(written))}"


def parse_attributes(
    groups: str | Iterable[str] | None,
    probabilities: str | Iterable[str] | None,
    reference: str | None = None,
    cross: bool = False,
) -> Attributes:
    """Read columns of groups or of probabilities, exactly one of them.

    ``reference`` is a group of one attribute: of one column, of crossed columns ("White & M") or of probabilities.
    """
    words = spelled("groups"), spelled("group_probabilities")
    if (groups is None) == (probabilities is None):
        raise InputError(f"give exactly one of {words[0]} and {words[1]}: whom to compare.")
    found = _parse_probabilities(probabilities) if groups is None else parse_groups(groups)
    if reference is None:
        return found
    what, given = spelled("reference"), check_text(reference, "reference", "the name of a group")
    if found.reference:
        raise InputError(f"{what} is {given!r}, but {words[0]} names a reference too, expected one of them.")
    if len(found.groups) > 1 and not cross:
        raise InputError(
            f"{what} is {given!r}, expected one column of groups, or {spelled('cross', 'cross=True')}; of several "
            f"columns, write the reference of each as {found.groups[0]}:ref=GROUP."
        )
    return replace(found, reference=((" & ".join(found.groups) or PROXY, given),))


def _parse_probabilities(probabilities: str | Iterable[str] | None) -> Attributes:
    what = spelled("group_probabilities")
    parts = _parts(probabilities, what)
    marked = [each.removesuffix(":ref") for each in parts if each.endswith(":ref")]
    columns = tuple(each.removesuffix(":ref") for each in parts)
    if len(columns) < 2 or len(set(columns)) < len(columns) or len(marked) > 1:
        raise InputError(
            f"{what} is {','.join(parts)!r}, expected two or more different columns, at most one of them marked as "
            "the reference: p_black,p_white:ref."
        )
    return Attributes((), columns, tuple((PROXY, name) for name in marked))


def parse_groups(given: str | Iterable[str]) -> Attributes:
    """Such as ``sex,race:ref=White``."""
    what, names, references = spelled("groups"), list[str](), list[tuple[str, str]]()
    for part in _parts(given, what):
        name, marked, reference = part.partition(":ref=")
        if ":" in name or not name or (marked and not reference):
            raise InputError(f"{what} has {part!r}, expected a column name, or name:ref=GROUP.")
        names.append(name)
        references += [(name, reference)] if marked else []
    if not names:
        raise InputError(f"{what} is empty, expected column names such as sex,race:ref=White.")
    return Attributes(tuple(names), (), tuple(references))


def _parts(given: Any, what: str) -> list[str]:
    parts = given.split(",") if isinstance(given, str) else check_names(given, what)
    return [each.strip() for each in parts if each.strip()]
