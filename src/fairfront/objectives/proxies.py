"""Groups given as probabilities: proxies of membership, such as those read from names and addresses."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, ProxyWarning
from ..validation import check_names, check_text, counted, refuse
from ..validation.inputs import as_columns, as_numbers, shape_of
from .losses import Array

TOLERANCE = 0.01
"""How far the probabilities of a row may be from 1 together, as rounded ones are; they are divided by their sum."""
EXACT = 1e-6
"""How far they may be from 1 together to be left as they are, which keeps the digits of those that were exact."""

PROXY_NOTE = "a mean weighted by probabilities; gaps of such means usually understate gaps between people"


class GroupProbabilities:
    """Probabilities of membership instead of group labels, one column per group, rows summing to 1.

    Gaps between such groups are gaps of means weighted by the probabilities, which usually understate gaps between
    people; every output says so (docs/audit.md).

    Parameters
    ----------
    frame : data frame, mapping or array of shape (n, c)
        One column per group. Rows whose sum is within 0.01 of 1 are divided by it.
    levels : sequence of str, optional
        Names of the groups when ``frame`` is an array.
    name : str
        Name of the attribute.

    Examples
    --------
    >>> import fairfront as ff
    >>> ff.GroupProbabilities({"p_black": [0.9, 0.2], "p_white": [0.1, 0.8]}, name="race")
    GroupProbabilities('race', 2 rows, mean probability: p_black 0.550, p_white 0.450)
    """

    def __init__(self, frame: Any, levels: Sequence[str] | None = None, name: str = "group") -> None:
        names = None if levels is None else check_names(levels, "levels", "the names of the groups")
        columns = as_columns(frame, "GroupProbabilities", names=names)
        self.name = check_text(name, "name", "the name of the attribute")
        self.levels = tuple(columns)
        self.shares: Array = np.column_stack([as_numbers(c, "GroupProbabilities") for c in columns.values()])
        self._check()

    def _check(self) -> None:
        if len(self.levels) < 2:
            raise InputError(f"GroupProbabilities has {len(self.levels)} column, expected one per group (2 or more).")
        wrong = ~np.isfinite(self.shares) | (self.shares < 0) | (self.shares > 1 + TOLERANCE)
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            value = self.shares[row, column]
            found = "is missing" if np.isnan(value) else f"has {value:g}"
            raise InputError(
                f"GroupProbabilities {found} for {self.levels[column]!r} in row {row} ({int(wrong.sum())} such "
                "entries), expected numbers between 0 and 1; give rows with unknown group equal probabilities or leave "
                "them out."
            )
        sums = self.shares.sum(axis=1, keepdims=True)
        off = np.abs(sums[:, 0] - 1.0)
        if (off > TOLERANCE).any():
            row = int(np.argmax(off))
            raise InputError(
                f"GroupProbabilities must sum to 1 in every row, found {sums[row, 0]:.6g} in row {row} "
                f"({int((off > TOLERANCE).sum())} such rows); divide each row by its sum."
            )
        self.shares = np.where(off[:, None] > EXACT, self.shares / sums, self.shares)

    def take(self, rows: NDArray[Any]) -> GroupProbabilities:
        """Return the probabilities of some of the rows.

        Parameters
        ----------
        rows : array of row numbers, or mask of shape (n,)
        """
        expected, found = f"row numbers below {len(self)}, or True or False for each row", copy.copy(self)
        index = np.asarray(rows) if shape_of(rows, "rows") else np.empty(())
        if index.ndim != 1 or index.dtype.kind not in "biu":
            raise refuse("rows", rows, expected)
        try:
            found.shares = self.shares[index]
        except IndexError:
            raise refuse("rows", rows, expected) from None
        return found

    def __len__(self) -> int:
        return len(self.shares)

    def __repr__(self) -> str:
        means = zip(self.levels, self.shares.mean(axis=0) if len(self) else np.zeros(len(self.levels)), strict=True)
        shown = ", ".join(f"{level} {mean:.3f}" for level, mean in means)
        return f"GroupProbabilities({self.name!r}, {counted(len(self), 'row')}, mean probability: {shown})"


def proxy_sentences(names: Sequence[str]) -> tuple[str, ...]:
    """Say what gaps between groups given as probabilities are; nothing where there are none.

    A mean weighted by P(group | proxy) is the group's own mean less E[cov(member, decision | proxy)] / P(group) (Chen,
    Kallus, Mao, Svacha and Udell 2019, "Fairness under unawareness"). That is 0 where decisions are independent of the
    group given the proxy, and takes from the gap where people of the group that fares worse also fare worse than others
    with the same proxy. Rates among people of one label need the same of labels.
    """
    if not names:
        return ()
    return (
        f"Groups of {', '.join(names)} are given as probabilities: their rates are means weighted by these. Gaps of "
        "such means usually understate gaps between people, and ratios are too near to 1; they agree only where "
        "decisions and labels are independent of the group given the probabilities (Chen, Kallus, Mao, Svacha and "
        "Udell 2019). A requirement on these groups is always inconclusive.",
    )


def warn_of_proxies(sensitive_features: Any, stacklevel: int = 3) -> None:
    sensitive_features = getattr(sensitive_features, "groups", sensitive_features)  # those within control features
    if isinstance(sensitive_features, GroupProbabilities):
        warn_of_names((sensitive_features.name,), stacklevel + 1)


def warn_of_names(names: Sequence[str], stacklevel: int = 3) -> None:
    for sentence in proxy_sentences(names):
        warnings.warn(sentence, ProxyWarning, stacklevel=stacklevel)
