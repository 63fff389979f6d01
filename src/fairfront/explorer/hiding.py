"""Which figures of a frontier's evaluation stay out of a page, so that no count below a handful is given away.

A page shows the error of all people but, unlike the audit, no other rate of them all. So a group with a small count
of any label and decision is hidden with all its rates at that point, and what the error of all people would give back
is only that group's number of wrong decisions. Where this is a small count too, the next smallest group keeps nothing
but the rate that the notion is about. Groups too small to be shown at most points leave the worst gap at all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..measures import ClassRates, GroupRates, PerGroup
from ..measures.intervals import rows_behind
from ..objectives import Array
from .classes import Mask, other_classes, small

RARELY = 0.2
"""A group hidden at a larger share of the points leaves the worst gap, so that points stay comparable."""

FAR = 1e12
"""More people than any group has: what is put off until nothing else is left."""


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
        """Return the groups (c,) that leave a rate's worst gap, the most hidden first, while two or more stay."""
        share = self.of(rate).mean(axis=0)
        gone = np.zeros(len(share), dtype=bool)
        most = np.argsort(-share, kind="stable")[: max(0, len(share) - 2)]
        gone[most] = share[most] > RARELY
        return gone


def veil_of(rates: PerGroup, n_models: int, limit: int, kept: str) -> Veil:
    """Find what to hide of one attribute; a limit of 0 or 1 hides nothing but what a saved frontier lacks already."""
    whole, labels = _withheld(rates)
    nothing = np.zeros((n_models, len(rates.levels)), dtype=bool)
    if limit > 1:
        whole = whole | _few_people(rates.n, limit)
    if not isinstance(rates, GroupRates):
        return Veil(whole, whole, nothing | whole, nothing, kept)
    if limit <= 1:
        return Veil(whole, labels, nothing | labels, nothing, kept)
    labels = labels | whole | small(_label_counts(rates), limit).any(axis=1)
    full = labels | np.any([small(cells, limit).any(axis=2) for cells in _cells(rates)], axis=0)
    return Veil(whole, labels, full, _complement(full, rates, limit), kept)


def _withheld(rates: PerGroup) -> tuple[Mask, Mask]:
    """Return the groups whose rows, and whose rows by label, a saved frontier does not have (NaN), (c,) each."""
    whole = np.isnan(rates.n)
    return whole, np.asarray(whole | np.isnan(getattr(rates, "positives", rates.n)))


def _few_people(n: Array, limit: int) -> Mask:
    """Hide groups with few people and, since all people are counted, a second one where only one would be hidden."""
    hidden = small(n, limit)
    rest = np.flatnonzero(~hidden & (n > 0))
    if hidden.any() and (hidden.sum() < 2 or n[hidden].sum() < limit) and len(rest):
        hidden[rest[np.argmin(n[rest])]] = True
    return hidden


def _complement(full: Mask, rates: GroupRates, limit: int) -> Mask:
    """Hide a further group where the error of all people would give back a small number of wrong or right decisions.

    The smallest group that has mistakes and right decisions is taken, for one without would leave the sum as it is.
    """
    wrong = np.round(np.nan_to_num(rates.error * rates.n))
    right = np.nan_to_num(rates.n) - wrong
    exposed = np.any([small(np.where(full, side, 0.0).sum(axis=1), limit) for side in (wrong, right)], axis=0)
    unknown = (full & np.isnan(rates.error)).any(axis=1) & (full.sum(axis=1) == 1)  # a saved frontier lacks it
    half = np.zeros_like(full)
    sizes = np.where(full | ~(rates.n > 0), np.inf, rates.n + FAR * ((wrong == 0) | (right == 0)))
    half[np.arange(len(full)), sizes.argmin(axis=1)] = exposed | unknown
    return half & ~full


def _label_counts(rates: GroupRates) -> Array:
    """Return rows by group and label, the favourable one and any other, (c, 2)."""
    return np.asarray(np.round(np.column_stack([rows_behind(rates, "tpr", None), rows_behind(rates, "fpr", None)])))


def _cells(rates: GroupRates) -> list[Array]:
    """Return what the shown rates count, (N, c, 2) each: either label by decision, all by decision and by mistake."""
    counts, n = _label_counts(rates), np.round(rates.n)
    found = [_halves(counts[:, 0], rates.tpr), _halves(counts[:, 1], rates.fpr), _halves(n, rates.selection)]
    return [*found, _halves(n, rates.error), other_classes(rates)] if isinstance(rates, ClassRates) else found


def _halves(counts: Array, shares: Array) -> Array:
    """Split counts by shares into those inside and those outside, whole numbers, on a new last axis."""
    inside = np.round(np.nan_to_num(shares) * counts)
    return np.stack([inside, counts - inside], axis=-1)


def without(rates: PerGroup, sizes: dict[str, Array] | None, gone: Mask) -> tuple[PerGroup, dict[str, Array] | None]:
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
"""Fields of rates and means that have one entry per group and none per point."""
