"""Which figures of a frontier's evaluation stay out of a page, so that no count below a handful is given away.

A page shows the error of all people but, unlike the audit, no other rate of them all. So a group with a small count
of any label and decision is hidden with all its rates at that point, and what the error of all people would give back
is only that group's number of wrong decisions. Where this is a small count too, the next smallest group keeps nothing
but the rate that the notion is about. Groups too small to be shown at most points leave the worst gap at all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..measures import ClassRates, GroupRates, PerGroup
from ..measures.intervals import rows_behind
from ..objectives import Array

Mask = NDArray[np.bool_]
RARELY = 0.2
"""A group hidden at a larger share of the points leaves the worst gap, so that points stay comparable."""


@dataclass(frozen=True, eq=False)
class Veil:
    """What is hidden of one attribute: counts of groups ``n`` and their ``labels`` (c,), rates per point (N, c).

    ``full`` hides every rate, ``half`` every rate but ``kept``.
    """

    n: Mask
    labels: Mask
    full: Mask
    half: Mask
    kept: str

    def of(self, rate: str) -> Mask:
        """Return where a rate is hidden, (N, c)."""
        return self.full if rate == self.kept else np.asarray(self.full | self.half)

    def everywhere(self, rate: str) -> Mask:
        """Return the groups (c,) that leave a rate's worst gap, unless fewer than two would stay."""
        often = self.of(rate).mean(axis=0) > RARELY
        return np.asarray(often if (~often).sum() > 1 else np.zeros_like(often))


def veil_of(rates: PerGroup, n_models: int, limit: int, kept: str) -> Veil:
    """Find what to hide of one attribute; a limit of 0 or 1 hides nothing."""
    c = len(rates.levels)
    nothing = np.zeros((n_models, c), dtype=bool)
    if limit <= 1:
        return Veil(nothing[0], nothing[0], nothing, nothing, kept)
    whole = _few_people(rates.n, limit)
    if not isinstance(rates, GroupRates):
        return Veil(whole, whole, np.tile(whole, (n_models, 1)), nothing, kept)
    labels = whole | _small(_label_counts(rates), limit).any(axis=1)
    full = labels | _small(_cells(rates), limit).any(axis=(2, 3)) | _small(_selected(rates), limit).any(axis=2)
    return Veil(whole, labels, full, _complement(full, rates, limit), kept)


def _small(counts: Array, limit: int) -> Mask:
    return np.asarray((counts > 0) & (counts < limit))


def _few_people(n: Array, limit: int) -> Mask:
    """Hide groups with few people and, since all people are counted, a second one where only one would be hidden."""
    hidden = _small(n, limit)
    rest = np.flatnonzero(~hidden & (n > 0))
    if hidden.any() and (hidden.sum() < 2 or n[hidden].sum() < limit) and len(rest):
        hidden[rest[np.argmin(n[rest])]] = True
    return hidden


def _complement(full: Mask, rates: GroupRates, limit: int) -> Mask:
    """Hide a second group where the error of all people would give back a small number of wrong decisions."""
    wrong = np.round(np.nan_to_num(rates.error) * rates.n)
    small = full & (_small(wrong, limit) | _small(rates.n - wrong, limit))
    alone = (full.sum(axis=1) == 1) & small.any(axis=1)
    half = np.zeros_like(full)
    sizes = np.where(full, np.inf, np.where(rates.n > 0, rates.n, np.inf))
    half[np.arange(len(full)), sizes.argmin(axis=1)] = alone
    return half & ~full


def _label_counts(rates: GroupRates) -> Array:
    """Return rows by group and label, (c, labels)."""
    if isinstance(rates, ClassRates):
        return np.asarray(np.round(rows_behind(rates, "recall", None)))
    return np.asarray(np.round(np.column_stack([rows_behind(rates, "tpr", None), rows_behind(rates, "fpr", None)])))


def _cells(rates: GroupRates) -> Array:
    """Return rows by point, group, label and decision (right or wrong for several classes), (N, c, labels, 2)."""
    counts = _label_counts(rates)
    shares = rates.recall if isinstance(rates, ClassRates) else np.stack([rates.tpr, rates.fpr], axis=2)
    return _halves(counts, shares)


def _selected(rates: GroupRates) -> Array:
    return _halves(np.round(rates.n), rates.selection)


def _halves(counts: Array, shares: Array) -> Array:
    """Split counts by shares into those inside and those outside, whole numbers, on a new last axis."""
    inside = np.round(np.nan_to_num(shares) * counts)
    return np.stack([inside, counts - inside], axis=-1)


def without(
    rates: GroupRates, sizes: dict[str, Array] | None, gone: Mask
) -> tuple[GroupRates, dict[str, Array] | None]:
    """Return rates and effective sizes of the groups that are not gone."""
    kept = ~gone
    changed = {
        name: value[kept] if name in PER_GROUP else value[:, kept]
        for name, value in vars(rates).items()
        if name != "levels"
    }
    levels = tuple(level for level, keep in zip(rates.levels, kept, strict=True) if keep)
    return replace(rates, levels=levels, **changed), sizes and {name: s[kept] for name, s in sizes.items()}


PER_GROUP = frozenset({"n", "weight", "positives", "negatives", "class_weight"})
"""Fields of `GroupRates` that have one entry per group and none per point."""
