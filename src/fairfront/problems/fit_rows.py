"""Rows of a fit: which rows it sees and with what weights, and what is measured on the rows that were left out.

A boosted model's training loss is near zero in every group, so its gaps say nothing; predictions of rows that the fit
has not seen do.

While omega >= 0 on the own-label cells, a point of the frontier is a plain fit with row weights omega_cell / p_cell.
Weight on another label is a copy of the row with that label; a negative weight is turned into a positive one on every
other label, which is a heuristic. A regression's mean prediction is a shift of its targets, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import check_cv

from ..exceptions import InputError, spelled
from ..objectives import Array, Cells, Layout, Objectives, Quantity, take_groups
from ..validation.inputs import check_labels, check_rows, check_weights, factorize, take_rows

Ints = NDArray[np.intp]
QUARTER = 0.25
ROUNDING = 1e-12
"""Weights of cells that are no more below 0 than this are 0."""
PLENTY = 1000
"""Rows of the smallest cell in a held-out quarter from which on a rate is known to about 0.015: one part will do."""


@dataclass(frozen=True)
class Folds:
    """Pairs of rows to fit on and rows to measure on; ``same`` says that both are all rows."""

    pairs: tuple[tuple[Ints, Ints], ...]
    same: bool

    @cached_property
    def held(self) -> Ints:
        return np.unique(np.concatenate([held for _, held in self.pairs]))


def find_folds(
    cv: Any,
    X: Any,
    y: NDArray[Any],
    kept: Ints,
    cells: Cells,
    classification: bool,
    seed: int,
    person: Ints | None = None,
    *,
    probable: bool = False,
) -> Folds:
    """Return the folds that ``cv`` asks for, as places among the rows that are kept; rows of a person stay together.

    "auto": 3 folds, or one held-out quarter where its smallest cell is large. A whole number: as many folds, stratified
    by cell, or by label alone where groups are ``probable``. A fraction: one held-out part of that size. None or
    "train": the training rows themselves. A scikit-learn splitter or pairs of indices: those, of all rows of X and y.
    """
    n = len(kept)
    if cv is None or (isinstance(cv, str) and cv == "train"):
        everything = np.arange(n, dtype=np.intp)
        return Folds(((everything, everything),), same=True)
    unasked = isinstance(cv, str) and cv == "auto"
    if unasked:
        smallest = int(cells.weight.min()) if probable else int(np.diff(cells.offsets).min())
        cv = QUARTER if QUARTER * smallest >= PLENTY else 3
    if isinstance(cv, (bool, str, np.timedelta64)):
        raise InputError(
            f"cv is {cv!r}, expected a number of folds, a held-out fraction, 'auto', 'train' or a splitter."
        )
    if not isinstance(cv, (int, float, np.integer, np.floating)):
        return _given_folds(cv, X, y, kept)
    strata = np.unique(y[kept], return_inverse=True)[1].reshape(-1) if classification else np.zeros(n, dtype=np.intp)
    if not probable:
        strata = cells.of_rows * (int(strata.max()) + 1) + strata
    who = np.arange(n) if person is None else person
    first = np.unique(who, return_index=True)[1]
    n = len(first)
    if n < 2 and person is not None:
        raise InputError(
            f"{spelled('person')} is the same in all rows, expected two people or more: they are predicted by fits "
            "without them; leave it out."
        )
    cv = min(3, n) if unasked and n < 4 else cv  # a quarter of so few is nobody
    shuffled, place = np.lexsort((np.random.default_rng(seed).random(n), strata[first])), np.arange(n)
    if isinstance(cv, (int, np.integer)):
        if not 2 <= cv <= n:
            most = "rows" if person is None else f"people, {n}"
            raise InputError(f"cv is {cv}, expected 2 folds or more (and no more than {most}), a fraction, or 'train'.")
        parts = [place % int(cv) == fold for fold in range(cv)]  # rows of each stratum are dealt out like cards
    elif not 0.0 < cv < 1.0:
        raise InputError(f"cv is {cv}, expected a held-out fraction between 0 and 1, or a number of folds.")
    else:
        parts = [np.floor((place + 1) * float(cv)) > np.floor(place * float(cv))]
        if not parts[0].any():
            who_else = "rows" if person is None else "people"
            raise InputError(
                f"cv is {cv}, which holds out none of {n} {who_else}, expected a larger fraction, or folds."
            )
    held = [np.isin(who, shuffled[part]) for part in parts]
    return Folds(tuple((np.flatnonzero(~part), np.flatnonzero(part)) for part in held), same=False)


def _given_folds(cv: Any, X: Any, y: NDArray[Any], kept: Ints) -> Folds:
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
    return Folds(tuple((a[a >= 0], b[b >= 0]) for a, b in pairs), same=False)


def person_codes(person: Any, n: int, kept: Ints | None) -> Ints:
    """Return who each of the rows is that are kept (None: all n), numbered from 0."""
    codes = factorize(check_labels(person, n, "person"))[0]
    return np.unique(codes if kept is None else codes[kept], return_inverse=True)[1].reshape(-1).astype(np.intp)


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Rows with weight, checked: features as a learner takes them, labels, weights (None: all 1) and groups.

    ``whole`` are features and labels of all n rows, of which ``kept`` are these.
    """

    X: Any
    labels: NDArray[Any]
    weight: Array | None
    groups: Any
    kept: Ints
    whole: tuple[Any, NDArray[Any]]

    @property
    def n(self) -> int:
        return len(self.whole[1])

    @property
    def total(self) -> float:
        return float(len(self.labels) if self.weight is None else self.weight.sum())


def kept_rows(X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> KeptRows:
    n = check_rows(X)
    if sparse.issparse(X):
        X = X.tocsr()  # whose rows can be taken
    elif hasattr(X, "__array__") and not hasattr(X, "shape"):
        X = np.asarray(X)
    labels, weight = check_labels(y, n), check_weights(sample_weight, n)
    whole = (X, labels)
    kept = np.arange(n) if weight is None else np.flatnonzero(weight > 0.0)
    if weight is not None and len(kept) < n:
        X, labels, weight = take_rows(X, kept), labels[kept], weight[kept]
        sensitive_features = take_groups(sensitive_features, kept, n)
    return KeptRows(X, labels, weight, sensitive_features, kept, whole)


@dataclass(frozen=True)
class WeightedRows:
    """What one fit sees: rows (repeated where a row counts for two labels), their labels or targets, weights."""

    index: Ints
    target: Array
    weight: Array


def row_sums(objectives: Objectives, quantity: Quantity, omega: Array) -> Array:
    """Return every row's weight on a quantity, (n,) in the order of the data: total * omega_cell / weight_cell.

    That of a row with copies is the sum of theirs.
    """
    cells, where = objectives.layout.cells, dict(objectives.layout.quantities)[quantity]
    per_cell = np.where(where >= 0, omega[where], 0.0) * float(cells.weight.sum()) / cells.weight
    found = np.repeat(per_cell, np.diff(cells.offsets))
    sums = cells.unsorted(found if cells.row_weight is None else found * cells.row_weight)
    copy_of = objectives.copy_of
    return sums if copy_of is None else np.bincount(copy_of, sums).astype(np.float64, copy=False)


def weighted_rows(objectives: Objectives, codes: Array, omega: Array) -> WeightedRows:
    """Return what a learner has to be fitted to for the weights omega (k) of the cells.

    ``codes`` (n,) are class indices, or values for regression. There the square is completed: v (s - y)^2 / 2 + c s has
    its minimum where v (s - (y - c / v))^2 / 2 has it.
    """
    task, quantities = objectives.task, dict(objectives.layout.quantities)
    if task.kind == "regression":
        weight = np.maximum(row_sums(objectives, Quantity("loss"), omega), 0.0)
        used = np.flatnonzero(weight > 0.0)
        target = codes.astype(np.float64)
        for quantity in {Quantity("score"), Quantity("prediction")} & quantities.keys():
            linear = row_sums(objectives, quantity, omega)
            target = target - np.divide(linear, weight, out=np.zeros_like(linear), where=weight > 0.0)
        return WeightedRows(used, target[used], weight[used])
    labels, places = codes.astype(np.intp), np.arange(len(codes))
    V = np.zeros((len(labels), len(task.classes)))
    for quantity in quantities:
        V[places, labels if quantity.label is None else quantity.label] += row_sums(objectives, quantity, omega)
    V = flipped(V)
    index, label = np.nonzero(V > 0.0)
    return WeightedRows(index, label.astype(np.float64), V[index, label])


def flipped(V: Array) -> Array:
    """Lift all labels' weights of a row (rows, labels) by what one is below 0: which costs least stays as it was."""
    return np.asarray(V - np.minimum(V.min(axis=1, keepdims=True), 0.0))


def is_heuristic(layout: Layout, omega: Array) -> bool:
    """Tell whether some loss has a negative weight, so that labels are flipped and no Lagrangian is minimised."""
    found = [omega[where[where >= 0]] for quantity, where in layout.quantities if quantity.kind == "loss"]
    return bool((np.concatenate(found) < -ROUNDING).any())


@dataclass(frozen=True)
class Reading:
    """One weighting and what its held-out predictions measure.

    multipliers (q,), loss, gaps (q,) signed as reported, driven (q,) signed as gaps of losses, the model where the fit
    itself was measured, whether labels had to be flipped, and held-out scores (K, n) where the problem keeps them.
    """

    multipliers: Array
    loss: float
    gaps: Array
    driven: Array
    model: Any = None
    heuristic: bool = False
    scores: Array | None = None


FIRM = 1e9
"""A score so large that smooth rates of it are 0 or 1."""


def hardened(scores: Array) -> Array:
    """Return scores (K, n) whose smooth rates are shares of decisions."""
    if scores.shape[0] == 1:
        return np.where(scores > 0.0, FIRM, -FIRM)
    return np.where(np.arange(len(scores))[:, None] == scores.argmax(axis=0), FIRM, 0.0)


def held_weights(objectives: Objectives, held: Ints, values: Array | float = 1.0) -> Array:
    """Return the weighted sum of values (n,) of sorted rows in every cell, by default their weight; of those held."""
    cells, copy_of = objectives.layout.cells, objectives.copy_of
    measured = np.zeros(cells.n)
    measured[held if copy_of is None else np.isin(copy_of, held)] = 1.0
    measured = measured[cells.order] * values
    weighted = measured if cells.row_weight is None else measured * cells.row_weight
    return np.asarray(np.add.reduceat(weighted, cells.offsets[:-1]))


def cell_values(objectives: Objectives, scores: Array, held: Ints) -> Array:
    """Return L (k,) of scores (K, n) in the order of the data, averaged over the rows that were held out."""
    cells = objectives.layout.cells
    total = held_weights(objectives, held)
    if (total <= 0.0).any():
        raise InputError(
            "a (group, label) cell has no held-out rows to measure a gap on; use more rows, fewer groups "
            f"({spelled('min_size', 'groups=Groups(min_size=...)')}), another cv, or cv='train'."
        )
    L = np.zeros(objectives.layout.k)
    scores = scores if objectives.copy_of is None else scores[:, objectives.copy_of]
    ordered, targets = scores[:, cells.order], objectives.targets[cells.order]
    for bound, where in objectives.measures:
        value, _ = bound.value_slope(ordered, targets)
        L[where[where >= 0]] = (held_weights(objectives, held, value) / total)[where >= 0]
    return L
