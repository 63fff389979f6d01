"""How well scores rank: AUC, Gini and KS of many models on the same rows, and their differences from one of them.

The area under the ROC curve and its difference take the variance of DeLong, DeLong and Clarke-Pearson (Biometrics 44,
1988, 837-845): that of each row's place among the rows of the other label, the one model's less the other's. Weights
count as the weights of a mean, sum w^2 (v - mean)^2 / (sum w)^2, which is theirs where all are equal.

KS is the largest difference of two shares over all cut-offs. Its interval is that of an audit (`distance_interval`):
Newcombe's where the sample reaches it, with the lower end moved by the bias of a maximum. Two models' KS differ by the
rows that the two put on different sides of their cut-offs (Agresti and Min among the rows of either label, squared and
added); two biases nearly cancel.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from .counts import ratio
from .paired import Change, share_changes
from .proportions import normal_quantile
from .scores import ScoredRows, drawn, figures_of
from .table_columns import distance_ends

Flags = NDArray[np.bool_]
RESAMPLES = 200


def ranking(
    scores: Array, positive: Flags, weight: Array | None, plain: int, confidence: float
) -> dict[str, tuple[Change, Change]]:
    """Return AUC, Gini and KS of N models, and their differences from one of them, (N,) each.

    Scores (N, n) speak for ``positive``; a figure of its own is a change from nothing.
    """
    one = np.ones(len(positive)) if weight is None else weight
    before, _ = places_of(scores[plain], positive, one)
    ends, above = np.empty((2, 2, len(scores))), np.empty(scores.shape, dtype=bool)
    for model, each in enumerate(scores):
        places, above[model] = places_of(each, positive, one)
        for k, moved in enumerate((places, places - before)):
            mean, up = _mean_and_variance(moved[positive], one[positive])
            _, down = _mean_and_variance(moved[~positive], one[~positive])
            ends[k, :, model] = mean, normal_quantile(confidence) * np.sqrt(up + down)
    (value, half), (moved, wide) = ends
    own = Change(value, np.maximum(value - half, 0.0), np.minimum(value + half, 1.0))
    gini = Change(*(2.0 * each - 1.0 for each in (own.value, own.lower, own.upper)))
    change, twice = (Change(k * moved, k * (moved - wide), k * (moved + wide)) for k in (1.0, 2.0))
    distance = _own_distance(scores, positive, weight, confidence)
    return {
        "auc": (own, change),
        "gini": (gini, twice),
        "ks": _distances(distance, above, positive, one, plain, confidence),
    }


def _distances(
    own: Change, above: Flags, positive: Flags, weight: Array, plain: int, confidence: float
) -> tuple[Change, Change]:
    """Return KS and its differences from the rows (N, n) above the cut-off where each model reaches it."""
    change = share_changes(above, plain, np.column_stack([positive * weight, ~positive * weight]), confidence)
    return own, change.columns(0).less(change.columns(1))


def _own_distance(scores: Array, positive: Flags, weight: Array | None, confidence: float) -> Change:
    found, draws, random = [], [], np.random.default_rng(0)
    for each in scores:
        tally = ScoredRows(each, positive, weight, False, False).tally()
        figures, binned = figures_of(tally)
        found.append(figures)
        draws.append(drawn(tally, binned, figures, RESAMPLES, random)["ks"])
    value = {name: np.array([figures[name] for figures in found]) for name in found[0]}
    return Change(value["ks"], *distance_ends(value, np.column_stack(draws), confidence))


def places_of(scores: Array, positive: Flags, weight: Array) -> tuple[Array, Flags]:
    """Return, per row, the share of the other label's rows that it is on the right side of, ties counting half, (n,).

    And which rows lie above the cut-off where the shares of the two labels above it differ most (below it, where more
    rows of the other label lie above).
    """
    found, code = np.unique(scores, return_inverse=True)
    up, down = (np.bincount(code, np.where(kept, weight, 0.0), len(found)) for kept in (positive, ~positive))
    beaten = ratio(np.cumsum(down) - 0.5 * down, down.sum())
    beating = ratio(up.sum() - np.cumsum(up) + 0.5 * up, up.sum())
    apart = np.nan_to_num(ratio(np.cumsum(down), down.sum()) - ratio(np.cumsum(up), up.sum()))
    place = int(np.argmax(np.abs(apart)))
    above = np.asarray((code > place) == (apart[place] >= 0))
    return np.asarray(np.where(positive, beaten[code], beating[code])), above


def _mean_and_variance(values: Array, weight: Array) -> tuple[float, float]:
    """Return a weighted mean and the variance of that mean; NaN for fewer than two rows."""
    n, total = len(values), float(weight.sum())
    if n < 2 or total <= 0:
        return np.nan, np.nan
    mean = float(values @ weight) / total
    return mean, float((weight**2) @ (values - mean) ** 2) / total**2 * n / (n - 1)
