"""What is said of judged models: between whom the worst gap lies, what beats nobody, and what meets a requirement.

A model that does no better than deciding everyone alike is marked and never suggested. Requirements of an audit are
texts such as ``selection_ratio.lower>=0.80``.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Array, Task
from ..validation import check_text, refuse
from .cutoffs import Operating, check_costs
from .evaluation import Evaluation
from .figures import MORE, MORE_VALUES, RATIO_OF, RATIOS, Column, larger_is_better
from .group_table import GroupTable
from .intervals import worst_gap_place
from .rates import GroupRates
from .score_gaps import ordered_pair

ALIKE, ROUNDING = 0.99, 1e-9
RIVALS: dict[str | None, str] = {
    "approval_rate": "error no lower than when as many people are approved at random",
    "costs": "cost no lower than giving everyone the same decision",
}


@dataclass(frozen=True)
class Pair:
    """Two groups of an attribute, the lower rate first, and the rows of each that the figure is about.

    ``label`` says which rows these are, if not all, ``of_class`` of which class a recall is; ``fewest`` are
    those of the two smallest groups that are compared.
    """

    attribute: str
    groups: tuple[str, str]
    people: tuple[float, float]
    fewest: tuple[float, float]
    gap: float
    label: str = ""
    of_class: str = ""

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
        parts = record.parts(column)
        if not parts:
            raise refuse("name", column, f"one of {', '.join(record.columns)}")
        sign = -1.0 if larger_is_better(column) else 1.0
        name = max(parts, key=lambda each: np.nan_to_num(sign * record.columns[each][model], nan=-np.inf))
    found = Column.of(name)
    attribute = found.attribute or next(iter(record.groups))
    if (pairs := record.scored.get(attribute, {}).get(found.figure)) is not None:
        return _of_scores(record, attribute, pairs.gap[model])
    rates, rate = record.groups[attribute], RATIO_OF.get(found.figure, found.figure)
    if rate not in (*rates.names, "precision", *MORE, *MORE_VALUES):
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
    of_class = "" if k is None else str(task.classes[k])
    few, more, *_ = np.sort(people[known]).tolist()
    names, between = (rates.levels[low], rates.levels[high]), (float(people[low]), float(people[high]))
    return Pair(attribute, names, between, (few, more), float(values[high] - values[low]), label, of_class)


def bound_pair(record: Evaluation, column: str, model: int, confidence: float = 0.95) -> tuple[str, ...]:
    """Return the two groups, and their attribute, whose interval reaches the upper bound of a worst gap; none without.

    They need not be those of the gap that is observed: bounds of few people reach farther.
    """
    parts = [name for name in record.parts(column) if Column.of(name).gap]
    uppers = {name: float(record.figure(name, confidence)[model]) for name in parts}
    known = {name: upper for name, upper in uppers.items() if upper == upper}
    if not known:
        return ()
    name = max(known, key=lambda each: known[each])
    attribute = Column.of(name).attribute or next(iter(record.groups))
    rates = record.groups[attribute]
    of_scores = Column.of(name).figure in record.scored.get(attribute, {})
    if not isinstance(rates, GroupRates) or of_scores:
        return ()
    place = int(record.figure(name, confidence, worst_gap_place)[model])
    one, other = (int(each[place]) for each in np.triu_indices(len(rates.levels), 1))
    return rates.levels[one], rates.levels[other], attribute


def _of_scores(record: Evaluation, attribute: str, gap: Array) -> Pair | None:
    """Return the pair with the largest gap of scores, (pairs,)."""
    rates = record.groups[attribute]
    if np.isnan(gap).any():
        return None
    low, high = ordered_pair(gap, len(rates.levels))
    few, more, *_ = np.sort(rates.n).tolist()
    names, people = (rates.levels[low], rates.levels[high]), (float(rates.n[low]), float(rates.n[high]))
    return Pair(attribute, names, people, (few, more), float(np.abs(gap).max()), "")


def decides_alike(record: Evaluation) -> NDArray[np.bool_]:
    """Tell which models decide more than 99 % of the rows alike, (N,)."""
    return np.zeros(record.n_models, dtype=bool) if record.alike is None else np.asarray(record.alike > ALIKE)


def no_better(record: Evaluation, task: Task, inside: Operating | None = None) -> NDArray[np.bool_]:
    """Tell which models are no better than decisions that look at nobody, (N,).

    What has to be beaten follows from what was asked for: at an approval rate, which the majority label would not meet,
    as many approvals drawn by lot; at costs, the cost of deciding everyone alike; else giving everyone that label.
    ``inside`` is what was asked of models that have their operating point inside.
    """
    if record.labels is None:
        return np.zeros(record.n_models, dtype=bool)
    reached, approved, good = record["error"], record["approval_rate"], float(record.labels[task.favourable])
    rival: Any = 1.0 - float(record.labels.max())
    rule = inside if record.operating is None else record.operating.rule
    if rule is not None and rule.asked == "approval_rate":
        rival = approved * (1.0 - good) + (1.0 - approved) * good
    elif rule is not None and rule.costs is not None:
        false_positive, false_negative = check_costs(rule.costs)
        wrongly = 0.5 * (reached + approved - good)  # false positives less false negatives are approved less good
        reached = false_positive * wrongly + false_negative * (reached - wrongly)
        rival = min(false_positive * (1.0 - good), false_negative * good)
    return np.asarray(reached >= rival - ROUNDING)


def trivial(record: Evaluation, task: Task, inside: Operating | None = None) -> NDArray[np.bool_]:
    """Tell which models are marked and never suggested, (N,)."""
    return np.asarray(decides_alike(record) | no_better(record, task, inside))


def rival_words(record: Evaluation, inside: Operating | None = None) -> str:
    rule = inside if record.operating is None else record.operating.rule
    return RIVALS.get(None if rule is None else rule.asked, "error no lower than giving everyone the majority label")


Outcome = Literal["met", "not met", "inconclusive"]
REQUIREMENT = re.compile(
    r"^\s*(?P<name>(?:[^<>=\[]|\[[^\]]*\])*?[a-z\]])\s*(?P<sign><=|>=)\s*"
    r"(?P<bound>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*$"
)
DOT = re.compile(r"\.(?![^\[]*\])")  # not those in a class: recall[a.b]_gap


@dataclass(frozen=True)
class Requirement:
    """``figure`` of an attribute (all where it is None) at most or at least ``bound``, at an end of its interval."""

    text: str
    attribute: str | None
    figure: str
    end: str
    sign: str
    bound: float


@dataclass(frozen=True)
class Verdict:
    """What became of a requirement for one attribute; ``sentence`` gives the figures."""

    requirement: str
    attribute: str
    outcome: Outcome
    sentence: str


def parse_requirement(text: str) -> Requirement:
    """Read ``[attribute.]figure[.lower|.upper](<=|>=)number``; the end is the one that has to hold."""
    found = REQUIREMENT.match(check_text(text, "requirement", 'a text such as "selection_ratio.lower>=0.80"'))
    if found is None:
        raise InputError(
            f"requirement {text!r} cannot be read, expected [attribute.]figure[.lower|.upper]>=number or <=number, "
            'such as "selection_ratio.lower>=0.80".'
        )
    *words, sign = *DOT.split(found["name"]), found["sign"]
    end = words.pop() if len(words) > 1 and words[-1] in ("lower", "upper", "value") else "value"
    if (end, sign) in (("lower", "<="), ("upper", ">=")):
        other = "upper" if end == "lower" else "lower"
        raise InputError(f"requirement {text!r} uses the bound that is easier to meet, expected .{other} with {sign}.")
    return Requirement(text.strip(), ".".join(words[:-1]) or None, words[-1], end, sign, float(found["bound"]))


def verdict_of(table: GroupTable, asked: Requirement) -> Verdict:
    attribute, contrasts = table.lines.attribute, {worst.figure: worst for worst in table.worst}
    if asked.figure in contrasts:
        worst = contrasts[asked.figure]
        value, lower, upper = worst.value, worst.lower, worst.upper
        claim = worst.pair_lower if asked.figure in RATIOS else lower  # all pairs have to hold: each on its own
    else:
        there = table.columns
        overall = [name for name in there if f"{name}_lower" in there and f"{name}_gap" in there]
        if asked.figure not in overall:
            names = [*contrasts, *overall]
            near = difflib.get_close_matches(asked.figure, names, n=1, cutoff=0.5)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise InputError(
                f"requirement {asked.text!r} names {asked.figure!r}, expected one of {', '.join(names)}{hint}"
            )
        value, lower, upper = (float(there[asked.figure + end][-1]) for end in ("", "_lower", "_upper"))
        claim = lower
    if value != value or lower != lower or upper != upper:
        said = f"{attribute}: {asked.figure} is not defined on these rows; {asked.text} is inconclusive."
        return Verdict(asked.text, attribute, "inconclusive", said)
    outcome: Outcome = "inconclusive"
    if table.lines.is_proxy and asked.figure in contrasts:
        why = "that is between groups given as probabilities, not between people; "
    else:
        sure, possible = {"value": (value, value), "lower": (claim, upper), "upper": (upper, claim)}[asked.end]
        sign = 1.0 if asked.sign == ">=" else -1.0
        if sign * sure >= sign * asked.bound:
            outcome = "met"
        elif sign * possible < sign * asked.bound:
            outcome = "not met"
        alone = asked.figure in RATIOS and asked.end == "lower"
        why = f"the lower bound of each single pair of groups is {claim:.4g} or more; " if alone else ""
    figures = f"{asked.figure} is {value:.4g} ({lower:.4g} to {upper:.4g})"
    return Verdict(asked.text, attribute, outcome, f"{attribute}: {figures}; {why}{asked.text} is {outcome}.")
