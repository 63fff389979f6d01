"""What may be claimed of figures: whom a worst one is between, which models decide too little, requirements met or not.

What a model has to beat depends on what was asked for. At a cut-off, or at 0.5, it is the error of giving everyone the
majority label; at an approval rate, which that label would not meet, the error of as many approvals drawn by lot; at
costs, the cost of deciding everyone alike.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Array, Task
from ..validation import check_text, refuse
from .evaluation import Evaluation
from .figures import RATIOS, Column, larger_is_better
from .operating_points import check_costs
from .rates import ClassRates, GroupRates, PerGroup

if TYPE_CHECKING:
    from .audit_record import Audit


@dataclass(frozen=True)
class Pair:
    """Two groups of an attribute, the lower rate first, and the rows of each that the figure is about.

    ``gap`` is the difference of their rates; ``label`` says which rows these are, nothing where they are all rows of
    a group; ``fewest`` are those of the two smallest groups that are compared.
    """

    attribute: str
    groups: tuple[str, str]
    people: tuple[float, float]
    fewest: tuple[float, float]
    gap: float
    label: str = ""

    @property
    def words(self) -> str:
        """Name the groups with the people whom the figure rests on."""
        (one, other), (few, many) = self.groups, self.people
        return f"{one} ({few:.0f} people{self.label}) and {other} ({many:.0f})"


def worst_pair(record: Evaluation, column: str, model: int, task: Task) -> Pair | None:
    """Return the pair that makes a model's worst gap or ratio; None where it has none.

    With several attributes a bare name is that of the worst of them.
    """
    name = _worst_column(record, column, model)
    found = Column.of(name)
    attribute = found.attribute or next(iter(record.groups))
    rates, rate = record.groups[attribute], "selection" if found.figure == "selection_ratio" else found.figure
    if rate not in rates.names:
        raise refuse("name", column, "a gap or a ratio between groups, such as 'tpr_gap'")
    values = rates.rate(rate)[model]
    k = None
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
    few = np.sort(people[known])
    between = float(people[low]), float(people[high])
    names, gap = (rates.levels[low], rates.levels[high]), float(values[high] - values[low])
    return Pair(attribute, names, between, (float(few[0]), float(few[1])), gap, label)


def _rows_about(rates: PerGroup, rate: str, task: Task, k: int | None) -> tuple[Array, str]:
    """Return the rows of each group that a rate is about, (c,), and what label they have."""
    rows = rates.labelled if isinstance(rates, GroupRates) else None
    if rows is None or rate not in ("tpr", "fpr", "recall"):
        return rates.n, ""
    several = isinstance(rates, ClassRates)
    good = task.favourable if several else 0
    if rate == "fpr":
        return np.asarray(rows.sum(axis=1) - rows[:, good]), f" not labelled {task.favourable_label!r}"
    label = task.favourable_label if k is None else task.classes[k]
    return np.asarray(rows[:, good if k is None else k]), f" labelled {label!r}"


def _worst_column(record: Evaluation, column: str, model: int) -> str:
    """Return the column of one attribute behind a bare name."""
    if not isinstance(column, str):
        raise refuse("name", column, "the name of a gap or a ratio")
    if column in record.columns:
        return column
    parts = [name for name in record.columns if Column.of(name).kind == column]
    if not parts:
        raise refuse("name", column, f"one of {', '.join(record.columns)}")
    sign = -1.0 if larger_is_better(column) else 1.0
    return max(parts, key=lambda name: np.nan_to_num(sign * record.columns[name][model], nan=-np.inf))


ALIKE = 0.99


ROUNDING = 1e-9


def decides_alike(record: Evaluation) -> NDArray[np.bool_]:
    """Tell which models decide more than 99 % of the rows alike, (N,)."""
    if record.alike is None:
        return np.zeros(record.n_models, dtype=bool)
    return np.asarray(record.alike > ALIKE)


def no_better(record: Evaluation, task: Task) -> NDArray[np.bool_]:
    """Tell which models are no better than decisions that look at nobody, (N,)."""
    if record.labels is None:
        return np.zeros(record.n_models, dtype=bool)
    reached, rival = _reached(record, task)
    return np.asarray(reached >= rival - ROUNDING)


def trivial(record: Evaluation, task: Task) -> NDArray[np.bool_]:
    """Tell which models are marked and never suggested, (N,)."""
    return np.asarray(decides_alike(record) | no_better(record, task))


def rival_words(record: Evaluation) -> str:
    """Say what a model that is no better is compared with."""
    asked = None if record.operating is None else record.operating.rule.asked
    if asked == "approval_rate":
        return "error no smaller than that of as many approvals drawn by lot"
    if asked == "costs":
        return "costs no less than deciding everyone alike"
    return "error no smaller than that of giving everyone the majority label"


def _reached(record: Evaluation, task: Task) -> tuple[Array, Array]:
    """Return what models reach and what they have to beat, (N,) each: errors, or costs per row."""
    assert record.labels is not None
    error, approved = record["error"], record["approval_rate"]
    rule = None if record.operating is None else record.operating.rule
    good = float(record.labels[task.favourable])
    if rule is not None and rule.asked == "approval_rate":
        return error, approved * (1.0 - good) + (1.0 - approved) * good
    if rule is not None and rule.costs is not None:
        false_positive, false_negative = check_costs(rule.costs)
        wrongly = 0.5 * (error + approved - good)  # false positives less false negatives are approved less good
        cost = false_positive * wrongly + false_negative * (error - wrongly)
        rival = min(false_positive * (1.0 - good), false_negative * good)
        return cost, np.full(len(cost), rival)
    return error, np.full(len(error), 1.0 - float(record.labels.max()))


Outcome = Literal["met", "not met", "inconclusive"]
FORM = re.compile(
    r"^\s*(?P<name>(?:[^<>=\[]|\[[^\]]*\])*?[a-z\]])\s*(?P<sign><=|>=)\s*"
    r"(?P<bound>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*$"
)
DOT = re.compile(r"\.(?![^\[]*\])")  # not those in a class: recall[a.b]_gap
ENDS = ("lower", "upper", "value")


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
    """What became of a requirement for one attribute.

    ``sentence`` gives the figures.
    """

    requirement: str
    attribute: str
    outcome: Outcome
    sentence: str


def parse_requirement(text: str) -> Requirement:
    """Read ``[attribute.]figure[.lower|.upper](<=|>=)number``.

    ``.lower`` goes with ``>=`` and ``.upper`` with ``<=``: the end that has to hold.
    """
    found = FORM.match(check_text(text, "requirement", 'a text such as "selection_ratio.lower>=0.80"'))
    if found is None:
        raise InputError(
            f"requirement {text!r} cannot be read, expected [attribute.]figure[.lower|.upper]>=number or <=number, "
            'such as "selection_ratio.lower>=0.80".'
        )
    *words, sign = *DOT.split(found["name"]), found["sign"]
    end = words.pop() if len(words) > 1 and words[-1] in ENDS else "value"
    if (end, sign) in (("lower", "<="), ("upper", ">=")):
        other = "upper" if end == "lower" else "lower"
        raise InputError(f"requirement {text!r} asks for the easy end of the interval, expected .{other} with {sign}.")
    attribute = ".".join(words[:-1]) or None
    return Requirement(text.strip(), attribute, words[-1], end, sign, float(found["bound"]))


def judge(audit: Audit, text: str) -> tuple[Verdict, ...]:
    """Judge a requirement for its attribute, or for every one."""
    asked = parse_requirement(text)
    if asked.attribute is not None and asked.attribute not in audit.groups:
        names = ", ".join(audit.groups)
        raise InputError(f"requirement {text!r} names {asked.attribute!r}, expected one of {names}.")
    chosen = [asked.attribute] if asked.attribute is not None else list(audit.groups)
    return tuple(_verdict(audit, asked, name) for name in chosen)


def _verdict(audit: Audit, asked: Requirement, attribute: str) -> Verdict:
    value, lower, upper, claim = _figure(audit, asked, attribute)
    if value != value or lower != lower or upper != upper:
        said = f"{attribute}: {asked.figure} is not defined on these rows; {asked.text} is inconclusive."
        return Verdict(asked.text, attribute, "inconclusive", said)
    table = audit.groups[attribute]
    contrasts = {worst.figure: worst for worst in table.worst}
    figures = f"{asked.figure} is {value:.4g} ({lower:.4g} to {upper:.4g})"
    if table.lines.is_proxy and asked.figure in contrasts:
        outcome: Outcome = "inconclusive"
        judged = "that is between groups given as probabilities, not between people; "
    else:
        outcome = _outcome(asked, value, claim, upper)
        alone = asked.figure in RATIOS and asked.end == "lower"
        judged = f"the lower end of each pair of groups on its own is {claim:.4g} or more; " if alone else ""
    return Verdict(asked.text, attribute, outcome, f"{attribute}: {figures}; {judged}{asked.text} is {outcome}.")


def _outcome(asked: Requirement, value: float, lower: float, upper: float) -> Outcome:
    sure, possible = {"value": (value, value), "lower": (lower, upper), "upper": (upper, lower)}[asked.end]
    if asked.sign == ">=":
        return "met" if sure >= asked.bound else "not met" if possible < asked.bound else "inconclusive"
    return "met" if sure <= asked.bound else "not met" if possible > asked.bound else "inconclusive"


def _figure(audit: Audit, asked: Requirement, attribute: str) -> tuple[float, float, float, float]:
    """Return value, ends, and the least that may be claimed of a worst contrast, or of the figure of all rows.

    The last is the lower end, but for a ratio that of each pair on its own, because all pairs have to hold.
    """
    table = audit.groups[attribute]
    contrasts = {worst.figure: worst for worst in table.worst}
    if asked.figure in contrasts:
        worst = contrasts[asked.figure]
        return worst.value, worst.lower, worst.upper, worst.pair_lower if asked.figure in RATIOS else worst.lower
    overall = [name for name in table.columns if f"{name}_lower" in table.columns and f"{name}_gap" in table.columns]
    if asked.figure not in overall:
        known = ", ".join([*contrasts, *overall])
        raise InputError(f"requirement {asked.text!r} names {asked.figure!r}, expected one of {known}.")
    value, lower, upper = (float(table.columns[asked.figure + end][-1]) for end in ("", "_lower", "_upper"))
    return value, lower, upper, lower
