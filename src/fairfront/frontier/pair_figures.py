"""Figures of pairs of people: how far models score both apart, and how often they decide them differently."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..measures import Evaluation
from ..measures.further_columns import PAIRS
from ..measures.intervals import SURE
from ..measures.proportions import normal_quantile, wilson
from ..objectives import Array
from ..objectives.people import FEWEST
from ..problems.weight_terms import pair_sides
from ..validation import counted
from ..validation.inputs import check_weights
from .models import Models


def with_pairs(record: Evaluation, models: Models, pairs: Any, X: Any, sample_weight: Any) -> Evaluation:
    """Return an evaluation with ``pair_difference`` and, of decisions, ``pair_flips``, and upper ends, (N,) each.

    The former is the mean absolute difference of what cut-offs are on (probabilities of the favourable label, or
    scores), or of predictions; the latter the share of pairs that are decided differently. Upper ends take pairs with a
    row in common as alike, and others as independent. X is checked.
    """
    if models.by_group or models.task.kind == "multiclass":
        found = "one cut-off per group" if models.by_group else f"{len(models.task.classes)} classes"
        raise InputError(f"pairs is for one score and one cut-off for everyone, found {found}; leave it out.")
    one, other, share, ends = pair_sides(pairs, X, check_weights(sample_weight, X.shape[0]))
    if (size := int((share > 0.0).sum())) < FEWEST:
        raise InputError(f"pairs has {counted(size, 'pair')}, expected at least {FEWEST} for a figure; leave it out.")
    share, people = share / share.sum(), len(np.unique(ends[share > 0.0]))
    rows = _independent(ends, share)
    regression = models.task.kind == "regression"
    first, second = (models.scores(side)[:, 0] if regression else models.responses(side)[1] for side in (one, other))
    apart = np.abs(first - second)
    mean = apart @ share
    spread = np.sqrt(np.maximum((apart**2) @ share - mean**2, 0.0) / rows)
    columns = {**record.columns, PAIRS[0]: mean, f"{PAIRS[0]}_upper": mean + normal_quantile(SURE) * spread}
    if not regression:
        left, right = (models.decisions(side, record.operating)[1] for side in (one, other))
        flips = (left != right) @ share
        columns |= {PAIRS[1]: flips, f"{PAIRS[1]}_upper": wilson(flips * rows, rows, SURE)[1]}
    assert record.sums is not None
    return replace(record, columns=columns, sums=replace(record.sums, pairs=size if people >= FEWEST else 0))


def _independent(ends: NDArray[np.intp], share: Array) -> float:
    """Return how many independent pairs tell as much: 1 / sum of the products of shares of pairs with a row in common.

    It is the number of pairs that have none, and about 1 where one row is in all of them.
    """
    two = ends[:, 0] != ends[:, 1]
    met = np.bincount(np.concatenate([ends[:, 0], ends[two, 1]]), np.concatenate([share, share[two]]))
    return float(1.0 / (met @ met - share[two] @ share[two]))
