"""Rows that are judged: labels, decisions and scores of one model, read once from whatever a person has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target

from ..exceptions import InputError, spelled
from ..objectives import Array, Task
from ..validation import check_choice, check_favourable, counted
from ..validation.inputs import as_numbers, check_labels, check_weights, factorize, shape_of
from .cutoffs import Operating, Side, check_side, decide
from .scores import ScoredRows

Labels = tuple[list[Any], NDArray[np.intp], NDArray[np.intp] | None]


@dataclass(frozen=True, eq=False)
class Judged:
    """Labels and decisions of n rows as class indices (values and predictions for regression).

    ``scores`` (n,), or (n, K) for several classes, are None where only decisions were given; ``probability`` tells
    whether they lie in [0, 1], and ``side`` which side of ``cutoff`` is favourable. ``rule`` says in words how
    decisions were made.
    """

    task: Task
    truth: NDArray[Any]
    decided: NDArray[Any]
    rule: str
    scores: Array | None = None
    probability: bool = False
    side: Side = "above"
    cutoff: float | None = None
    weight: Array | None = None
    favourable_was_given: bool = True

    @cached_property
    def scored(self) -> dict[int, ScoredRows]:
        """Return scores with the labels that they speak for, by class: the favourable one of two, or every one."""
        if self.scores is None:
            return {}
        if self.scores.ndim == 1:
            good, below = self.task.favourable, self.side == "below"
            return {good: ScoredRows(self.scores, self.truth == good, self.weight, self.probability, below)}
        return {
            k: ScoredRows(self.scores[:, k], self.truth == k, self.weight, self.probability, False)
            for k in range(len(self.task.classes))
        }

    def take(self, rows: NDArray[np.intp]) -> Judged:
        scores = None if self.scores is None else self.scores[rows]
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, truth=self.truth[rows], decided=self.decided[rows], scores=scores, weight=weight)


def read_judged(
    y_true: Any,
    given: Any,
    *,
    favourable: Any = None,
    operating: Operating | None = None,
    task: Literal["classification", "regression"] | None = None,
    sample_weight: Any = None,
) -> Judged:
    operating = operating or Operating()
    if task is not None:
        check_choice(task, "task", ("classification", "regression"))
    what, truly = spelled("scores_or_labels"), spelled("y_true")
    shape, other = shape_of(given, what), shape_of(y_true, truly)
    n = shape[0] if shape else 0
    if not n or other[:1] != (n,):
        raise InputError(
            f"{truly} has shape {other} and {what} {shape}, expected one value per row in both, and at least one row."
        )
    labels, weight = check_labels(y_true, n, truly), check_weights(sample_weight, n)
    guessed = task is None and labels.dtype.kind == "f"
    if task == "regression" or (guessed and str(type_of_target(labels)).startswith("continuous")):
        operating.refuse("values to be predicted (regression)")
        values = as_numbers(labels, truly, "regression needs numbers")
        predictions = as_numbers(check_labels(given, n, what), what, "regression needs numbers")
        return Judged(Task("regression"), values, predictions, "the predictions are those given", weight=weight)
    scores = as_numbers(given, what) if len(shape) == 2 and shape[1] > 1 else check_labels(given, n, what)
    judged = _classified(labels, scores, favourable, operating, weight)
    said = favourable is not None or operating.side is not None
    return replace(judged, weight=weight, favourable_was_given=said)


def _classified(
    labels: NDArray[Any], given: NDArray[Any], favourable: Any, operating: Operating, weight: Array | None
) -> Judged:
    """Read decisions or scores, (n,), or one column of scores per class."""
    what, matrix = spelled("scores_or_labels"), given if given.ndim == 2 else None
    if matrix is not None and not np.isfinite(matrix).all():
        raise InputError(f"{what} has NaN or infinity, expected a number for every row and class.")
    predicted = given if matrix is None else None
    classes, truth, codes = _classes(labels, predicted, scored=operating.asked is not None)
    good, side = _favourable(classes, favourable, operating.side)
    task = Task("binary" if len(classes) == 2 else "multiclass", tuple(classes), good)
    if codes is not None:
        operating.refuse("decisions (labels)")
        return Judged(task, truth, codes, "the decisions are those given")
    if task.kind == "multiclass":
        operating.refuse(f"{len(classes)} classes")
        if matrix is None:
            raise InputError(
                f"{what} is one number per row, expected labels or one column per class for {len(classes)} classes; "
                "for values to be predicted say task='regression'."
            )
        _check_columns(matrix, len(classes), f"{len(classes)}, one per class of {spelled('y_true')}")
        rule = "the class with the largest score is the decision"
        return Judged(task, truth, matrix.argmax(axis=1), rule, matrix, _within_unit(matrix))
    if matrix is not None:
        _check_columns(matrix, 2, "2 (one per class) or one value")
    scores = as_numbers(given, what) if matrix is None else matrix[:, 1]
    cutoff, how = operating.find(scores, truth == good, side, weight)
    decided = np.where(decide(scores, cutoff, side), good, 1 - good)
    which = f"of {cutoff:.6g} or more" if side == "above" else f"below {cutoff:.6g}"
    rule = f"the decision is {task.favourable_label!r} for scores {which} ({how})"
    return Judged(task, truth, decided, rule, scores, _within_unit(scores), side, cutoff)


def _check_columns(matrix: Array, K: int, expected: str) -> None:
    if matrix.shape[1] != K:
        found = counted(matrix.shape[1], "column")
        raise InputError(f"{spelled('scores_or_labels')} has {found}, expected {expected}.")


def _within_unit(scores: Array) -> bool:
    return bool(scores.min() >= 0.0 and scores.max() <= 1.0)


def _classes(labels: NDArray[Any], predicted: NDArray[Any] | None, *, scored: bool) -> Labels:
    """Return classes, labels as class indices, and the same of predictions where these are labels.

    Floats are scores where a cut-off was asked for, where they have fractions, and beside labels 0 and 1 that are no
    floats themselves: a tree's probabilities are often all 0 or 1.
    """
    truth, found = factorize(labels)
    if predicted is None:
        return found, truth, None
    floats = predicted.dtype.kind == "f"
    if floats and (scored or not np.array_equal(predicted, np.rint(predicted))):
        return found, truth, None
    codes, values = factorize(predicted)
    if len(found) == 1 and len(values) == 2 and found[0] in values:
        return values, np.full(len(labels), values.index(found[0]), dtype=np.intp), codes
    strange = [value for value in values if value not in found]
    if len(found) == 2 and floats and (strange or (found == [0, 1] and labels.dtype.kind != "f")):
        return found, truth, None
    if len(found) == 2 and strange and predicted.dtype.kind in "iu" and len(values) > 2:
        return found, truth, None
    if strange:
        known = ", ".join(map(repr, found[:10]))
        raise InputError(
            f"{spelled('scores_or_labels')} has {strange[0]!r}, which {spelled('y_true')} does not, expected its "
            f"labels ({known}) or scores."
        )
    places = np.array([found.index(value) for value in values], dtype=np.intp)
    return found, truth, places[codes]


def _favourable(classes: list[Any], favourable: Any, side: Side | None) -> tuple[int, Side]:
    """Return the favourable class and side: scores speak for the second class unless both are given."""
    if len(classes) < 2:
        raise InputError(f"{spelled('y_true')} has one class only ({classes[0]!r}), expected 2 or more.")
    if favourable is None:
        return (0, "below") if side is not None and check_side(side) == "below" else (1, "above")
    good = check_favourable(favourable, classes)
    return good, ("above" if good else "below") if side is None else check_side(side)
