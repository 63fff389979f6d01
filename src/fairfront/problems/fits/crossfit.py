"""Cross-fitting: which rows a fit sees and which rows it is measured on.

A boosted model's training loss is near zero in every group, so its gaps say nothing; predictions of rows that the fit
has not seen do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from ...exceptions import InputError
from ...objectives import Cells

Ints = NDArray[np.intp]
QUARTER = 0.25
PLENTY = 1000
"""Rows of the smallest cell in a held-out quarter from which on a rate is known to about 0.015: one part will do."""


@dataclass(frozen=True)
class Folds:
    """Pairs of rows to fit on and rows to measure on; ``same`` says that both are all rows."""

    pairs: tuple[tuple[Ints, Ints], ...]
    same: bool

    @cached_property
    def held(self) -> Ints:
        """Return all rows that are measured."""
        return np.unique(np.concatenate([held for _, held in self.pairs]))


def find_folds(cv: Any, X: Any, y: NDArray[Any], kept: Ints, cells: Cells, classification: bool, seed: int) -> Folds:
    """Return the folds that ``cv`` asks for, as places among the rows that are kept.

    "auto": 3 folds, or one held-out quarter where its smallest cell is large. A whole number: as many folds, stratified
    by cell. A fraction: one held-out part of that size. None or "train": the training rows themselves. A scikit-learn
    splitter or pairs of indices: those, of all rows of X and y.
    """
    everything = np.arange(len(kept), dtype=np.intp)
    if cv is None or (isinstance(cv, str) and cv == "train"):
        return Folds(((everything, everything),), same=True)
    strata = _strata(y[kept], cells, classification)
    if isinstance(cv, str) and cv == "auto":
        cv = QUARTER if QUARTER * _smallest(cells) >= PLENTY else 3
    if isinstance(cv, (bool, str, np.timedelta64)):
        raise InputError(
            f"cv is {cv!r}, expected a number of folds, a held-out fraction, 'auto', 'train' or a splitter."
        )
    if isinstance(cv, (int, np.integer)):
        if not 2 <= cv <= len(kept):
            raise InputError(f"cv is {cv}, expected 2 folds or more (and no more than rows), a fraction, or 'train'.")
        return _numbered(_dealt(strata, int(cv), seed), int(cv))
    if isinstance(cv, (float, np.floating)):
        if not 0.0 < cv < 1.0:
            raise InputError(f"cv is {cv}, expected a held-out fraction between 0 and 1, or a number of folds.")
        return _part(strata, float(cv), seed)
    return Folds(_given(cv, X, y, kept), same=False)


def _given(cv: Any, X: Any, y: NDArray[Any], kept: Ints) -> tuple[tuple[Ints, Ints], ...]:
    """Return the pairs of a splitter, or those that were given, as places among the kept rows."""
    place = np.full(len(y), -1, dtype=np.intp)
    place[kept] = np.arange(len(kept))
    try:
        pairs = [(place[np.asarray(a)], place[np.asarray(b)]) for a, b in check_cv(cv).split(X, y)]
    except (ValueError, TypeError, IndexError) as error:
        raise InputError(
            f"cv does not split these {len(y)} rows ({error}); expected a number of folds, a fraction, a splitter, or "
            "pairs of row numbers (for splitters that need persons: list(cv.split(X, y, persons)))."
        ) from error
    if not pairs:
        raise InputError("cv has no splits, expected at least one pair of rows to fit on and rows to measure on.")
    return tuple((a[a >= 0], b[b >= 0]) for a, b in pairs)


def _smallest(cells: Cells) -> int:
    """Return the rows of the smallest cell; the weight of it where rows belong to groups with probabilities."""
    return int(cells.weight.min()) if cells.shares is not None else int(np.diff(cells.offsets).min())


def _strata(y: NDArray[Any], cells: Cells, classification: bool) -> Ints:
    """Return a number per row that folds are balanced by: its label and its cell."""
    labels = np.unique(y, return_inverse=True)[1].reshape(-1) if classification else np.zeros(len(y), dtype=np.intp)
    if cells.shares is not None:
        return labels.astype(np.intp)
    return cells.of_rows * (int(labels.max()) + 1) + labels


def _shuffled(strata: Ints, seed: int) -> Ints:
    return np.lexsort((np.random.default_rng(seed).random(len(strata)), strata))


def _dealt(strata: Ints, folds: int, seed: int) -> Ints:
    """Deal shuffled rows of each stratum out like cards, so that every fold has its share of each."""
    fold = np.empty(len(strata), dtype=np.intp)
    fold[_shuffled(strata, seed)] = np.arange(len(strata)) % folds
    return fold


def _numbered(fold: Ints, folds: int) -> Folds:
    return Folds(tuple((np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(folds)), same=False)


def _part(strata: Ints, fraction: float, seed: int) -> Folds:
    order = _shuffled(strata, seed)
    steps = np.floor(np.arange(1, len(order) + 1) * fraction) > np.floor(np.arange(len(order)) * fraction)
    return Folds(((np.sort(order[~steps]), np.sort(order[steps])),), same=False)
