"""Scores of many models turned into decisions and judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exceptions import InputError
from ..objectives import Array, Attribute, Task
from ..problems.threads import one_blas_thread
from ..validation.inputs import check_weights
from .counts import auc, sums_of
from .evaluation import Evaluation, judgement_of
from .intervals import SKEW


@one_blas_thread()
def evaluate_scores(
    scores: ArrayLike,
    labels: ArrayLike,
    task: Task,
    attributes: Sequence[Attribute],
    *,
    name: str,
    sample_weight: ArrayLike | None = None,
    decided: NDArray[np.bool_] | None = None,
    person: NDArray[np.intp] | None = None,
) -> Evaluation:
    """Judge N models by their scores (N, K, n) on rows whose labels (n,) are class indices, or values for regression.

    Two classes: K = 1 and a score above 0 decides for ``task.classes[1]``, unless ``decided`` (N, n) says which rows
    are; several classes: the largest score decides; regression: K = 1 and the score is the prediction. Rows without a
    group count in ``error`` and ``auc`` and stay out of the gaps. ``person`` (n,) are codes of who each row is.
    """
    values, truth = check_scores(scores, task), np.asarray(labels)
    weight, area = check_weights(sample_weight, len(truth)), None
    known = decide(values, task) if decided is None else decided
    sums = sums_of(known, truth, task, attributes, weight, person=person, together=True)
    if task.kind == "binary":
        one = values[:, 0]
        decisions = [np.isin(each, (0.0, 1.0)).all() or np.isin(each, (-0.5, 0.5)).all() for each in one]
        area = np.where(decisions, np.nan, auc(one, truth == 1, weight))  # decisions in the place of scores rank nobody
    record = judgement_of(sums, task, attributes, name, area)
    return record if task.kind != "regression" else _with_tails(record, known, truth, attributes, weight, person)


def _with_tails(
    record: Evaluation,
    predicted: NDArray[Any],
    truth: NDArray[Any],
    attributes: Sequence[Attribute],
    weight: Array | None,
    person: NDArray[np.intp] | None,
) -> Evaluation:
    """Add how skewed the means of groups are, (N, c), over people: of few large values ends are uneven."""
    away, errors, w = truth - predicted, dict(record.errors), np.ones(len(truth)) if weight is None else weight
    who = np.arange(len(truth)) if person is None else person
    for attribute in attributes:
        shares, found = attribute.membership(), dict(errors[attribute.name])
        for mean, values in (("prediction", predicted), ("residual", away), ("mse", away**2)):
            skews = [_skewness(values, w * share, who) for share in shares.T[: len(attribute.levels)]]
            found[f"{mean}{SKEW}"] = np.stack(skews, axis=1)
        errors[attribute.name] = found
    return replace(record, errors=errors)


def _skewness(values: Array, weight: Array, who: NDArray[np.intp]) -> Array:
    """Return the skewness of weighted means of values (N, n), (N,), as of sums over people."""
    rows = np.flatnonzero(weight)
    if not len(rows):
        return np.zeros(len(values))
    rows = rows[np.argsort(who[rows], kind="stable")]
    some, w = values[:, rows], weight[rows]
    off = (some - (some @ w / w.sum())[:, None]) * w
    off = np.add.reduceat(off, np.flatnonzero(np.diff(who[rows], prepend=-1)), axis=1)
    top = np.abs(off).max(axis=1, keepdims=True)
    off = off / np.where(top > 0.0, top, 1.0)  # the same of any unit
    return np.asarray((off**3).sum(axis=1) / np.maximum((off**2).sum(axis=1), 1.0) ** 1.5)


def check_scores(scores: ArrayLike, task: Task) -> NDArray[Any]:
    """Return scores (N, K, n) without NaN, or say what was found instead."""
    array = np.asarray(scores)
    K = len(task.classes) if task.kind == "multiclass" else 1
    if array.ndim != 3 or array.shape[1] != K or array.shape[2] == 0:
        raise InputError(f"scores has shape {array.shape}, expected (N, {K}, n): models, score(s) per row, rows.")
    bad = (~np.isfinite(array) if task.kind == "regression" else np.isnan(array)).any(axis=(1, 2))
    if bad.any():
        raise InputError(f"scores has NaN or infinity for model {int(np.argmax(bad))}, expected numbers.")
    return array


def decide(scores: NDArray[Any], task: Task) -> NDArray[Any]:
    """Return class indices (booleans for two classes) or predictions, (N, n)."""
    if task.kind == "binary":
        return np.asarray(scores[:, 0] > 0)
    return np.asarray(scores.argmax(axis=1) if task.kind == "multiclass" else scores[:, 0])
