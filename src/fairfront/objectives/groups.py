"""Groups: who belongs where, from columns or from probabilities. They know nothing about labels or losses."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import GroupWarning, InputError, spelled
from ..validation import as_columns, check_count, check_flag, check_instance, counted, factorize, refuse, shown
from .losses import Array
from .proxies import GroupProbabilities
from .small_counts import count_in_words, counts_in_words

MISSING = -1
Compared = Sequence[tuple[str, NDArray[np.bool_]]]
"""Rows that are compared: what they are in words, and which they are, (n,)."""


@dataclass(frozen=True)
class Attribute:
    """One sensitive attribute: the group of each row, or its probabilities.

    ``codes`` index ``levels`` and are -1 for rows whose group is missing or left out; ``shares`` (n, c)
    replace them when groups are probabilities. The reference group is the last level. ``left_out`` maps
    groups that are too small to their number of rows; ``largest`` says that the reference is the largest group because
    none was named.
    """

    name: str
    levels: tuple[str, ...]
    codes: NDArray[np.intp] | None
    shares: Array | None = None
    n_missing: int = 0
    left_out: tuple[tuple[str, int], ...] = ()
    largest: bool = False

    @property
    def reference(self) -> str:
        return self.levels[-1]

    @property
    def is_proxy(self) -> bool:
        return self.shares is not None

    def membership(self) -> Array:
        """Shape (n, c); 0 and 1 for groups given by labels."""
        if self.shares is not None:
            return self.shares
        assert self.codes is not None
        return np.asarray(self.codes[:, None] == np.arange(len(self.levels)), dtype=np.float64)

    def take(self, rows: NDArray[Any]) -> Attribute:
        codes = None if self.codes is None else self.codes[rows]
        shares = None if self.shares is None else self.shares[rows]
        return replace(self, codes=codes, shares=shares)

    def sizes(self) -> Array:
        """Number of rows of each level, expected ones for probabilities."""
        if self.codes is None:
            return np.asarray(self.membership().sum(axis=0))
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.levels)).astype(np.float64)


@dataclass(frozen=True)
class Groups:
    """How sensitive columns become groups.

    Parameters
    ----------
    reference : str or mapping of column name to group, optional
        The group that signed gaps are measured against; by default each column's largest.
    cross : bool
        Cross all columns into one attribute instead of taking each on its own.
    min_size : int
        Groups with fewer rows that a notion compares (for equal opportunity, rows with the favourable label) count in
        the loss, stay out of the gaps, and are reported.
    """

    reference: Any = None
    cross: bool = False
    min_size: int = 30

    def __post_init__(self) -> None:
        named = self.reference.items() if isinstance(self.reference, Mapping) else [("", self.reference)]
        for name, group in named:
            if not isinstance(name, str) or not (group is None or isinstance(group, (str, Real, np.generic))):
                raise refuse("reference", self.reference, "a group, or a mapping such as {'race': 'White'}")
        check_flag(self.cross, "cross")
        check_count(self.min_size, "min_size")

    def resolve(
        self, sensitive_features: Any, n: int, counts: Array | None = None, among: Compared = ()
    ) -> tuple[Attribute, ...]:
        """Turn columns or probabilities of n rows into attributes.

        Parameters
        ----------
        sensitive_features : array, series, frame, mapping or GroupProbabilities
            The group of every row; columns may have missing values.
        n : int
            How many rows there have to be.
        counts : array of shape (n,), optional
            How many rows each entry stands for, where columns list every combination once; None: one.
        among : sequence of (str, mask of shape (n,))
            Rows that are compared, in words and as masks: a group needs ``min_size`` rows of each.
        """
        if isinstance(sensitive_features, GroupProbabilities):
            _check_length(sensitive_features, n)
            self._check_reference((sensitive_features.name,))
            return (self._soft(sensitive_features, among),)
        columns = as_columns(sensitive_features, "sensitive_features", n=n)
        if self.cross and len(columns) > 1:
            columns = {" & ".join(columns): _crossed(columns)}
        self._check_reference(tuple(columns))
        return tuple(self._hard(name, values, counts, among) for name, values in columns.items())

    def _check_reference(self, names: tuple[str, ...]) -> None:
        """Refuse a reference for a column that is not there, which would be passed over in silence."""
        unknown = [k for k in self.reference if k not in names] if isinstance(self.reference, Mapping) else []
        if unknown:
            raise InputError(
                f"reference names the sensitive feature {unknown[0]!r}, expected one of {', '.join(names)}."
            )

    def _hard(self, name: str, values: NDArray[Any], counts: Array | None, among: Compared) -> Attribute:
        codes, found = factorize(values)
        levels = [str(v) for v in found]
        if len(set(levels)) < len(levels):  # 1 and "1" are one group, as they have one name
            distinct, again = np.unique(levels, return_inverse=True)
            codes, levels = np.where(codes < 0, MISSING, again[codes]), [str(v) for v in distinct]
        everyone, entries = np.ones(len(codes), dtype=bool), np.ones(len(codes)) if counts is None else counts
        rows = [
            np.bincount(codes[mask] + 1, entries[mask], minlength=len(levels) + 1)
            for mask in (everyone, *(mask for _, mask in among))
        ]
        n_missing, sizes = int(rows[0][0]), np.stack(rows)[:, 1:].astype(np.float64)
        _check_levels(name, levels, sizes[0], n_missing)
        kept, left_out = self._kept(name, levels, sizes, among)
        renumber = np.full(len(levels) + 1, MISSING, dtype=np.intp)
        renumber[kept] = np.arange(len(kept))
        names = tuple(levels[i] for i in kept)
        return Attribute(name, names, renumber[codes], None, n_missing, left_out, self._wanted(name) is None)

    def _soft(self, given: GroupProbabilities, among: Compared) -> Attribute:
        sizes = np.stack([given.shares.sum(axis=0), *(given.shares[rows].sum(axis=0) for _, rows in among)])
        kept, left_out = self._kept(given.name, list(given.levels), sizes, among)
        names, shares = tuple(given.levels[i] for i in kept), np.ascontiguousarray(given.shares[:, kept])
        return Attribute(given.name, names, None, shares, 0, left_out, self._wanted(given.name) is None)

    def _kept(
        self, name: str, levels: list[str], rows: Array, among: Compared
    ) -> tuple[NDArray[np.intp], tuple[tuple[str, int], ...]]:
        """Return the levels with enough rows of every kind, the reference last, and the others with their fewest rows.

        ``rows`` (kinds, levels) counts all rows, and those of every kind that is compared.
        """
        words = ("", *(f" with {kind}" for kind, _ in among))
        small = rows < self.min_size
        kind = np.argmax(small, axis=0)  # the first kind of which a group has too few
        kept, out = np.flatnonzero(~small.any(axis=0)), np.flatnonzero(small.any(axis=0))
        if len(kept) < 2:
            short = int(kind[out].max())
            told = counts_in_words(levels, rows[short])
            raise InputError(
                f"sensitive feature {name!r} has {counted(len(kept), 'group')} of at least {self.min_size} "
                f"rows{words[short]}, expected 2 or more (rows per group: {', '.join(told)}); merge groups or lower "
                f"{spelled('min_size', 'groups=Groups(min_size=...)')}."
            )
        if len(out):
            told = [f"{levels[i]} ({count_in_words(rows[kind[i], i])} rows{words[kind[i]]})" for i in out]
            warnings.warn(
                f"groups of {name!r} with fewer than {self.min_size} rows stay out of the gaps: {', '.join(told)}; "
                "they count in the loss.",
                GroupWarning,
                stacklevel=2,
            )
        reference = kept[self._reference(name, [levels[i] for i in kept], rows[0, kept])]
        ordered = np.append(kept[kept != reference], reference)
        return ordered, tuple((levels[i], int(rows[kind[i], i])) for i in out)

    def _wanted(self, name: str) -> Any:
        return self.reference.get(name) if isinstance(self.reference, Mapping) else self.reference

    def _reference(self, name: str, levels: list[str], sizes: Array) -> int:
        wanted = self._wanted(name)
        if wanted is None:
            return int(np.argmax(sizes))
        if isinstance(wanted, float) and wanted.is_integer():
            wanted = int(wanted)
        if str(wanted) not in levels:
            raise InputError(
                f"reference group {shown(wanted)} of {name!r} is not among its groups, expected one of "
                f"{', '.join(levels)}."
            )
        return levels.index(str(wanted))


MOST_LEVELS, MOST_SHARE = 100, 0.1
"""Values of a column, and values per row, above both of which it holds numbers or identifiers instead of groups."""


def _check_levels(name: str, levels: list[str], sizes: Array, n_missing: int) -> None:
    if not levels:
        raise InputError(f"sensitive feature {name!r} is missing in all {n_missing} rows, expected at least 2 groups.")
    if len(levels) == 1:
        raise InputError(
            f"sensitive feature {name!r} is constant (all {int(sizes[0])} rows are {levels[0]!r}), "
            "expected at least 2 groups; give another column."
        )
    if len(levels) > max(MOST_LEVELS, MOST_SHARE * sizes.sum()):
        raise InputError(
            f"sensitive feature {name!r} has {len(levels)} values in {int(sizes.sum())} rows, expected groups; "
            "a number such as age must be cut into bands first, an identifier cannot be used."
        )


def _crossed(columns: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """Join columns value by value; missing where any of them is."""
    coded = [factorize(values) for values in columns.values()]
    parts = [np.array([str(v) for v in found] + [""], dtype=object)[codes] for codes, found in coded]
    joined = np.array([" & ".join(row) for row in zip(*parts, strict=True)], dtype=object)
    joined[np.any([codes < 0 for codes, _ in coded], axis=0)] = None
    return joined


def check_groups(groups: Any) -> Groups | None:
    expected = "fairfront.Groups(reference=..., cross=..., min_size=...)"
    return None if groups is None else check_instance(groups, Groups, "groups", expected)


def _check_length(given: GroupProbabilities, n: int) -> None:
    if len(given) != n:
        raise InputError(
            f"GroupProbabilities has {counted(len(given), 'row')}, expected {n}, as many as {spelled('X')}."
        )


def take_groups(sensitive_features: Any, rows: NDArray[Any], n: int | None) -> Any:
    """Return the groups of some of n rows, columns or probabilities; None for n leaves lengths unchecked."""
    if isinstance(sensitive_features, GroupProbabilities):
        if n is not None:
            _check_length(sensitive_features, n)
        return sensitive_features.take(rows)
    columns = as_columns(sensitive_features, "sensitive_features", n=n)
    return {name: values[rows] for name, values in columns.items()}
