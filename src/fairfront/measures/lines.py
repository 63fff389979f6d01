"""Lines of an audit's table: which rows stand behind each, and their counts.

One line per group, the reference last of those compared; then groups that are too few, rows without a group, and
all rows. Counts for all lines come from one pass over the rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from ..objectives import Array, GroupProbabilities, Groups
from ..records import Record
from ..validation import counted, exact_count
from .counts import Counts, count

REFERENCE, COMPARED, TOO_FEW, MISSING, ALL = "reference", "compared", "too few", "missing", "all"
NO_GROUP = "(missing)"
EVERYONE = "(all rows)"


@dataclass(frozen=True, eq=False, repr=False)
class Lines(Record):
    """The lines of one attribute.

    ``names`` and ``status`` have one entry per line: first ``c`` groups, the reference last of them, and in the end
    all rows. ``codes`` (n,) is the line of each row, or (n, lines - 1) shares of membership where groups are given as
    probabilities. ``largest`` says that the reference is the largest group because none was named.
    """

    attribute: str
    names: tuple[str, ...]
    status: tuple[str, ...]
    c: int
    codes: NDArray[Any]
    min_size: int = 30
    largest: bool = False

    @property
    def is_proxy(self) -> bool:
        return self.codes.ndim == 2

    @property
    def reference(self) -> int:
        return self.c - 1

    @property
    def compared(self) -> NDArray[np.bool_]:
        return np.array([kind == COMPARED for kind in self.status])

    def sizes(self) -> Array:
        counted = self.codes.sum(axis=0) if self.is_proxy else np.bincount(self.codes, minlength=len(self.names) - 1)
        return np.append(counted, len(self.codes)).astype(np.float64)

    def sums(self, values: Array) -> Array:
        if self.is_proxy:
            return np.append(values @ self.codes, values.sum())
        return np.append(np.bincount(self.codes, values, minlength=len(self.names) - 1), values.sum())

    def take(self, rows: NDArray[np.intp]) -> Lines:
        """Return the lines of some of the rows; a group that is too few there, or whose reference is, is so marked."""
        some = replace(self, codes=self.codes[rows])
        counted = some.sizes()
        few = (counted[: self.c] < self.min_size) | (counted[self.reference] < self.min_size)
        status = tuple(TOO_FEW if i < self.c and few[i] else kind for i, kind in enumerate(self.status))
        return replace(some, status=status)

    def parts(self) -> Iterator[tuple[NDArray[np.intp] | None, Array | None]]:
        """Give for each line its rows (None for all) and their shares of membership (None for whole rows)."""
        if self.is_proxy:
            for share in self.codes.T:
                kept = np.flatnonzero(share > 0)
                yield kept, share[kept]
        else:
            by_line = np.argsort(self.codes, kind="stable")
            ends = np.cumsum(np.bincount(self.codes, minlength=len(self.names) - 1))
            for rows in np.split(by_line, ends[:-1]):
                yield rows, None
        yield None, None

    def counts(self, decided: NDArray[Any], truth: NDArray[np.intp], K: int, weight: Array | None) -> Counts:
        """Count decisions (N, n) among K classes by line, label and decision, (N, lines, K, K)."""
        found = count(decided, truth, K, self.codes, len(self.names) - 1, weight)
        if not self.is_proxy:
            return found.changed(lambda cells: cells[:, :-1]).with_everyone()
        everyone = count(decided, truth, K, np.full(len(truth), -1), 0, weight)  # sums of shares round
        both = ((getattr(each, name) for each in (found, everyone)) for name in ("rows", "weight", "squared"))
        return Counts(*(np.concatenate([groups[:, :-1], last], axis=1) for groups, last in both))

    def whole(self, counts: Array) -> NDArray[Any]:
        """Return counts of rows as whole numbers, where groups are not probabilities."""
        return counts if self.is_proxy else np.rint(counts).astype(np.int64)


def lines_of(
    sensitive_features: object, n: int, groups: Groups, left_out: Mapping[str, Collection[str]] | None = None
) -> tuple[Lines, ...]:
    """Resolve groups, keeping those that are too few and rows without a group as lines of their own.

    Groups that are ``left_out`` by attribute are too few whatever their rows.
    """
    found, least = [], groups.min_size
    smaller = spelled("min_size", "min_size, as in groups=Groups(min_size=...)")
    for attribute in replace(groups, min_size=1).resolve(sensitive_features, n):
        sizes = attribute.sizes()
        out = (left_out or {}).get(attribute.name, ())
        big = (sizes >= least) & np.array([level not in out for level in attribute.levels])
        if big.sum() < 2:
            told = [f"{level} {exact_count(n)}" for level, n in zip(attribute.levels, sizes, strict=True)]
            counts = ", ".join(told if len(told) <= 10 else [*told[:9], f"and {len(told) - 9} more"])
            raise InputError(
                f"sensitive feature {attribute.name!r} has {counted(big.sum(), 'group')} of at least {least} rows, "
                f"expected 2 or more (rows per group: {counts}); merge groups or lower {smaller}."
            )
        if not big[-1]:
            raise InputError(
                f"reference group {attribute.reference!r} of {attribute.name!r} has {exact_count(sizes[-1])} rows, "
                f"expected at least {least}; choose another or lower {smaller}."
            )
        order = np.concatenate([np.flatnonzero(big), np.flatnonzero(~big)])
        c, missing = int(big.sum()), bool(attribute.n_missing)
        names = (*(attribute.levels[i] for i in order), *[NO_GROUP] * missing, EVERYONE)
        status = (*[COMPARED] * (c - 1), REFERENCE, *[TOO_FEW] * (len(order) - c), *[MISSING] * missing, ALL)
        if isinstance(sensitive_features, GroupProbabilities):
            codes: NDArray[Any] = attribute.membership()[:, order]
        else:
            place = np.full(len(sizes) + 1, len(sizes), dtype=np.int16 if len(sizes) < 2**15 else np.int64)
            place[order] = np.arange(len(sizes))
            assert attribute.codes is not None
            codes = place[attribute.codes]  # -1, no group, is the last place
        found.append(Lines(attribute.name, names, status, c, codes, least, attribute.largest))
    return tuple(found)
