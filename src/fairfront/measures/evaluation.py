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
from ..validation.data import check_weights
from .counts import Counts, Means, Sums, ratio, sums_of
from .disclosure import LIMIT, Pool, any_small, in_units, pool_of, publish_counts, publish_sizes, publish_weights
from .operating_points import NONE_GIVEN, OperatingPoint
from .rates import (
    PerGroup,
    auc,
    effective_sizes,
    gaps,
    means_of,
    rates_of,
    selection_ratio,
    worst_gap,
)


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
        cells, total = everyone.weight[:, 0], everyone.weight.sum(axis=(1, 2, 3))
        decided = cells.sum(axis=1) / total[:, None]
        columns["error"] = np.clip((total - np.trace(cells, axis1=1, axis2=2)) / total, 0.0, 1.0)
        columns["approval_rate"] = np.clip(decided[:, task.favourable], 0.0, 1.0)
        known = {"labels": cells[0].sum(axis=1) / total[0], "alike": np.minimum(decided.max(axis=1), 1.0)}
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


def published(record: Evaluation, task: Task) -> Evaluation:
    """Return an evaluation in which no count below `LIMIT` is exact; one that was published already stays as it is."""
    if record.small:
        return record
    if record.sums is None:
        raise InputError(f"evaluation {record.name!r} has no counts to publish, expected one made by evaluate.")
    good, groups, sizes = task.favourable, dict[str, PerGroup](), dict[str, dict[str, Array]]()
    for (name, rates), counts in zip(record.groups.items(), record.sums.groups, strict=True):
        pool = pool_of(rates.levels, counts.sizes[:-1])
        pooled = counts.pooled((*pool.members, (len(rates.levels),)))
        if isinstance(pooled, Means):
            groups[name] = _means(pooled, pool, record.sums)
            continue
        shown = _without_few(publish_counts(pooled.with_everyone(), good), pooled.sizes < LIMIT)
        groups[name], sizes[name] = rates_of(shown, pool.levels, good), effective_sizes(shown, len(pool.levels), good)
    area, everyone = record.columns.get("auc"), record.sums.everyone
    if isinstance(everyone, Counts):
        if area is not None and everyone.rows[:1].sum(axis=(0, 1, 3)).min() < LIMIT:
            area = np.full_like(area, np.nan)  # it rests on a few people of one label
        everyone = publish_counts(everyone.with_everyone(), good).changed(lambda cells: cells[:, -1:])
    found = evaluation_of(record.name, task, record.n, everyone, groups, area)
    figures = {name: getattr(found, name) for name in ("columns", "signed", "groups", "labels", "alike")}
    known = {name: sizes[name] for name in record.sizes}
    return replace(record, **figures, sizes=known, small=LIMIT, sums=None)


def _without_few(shown: Counts, few: NDArray[np.bool_]) -> Counts:
    """Return counts whose groups of a few people weigh nothing, so that they have no rates; rows stay."""
    hidden = np.append(few[:-1], [False, False])[:, None, None]  # neither rows without a group nor all rows
    return Counts(shown.rows, *(np.where(hidden, 0.0, each) for each in (shown.weight, shown.squared)))


def _means(exact: Means, pool: Pool, sums: Sums) -> PerGroup:
    shown, few = publish_sizes(exact.rows)[:-1], exact.rows[:-1] < LIMIT
    weight, total = exact.weight[:-1], exact.sums[:, :-1]
    if any_small(exact.rows, exact.rows[:, None], exact.rows, 1):
        mean = np.nan_to_num(ratio(total, weight[:, None]))
        one = np.sqrt(mean[:, :, 2]) / np.where(shown > 0, shown, 1.0)
        weight = publish_weights(weight, exact.rows[:-1], shown, sums.weight / sums.n)
        unit = np.stack([one, one, one * np.sqrt(mean[:, :, 2])], axis=2)
        total = in_units(mean, unit) * weight[:, None]
    return means_of(shown, np.where(few, 0.0, weight), np.where(few[:, None], 0.0, total), pool.levels)
