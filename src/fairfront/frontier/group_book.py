"""Groups of rows that lie in parts: their values are counted part by part, then each part finds its rows' groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Attribute, GroupProbabilities
from ..problems.dask.passes import reduced
from ..validation import as_columns, factorize, is_dask
from .matching import is_crossed, resolve_attributes

if TYPE_CHECKING:
    from .facts import Facts

Key = tuple[Any, ...]
Counts = dict[tuple[str, ...], dict[Key, int]]
"""Per attribute, named by its columns, how often each value (or row of values) occurs; missing ones are left out."""
MOST = 100_000
REPEATED = 10


@dataclass(frozen=True, eq=False)
class GroupBook:
    """The attributes of all rows, without codes, and the code of every value that occurs."""

    attributes: tuple[Attribute, ...]
    codes: tuple[Mapping[Key, int], ...]
    crossed: bool

    def read(self, block: Any, n: int) -> tuple[Attribute, ...]:
        """Return the attributes of one part's n rows."""
        found = zip(self.attributes, self.codes, _coded(block, n, self.crossed).values(), strict=True)
        return tuple(_attribute(attribute, codes, keyed) for attribute, codes, keyed in found)


def group_book(facts: Facts, sensitive_features: Any) -> GroupBook:
    """Count the values of groups in one pass, and match them with training as `resolve_attributes` does."""
    if isinstance(sensitive_features, GroupProbabilities):
        raise InputError(
            "sensitive_features are probabilities in memory and X is a Dask collection, expected columns of groups as "
            "Dask collections; compute() X, or give groups."
        )
    crossed = is_crossed(facts)
    count = partial(_count, crossed=crossed)
    some = is_dask(sensitive_features)
    counts: Counts = reduced(count, sensitive_features, combine=_merged) if some else count(sensitive_features)
    for names, found in counts.items():
        _check_levels(" & ".join(names), found)
    small, keys = _miniature(counts)
    attributes = resolve_attributes(facts, small, len(next(iter(small.values()))))
    books = tuple(_book(attribute, each) for attribute, each in zip(attributes, keys, strict=True))
    return GroupBook(tuple(a.take(np.arange(0)) for a in attributes), books, crossed)


def _coded(block: Any, n: int | None, crossed: bool) -> dict[tuple[str, ...], tuple[NDArray[np.intp], list[Key]]]:
    """Return, per attribute, codes of rows (-1 for missing) and the values they stand for."""
    columns = {name: factorize(values) for name, values in as_columns(block, "sensitive_features", n=n).items()}
    if not crossed or len(columns) < 2:
        return {(name,): (codes, [(value,) for value in found]) for name, (codes, found) in columns.items()}
    joint = np.zeros(len(next(iter(columns.values()))[0]), dtype=np.int64)
    for codes, found in columns.values():
        joint = np.where((joint < 0) | (codes < 0), -1, joint * max(1, len(found)) + codes)
    distinct, rows, inverse = np.unique(joint, return_index=True, return_inverse=True)
    keys = [tuple(found[codes[row]] for codes, found in columns.values()) for row in rows[distinct >= 0].tolist()]
    return {tuple(columns): (inverse.astype(np.intp) - int((distinct < 0).any()), keys)}


def _count(block: Any, crossed: bool) -> Counts:
    counts: Counts = {}
    for names, (codes, keys) in _coded(block, None, crossed).items():
        sizes = np.bincount(codes[codes >= 0], minlength=len(keys)).tolist()
        counts[names] = dict(zip(keys, sizes, strict=True))
    return counts


def _merged(parts: Sequence[Counts]) -> Counts:
    total: Counts = {names: {} for names in parts[0]}
    for part in parts:
        for names, sizes in part.items():
            for key, size in sizes.items():
                total[names][key] = total[names].get(key, 0) + size
            if len(total[names]) > MOST:
                _check_levels(" & ".join(names), total[names])
    return total


def _check_levels(name: str, found: Mapping[Key, int]) -> None:
    """Refuse what `Groups` refuses, with the numbers of all rows."""
    total = sum(found.values())
    if len(found) == 1:
        raise InputError(
            f"sensitive feature {name!r} is constant (all {total} rows are {str(next(iter(found))[0])!r}), expected at "
            "least 2 groups; give another column."
        )
    if len(found) > max(100, 0.1 * total) or len(found) > MOST:
        raise InputError(
            f"sensitive feature {name!r} has {len(found)} values in {total} rows, expected groups; a number such as "
            "age must be cut into bands first, an identifier cannot be used."
        )


def _miniature(counts: Counts) -> tuple[dict[str, NDArray[Any]], list[list[Key]]]:
    """Return a few rows with all values, the most frequent ones most often, and their keys per attribute."""
    keys = []
    for sizes in counts.values():
        by_name: dict[Key, int] = {}
        for key, size in sizes.items():
            text = tuple(map(str, key))
            by_name[text] = by_name.get(text, 0) + size
        most = max(by_name.values(), default=0)
        frequent = [key for key in sizes if by_name[tuple(map(str, key))] == most]
        keys.append([*sizes] * REPEATED + frequent)
    n = max(map(len, keys))
    columns: dict[str, NDArray[Any]] = {}
    for names, rows in zip(counts, keys, strict=True):
        padded = [*rows, *[(None,) * len(names)] * (n - len(rows))]
        columns |= {name: _column([row[j] for row in padded]) for j, name in enumerate(names)}
    return columns, keys


def _column(values: list[Any]) -> NDArray[Any]:
    """Return numbers as an array of numbers, so that groups have the names and order that they have in memory."""
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in known):
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return np.array([*values, None], dtype=object)[:-1]


def _book(attribute: Attribute, keys: list[Key]) -> dict[Key, int]:
    assert attribute.codes is not None
    return dict(zip(keys, attribute.codes[: len(keys)].tolist(), strict=True))


def _attribute(attribute: Attribute, codes: Mapping[Key, int], keyed: tuple[NDArray[np.intp], list[Key]]) -> Attribute:
    local, keys = keyed
    lookup = np.array([*(codes.get(key, -1) for key in keys), -1], dtype=np.intp)
    return Attribute(attribute.name, attribute.levels, lookup[local])
