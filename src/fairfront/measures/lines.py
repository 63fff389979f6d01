"""Lines of an audit's table: which rows stand behind each, and their counts of labels and decisions.

One line per group, the reference last of those compared; then groups that are too few, rows without a group, and
all rows. Counts for all lines come from one pass over the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from ..objectives import Array, Attribute, GroupProbabilities, Groups, Task, count_in_words, counts_in_words
from ..validation import as_columns, counted, factorize
from .counts import Counts, count, ratio
from .disclosure import (
    LIMIT,
    POOLED,
)

REFERENCE, COMPARED, TOO_FEW, MISSING, ALL = "reference", "compared", "too few", "missing", "all"
NO_GROUP = "(missing)"
EVERYONE = "(all rows)"


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines of one attribute.

    ``names`` and ``status`` have one entry per line: first ``c`` groups, the reference last of them, and in the end
    all rows. ``codes`` (n,) is the line of each row; ``shares`` (n, lines - 1) replace it where groups are
    probabilities. ``largest`` says that the reference is the largest group because none was named.
    """

    attribute: str
    names: tuple[str, ...]
    status: tuple[str, ...]
    c: int
    codes: NDArray[Any] | None
    shares: Array | None = None
    min_size: int = 30
    largest: bool = False

    @property
    def is_proxy(self) -> bool:
        """Tell whether groups are given as probabilities."""
        return self.shares is not None

    @property
    def reference(self) -> int:
        """Return the line of the reference group."""
        return self.c - 1

    @property
    def ungrouped(self) -> int | None:
        """Return the line of rows without a group, if there is one."""
        return self.status.index(MISSING) if MISSING in self.status else None

    @property
    def compared(self) -> NDArray[np.bool_]:
        """Return which lines are compared with the reference."""
        return np.array([kind == COMPARED for kind in self.status])

    def sizes(self) -> Array:
        """Return the rows of every line, all rows last."""
        if self.shares is not None:
            return np.append(self.shares.sum(axis=0), len(self.shares))
        assert self.codes is not None
        counted = np.bincount(self.codes, minlength=len(self.names) - 1)
        return np.append(counted, len(self.codes)).astype(np.float64)

    def take(self, rows: NDArray[np.intp]) -> Lines:
        """Return the lines of some of the rows; a group that is too few there, or whose reference is, is so marked."""
        codes = None if self.codes is None else self.codes[rows]
        shares = None if self.shares is None else self.shares[rows]
        counted = replace(self, codes=codes, shares=shares).sizes()
        few = (counted[: self.c] < self.min_size) | (counted[self.reference] < self.min_size)
        status = tuple(TOO_FEW if i < self.c and few[i] else kind for i, kind in enumerate(self.status))
        return replace(self, codes=codes, shares=shares, status=status)

    def parts(self) -> Iterator[tuple[NDArray[np.intp] | None, Array | None]]:
        """Give for each line its rows (None for all) and their shares of membership (None for whole rows)."""
        if self.shares is not None:
            for share in self.shares.T:
                kept = np.flatnonzero(share > 0)
                yield kept, share[kept]
        else:
            assert self.codes is not None
            by_line = np.argsort(self.codes, kind="stable")
            ends = np.cumsum(np.bincount(self.codes, minlength=len(self.names) - 1))
            for rows in np.split(by_line, ends[:-1]):
                yield rows, None
        yield None, None

    def counts(self, decided: NDArray[Any], truth: NDArray[np.intp], K: int, weight: Array | None) -> Counts:
        """Count decisions (N, n) among K classes by line, label and decision, (N, lines, K, K)."""
        c = len(self.names) - 1
        if self.shares is None:
            assert self.codes is not None
            found = count(decided, truth, K, self.codes, c, weight)
            return found.changed(
                lambda cells: np.concatenate([cells[:, :-1], cells.sum(axis=1, keepdims=True)], axis=1)
            )
        found = count(decided, truth, K, self.shares, c, weight)
        everyone = count(decided, truth, K, np.full(len(truth), -1), 0, weight)
        both = ((getattr(each, name) for each in (found, everyone)) for name in ("rows", "weight", "squared"))
        return Counts(*(np.concatenate([groups[:, :-1], last], axis=1) for groups, last in both))

    def whole(self, counts: Array) -> NDArray[Any]:
        """Return counts of rows as whole numbers, where groups are not probabilities."""
        return counts if self.shares is not None else np.rint(counts).astype(np.int64)


def lines_of(sensitive_features: object, n: int, groups: Groups) -> tuple[Lines, ...]:
    """Resolve groups, keeping those that are too few and rows without a group as lines of their own."""
    attributes = replace(groups, min_size=1).resolve(sensitive_features, n)
    soft = isinstance(sensitive_features, GroupProbabilities)
    return tuple(_lines(attribute, groups.min_size, soft) for attribute in attributes)


def _lines(attribute: Attribute, min_size: int, soft: bool) -> Lines:
    sizes = attribute.sizes()
    big = sizes >= min_size
    _check_sizes(attribute, sizes, big, min_size)
    order = np.concatenate([np.flatnonzero(big), np.flatnonzero(~big)])
    status = [COMPARED] * (int(big.sum()) - 1) + [REFERENCE] + [TOO_FEW] * int((~big).sum())
    names = [attribute.levels[i] for i in order]
    if attribute.n_missing:
        names, status = [*names, NO_GROUP], [*status, MISSING]
    names, status = [*names, EVERYONE], [*status, ALL]
    about = (attribute.name, tuple(names), tuple(status), int(big.sum()))
    if soft:
        return Lines(*about, None, attribute.membership()[:, order], min_size, attribute.largest)
    place = np.full(len(sizes) + 1, len(sizes), dtype=np.int16 if len(sizes) < 2**15 else np.int64)
    place[order] = np.arange(len(sizes))
    assert attribute.codes is not None
    return Lines(*about, place[attribute.codes], None, min_size, attribute.largest)


def _check_sizes(attribute: Attribute, sizes: Array, big: NDArray[np.bool_], min_size: int) -> None:
    smaller = spelled("min_size", "groups=Groups(min_size=...)")
    told = counts_in_words(attribute.levels, sizes)
    counts = ", ".join(told if len(told) <= 10 else [*told[:9], f"and {len(told) - 9} more"])
    if big.sum() < 2:
        raise InputError(
            f"sensitive feature {attribute.name!r} has {counted(big.sum(), 'group')} of at least {min_size} rows, "
            f"expected 2 or more (rows per group: {counts}); merge groups or pass {smaller}."
        )
    if not big[-1]:
        raise InputError(
            f"reference group {attribute.reference!r} of {attribute.name!r} has {count_in_words(sizes[-1])} rows, "
            f"expected at least {min_size}; choose another or pass {smaller}."
        )


@dataclass(frozen=True, eq=False)
class Share:
    """A share of rows per line: its value, the effective number of rows behind it, and their number, (lines,)."""

    value: Array
    size: Array
    people: Array


def shares_of(counts: Counts, task: Task) -> dict[str, Share]:
    """Return every share that labels and decisions allow; per class too where there are several."""
    good = task.favourable
    found = _against_the_rest(counts, good)
    wrong = counts.weight.sum(axis=(1, 2)) - np.trace(counts.weight, axis1=1, axis2=2)
    found["error"] = replace(found["selection"], value=_clip(ratio(wrong, counts.weight.sum(axis=(1, 2)))))
    if task.kind == "multiclass":
        for k, label in enumerate(task.classes):
            of_class = _against_the_rest(counts, k)
            named = {"selection": "selection", "tpr": "recall", "fpr": "fpr", "precision": "precision"}
            found |= {f"{name}[{label}]": of_class[of] for of, name in named.items()}
    return found


def _against_the_rest(counts: Counts, k: int) -> dict[str, Share]:
    """Return the shares of class k against all others."""
    hit, positive, chosen, total = _margins(counts.weight, k)
    _, squared_p, squared_c, squared_n = _margins(counts.squared, k)
    everyone, of_positive, of_chosen = _kish(total, squared_n), _kish(positive, squared_p), _kish(chosen, squared_c)
    of_negative = _kish(total - positive, squared_n - squared_p)
    _, labelled, decided, people = _margins(counts.rows, k)
    tpr = _clip(ratio(hit, positive))
    return {
        "selection": Share(_clip(ratio(chosen, total)), everyone, people),
        "tpr": Share(tpr, of_positive, labelled),
        "fpr": Share(_clip(ratio(chosen - hit, total - positive)), of_negative, people - labelled),
        "fnr": Share(1.0 - tpr, of_positive, labelled),
        "precision": Share(_clip(ratio(hit, chosen)), of_chosen, decided),
    }


def _margins(cells: Array, k: int) -> tuple[Array, Array, Array, Array]:
    """Return, per line, hits, rows with label k, rows decided k, and all rows."""
    return cells[:, k, k], cells[:, k].sum(axis=1), cells[:, :, k].sum(axis=1), cells.sum(axis=(1, 2))


def _kish(total: Array, squared: Array) -> Array:
    return np.nan_to_num(ratio(total**2, squared))


def _clip(values: Array) -> Array:
    return np.clip(values, 0.0, 1.0)


def levels_of(control_features: Any, n: int) -> dict[str, NDArray[np.intp]]:
    """Return the rows of each level; several columns are crossed, and missing values are a level of their own."""
    what = spelled("control_features")
    columns = as_columns(control_features, what, n=n)
    codes, names = np.zeros(n, dtype=np.intp), [""]
    for values in columns.values():
        found, levels = factorize(values)
        labels = [*map(str, levels), "(missing)"]
        crossed = codes * len(labels) + np.where(found < 0, len(levels), found)
        present, codes = np.unique(crossed, return_inverse=True)
        if len(present) > max(50, 0.05 * n):
            raise InputError(f"{what} has {len(present)} levels in {n} rows, expected fewer; use bands.")
        pairs = [(names[k // len(labels)], labels[k % len(labels)]) for k in present]
        names = [f"{name} & {label}" if name else label for name, label in pairs]
    order = np.argsort(codes, kind="stable")
    return dict(zip(names, np.split(order, np.cumsum(np.bincount(codes))[:-1]), strict=True))


def published_lines(lines: Lines, n: Array) -> Lines:
    """Pool the groups of 1 to `LIMIT` - 1 rows; ``n`` are the rows of every line. The reference stays by itself."""
    groups = len(lines.names) - 1 - (lines.ungrouped is not None)
    small = [i for i in range(groups) if 0 < n[i] < LIMIT and i != lines.reference]
    few = [i for i in range(groups) if n[i] < LIMIT]
    if not small:
        return _marked(lines, few)
    total = sum(float(n[i]) for i in small)
    compared = total >= max(lines.min_size, LIMIT) and any(lines.status[i] == COMPARED for i in small)
    order = [[i] for i in range(lines.reference) if i not in small]
    order += [small] if compared else []
    order += [[lines.reference]]
    c = len(order)
    order += [[i] for i in range(lines.c, groups) if i not in small]
    order += [] if compared else [small]
    order += [[i] for i in range(groups, len(lines.names))]
    names = tuple(POOLED if some == small else lines.names[some[0]] for some in order)
    status = tuple((COMPARED if compared else TOO_FEW) if some == small else lines.status[some[0]] for some in order)
    place = np.empty(len(lines.names), dtype=np.int64)
    for new, some in enumerate(order):
        place[some] = new
    pooled = replace(lines, names=names, status=status, c=c)
    if lines.codes is not None:
        pooled = replace(pooled, codes=place[lines.codes])
    else:
        assert lines.shares is not None
        shares = np.column_stack([lines.shares[:, some].sum(axis=1) for some in order[:-1]])
        pooled = replace(pooled, shares=shares)
    return _marked(pooled, [new for new, some in enumerate(order) if some[0] in few and some != small])


def _marked(lines: Lines, few: list[int]) -> Lines:
    """Mark lines of a few people as not compared."""
    if not any(lines.status[i] == COMPARED for i in few):
        return lines
    status = tuple(TOO_FEW if i in few and kind == COMPARED else kind for i, kind in enumerate(lines.status))
    return replace(lines, status=status)
