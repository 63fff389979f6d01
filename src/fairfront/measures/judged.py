"""What is judged: labels, decisions and scores of one model, read once from whatever a person has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target

from ..exceptions import InputError
from ..objectives import Array, Task
from ..validation import as_numbers, check_labels, check_weights, factorize
from .operating import Side, check_side, cutoffs_for_costs, cutoffs_for_rate, decide


@dataclass(frozen=True, eq=False)
class Judged:
    """Labels and decisions of n rows as class indices (values and predictions for regression).

    ``scores`` are None where only decisions were given; ``probability`` tells whether they lie in [0, 1], and
    ``side`` which side of ``cutoff`` is favourable. ``rule`` says in words how decisions were made.
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

    @property
    def oriented(self) -> Array:
        """Return scores turned so that higher ones speak for the favourable label."""
        if self.scores is None:
            raise InputError("only decisions were given, expected scores.")
        if self.side == "above":
            return self.scores
        return 1.0 - self.scores if self.probability else -self.scores

    def take(self, rows: NDArray[np.intp]) -> Judged:
        """Return what is judged in some of the rows."""
        scores = None if self.scores is None else self.scores[rows]
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, truth=self.truth[rows], decided=self.decided[rows], scores=scores, weight=weight)


@dataclass(frozen=True)
class Operating:
    """How scores become decisions; at most one of the first three is given."""

    cutoff: float | None = None
    approval_rate: float | None = None
    costs: Mapping[str, float] | None = None
    side: Side | None = None

    def check(self, scored: bool) -> None:
        """Refuse two ways at once, and any way for decisions that are already made."""
        given = [k for k in ("cutoff", "approval_rate", "costs") if getattr(self, k) is not None]
        if len(given) > 1:
            raise InputError(f"{' and '.join(given)} were given, expected one way to turn scores into decisions.")
        if given and not scored:
            raise InputError(f"{given[0]} is for scores, and decisions (labels) were given; leave it out.")


def read_judged(
    y_true: Any,
    given: Any,
    *,
    favourable: Any = None,
    operating: Operating | None = None,
    task: Literal["classification", "regression"] | None = None,
    sample_weight: Any = None,
) -> Judged:
    """Tell labels, scores and predictions apart and make decisions of them."""
    operating = operating or Operating()
    if task not in (None, "classification", "regression"):
        raise InputError(f"task is {task!r}, expected 'classification' or 'regression'.")
    matrix = _matrix(given)
    n = np.shape(given)[0] if np.ndim(given) else 0
    if not n or np.shape(y_true)[:1] != (n,):
        found = f"y_true has shape {np.shape(y_true)} and scores_or_labels {np.shape(given)}"
        raise InputError(f"{found}, expected one value per row in both, and at least one row.")
    labels = check_labels(y_true, n)
    weight = check_weights(sample_weight, n)
    if task == "regression" or (task is None and _continuous(labels)):
        operating.check(scored=False)
        return _regression(labels, given, weight)
    predicted = np.zeros(n) if matrix is not None else check_predicted(given, n)
    classes, truth, codes = _classes(labels, None if matrix is not None else predicted)
    good, side = _favourable(classes, favourable, operating.side)
    what = Task("binary" if len(classes) == 2 else "multiclass", tuple(classes), good)
    said = favourable is not None or operating.side is not None
    if matrix is not None and what.kind == "multiclass":
        operating.check(scored=False)
        return Judged(what, truth, _largest(matrix, what), "the class with the largest score is the decision",
                      weight=weight, favourable_was_given=said)  # fmt: skip
    if matrix is not None:
        predicted = _second(matrix)
    elif codes is not None:
        operating.check(scored=False)
        return Judged(what, truth, codes, "the decisions are those given", weight=weight, favourable_was_given=said)
    return _scored(what, truth, predicted, operating, side, weight, said)


def check_predicted(given: Any, n: int) -> NDArray[Any]:
    """Return decisions or scores as one value per row, without missing ones."""
    try:
        return check_labels(given, n)
    except InputError as error:
        raise InputError(f"scores_or_labels: {str(error).replace('y ', 'it ', 1)}") from error


def _matrix(given: Any) -> Array | None:
    """Return scores given as one column per class, None for one value per row."""
    if np.ndim(given) != 2 or np.shape(given)[1] < 2:
        return None
    matrix = as_numbers(given, "scores_or_labels")
    if not np.isfinite(matrix).all():
        raise InputError("scores_or_labels has NaN or infinity, expected a number for every row and class.")
    return matrix


def _continuous(labels: NDArray[Any]) -> bool:
    return labels.dtype.kind == "f" and str(type_of_target(labels)).startswith("continuous")


def _regression(labels: NDArray[Any], given: Any, weight: Array | None) -> Judged:
    truth = as_numbers(labels, "y_true", "regression needs numbers")
    predicted = as_numbers(check_predicted(given, len(truth)), "scores_or_labels", "regression needs numbers")
    return Judged(Task("regression"), truth, predicted, "the predictions are those given", weight=weight)


def _classes(
    labels: NDArray[Any], predicted: NDArray[Any] | None
) -> tuple[list[Any], NDArray[np.intp], NDArray[np.intp] | None]:
    """Return classes, labels as class indices, and the same of predictions where these are labels."""
    truth, found = factorize(labels)
    if predicted is None or (predicted.dtype.kind == "f" and not np.array_equal(predicted, np.rint(predicted))):
        return found, truth, None
    codes, values = factorize(predicted)
    if len(found) == 1 and len(values) == 2 and found[0] in values:
        return values, np.full(len(labels), values.index(found[0]), dtype=np.intp), codes
    strange = [value for value in values if value not in found]
    if strange and predicted.dtype.kind in "iuf" and len(found) == 2 and len(values) > 2:
        return found, truth, None
    if strange:
        known = ", ".join(map(repr, found[:10]))
        raise InputError(
            f"scores_or_labels has {strange[0]!r}, which y_true does not, expected its labels ({known}) or scores."
        )
    places = np.array([found.index(value) for value in values], dtype=np.intp)
    return found, truth, places[codes]


def _favourable(classes: list[Any], favourable: Any, side: Side | None) -> tuple[int, Side]:
    """Return the favourable class and side: scores speak for the second class unless both are given."""
    if len(classes) < 2:
        raise InputError(f"y_true has one class only ({classes[0]!r}), expected 2 or more.")
    if favourable is None:
        return (0, "below") if side is not None and check_side(side) == "below" else (1, "above")
    if favourable not in classes:
        raise InputError(f"favourable is {favourable!r}, expected one of the labels {', '.join(map(repr, classes))}.")
    good = classes.index(favourable)
    return good, ("above" if good else "below") if side is None else check_side(side)


def _largest(matrix: Array, task: Task) -> NDArray[np.intp]:
    if matrix.shape[1] != len(task.classes):
        raise InputError(
            f"scores_or_labels has {matrix.shape[1]} columns, expected {len(task.classes)}, one per class of y_true."
        )
    return np.asarray(matrix.argmax(axis=1))


def _second(matrix: Array) -> Array:
    if matrix.shape[1] != 2:
        raise InputError(f"scores_or_labels has {matrix.shape[1]} columns, expected 2 (one per class) or one value.")
    return np.asarray(matrix[:, 1])


def _scored(
    task: Task,
    truth: NDArray[np.intp],
    given: NDArray[Any],
    operating: Operating,
    side: Side,
    weight: Array | None,
    said: bool,
) -> Judged:
    if task.kind == "multiclass":
        raise InputError(
            f"scores_or_labels is one number per row, expected labels or one column per class for "
            f"{len(task.classes)} classes."
        )
    operating.check(scored=True)
    scores = as_numbers(given, "scores_or_labels")
    probability = bool(scores.min() >= 0.0 and scores.max() <= 1.0)
    cutoff, how = _cutoff(scores, truth == task.favourable, operating, side, weight, probability)
    favoured = decide(scores, cutoff, side)
    decided = np.where(favoured, task.favourable, 1 - task.favourable)
    which = "of {:.6g} or more" if side == "above" else "below {:.6g}"
    rule = f"a score {which.format(cutoff)} is decided as {task.favourable_label!r} ({how})"
    return Judged(task, truth, decided, rule, scores, probability, side, cutoff, weight, said)


def _cutoff(
    scores: Array, good: NDArray[np.bool_], asked: Operating, side: Side, weight: Array | None, probability: bool
) -> tuple[float, str]:
    if asked.approval_rate is not None:
        found = cutoffs_for_rate(scores, asked.approval_rate, weight, side)
        return float(found[0]), f"the cut-off nearest to an approval rate of {asked.approval_rate:g}"
    if asked.costs is not None:
        return float(cutoffs_for_costs(scores, good, asked.costs, weight, side)[0]), "the cut-off of least cost"
    if asked.cutoff is None:
        if not probability:
            raise InputError(
                f"scores run from {scores.min():g} to {scores.max():g} and are no probabilities, expected a cut-off; "
                "give cutoff=, approval_rate= or costs=."
            )
        return 0.5, "the default for probabilities"
    cutoff = float(as_numbers(asked.cutoff, "cutoff"))
    if not scores.min() <= cutoff <= scores.max():
        raise InputError(
            f"cutoff is {cutoff:g}, expected one within the scores, which run from {scores.min():g} to "
            f"{scores.max():g}; every row would be decided alike."
        )
    return cutoff, "the cut-off given"
