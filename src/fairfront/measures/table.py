"""One named judgement of many models on one data set: the columns that people choose on.

All gaps here are gaps of rates on hard decisions (or of means of predictions, for regression), in the units
of those rates. They are never loss gaps, the surrogate that models are trained on.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exceptions import InputError
from ..objectives import Array, Attribute, Task
from ..validation import check_weights
from .contrasts import PerGroup, gaps, selection_ratio, worst_gap
from .intervals import effective_sizes
from .overall import auc, error_rate, mean_squared_error
from .rates import class_rates, group_rates
from .values import group_means


@dataclass(frozen=True, eq=False)
class Evaluation:
    """N models judged on the n rows of one data set.

    Attributes
    ----------
    name : str
        What the data set is for, such as "validation".
    n : int
        Number of rows.
    columns : dict of name to array (N,)
        ``error`` and, for two classes, ``auc`` (``mse`` for regression); then, per attribute, the worst gap
        between any two groups: ``tpr_gap``, ``fpr_gap``, ``selection_gap``, ``error_gap``, for several
        classes ``recall_gap`` (worst over classes as well), and ``selection_ratio``; for regression
        ``prediction_gap``, ``residual_gap``, ``mse_gap``. With several attributes each name starts with the
        attribute's, as in ``sex.tpr_gap``.
    signed : dict of name to array (N, c - 1)
        The same gaps with their sign, group minus reference; ``recall_gap[label]`` per class.
    groups : dict of attribute name to `GroupRates`, `ClassRates` or `GroupMeans`
        Rates, rows and weights of every group.
    sizes : dict of attribute name to effective sizes per rate (c,)
        Kish's effective numbers of rows, kept only for unequal sample weights; ``effective_n`` of all rows.
    """

    name: str
    n: int
    columns: dict[str, Array]
    signed: dict[str, Array]
    groups: dict[str, PerGroup]
    sizes: dict[str, dict[str, Array]] = field(default_factory=dict)
    effective_n: float | None = None

    @property
    def n_models(self) -> int:
        """Return the number of models judged."""
        return len(next(iter(self.columns.values())))

    def __getitem__(self, column: str) -> Array:
        if column in self.columns:
            return self.columns[column]
        near = difflib.get_close_matches(str(column), self.columns, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise InputError(
            f"evaluation {self.name!r} has no column {column!r}, expected one of {', '.join(self.columns)}{hint}"
        )


def evaluate_scores(
    scores: ArrayLike,
    labels: ArrayLike,
    task: Task,
    attributes: Sequence[Attribute],
    *,
    name: str,
    sample_weight: ArrayLike | None = None,
) -> Evaluation:
    """Judge N models by their scores on n rows.

    Parameters
    ----------
    scores : array of shape (N, K, n)
        Two classes: K = 1 and a score above 0 decides for ``task.classes[1]``; several classes: the largest
        score decides; regression: K = 1 and the score is the prediction.
    labels : array of shape (n,)
        Class indices, or values for regression.
    task : Task
        Which label is favourable may be either of two classes.
    attributes : sequence of Attribute
        The groups; rows without a group count in ``error`` and ``auc`` and stay out of the gaps.
    name : str
        Name of the record.
    sample_weight : array of shape (n,), optional
    """
    values = _check_scores(scores, task)
    truth = _check_truth(labels, task, values.shape[2])
    weight = check_weights(sample_weight, len(truth))
    decided = decide(values, task)
    columns = _overall(values, decided, truth, task, weight)
    signed: dict[str, Array] = {}
    groups: dict[str, PerGroup] = {}
    for attribute in attributes:
        rates = _per_group(decided, truth, task, attribute, weight)
        prefix = f"{attribute.name}." if len(attributes) > 1 else ""
        columns |= {prefix + key: column for key, column in _worst(rates).items()}
        signed |= {prefix + key: gap for key, gap in _signed(rates, task).items()}
        groups[attribute.name] = rates
    record = Evaluation(name, len(truth), columns, signed, groups)
    return record if weight is None else _with_sizes(record, truth, task, attributes, weight)


def _with_sizes(
    record: Evaluation, truth: NDArray[Any], task: Task, attributes: Sequence[Attribute], weight: Array
) -> Evaluation:
    """Add effective sizes, so that unequal weights do not make intervals too sure."""
    good = truth == task.favourable
    sizes = {
        a.name: effective_sizes(good, a.membership() if a.codes is None else a.codes, a.levels, weight)
        for a in attributes
    }
    return replace(record, sizes=sizes, effective_n=float(weight.sum() ** 2 / (weight @ weight)))


def decide(scores: NDArray[Any], task: Task) -> NDArray[Any]:
    """Return class indices (booleans for two classes) or predictions, (N, n)."""
    if task.kind == "binary":
        return np.asarray(scores[:, 0] > 0)
    return np.asarray(scores.argmax(axis=1) if task.kind == "multiclass" else scores[:, 0])


def _overall(
    scores: NDArray[Any], decided: NDArray[Any], truth: NDArray[Any], task: Task, weight: Array | None
) -> dict[str, Array]:
    if task.kind == "regression":
        return {"mse": mean_squared_error(decided, truth, weight)}
    columns = {"error": error_rate(decided, truth, weight)}
    if task.kind == "binary":
        columns["auc"] = auc(scores[:, 0], truth == 1, weight)
    return columns


def _per_group(
    decided: NDArray[Any], truth: NDArray[Any], task: Task, attribute: Attribute, weight: Array | None
) -> PerGroup:
    codes = attribute.membership() if attribute.codes is None else attribute.codes
    if task.kind == "regression":
        return group_means(decided, truth, codes, attribute.levels, weight)
    good = task.favourable
    if task.kind == "binary":
        return group_rates(decided == bool(good), truth == good, codes, attribute.levels, weight)
    return class_rates(decided, truth, len(task.classes), good, codes, attribute.levels, weight)


def _worst(rates: PerGroup) -> dict[str, Array]:
    columns = {f"{name}_gap": worst_gap(rates, name) for name in _compared(rates)}
    return columns | ({"selection_ratio": selection_ratio(rates)} if "selection" in rates.names else {})


def _signed(rates: PerGroup, task: Task) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for name in _compared(rates):
        gap = gaps(rates, name)
        if gap.ndim == 3:
            found |= {f"{name}_gap[{label}]": gap[:, :, k] for k, label in enumerate(task.classes)}
        else:
            found[f"{name}_gap"] = gap
    return found


def _compared(rates: PerGroup) -> list[str]:
    """Leave accuracy out: its gap is minus that of the error."""
    return [name for name in rates.names if name != "accuracy"]


def _check_scores(scores: ArrayLike, task: Task) -> NDArray[Any]:
    array = np.asarray(scores)
    K = len(task.classes) if task.kind == "multiclass" else 1
    if array.ndim != 3 or array.shape[1] != K or array.shape[2] == 0:
        raise InputError(f"scores has shape {array.shape}, expected (N, {K}, n): models, score(s) per row, rows.")
    bad = ~np.isfinite(array) if task.kind == "regression" else np.isnan(array)
    if bad.any():
        raise InputError(
            f"scores has NaN or infinity for model {int(np.argmax(bad.any(axis=(1, 2))))}, expected numbers."
        )
    return array


def _check_truth(labels: ArrayLike, task: Task, n: int) -> NDArray[Any]:
    array = np.asarray(labels)
    if array.shape != (n,):
        raise InputError(f"labels has shape {array.shape}, expected ({n},), as many as scores has rows.")
    if task.kind != "regression" and not np.isin(array, np.arange(len(task.classes))).all():
        raise InputError(f"labels must be class indices from 0 to {len(task.classes) - 1}; encode them first.")
    return array
