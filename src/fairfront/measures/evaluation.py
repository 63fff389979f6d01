"""One named judgement of many models on one data set: the columns that people choose on, and what they may claim.

All gaps here are gaps of rates on hard decisions (or of means of predictions, for regression), in the units of those
rates. They are never loss gaps, the surrogate that models are trained on.
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
from ..problems.resources import blas_threads
from ..validation import check_weights, refuse
from .counts import Counts, Means, Sums, sums_of
from .figures import Column, larger_is_better
from .operating_points import NONE_GIVEN, OperatingPoint, check_costs
from .rates import ClassRates, GroupRates, PerGroup, effective_sizes, gaps, rates_of, selection_ratio, worst_gap
from .score_counts import auc

ALIKE, ROUNDING = 0.99, 1e-9
RIVALS: dict[str | None, str] = {
    "approval_rate": "error no smaller than that of as many approvals drawn by lot",
    "costs": "costs no less than deciding everyone alike",
}


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
        ``error``, ``approval_rate`` (the share of favourable decisions) and, for two classes, ``auc`` (``mse`` for
        regression); then, per attribute, the worst gap between any two groups: ``tpr_gap``, ``fpr_gap``,
        ``selection_gap``, ``error_gap``, for several classes ``recall_gap`` (worst over classes as well), and
        ``selection_ratio``, the lowest rate over the highest; for regression ``prediction_gap``, ``residual_gap``,
        ``mse_gap``. With several attributes each name starts with the attribute's, as in ``sex.tpr_gap``.
    signed : dict of name to array (N, c - 1)
        The same gaps with their sign, group minus reference; ``recall_gap[label]`` per class.
    groups : dict of attribute name to `GroupRates`, `ClassRates` or `GroupMeans`
        Rates, rows and weights of every group.
    sizes : dict of attribute name to effective sizes per rate (c,)
        Kish's effective numbers of rows, kept only for unequal sample weights; ``effective_n`` of all rows.
    proxies : tuple of str
        Attributes whose groups are probabilities: rates are weighted means, gaps usually understate those of people.
    small : int
        Counts below it are rounded, see `fairfront.measures.disclosure`; 0 for exact counts.
    sums : Sums or None
        Exact counts behind the figures; they stay in memory and are never written.
    operating : OperatingPoint or None
        The rule and the cut-offs (N,) that decisions were made at; None at 0.5 (or a score of 0), which nobody gave.
    labels : array of shape (K,) or None
        The shares of rows with each label; None for regression.
    alike : array of shape (N,) or None
        The share of rows that get each model's most frequent decision.
    """

    name: str
    n: int
    columns: dict[str, Array]
    signed: dict[str, Array]
    groups: dict[str, PerGroup]
    sizes: dict[str, dict[str, Array]] = field(default_factory=dict)
    effective_n: float | None = None
    proxies: tuple[str, ...] = ()
    small: int = 0
    sums: Sums | None = field(default=None, repr=False)
    operating: OperatingPoint | None = None
    labels: Array | None = None
    alike: Array | None = None

    @property
    def weighted(self) -> bool:
        return self.effective_n is not None

    @property
    def rule(self) -> str:
        return NONE_GIVEN if self.operating is None else self.operating.rule.words

    @property
    def cutoffs(self) -> Array | None:
        """Return the cut-off of each model, (N,), None where no operating point was given."""
        return None if self.operating is None else self.operating.cutoffs

    @property
    def n_models(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, column: str) -> Array:
        if column in self.columns:
            return self.columns[column]
        near = difflib.get_close_matches(str(column), self.columns, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        known = ", ".join(self.columns)
        raise InputError(f"evaluation {self.name!r} has no column {column!r}, expected one of {known}{hint}")


@blas_threads(1)
def evaluate_scores(
    scores: ArrayLike,
    labels: ArrayLike,
    task: Task,
    attributes: Sequence[Attribute],
    *,
    name: str,
    sample_weight: ArrayLike | None = None,
    decided: NDArray[np.bool_] | None = None,
) -> Evaluation:
    """Judge N models by their scores (N, K, n) on rows whose labels (n,) are class indices, or values for regression.

    Two classes: K = 1 and a score above 0 decides for ``task.classes[1]``, unless ``decided`` (N, n) says which rows
    are; several classes: the largest score decides; regression: K = 1 and the score is the prediction. Rows without a
    group count in ``error`` and ``auc`` and stay out of the gaps.
    """
    values, truth = check_scores(scores, task), np.asarray(labels)
    weight, area = check_weights(sample_weight, len(truth)), None
    sums = sums_of(decide(values, task) if decided is None else decided, truth, task, attributes, weight)
    if task.kind == "binary":
        one = values[:, 0]
        decisions = [np.isin(each, (0.0, 1.0)).all() or np.isin(each, (-0.5, 0.5)).all() for each in one]
        area = np.where(decisions, np.nan, auc(one, truth == 1, weight))  # decisions in the place of scores rank nobody
    return judgement_of(sums, task, attributes, name, area)


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


def judgement_of(sums: Sums, task: Task, attributes: Sequence[Attribute], name: str, area: Array | None) -> Evaluation:
    """``area`` (N,) is the AUC."""
    good, pairs = task.favourable, list(zip(attributes, sums.groups, strict=True))
    groups = {each.name: rates_of(counts, each.levels, good) for each, counts in pairs}
    record = evaluation_of(name, task, sums.n, sums.everyone, groups, area)
    record = replace(record, sums=sums, proxies=tuple(each.name for each in attributes if each.is_proxy))
    if sums.effective_n is None:
        return record
    sizes = {
        each.name: effective_sizes(counts, len(each.levels), good)
        for each, counts in pairs
        if isinstance(counts, Counts)
    }
    return replace(record, sizes=sizes, effective_n=sums.effective_n)


def evaluation_of(
    name: str, task: Task, n: int, everyone: Counts | Means, groups: dict[str, PerGroup], area: Array | None
) -> Evaluation:
    columns, signed, known = dict[str, Array](), dict[str, Array](), dict[str, Array]()
    if isinstance(everyone, Means):
        columns["mse"] = np.asarray(everyone.sums[:, 0, 2] / everyone.weight[0])
    else:
        cells = everyone.weight[:, 0] / everyone.weight.sum(axis=(1, 2, 3))[:, None, None]
        decided = cells.sum(axis=1)
        columns["error"] = np.clip(1.0 - np.trace(cells, axis1=1, axis2=2), 0.0, 1.0)
        columns["approval_rate"] = np.clip(decided[:, task.favourable], 0.0, 1.0)
        known = {"labels": cells[:1].sum(axis=(0, 2)), "alike": np.minimum(decided.max(axis=1), 1.0)}
    columns |= {} if area is None else {"auc": area}
    for attribute, rates in groups.items():
        prefix = f"{attribute}." if len(groups) > 1 else ""
        for rate in (each for each in rates.names if each != "accuracy"):  # its gap is minus that of the error
            columns[f"{prefix}{rate}_gap"] = worst_gap(rates, rate)
            gap = gaps(rates, rate)
            if gap.ndim == 3:
                signed |= {f"{prefix}{rate}_gap[{label}]": gap[:, :, k] for k, label in enumerate(task.classes)}
            else:
                signed[f"{prefix}{rate}_gap"] = gap
        if "selection" in rates.names:
            columns[f"{prefix}selection_ratio"] = selection_ratio(rates)
    return Evaluation(name, n, columns, signed, groups, **known)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Pair:
    """Two groups of an attribute, the lower rate first, and the rows of each that the figure is about.

    ``label`` says which rows these are, if not all; ``fewest`` are those of the two smallest groups that are compared.
    """

    attribute: str
    groups: tuple[str, str]
    people: tuple[float, float]
    fewest: tuple[float, float]
    gap: float
    label: str = ""

    @property
    def words(self) -> str:
        (one, other), (few, many) = self.groups, self.people
        return f"{one} ({few:.0f} people{self.label}) and {other} ({many:.0f})"


def worst_pair(record: Evaluation, column: str, model: int, task: Task) -> Pair | None:
    """Return the pair that makes a model's worst gap or ratio, if any; a bare name is that of the worst attribute."""
    if not isinstance(column, str):
        raise refuse("name", column, "the name of a gap or a ratio")
    name = column
    if column not in record.columns:
        parts = [each for each in record.columns if Column.of(each).kind == column]
        if not parts:
            raise refuse("name", column, f"one of {', '.join(record.columns)}")
        sign = -1.0 if larger_is_better(column) else 1.0
        name = max(parts, key=lambda each: np.nan_to_num(sign * record.columns[each][model], nan=-np.inf))
    found = Column.of(name)
    attribute = found.attribute or next(iter(record.groups))
    rates, rate = record.groups[attribute], "selection" if found.figure == "selection_ratio" else found.figure
    if rate not in rates.names:
        raise refuse("name", column, "a gap or a ratio between groups, such as 'tpr_gap'")
    values, k = rates.rate(rate)[model], None
    if values.ndim == 2:
        spread = np.fmax.reduce(values, axis=0) - np.fmin.reduce(values, axis=0)
        k = int(np.argmax(np.nan_to_num(spread, nan=-1.0)))
        values = values[:, k]
    known = np.flatnonzero(~np.isnan(values))
    if len(known) < 2:
        return None
    low, high = int(known[np.argmin(values[known])]), int(known[np.argmax(values[known])])
    if low == high:  # all rates are equal
        low, high = int(known[0]), int(known[-1])
    people, label = _rows_about(rates, rate, task, k)
    few, more, *_ = np.sort(people[known]).tolist()
    names, between = (rates.levels[low], rates.levels[high]), (float(people[low]), float(people[high]))
    return Pair(attribute, names, between, (few, more), float(values[high] - values[low]), label)


def _rows_about(rates: PerGroup, rate: str, task: Task, k: int | None) -> tuple[Array, str]:
    rows = rates.labelled if isinstance(rates, GroupRates) else None
    if rows is None or rate not in ("tpr", "fpr", "recall"):
        return rates.n, ""
    good = task.favourable if isinstance(rates, ClassRates) else 0
    if rate == "fpr":
        return np.asarray(rows.sum(axis=1) - rows[:, good]), f" not labelled {task.favourable_label!r}"
    label = task.favourable_label if k is None else task.classes[k]
    return np.asarray(rows[:, good if k is None else k]), f" labelled {label!r}"


def decides_alike(record: Evaluation) -> NDArray[np.bool_]:
    """Tell which models decide more than 99 % of the rows alike, (N,)."""
    return np.zeros(record.n_models, dtype=bool) if record.alike is None else np.asarray(record.alike > ALIKE)


def no_better(record: Evaluation, task: Task) -> NDArray[np.bool_]:
    """Tell which models are no better than decisions that look at nobody, (N,).

    What has to be beaten follows from what was asked for: at an approval rate, which the majority label would not meet,
    as many approvals drawn by lot; at costs, the cost of deciding everyone alike; else giving everyone that label.
    """
    if record.labels is None:
        return np.zeros(record.n_models, dtype=bool)
    reached, approved, good = record["error"], record["approval_rate"], float(record.labels[task.favourable])
    rival: Any = 1.0 - float(record.labels.max())
    rule = None if record.operating is None else record.operating.rule
    if rule is not None and rule.asked == "approval_rate":
        rival = approved * (1.0 - good) + (1.0 - approved) * good
    elif rule is not None and rule.costs is not None:
        false_positive, false_negative = check_costs(rule.costs)
        wrongly = 0.5 * (reached + approved - good)  # false positives less false negatives are approved less good
        reached = false_positive * wrongly + false_negative * (reached - wrongly)
        rival = min(false_positive * (1.0 - good), false_negative * good)
    return np.asarray(reached >= rival - ROUNDING)


def trivial(record: Evaluation, task: Task) -> NDArray[np.bool_]:
    """Tell which models are marked and never suggested, (N,)."""
    return np.asarray(decides_alike(record) | no_better(record, task))


def rival_words(record: Evaluation) -> str:
    asked = None if record.operating is None else record.operating.rule.asked
    return RIVALS.get(asked, "error no smaller than that of giving everyone the majority label")
