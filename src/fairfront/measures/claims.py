"""What is said of judged models: between whom the worst gap lies, who changes sides, and what beats nobody.

A model that does no better than deciding everyone alike is marked and never suggested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array, Task
from ..objectives.groups import rounded
from ..records import Record
from ..validation import refuse
from .counts import membership, ratio, row_weight, weighted_sums
from .cutoffs import check_costs
from .evaluation import Evaluation
from .figures import Column, larger_is_better
from .rates import Margins, PerGroup

ALIKE, ROUNDING = 0.99, 1e-9
RIVALS: dict[str | None, str] = {
    "approval_rate": "error no lower than when as many people are approved at random",
    "costs": "cost no lower than giving everyone the same decision",
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
        parts = record.parts(column)
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
    return RIVALS.get(asked, "error no lower than giving everyone the majority label")


OVERALL = "overall"


@dataclass(frozen=True, eq=False)
class Moves(PerGroup):
    """Decisions that change from one model to each of N others, per group and, as the last level, overall.

    ``overall`` has every row, those without a group too; it stands in the place of the reference, so that
    `gaps` compares each group with everyone. Shapes (N, c + 1):

    - ``gained``    weight of rows refused before and decided favourably after
    - ``lost``      weight of rows decided favourably before and refused after
    - ``n_gained``, ``n_lost``  the same in rows
    """

    names: ClassVar[tuple[str, ...]] = ("gained", "lost", "n_gained", "n_lost", "net_per_1000", "changed_per_1000")

    gained: Array
    lost: Array
    n_gained: Array
    n_lost: Array

    @property
    def net_per_1000(self) -> Array:
        """Return favourable decisions won less those lost, per 1000 of the group's weight; NaN without any."""
        return 1000.0 * ratio(self.gained - self.lost, self.weight)

    @property
    def changed_per_1000(self) -> Array:
        """Return decisions that change in either direction, per 1000 of the group's weight; NaN without any."""
        return 1000.0 * ratio(self.gained + self.lost, self.weight)


@dataclass(frozen=True, eq=False, repr=False)
class Flips(Record):
    """Changed decisions among all people and among those whose own label is the favourable one."""

    among_all: Moves
    among_favourable: Moves


Sides = tuple[Array, Array]


def changed_sides(values: NDArray[np.bool_], before: NDArray[np.bool_], columns: Array) -> Sides:
    """Return the weights of rows that come into a share and go out of it, (N, q) each."""
    return weighted_sums(values & ~before, columns), weighted_sums(~values & before, columns)


def flips(
    before: NDArray[np.bool_],
    after: NDArray[np.bool_],
    favourable: NDArray[np.bool_],
    codes: NDArray[Any],
    levels: Sequence[str],
    sample_weight: Array | None = None,
) -> Flips:
    """Count who gains and who loses a favourable decision between one model, (n,), and each of N others, (N, n).

    Those of ``favourable`` (n,) have that label; ``codes`` are as in `membership`, and rows without a group count in
    the overall column only.
    """
    rows = np.column_stack([membership(codes, len(levels)), np.ones(len(codes))])
    weighted = rows * row_weight(sample_weight, len(rows))[:, None]
    columns = np.hstack([weighted, rows, weighted * favourable[:, None], rows * favourable[:, None]])
    gained, lost = (np.split(side, 4, axis=1) for side in changed_sides(np.atleast_2d(after), before, columns))
    total, names = np.split(columns.sum(axis=0), 4), (*levels, OVERALL)
    everyone, labelled = (  # weights, each with the rows behind them
        Moves(names, total[k + 1], total[k], gained[k], lost[k], gained[k + 1], lost[k + 1]) for k in (0, 2)
    )
    return Flips(everyone, labelled)


def published_sides(gained: Array, lost: Array, net: Array) -> Sides:
    """Return how many rows gained and lost, (N, c), that may be published beside rates whose counts differ by ``net``.

    The smaller side is rounded where it is small, and the other follows from the published net: otherwise the two
    together with the rates would give the small one back.
    """
    less = rounded(np.minimum(gained, lost))
    up, down = np.where(gained <= lost, less, less + net), np.where(gained <= lost, less - net, less)
    below = np.maximum(0.0, -np.minimum(up, down))
    return rounded(up + below), rounded(down + below)


def moves_by_rate(
    decided: NDArray[np.bool_],
    wrong: NDArray[np.bool_],
    plain: int,
    good: NDArray[np.bool_],
    member: Array,
    shown: Margins | None = None,
) -> dict[str, Sides]:
    """Return how many rows come into each rate and go out of it against one model, (N, c + 1) each, everyone last.

    ``decided`` and ``wrong`` are (N, n), ``good`` (n,) has the favourable label, ``member`` are (n, c). With ``shown``,
    the published rows of these groups and last of none, moves are those that may be published: made of
    those of either label, so that they add up to one another and to the rates.
    """
    everyone = np.column_stack([member, 1.0 - member.sum(axis=1)])
    tpr, fpr = (changed_sides(decided, decided[plain], everyone * rows[:, None]) for rows in (good, ~good))
    mistakes = changed_sides(wrong, wrong[plain], everyone)
    if shown is not None:
        tpr = published_sides(*tpr, shown.hit - shown.hit[plain])
        fpr = published_sides(*fpr, shown.alarm - shown.alarm[plain])
        if shown.labels.shape[1] > 2:
            mistakes = published_sides(*mistakes, shown.wrong - shown.wrong[plain])
        else:
            mistakes = tpr[1] + fpr[0], tpr[0] + fpr[1]
    found = {"tpr": tpr, "fpr": fpr, "selection": (tpr[0] + fpr[0], tpr[1] + fpr[1]), "error": mistakes}

    def with_everyone(side: Array) -> Array:
        return np.column_stack([side[:, :-1], side.sum(axis=1)])  # in the place of those without a group

    return {rate: (with_everyone(up), with_everyone(down)) for rate, (up, down) in found.items()}
