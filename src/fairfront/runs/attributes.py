"""Attributes: columns of groups or of their probabilities as people write them, with references and bands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..exceptions import InputError, spelled
from ..objectives.bands import plain_number
from ..tables.notation import number_of
from ..validation import check_names, check_text

PROXY = "group"
"""What the attribute is called whose groups are columns of probabilities."""


@dataclass(frozen=True)
class Attributes:
    """Columns of groups or of probabilities, pairs of an attribute and its reference, and edges of bands by column."""

    groups: tuple[str, ...] = ()
    group_probabilities: tuple[str, ...] = ()
    reference: tuple[tuple[str, str], ...] = ()
    bands: tuple[tuple[str, tuple[float, ...]], ...] = ()

    def choosing(self, attribute: str, group: str) -> str:
        """Return the option of a command that makes a group the reference; none where it cannot be written."""
        if attribute not in self.groups or len(self.groups) == 1:  # crossed columns, probabilities, one column
            return f"--ref {shlex.quote(group)}"
        chosen, edges, written = {**dict(self.reference), attribute: group}, dict(self.bands), []
        for name in self.groups:
            bands = ",".join(plain_number(edge) for edge in edges.get(name, ()))
            reference = f":ref={chosen[name]}" if name in chosen else ""
            written.append(f"{name}{bands and f':bands={bands}'}{reference}")
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
    """Such as ``sex,race:ref=White,age:bands=25,40,65:ref=25 to 39``."""
    what, names = spelled("groups"), list[str]()
    references, bands = list[tuple[str, str]](), list[tuple[str, tuple[float, ...]]]()
    for part in _joined(_parts(given, what)):
        name, *options = re.split(r":(?=ref=|bands=)", part)
        given_as = dict(option.split("=", 1) for option in options)
        edges = [number_of(each) for each in given_as.get("bands", "0").split(",")]
        rising = np.isfinite(edges).all() and (np.diff(edges) > 0).all()
        if ":" in name or not (name and all(given_as.values()) and rising):
            raise InputError(
                f"{what} has {part!r}, expected a column name, name:ref=GROUP, or increasing numbers that cut a column "
                "into bands, name:bands=25,40,65."
            )
        names.append(name)
        references += [(name, given_as["ref"])] if "ref" in given_as else []
        bands += [(name, tuple(edges))] if "bands" in given_as else []
    if not names:
        raise InputError(f"{what} is empty, expected column names such as sex,race:ref=White.")
    return Attributes(tuple(names), (), tuple(references), tuple(bands))


def _joined(parts: list[str]) -> list[str]:
    """Put the edges of bands, which have commas between them, together again."""
    found: list[str] = []
    for part in parts:
        last = found[-1].rpartition(":")[2] if found else ""
        if last.startswith("bands=") and np.isfinite(number_of(part.partition(":")[0])):
            found[-1] = f"{found[-1]},{part}"
        else:
            found.append(part)
    return found


def _parts(given: Any, what: str) -> list[str]:
    parts = given.split(",") if isinstance(given, str) else check_names(given, what)
    return [each.strip() for each in parts if each.strip()]
