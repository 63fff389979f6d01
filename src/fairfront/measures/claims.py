"""What is said of judged models: between whom the worst gap lies, and who is no better than deciding everyone alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Task
from ..validation import refuse
from .evaluation import Evaluation
from .figures import Column, larger_is_better
from .operating_points import check_costs

ALIKE, ROUNDING = 0.99, 1e-9
RIVALS: dict[str | None, str] = {
    "approval_rate": "error no smaller than that of as many approvals drawn by lot",
    "costs": "costs no less than deciding everyone alike",
}


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
    people, good = rates.people(rate, task.favourable), task.favourable_label
    label = {"tpr": f" labelled {good!r}", "fpr": f" not labelled {good!r}"}.get(rate, "")
    if k is not None:
        people, label = people[:, k], f" labelled {task.classes[k]!r}"
    few, more, *_ = np.sort(people[known]).tolist()
    names, between = (rates.levels[low], rates.levels[high]), (float(people[low]), float(people[high]))
    return Pair(attribute, names, between, (few, more), float(values[high] - values[low]), label)


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
