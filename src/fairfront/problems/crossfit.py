"""Cross-fitting: which rows a fit sees and which rows it is measured on.

A boosted model's training loss is near zero in every group, so its gaps say nothing; predictions of rows that the fit
has not seen do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from ..exceptions import InputError
from ..objectives import Cells

Ints = NDArray[np.intp]


@dataclass(frozen=True)
class Folds:
    """Pairs of rows to fit on and rows to measure on; ``same`` says that both are all rows."""

    pairs: tuple[tuple[Ints, Ints], ...]
    same: bool

    @property
    def held(self) -> Ints:
        """Return all rows that are measured."""
        return np.unique(np.concatenate([held for _, held in self.pairs]))


def find_folds(cv: Any, X: Any, y: NDArray[Any], cells: Cells, classification: bool, seed: int) -> Folds:
    """Return the folds that ``cv`` asks for.

    A whole number: as many folds, stratified by cell. A fraction: one held-out part of that size. None or "train": the
    training rows themselves. A scikit-learn splitter or pairs of indices: those.
    """
    everything = np.arange(len(y), dtype=np.intp)
    if cv is None or (isinstance(cv, str) and cv == "train"):
        return Folds(((everything, everything),), same=True)
    strata = _strata(y, cells, classification)
    if isinstance(cv, (bool, str)):
        raise InputError(f"cv is {cv!r}, expected a number of folds, a held-out fraction, 'train' or a splitter.")
    if isinstance(cv, (int, np.integer)):
        if not 2 <= cv <= len(y):
            raise InputError(f"cv is {cv}, expected 2 folds or more (and no more than rows), a fraction, or 'train'.")
        return _numbered(_dealt(strata, int(cv), seed), int(cv))
    if isinstance(cv, (float, np.floating)):
        if not 0.0 < cv < 1.0:
            raise InputError(f"cv is {cv}, expected a held-out fraction between 0 and 1, or a number of folds.")
        return _part(strata, float(cv), seed)
    pairs = tuple((np.asarray(a, dtype=np.intp), np.asarray(b, dtype=np.intp)) for a, b in check_cv(cv).split(X, y))
    return Folds(pairs, same=False)


def _strata(y: NDArray[Any], cells: Cells, classification: bool) -> Ints:
    """Return a number per row that folds are balanced by: its label and its cell."""
    labels = np.unique(y, return_inverse=True)[1].reshape(-1) if classification else np.zeros(len(y), dtype=np.intp)
    if cells.shares is not None:
        return labels.astype(np.intp)
    cell = np.empty(cells.n, dtype=np.intp)
    cell[cells.order] = np.repeat(np.arange(cells.count), np.diff(cells.offsets))
    return cell * (int(labels.max()) + 1) + labels


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
