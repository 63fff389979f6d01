"""Calibration of binary scores: a recalibration that is blind to groups, and how well each group is served by it.

A calibrated probability of 0.7 comes true for 70 of 100 rows. One line for everyone (Platt's) keeps the order
of rows, so it changes no decision that a cutoff on scores could not; it can leave groups calibrated unequally.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from ..exceptions import InputError
from ..objectives import Array
from ..objectives.small_counts import nearest
from ..problems.resources import blas_threads
from ..validation import check_weights
from .counts import as_models, blocks, membership, ratio, weighted_sums
from .logistic import fit_lines
from .rates import PerGroup

BINS, RELIABILITY_BINS = 10, 6
"""Bins of the expected calibration error, and the most that a page draws for a group."""


@dataclass(frozen=True, eq=False)
class Platt:
    """One increasing line per model on the scale of log odds: probability = 1 / (1 + exp(-(slope score + offset))).

    ``slope`` and ``offset`` have shape (N,), or () for one model given as (n,).
    """

    slope: Array
    offset: Array

    def apply(self, scores: ArrayLike) -> Array:
        """Turn scores (N, n), or (n,), into probabilities of the positive label, same shape."""
        values, slope, offset = (np.asarray(given, dtype=np.float64) for given in (scores, self.slope, self.offset))
        if values.ndim != slope.ndim + 1 or values.shape[:-1] != slope.shape:
            expected = ", ".join([*map(str, slope.shape), "n"])
            raise InputError(f"scores has shape {values.shape}, expected ({expected}): the models that were fitted.")
        return np.asarray(expit(slope[..., None] * values + offset[..., None]))


@dataclass(frozen=True, eq=False)
class Calibration(PerGroup):
    """Calibration of N models in the c groups of one attribute; shapes (N, c), NaN where a group has no rows.

    - ``predicted``     mean predicted probability
    - ``observed``      share of rows with the positive label
    - ``in_the_large``  observed - predicted: above 0 where the group is underrated
    - ``slope``, ``intercept``  logistic regression of the label on the log odds predicted: 1 and 0 when
      calibrated, a slope below 1 when predictions are too extreme; NaN where there is no such line (one label
      only, one prediction only, or labels that a cutoff separates)
    - ``brier``         mean of (probability - label)^2
    - ``ece``           expected calibration error: mean of abs(observed - predicted) over 10 bins with about
      equal weight; equal predictions share a bin. It is above 0 by chance alone, more so in small groups.

    `gaps` and `worst_gap` compare any of them between groups.
    """

    names: ClassVar[tuple[str, ...]] = ("predicted", "observed", "in_the_large", "slope", "intercept", "brier", "ece")

    predicted: Array
    observed: Array
    in_the_large: Array
    slope: Array
    intercept: Array
    brier: Array
    ece: Array


@blas_threads(1)
def fit_platt(scores: ArrayLike, is_positive: ArrayLike, sample_weight: ArrayLike | None = None) -> Platt:
    """Fit Platt's line for N models by logistic regression of the label on the score.

    Parameters
    ----------
    scores : array of shape (N, n) or (n,)
        Higher scores speak for the positive label. Take rows that the models were not trained on.
    is_positive : array of bool, shape (n,)
        Both labels must occur.
    sample_weight : array of shape (n,), optional

    Notes
    -----
    Targets are Platt's, (P + 1) / (P + 2) and 1 / (Q + 2) with P and Q the weights of positive and other rows,
    so that labels which a cutoff separates still have a line; plain labels would not. The slope is kept above
    0, because a falling line would turn the order of rows round: where the scores speak against the label, or
    say nothing, the best line with a slope of at least 0 is flat. Its slope is then `FLAT` per standard
    deviation of the scores, and the probabilities are nearly the share of positive rows.
    """
    positive = _flags(is_positive)
    values = _finite(as_models(scores, len(positive), "scores"), "scores")
    weight = _weights(sample_weight, len(positive))
    up, down = weight[positive].sum(), weight[~positive].sum()
    if not up or not down:
        raise InputError(f"is_positive has weights {up:g} (true) and {down:g} (false), expected both above 0.")
    targets = np.where(positive, (up + 1.0) / (up + 2.0), 1.0 / (down + 2.0))
    slope, offset = _by_blocks(values, targets, weight, flat=True)
    shape = np.shape(scores)[:-1]
    return Platt(slope.reshape(shape), offset.reshape(shape))


@blas_threads(1)
def calibration_table(
    probabilities: ArrayLike,
    is_positive: ArrayLike,
    codes: ArrayLike,
    levels: Sequence[str],
    sample_weight: ArrayLike | None = None,
) -> Calibration:
    """Measure the calibration of N models in each group.

    ``probabilities`` (N, n) or (n,) are those of the positive label; ``is_positive`` (n,) is bool; ``codes``,
    ``levels`` and ``sample_weight`` are as in `group_rates`.
    """
    positive = _flags(is_positive)
    values = _finite(as_models(probabilities, len(positive), "probabilities"), "probabilities")
    if values.size and not 0.0 <= values.min() <= values.max() <= 1.0:
        raise InputError(
            f"probabilities run from {values.min():g} to {values.max():g}, expected 0 to 1; "
            "turn scores into probabilities with fit_platt first."
        )
    member = membership(codes, len(positive), len(levels))
    columns = member * _weights(sample_weight, len(positive))[:, None]
    weight = columns.sum(axis=0)
    predicted = ratio(weighted_sums(values, columns), weight)
    observed = np.broadcast_to(ratio(positive @ columns, weight), predicted.shape)
    per_group = [_lines_and_bins(values, positive, column) for column in columns.T]
    slope, intercept, ece = np.moveaxis(np.array(per_group).reshape(len(levels), 3, len(values)), 0, -1)
    return Calibration(
        levels=tuple(levels),
        n=member.sum(axis=0),
        weight=weight,
        predicted=predicted,
        observed=observed,
        in_the_large=observed - predicted,
        slope=slope,
        intercept=intercept,
        brier=ratio(weighted_sums(values, columns, lambda block: (block - positive) ** 2), weight),
        ece=ece,
    )


def _lines_and_bins(values: Array, positive: NDArray[np.bool_], weight: Array) -> tuple[Array, Array, Array]:
    """Return slope, intercept and expected calibration error of N models on the rows of one group."""
    rows = weight > 0
    values, positive, weight = values[:, rows], positive[rows], weight[rows]
    if not rows.any():
        nothing = np.full(len(values), np.nan)
        return nothing, nothing, nothing
    log_odds = logit(np.clip(values, 1e-12, 1.0 - 1e-12))
    slope, intercept = _by_blocks(log_odds, positive.astype(np.float64), weight, flat=False)
    ece = [_binned_error(values[part], positive, weight) for part in blocks(*values.shape)]
    return slope, intercept, np.concatenate([np.empty(0), *ece])


def _by_blocks(values: Array, targets: Array, weight: Array, *, flat: bool) -> tuple[Array, Array]:
    slope, offset = np.empty(len(values)), np.empty(len(values))
    for part in blocks(*values.shape):
        slope[part], offset[part] = fit_lines(values[part], targets, weight, flat)
    return slope, offset


def _binned_error(values: Array, positive: NDArray[np.bool_], weight: Array) -> Array:
    """Return the expected calibration error of each model, (N,).

    A row's bin is that of the middle of its value's place in the weighted order, so that equal values stay
    together and a weight of 2 is a row given twice.
    """
    order = np.argsort(values, axis=1)
    ranked, mass = np.take_along_axis(values, order, axis=1), weight[order]
    after = np.cumsum(mass, axis=1)
    new = np.ones(ranked.shape, dtype=bool)
    new[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    first = np.maximum.accumulate(np.where(new, after - mass, 0.0), axis=1)
    last = np.where(np.roll(new, -1, axis=1), after, np.inf)
    last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    place = np.minimum(BINS * (first + last) / (2.0 * after[:, -1:]), BINS - 1).astype(np.intp)
    cells = place + BINS * np.arange(len(values))[:, None]
    excess = mass * (positive[order] - ranked)
    sums = np.bincount(cells.ravel(), excess.ravel(), minlength=BINS * len(values))
    return np.asarray(np.abs(sums.reshape(-1, BINS)).sum(axis=1) / weight.sum())


def _flags(is_positive: ArrayLike) -> NDArray[np.bool_]:
    array = np.asarray(is_positive)
    if array.dtype != np.bool_ or array.ndim != 1:
        found = f"type {array.dtype} and shape {array.shape}"
        raise InputError(f"is_positive has {found}, expected bool and (n,); compare labels with the positive one.")
    return array


def _finite(values: NDArray[Any], what: str) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise InputError(f"{what} has NaN or infinity, expected finite numbers; drop those rows or models.")
    return array


def _weights(sample_weight: ArrayLike | None, n: int) -> Array:
    weight = check_weights(sample_weight, n)
    return np.ones(n) if weight is None else weight


def reliability_bins(
    probability: Array, good: NDArray[np.bool_], weight: Array, small: int
) -> tuple[Array, Array, Array] | None:
    """Return mean probability, share with the favourable label and rows of a few bins, or None with too few people.

    Bins start with about equal numbers of rows and are joined from the left until each has at least ``small`` rows
    of either label. Unless ``small`` is 0, rows are rounded to multiples of 5, so that the bins of a large group do not
    tell what rounding changed in a small one.
    """
    order = np.argsort(probability, kind="stable")
    order = order[weight[order] > 0]
    pieces = _joined([piece for piece in np.array_split(order, RELIABILITY_BINS) if len(piece)], good, max(1, small))
    if not pieces:
        return None
    predicted = np.array([np.average(probability[piece], weights=weight[piece]) for piece in pieces])
    sides = np.array([[good[piece].sum(), (~good[piece]).sum()] for piece in pieces], dtype=np.float64)
    weights = np.array([[weight[piece][good[piece]].sum(), weight[piece][~good[piece]].sum()] for piece in pieces])
    shown = nearest(sides) if small else sides
    scaled = weights * np.nan_to_num(ratio(shown, sides))
    return predicted, ratio(scaled[:, 0], scaled.sum(axis=1)), shown.sum(axis=1)


def _joined(pieces: list[NDArray[np.intp]], good: NDArray[np.bool_], least: int) -> list[NDArray[np.intp]]:
    """Join neighbours until every piece has enough of either label; what is left over joins the last."""
    done: list[NDArray[np.intp]] = []
    open_piece = np.empty(0, dtype=np.intp)
    for piece in pieces:
        open_piece = np.concatenate([open_piece, piece])
        favourable = int(good[open_piece].sum())
        if min(favourable, len(open_piece) - favourable) >= least:
            done.append(open_piece)
            open_piece = np.empty(0, dtype=np.intp)
    if len(open_piece) and done:
        done[-1] = np.concatenate([done[-1], open_piece])
    return done
