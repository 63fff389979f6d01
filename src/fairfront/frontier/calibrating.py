"""Recalibration: probabilities fitted to held-out rows, one map for all groups, kept inside the linear model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from ..exceptions import InputError
from ..measures.calibration import Calibration, calibration_table, fit_platt
from ..validation import check_labels, check_weights
from .matching import checked_features, encode_labels, held_rows
from .points import LinearPoints

if TYPE_CHECKING:
    from .frontier import Frontier


def calibration_of(
    front: Frontier, id: int, X: Any, y: Any, sensitive_features: Any, sample_weight: Any
) -> dict[str, Calibration]:
    """Return how well one model's probabilities fit each group: predicted, observed, slope, Brier score."""
    points = front.points
    if not isinstance(points, LinearPoints) or points.loss != "logistic":
        raise InputError("calibration is about probabilities, expected a frontier of binary logistic models.")
    matrix = checked_features(points, X)
    held = held_rows(front.facts, matrix.shape[0], y, sensitive_features, sample_weight)
    probability = expit(points.scores(held.of(matrix))[front.place(id), 0])
    return {
        a.name: calibration_table(
            probability, held.labels == 1, a.membership() if a.codes is None else a.codes, a.levels, held.weight
        )
        for a in held.attributes
    }


def recalibrated(front: Frontier, X: Any, y: Any, sample_weight: Any) -> Frontier:
    """Scale and shift every model's scores so that they fit the labels of held-out rows (Platt)."""
    points = front.points
    if not isinstance(points, LinearPoints) or points.loss != "logistic":
        raise InputError(
            "recalibration maps log-odds, expected a frontier of linear models of two classes with the logistic loss, "
            f"found {type(points).__name__} with loss {front.facts.loss!r}; put estimators into CalibratedClassifierCV."
        )
    matrix = checked_features(points, X)
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
    unknown = np.zeros(len(front), dtype=bool)
    return replace(front, points=moved, evaluations={}, certified=unknown, kkt=np.full(len(front), np.nan))
