"""Recalibration: probabilities fitted to held-out rows, one map for all groups, kept inside the linear model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import InputError
from ..measures.calibration import fit_platt
from ..validation import check_labels, check_matrix, check_weights
from .evaluating import encode_labels
from .points import LinearPoints

if TYPE_CHECKING:
    from .frontier import Frontier


def recalibrated(front: Frontier, X: Any, y: Any, sample_weight: Any) -> Frontier:
    """Scale and shift every model's scores so that they fit the labels of held-out rows (Platt)."""
    points = front.points
    if not isinstance(points, LinearPoints) or points.loss != "logistic":
        raise InputError(
            f"recalibration maps log-odds, expected a frontier of binary logistic models, found "
            f"{getattr(points, 'loss', type(points).__name__)!r}."
        )
    matrix = check_matrix(X)
    labels = encode_labels(check_labels(y, matrix.shape[0]), front.facts.task)
    weight = check_weights(sample_weight, matrix.shape[0])
    maps = [fit_platt(scores, labels == 1, weight) for scores in points.scores(matrix)[:, 0]]
    slope = np.array([m.slope for m in maps])
    offset = np.array([m.offset for m in maps])
    moved = replace(
        points,
        coef=points.coef * slope[:, None, None],
        intercept=points.intercept * slope[:, None] + offset[:, None],
    )
    return replace(front, points=moved, evaluations={})
