"""Groups: who belongs where, from columns or from probabilities."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..exceptions import GroupWarning, InputError, spelled
from ..validation import check_choice, check_count, check_flag, check_instance, counted, exact_count, refuse, shown
from ..validation.inputs import as_columns, factorize
from .losses import Array
from .proxies import GroupProbabilities
from .strata import Pooling, Within, without_strata

MISSING = -1
NO_SHARE = 1e-9
"""What the probabilities of a row's kept groups leave over for no group, below which it is rounding."""
MOST_LEVELS, MOST_SHARE = 100, 0.1
"""Values of a column, and values per row, above both of which it holds numbers or identifiers instead of groups."""
Compare = Literal["pairs", "overall"]
Compared = Sequence[tuple[str, NDArray[np.bool_]]]
"""Rows that are compared: what they are in words, and which they are, (n,)."""


@dataclass(frozen=True)
class Attribute:
    """One sensitive attribute: the group of each row, or its probabilities.

    ``codes`` index ``levels`` and are -1 for rows whose group is missing or left out; ``shares`` (n, c)
    replace them when groups are probabilities. The reference group is the last level. ``left_out`` maps
    groups that are too small to their number of rows; ``largest`` says that the reference is the largest group because
    none was named. ``counts`` (n,) say how many rows each stands for, None: one.
    """

    name: str
    levels: tuple[str, ...]
    codes: NDArray[np.intp] | None
    shares: Array | None = None
    n_missing: int = 0
    left_out: tuple[tuple[str, int], ...] = ()
    largest: bool = False
    counts: Array | None = None

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
        counts = None if self.counts is None else self.counts[rows]
        return replace(self, codes=codes, shares=shares, counts=counts)

    def among(self, levels: NDArray[np.intp]) -> Attribute:
        """Keep some levels, in this order; rows of the others are in no group."""
        names = tuple(self.levels[i] for i in levels)
        if self.codes is None:
            return replace(self, levels=names, shares=np.ascontiguousarray(self.membership()[:, levels]))
        renumber = np.full(len(self.levels) + 1, MISSING, dtype=np.intp)  # the last is that of MISSING
        renumber[levels] = np.arange(len(levels))
        return replace(self, levels=names, codes=renumber[self.codes])

    def sizes(self, rows: Any = slice(None), counts: Array | None = None) -> Array:
        """Number of rows of each level, expected ones for probabilities; ``counts`` as in `Groups.resolve`."""
        if self.codes is None:
            return np.asarray(self.membership()[rows].sum(axis=0))
        codes, counts = self.codes[rows], self.counts if counts is None else counts
        entries = None if counts is None else counts[rows][codes >= 0]
        return np.bincount(codes[codes >= 0], entries, minlength=len(self.levels)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Copies:
    """Rows whose group is probable, as one copy for each group that they may be in.

    row (m,)          the row that each is a copy of; copies of a row follow each other
    probability (m,)  of the group of the copy, by which the row's weight is multiplied
    attribute         with the group of each copy; what a row's groups leave over is in none
    """

    row: NDArray[np.intp]
    probability: Array
    attribute: Attribute

    @classmethod
    def of(cls, attribute: Attribute) -> Copies:
        member = attribute.membership()
        rest = np.clip(1.0 - member.sum(axis=1, keepdims=True), 0.0, None)
        whole = np.hstack([member, np.where(rest < NO_SHARE, 0.0, rest)])
        row, code = np.nonzero(whole)
        codes, probability = np.where(code == len(attribute.levels), MISSING, code), whole[row, code]
        return cls(row, probability, replace(attribute, codes=codes, shares=None, counts=probability))


@dataclass(frozen=True)
class Groups:
    """How sensitive columns become groups.

    Parameters
    ----------
    reference : str or mapping of column name to group, optional
        The group that signed gaps are measured against; by default each column's largest. Of crossed columns it is made
        of a group of each: ``{"race": "White", "sex": "M"}`` is "White & M".
    cross : bool
        Cross all columns into one attribute instead of taking each on its own.
    min_size : int
        Groups with fewer rows that a notion compares (for equal opportunity, rows with the favourable label) count in
        the loss, stay out of the gaps, and are reported.
    strata : {"pooled", "each"}
        With ``control_features``: gaps inside strata are pooled (Mantel and Haenszel), or each of them is one.
    compare : {"pairs", "overall"}
        Every two groups, or each group with everyone: as many gaps as groups, for many of them.
    """

    reference: Any = None
    cross: bool = False
    min_size: int = 30
    strata: Pooling = "pooled"
    compare: Compare = "pairs"

    def __post_init__(self) -> None:
        named = self.reference.items() if isinstance(self.reference, Mapping) else [("", self.reference)]
        for name, group in named:
            if not isinstance(name, str) or not (group is None or isinstance(group, (str, Real, np.generic))):
                raise refuse("reference", self.reference, "a group, or a mapping such as {'race': 'White'}")
        check_flag(self.cross, "cross")
        check_count(self.min_size, "min_size")
        check_choice(self.strata, "strata", get_args(Pooling))
        check_choice(self.compare, "compare", get_args(Compare))

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
        sensitive_features = without_strata(sensitive_features)
        if isinstance(sensitive_features, GroupProbabilities):
            _check_length(sensitive_features, n)
            found = [Attribute(sensitive_features.name, sensitive_features.levels, None, sensitive_features.shares)]
        else:
            columns = as_columns(sensitive_features, "sensitive_features", n=n)
            if self.cross and len(columns) > 1:
                crossed = replace(self, reference=self._joint_reference(tuple(columns)), cross=False)
                return crossed.resolve({" & ".join(columns): _crossed(columns)}, n, counts, among)
            found = [_coded(name, values, counts) for name, values in columns.items()]
        _check_known("reference", self.reference, [each.name for each in found])
        return tuple(self._compared(each, counts, among) for each in found)

    def _joint_reference(self, names: Sequence[str]) -> Any:
        """Return the reference of crossed columns, which may be given by a group of each."""
        given = self.reference
        if not isinstance(given, Mapping) or not set(given).intersection(names):
            return given
        _check_known("reference", given, names)
        absent = [name for name in names if name not in given]
        if absent:
            raise InputError(f"reference has no group of {absent[0]!r}, expected one of each of {', '.join(names)}.")
        return {" & ".join(names): " & ".join(str(_whole(given[name])) for name in names)}

    def _compared(self, found: Attribute, counts: Array | None, among: Compared) -> Attribute:
        """Leave out groups with too few rows of any kind that is compared, and put the reference last."""
        rows = np.stack([found.sizes(kind, counts) for kind in (slice(None), *(mask for _, mask in among))])
        words = ("", *(f" with {kind}" for kind, _ in among))
        small = rows < self.min_size
        kind = np.argmax(small, axis=0)  # the first kind of which a group has too few
        kept, out = np.flatnonzero(~small.any(axis=0)), np.flatnonzero(small.any(axis=0))
        if len(kept) < 2:
            short = int(kind[out].max())
            told = [f"{level} {exact_count(n)}" for level, n in zip(found.levels, rows[short], strict=True)]
            raise InputError(
                f"sensitive feature {found.name!r} has {counted(len(kept), 'group')} of at least {self.min_size} "
                f"rows{words[short]}, expected 2 or more (rows per group: {', '.join(told)}); merge groups or lower "
                f"{spelled('min_size', 'groups=Groups(min_size=...)')}."
            )
        if len(out):
            told = [f"{found.levels[i]} ({exact_count(rows[kind[i], i])} rows{words[kind[i]]})" for i in out]
            warnings.warn(
                f"groups of {found.name!r} with fewer than {self.min_size} rows are excluded from the gaps: "
                f"{', '.join(told)}; they still count in the loss.",
                GroupWarning,
                stacklevel=2,
            )
        wanted = self.reference.get(found.name) if isinstance(self.reference, Mapping) else self.reference
        names = [found.levels[i] for i in kept]
        reference = kept[np.argmax(rows[0, kept]) if wanted is None else _place(wanted, names, found.name)]
        ordered = np.append(kept[kept != reference], reference)
        left_out = tuple((found.levels[i], int(rows[kind[i], i])) for i in out)
        return replace(found.among(ordered), left_out=left_out, largest=wanted is None)


def _place(wanted: Any, levels: list[str], name: str) -> int:
    wanted = _whole(wanted)
    if str(wanted) not in levels:
        raise InputError(
            f"reference group {shown(wanted)} of {name!r} is not among its groups, expected one of {', '.join(levels)}."
        )
    return levels.index(str(wanted))


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _check_known(what: str, given: Any, names: Iterable[str]) -> None:
    unknown = [name for name in given if name not in names] if isinstance(given, Mapping) else []
    if unknown:
        raise InputError(f"{what} names the sensitive feature {unknown[0]!r}, expected one of {', '.join(names)}.")


def _coded(name: str, values: NDArray[Any], counts: Array | None) -> Attribute:
    codes, found = factorize(values)
    levels = [str(v) for v in found]
    if len(set(levels)) < len(levels):  # 1 and "1" are one group, as they have one name
        distinct, again = np.unique(levels, return_inverse=True)
        codes, levels = np.where(codes < 0, MISSING, again[codes]), [str(v) for v in distinct]
    n_missing = int((codes < 0).sum() if counts is None else counts[codes < 0].sum())
    attribute = Attribute(name, tuple(levels), codes, None, n_missing)
    if not levels:
        raise InputError(f"sensitive feature {name!r} is missing in all {n_missing} rows, expected at least 2 groups.")
    rows = int(attribute.sizes(counts=counts).sum())
    if len(levels) == 1:
        raise InputError(
            f"sensitive feature {name!r} is constant (all {rows} rows are {levels[0]!r}), "
            "expected at least 2 groups; give another column."
        )
    if len(levels) > max(MOST_LEVELS, MOST_SHARE * rows):
        raise InputError(
            f"sensitive feature {name!r} has {len(levels)} values in {rows} rows, expected groups; "
            "cut a number such as age first, as with pandas.cut; an identifier cannot be used."
        )
    return attribute


def _crossed(columns: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """Join columns value by value; missing where any of them is."""
    coded = [factorize(values) for values in columns.values()]
    parts = [np.array([str(v) for v in found] + [""], dtype=object)[codes] for codes, found in coded]
    joined = np.array([" & ".join(row) for row in zip(*parts, strict=True)], dtype=object)
    joined[np.any([codes < 0 for codes, _ in coded], axis=0)] = None
    return joined


def check_groups(groups: Any) -> Groups | None:
    expected = "fairfront.Groups(reference=..., cross=..., min_size=..., strata=..., compare=...)"
    return None if groups is None else check_instance(groups, Groups, "groups", expected)


def _check_length(given: GroupProbabilities, n: int) -> None:
    if len(given) != n:
        raise InputError(
            f"GroupProbabilities has {counted(len(given), 'row')}, expected {n}, as many as {spelled('X')}."
        )


def take_groups(sensitive_features: Any, rows: NDArray[Any], n: int | None) -> Any:
    """Return the groups of some of n rows, columns or probabilities; None for n leaves lengths unchecked."""
    if isinstance(sensitive_features, Within):
        control = take_groups(sensitive_features.control, rows, n)
        return Within(take_groups(sensitive_features.groups, rows, n), control)
    if isinstance(sensitive_features, GroupProbabilities):
        if n is not None:
            _check_length(sensitive_features, n)
        return sensitive_features.take(rows)
    columns = as_columns(sensitive_features, "sensitive_features", n=n)
    return {name: values[rows] for name, values in columns.items()}
