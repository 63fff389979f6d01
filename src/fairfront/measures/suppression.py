"""Small counts stay out of what is written: a table's cells that would give away fewer than a handful of people.

Counts from 1 to 9 are hidden, with every figure that would give them back. Because the line of all rows is shown, one
hidden line could be had by subtraction: then the next smallest line is hidden as well, until at least two lines
with together at least 10 rows are. A count of 0 is shown: hiding it would hide that nobody was decided favourably.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array

Mask = NDArray[np.bool_]
SUPPRESSED = "suppressed: protects counts below {limit}"
OF_LABELS = ("positives", "negatives", "auc", "ks", "slope", "in_the_large", "brier", "class")
OF_DECISIONS = ("selected", "selection", "shortfall", "p_value", "deviations", "detectable_gap")
INNER = ("tpr", "fpr", "fnr", "precision", "error", "recall")
CONTRASTS = ("_gap", "_gap_lower", "_gap_upper", "smd", "smd_lower", "smd_upper")
RATIOS = ("selection_ratio", "selection_ratio_lower", "selection_ratio_upper", "shortfall", "p_value", "deviations")


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
        mask = self._tier(column)
        if column.endswith(CONTRASTS) or column in RATIOS:
            return np.asarray(mask | mask[self.reference])
        return mask

    def _tier(self, column: str) -> Mask:
        plain = column.partition("[")[0]
        if plain.startswith(OF_DECISIONS):
            return self.decisions if "[" not in column else self.inner
        if plain.startswith(OF_LABELS):
            return self.labels
        return self.inner if plain.startswith(INNER) else self.n


def hidden_lines(rows: Array, reference: int, limit: int = 10) -> Hidden:
    """Find what to hide in counts (lines, K, K) by label and decision, the last line being the sum of the others."""
    total = rows.sum(axis=(1, 2))
    whole = _complement(_small(total, limit), total, limit)
    labels = _complement(whole | _small(rows.sum(axis=2), limit), total, limit)
    decisions = _complement(whole | _small(rows.sum(axis=1), limit), total, limit)
    inner = _complement(labels | decisions | _small(rows.reshape(len(rows), -1), limit), total, limit)
    return Hidden(limit, whole, labels, decisions, inner, reference)


def hidden_rows(n: Array, reference: int, limit: int = 10) -> Hidden:
    """Find what to hide where lines have nothing but their number of rows (regression)."""
    return hidden_lines(np.asarray(n, dtype=np.float64)[:, None, None], reference, limit)


def _small(counts: Array, limit: int) -> Mask:
    """Return the lines with a count below the limit that is not 0."""
    small = (counts > 0) & (counts < limit)
    return np.asarray(small if small.ndim == 1 else small.any(axis=1))


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
