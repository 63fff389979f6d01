"""Small counts stay out of what is written: a table's cells that would give away fewer than a handful of people.

Hidden are lines of 1 to 9 rows, labels of a line of which 1 to 9 rows have one of them, decisions of a line of which
1 to 9 rows get one of them, and every figure that would give these counts back. Rates among 10 people or more are
shown, also where a model is rarely wrong: how it decides among people is what an audit is about.

What is hidden in one line could be had by subtraction from the line of all rows. Where labels or decisions are hidden,
the counts and rates of all rows that add up over lines are therefore hidden too, so that the other groups keep theirs.
Where the number of rows itself is small, that does not help, because the number of all rows is known: then the next
smallest line is hidden as well, until at least two lines with together at least 10 rows are. Rows without a group are
no group: how many they are is shown. A count of 0 is shown: hiding it would hide that nobody was decided favourably.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array

Mask = NDArray[np.bool_]
SUPPRESSED = "suppressed: protects counts below {limit}"
OF_LABELS = ("positives", "negatives", "auc", "ks", "slope", "in_the_large", "brier")
OF_DECISIONS = ("selected", "selection", "shortfall", "p_value", "deviations", "detectable_gap")
OF_ALL = ("error", "auc", "ks", "slope", "in_the_large", "brier")
"""Figures of all rows that give back at most how often a model errs among hidden people, not what they are."""
INNER = ("tpr", "fpr", "fnr", "precision", "error", "recall", "odds")
CONTRASTS = ("_gap", "_gap_lower", "_gap_upper", "smd", "smd_lower", "smd_upper")
RATIOS = (
    *("selection_over_reference", "selection_over_reference_lower", "selection_over_reference_upper"),
    *("shortfall", "p_value", "deviations"),
)


@dataclass(frozen=True, eq=False)
class Hidden:
    """Which lines are hidden: whole (``n``), their labels, their decisions, and both together (``inner``)."""

    limit: int
    n: Mask
    labels: Mask
    decisions: Mask
    inner: Mask
    reference: int

    @property
    def words(self) -> str:
        """Return what stands in the place of a hidden figure."""
        return SUPPRESSED.format(limit=self.limit)

    def of(self, column: str) -> Mask:
        """Return the lines in which a column is hidden; a hidden reference hides every contrast with it."""
        plain = re.sub(r"\[.*\]", "", column)
        mask = self._tier(plain)
        if re.sub("_(lower|upper)$", "", plain) in OF_ALL:
            mask = np.append(mask[:-1], self.n[-1])
        if plain.endswith(CONTRASTS) or plain in RATIOS:
            return np.asarray(mask | mask[self.reference])
        return mask

    def _tier(self, column: str) -> Mask:
        if column.startswith(OF_DECISIONS):
            return self.decisions
        if column.startswith(OF_LABELS):
            return self.labels
        return self.inner if column.startswith(INNER) else self.n


def hidden_lines(rows: Array, reference: int, limit: int = 10, ungrouped: int | None = None) -> Hidden:
    """Find what to hide in counts (lines, K, K) by label and decision, the last line being the sum of the others.

    ``ungrouped`` is the line of rows without a group, if there is one.
    """
    total = rows.sum(axis=(1, 2))
    few = _small(total[:, None], limit)
    if ungrouped is not None:
        few[ungrouped] = False
    whole = _complement(few, total, limit)
    labels = _with_all(whole | _small(rows.sum(axis=2), limit))
    decisions = _with_all(whole | _small(rows.sum(axis=1), limit))
    inner = np.asarray(labels | decisions)
    return Hidden(limit, whole, labels, decisions, inner, reference)


def hidden_rows(n: Array, reference: int, limit: int = 10, ungrouped: int | None = None) -> Hidden:
    """Find what to hide where lines have nothing but their number of rows (regression)."""
    return hidden_lines(np.asarray(n, dtype=np.float64)[:, None, None], reference, limit, ungrouped)


def _with_all(hidden: Mask) -> Mask:
    """Hide the line of all rows where a part of it is hidden, and all parts where it is small itself."""
    found = hidden.copy()
    if found[-1]:
        found[:] = True
    found[-1] = found.any()
    return found


def _small(counts: Array, limit: int) -> Mask:
    """Return the lines with a count below the limit that is not 0."""
    return np.asarray(((counts > 0) & (counts < limit)).any(axis=1))


def _complement(hidden: Mask, total: Array, limit: int) -> Mask:
    """Hide further lines, smallest first, until the line of all rows gives none of them back."""
    found, parts = hidden.copy(), np.flatnonzero(total[:-1] > 0)
    if found[-1]:
        found[:] = True
    queue = [int(i) for i in parts[np.argsort(total[parts], kind="stable")] if not found[i]]
    while found[:-1].any() and queue and (found[parts].sum() < 2 or total[:-1][found[:-1]].sum() < limit):
        found[queue.pop(0)] = True
    return found


def suppressed(columns: Mapping[str, list[Any]], hidden: Hidden) -> dict[str, list[Any]]:
    """Return columns with words in the place of hidden figures; names and status stay."""
    shown: dict[str, list[Any]] = {}
    for name, values in columns.items():
        mask = hidden.of(name) if name not in ("group", "status") else np.zeros(len(values), dtype=bool)
        shown[name] = [hidden.words if hide else value for value, hide in zip(values, mask, strict=True)]
    return shown


def together(several: list[Hidden]) -> list[Hidden]:
    """Hide a line in all strata where one of them hides it, so that no difference of tables gives it back."""
    tiers = {
        tier: np.any([getattr(h, tier) for h in several], axis=0) for tier in ("n", "labels", "decisions", "inner")
    }
    return [Hidden(h.limit, **tiers, reference=h.reference) for h in several]


def with_known_totals(hidden: Hidden, n: Array) -> Hidden:
    """Hide further lines where figures of all rows are known from elsewhere: another attribute's table has them too.

    ``n`` are the rows of each line.
    """
    tiers = {"n": hidden.n}
    for tier in ("labels", "decisions", "inner"):
        mask = getattr(hidden, tier)
        parts = np.append(mask[:-1], False)
        tiers[tier] = _complement(parts, np.asarray(n, dtype=np.float64), hidden.limit) | mask
    tiers["inner"] = tiers["inner"] | tiers["labels"] | tiers["decisions"]
    return Hidden(hidden.limit, **tiers, reference=hidden.reference)
