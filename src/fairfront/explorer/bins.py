"""Calibration by group in a few bins that each hold enough people of either label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measures.counts import ratio
from ..objectives import Array
from ..objectives.small_counts import nearest
from .packing import rounded

BINS = 6


def calibration_bins(
    probability: Array, good: NDArray[np.bool_], weight: Array, small: int
) -> dict[str, list[Any]] | None:
    """Return mean probability, share with the favourable label and rows of each bin, or None with too few people.

    Bins start with about equal numbers of rows and are joined from the left until each has at least ``small`` rows
    of either label. Unless ``small`` is 0, rows are rounded to multiples of 5, so that the bins of a large group do not
    tell what rounding changed in a small one.
    """
    order = np.argsort(probability, kind="stable")
    order = order[weight[order] > 0]
    pieces = _joined([piece for piece in np.array_split(order, BINS) if len(piece)], good, max(1, small))
    if not pieces:
        return None
    predicted = [np.average(probability[piece], weights=weight[piece]) for piece in pieces]
    sides = np.array([[good[piece].sum(), (~good[piece]).sum()] for piece in pieces], dtype=np.float64)
    weights = np.array([[weight[piece][good[piece]].sum(), weight[piece][~good[piece]].sum()] for piece in pieces])
    shown = nearest(sides) if small else sides
    scaled = weights * np.nan_to_num(ratio(shown, sides))
    observed = ratio(scaled[:, 0], scaled.sum(axis=1))
    return {"predicted": rounded(predicted, 4), "observed": rounded(observed, 4), "n": rounded(shown.sum(axis=1), 0)}


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
