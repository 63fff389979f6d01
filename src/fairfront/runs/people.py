"""People: attributes as they are written, and who is in the rows of a table, with labels, groups and weights."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from ..objectives import Array, GroupProbabilities
from ..objectives.bands import check_bands
from ..tables import Table, read_groups
from ..tables.notation import number_of
from ..tables.roles import Codes, read_target
from ..validation import check_names
from ..validation.inputs import factorize

if TYPE_CHECKING:
    from .settings import Settings


PROXY = "group"
"""What the attribute is called whose groups are columns of probabilities."""


@dataclass(frozen=True)
class Attributes:
    """Columns of groups or of probabilities, pairs of an attribute and its reference, and edges of bands by column."""

    groups: tuple[str, ...] = ()
    group_probabilities: tuple[str, ...] = ()
    reference: tuple[tuple[str, str], ...] = ()
    bands: tuple[tuple[str, tuple[float, ...]], ...] = ()


def parse_attributes(groups: str | Iterable[str] | None, probabilities: str | Iterable[str] | None) -> Attributes:
    """Read columns of groups or of probabilities, exactly one of them."""
    words = spelled("groups"), spelled("group_probabilities")
    if (groups is None) == (probabilities is None):
        raise InputError(f"give exactly one of {words[0]} and {words[1]}: whom to compare.")
    if groups is not None:
        return parse_groups(groups)
    parts = _parts(probabilities, words[1])
    marked = [each.removesuffix(":ref") for each in parts if each.endswith(":ref")]
    columns = tuple(each.removesuffix(":ref") for each in parts)
    if len(columns) < 2 or len(set(columns)) < len(columns) or len(marked) > 1:
        raise InputError(
            f"{words[1]} is {','.join(parts)!r}, expected two or more different columns, at most one of them marked as "
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
        if ":" in name or not (name and all(given_as.values()) and np.isfinite(edges).all()):
            raise InputError(
                f"{what} has {part!r}, expected a column name, name:ref=GROUP, or name:bands=25,40,65 for numbers."
            )
        names.append(name)
        references += [(name, given_as["ref"])] if "ref" in given_as else []
        bands += [(name, tuple(edges))] if "bands" in given_as else []
    if not names:
        raise InputError(f"{what} is empty, expected column names such as sex,race:ref=White.")
    check_bands(dict(bands))
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


@dataclass(frozen=True, eq=False)
class People:
    """Labels, groups and weights of the rows of a table that are used.

    Those without a label (``unlabelled`` of them) and of weight 0 (``idle``) are not.
    """

    labels: Codes
    favourable: Any
    groups: Mapping[str, Codes] | GroupProbabilities
    weight: Array | None
    unlabelled: int
    idle: int


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of one part of the split: features, labels, groups and weights, as arrays or as Dask arrays.

    ``drawn`` reads rows of Dask arrays into memory: all of them where they fit, else a random sample.
    """

    X: Any
    y: Any
    groups: Any
    weight: Any
    drawn: Callable[[], Part] | None = None

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def people(self) -> dict[str, Any]:
        return {"sensitive_features": self.groups, "sample_weight": self.weight}

    def seen(self) -> Part:
        return self if self.drawn is None else self.drawn()


def people_of(table: Table, settings: Settings) -> tuple[Table, NDArray[np.intp], People]:
    """Return a table with the rows that are used alone, their places in the one given, and the people in them."""
    weight, n = _weights(table, settings), table.n
    used = np.arange(n) if weight is None else np.flatnonzero(weight)
    idle = n - len(used)
    table = table.take(used) if idle else table
    target = read_target(table, settings.target, settings.favourable, regression=settings.regression)
    table = table.take(target.rows) if target.dropped else table
    used = used[target.rows]
    proxies = {name: table.complete(name).numbers for name in settings.group_probabilities}
    groups = (
        GroupProbabilities(proxies, name=PROXY)
        if proxies
        else read_groups(table, settings.groups, dict(settings.bands), settings.allow)
    )
    weight = None if weight is None else weight[used]
    return table, used, People(target.column, target.favourable, groups, weight, target.dropped, idle)


def _weights(table: Table, settings: Settings) -> Array | None:
    if settings.weight is None:
        return None
    values = table.columns[settings.weight].numbers
    if values is None or not np.isfinite(values).all() or (values < 0).any():
        raise InputError(
            f"weight column {settings.weight!r} has words, missing or negative values, expected numbers >= 0."
        )
    return values


def atoms(labels: Codes, groups: Mapping[str, Codes]) -> NDArray[np.intp]:
    """The (label, groups) class of every row, which the split keeps in proportion; numbers by quarters."""
    if labels.values is None:
        code = np.searchsorted(np.quantile(labels.codes, [0.25, 0.5, 0.75]), labels.codes).astype(np.intp)
    else:
        code = factorize(labels.codes)[0]
    for group in groups.values():
        assert group.values is not None
        texts = np.array([str(each) for each in group.values.tolist()], dtype=object)
        names, level = np.unique(texts, return_inverse=True)
        code = code * len(names) + level[group.codes]
    return factorize(code)[0]
