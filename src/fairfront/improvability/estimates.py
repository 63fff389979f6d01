"""Figures of one model on a sample, each with how much every row moves it, so that differences have standard errors.

A figure is asymptotically a sum over rows: value + sum_i influence_i, with variance sum_i influence_i^2. Differences of
two models on the same rows, and contrasts of groups, are differences of values and of influences. As Agresti and Min do
for paired shares, a little variance is added (half a row that comes in and half a row that goes out), so that models
that decide all rows of a small sample alike are not sure to be equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measures.figures import MORE, MORE_PARTS, PARTS, SHARES
from ..measures.ranks import places_of
from ..objectives import Array, Attribute

Flags = NDArray[np.bool_]
OUTCOMES = ("true_positive", "false_positive", "false_negative", "true_negative")
SURE = 1e-15


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows that models are judged on: who has the favourable label, weights, groups, and what decisions cost.

    ``labelled`` (n,) marks rows whose label is known; None: all of them. ``costs`` are by outcome, (n,) each.
    ``person`` (n,) are codes of whom rows are of, where people have several.
    """

    good: Flags
    weight: Array
    attributes: tuple[Attribute, ...]
    labelled: Flags | None = None
    costs: Mapping[str, Array] | None = None
    person: NDArray[np.intp] | None = None

    def take(self, rows: NDArray[np.intp]) -> Sample:
        return Sample(
            self.good[rows],
            self.weight[rows],
            tuple(each.take(rows) for each in self.attributes),
            None if self.labelled is None else self.labelled[rows],
            None if self.costs is None else {name: each[rows] for name, each in self.costs.items()},
            None if self.person is None else self.person[rows],
        )

    @property
    def known(self) -> Flags:
        return np.ones(len(self.good), dtype=bool) if self.labelled is None else self.labelled


@dataclass(frozen=True, eq=False)
class Answers:
    """What one model says of the rows: who is approved, (n,), and scores (n,) that speak for it, None without any."""

    approved: Flags
    scores: Array | None = None
    probability: bool = False

    def take(self, rows: NDArray[np.intp]) -> Answers:
        scores = None if self.scores is None else self.scores[rows]
        return replace(self, approved=self.approved[rows], scores=scores)


@dataclass(frozen=True, eq=False)
class Estimate:
    """A figure: its value, the influence of every row (n,), and the variance that is added."""

    value: float
    influence: Array
    floor: float = 0.0

    def less(self, other: Estimate) -> Estimate:
        return Estimate(self.value - other.value, self.influence - other.influence, max(self.floor, other.floor))

    def times(self, factor: float) -> Estimate:
        return Estimate(factor * self.value, factor * self.influence, factor**2 * self.floor)

    def plus(self, constant: float) -> Estimate:
        return replace(self, value=self.value + constant)

    @property
    def log(self) -> Estimate:
        value = np.float64(self.value)  # a rate of 0 has no logarithm, and nothing is claimed of it
        with np.errstate(divide="ignore", invalid="ignore"):
            return Estimate(float(np.log(value)), self.influence / value, float(self.floor / value**2))

    @property
    def error(self) -> float:
        return float(np.sqrt(self.influence @ self.influence + self.floor))

    @property
    def z(self) -> float:
        """Return the value in standard errors, minus infinity where it is not known."""
        return self.value / self.error if np.isfinite(self.value) and self.error > 0 else -np.inf


def by_person(each: Estimate, rows: Sample) -> Estimate:
    """Return an estimate whose draws are people: what rows of one person move a figure by goes together."""
    if rows.person is None:
        return each
    owner = np.unique(rows.person, return_inverse=True)[1].ravel()
    influence = np.asarray(np.bincount(owner, each.influence), dtype=np.float64)
    return replace(each, influence=influence, floor=each.floor * (len(owner) / len(influence)) ** 2)


def mean(values: NDArray[Any], whole: Flags, weight: Array) -> Estimate:
    w = np.where(whole, weight, 0.0)
    total = float(w.sum())
    if total <= 0.0:
        return Estimate(np.nan, np.zeros(len(w)))
    value = float(w @ values) / total
    return Estimate(value, w * (values - value) / total, float(w @ w / total**2) ** 2)


RATES = (*SHARES, *MORE)
"""Figures of groups at a cut-off, which all are smooth functions of shares of rows."""
MARKS: dict[str, Callable[[Flags, Flags], Flags]] = {
    "everyone": lambda yes, good: np.ones(len(good), dtype=bool),
    "positive": lambda yes, good: good,
    "negative": lambda yes, good: ~good,
    "chosen": lambda yes, good: yes,
    "refused": lambda yes, good: ~yes,
    "hit": lambda yes, good: yes & good,
    "alarm": lambda yes, good: yes & ~good,
    "rest": lambda yes, good: ~yes & ~good,
    "wrong": lambda yes, good: yes != good,
    "either": lambda yes, good: yes | good,
}
"""Rows by decision and label, in the names of `figures.PARTS`."""
Marked = tuple[Flags, Flags]


def shares_behind(rate: str, rows: Sample, said: Answers) -> list[Marked]:
    """Return of every share that a figure is a function of the rows that count, and of all of which."""
    names = ("tpr", "fpr") if rate == "balanced_accuracy" else (rate,)
    marks = [[MARKS[mark](said.approved, rows.good) for mark in (PARTS | MORE_PARTS)[name]] for name in names]
    return [(part, whole if rate == "selection" else whole & rows.known) for part, whole in marks]


def group_rates(rows: Sample, said: Answers, rate: str, attribute: Attribute) -> list[Estimate]:
    assert attribute.codes is not None
    own = [attribute.codes == k for k in range(len(attribute.levels))]
    shares = [
        [mean(part, whole & each, rows.weight) for each in own] for part, whole in shares_behind(rate, rows, said)
    ]
    return [_figure(rate, *some) for some in zip(*shares, strict=True)]


def _figure(rate: str, share: Estimate, *more: Estimate) -> Estimate:
    """Return a figure of one group from its shares, by the derivative: that of an F1 score 2 J / (1 + J) of J."""
    if rate == "fnr":
        return share.times(-1.0).plus(1.0)
    if rate == "f_score":
        return replace(share.times(2.0 / (1.0 + share.value) ** 2), value=2.0 * share.value / (1.0 + share.value))
    for alarm in more:  # of a balanced accuracy, which is about other rows
        both = Estimate(share.value - alarm.value, share.influence - alarm.influence, share.floor + alarm.floor)
        return both.plus(1.0).times(0.5)
    return share


def _ranked(rows: Sample, said: Answers) -> tuple[Estimate, Estimate]:
    """Return AUC and KS, by each row's place among rows of the other label."""
    n, known = len(rows.good), rows.known
    none = Estimate(np.nan, np.zeros(n))
    good, weight = rows.good[known], rows.weight[known]
    if said.scores is None or good.all() or not good.any():
        return none, none
    place, above = places_of(said.scores[known], good, weight)

    def spread(values: NDArray[Any], of: Flags) -> Estimate:
        return mean(values, of, weight)

    up, down = spread(place, good), spread(place, ~good)
    area = Estimate(up.value, up.influence + down.influence, up.floor + down.floor)
    apart = spread(above, good).less(spread(above, ~good))
    return _widened(area, known), _widened(apart, known)


def _widened(found: Estimate, known: Flags) -> Estimate:
    influence = np.zeros(len(known))
    influence[known] = found.influence
    return replace(found, influence=influence)


def _log_loss(rows: Sample, said: Answers) -> Estimate:
    if said.scores is None or not said.probability:
        return Estimate(np.nan, np.zeros(len(rows.good)))
    own = np.where(rows.good, said.scores, 1.0 - said.scores)
    return mean(-np.log(np.maximum(own, SURE)), rows.known, rows.weight)


def _cost(rows: Sample, said: Answers) -> Estimate:
    if rows.costs is None:
        return Estimate(np.nan, np.zeros(len(rows.good)))
    which = [said.approved & rows.good, said.approved & ~rows.good, ~said.approved & rows.good]
    masks = dict(zip(OUTCOMES, [*which, ~said.approved & ~rows.good], strict=True))
    total: Array = sum(
        (np.where(masks[name], each, 0.0) for name, each in rows.costs.items()), np.zeros(len(rows.good))
    )
    return mean(total, rows.known, rows.weight)


@dataclass(frozen=True)
class Job:
    """A figure that an alternative has to keep: 1 where larger is better, what it is in words, and what it needs."""

    better: int
    words: str
    of: Callable[[Sample, Answers], Estimate]
    decides: bool = False
    """Whether it is about decisions, and so about the labels of whoever is approved."""


JOBS: dict[str, Job] = {
    "error": Job(
        -1,
        "share of wrong decisions",
        lambda rows, said: mean(*shares_behind("error", rows, said)[0], rows.weight),
        True,
    ),
    "auc": Job(1, "area under the ROC curve", lambda rows, said: _ranked(rows, said)[0]),
    "gini": Job(1, "Gini coefficient, 2 AUC - 1", lambda rows, said: _ranked(rows, said)[0].times(2.0).plus(-1.0)),
    "ks": Job(1, "Kolmogorov-Smirnov distance of scores", lambda rows, said: _ranked(rows, said)[1]),
    "log_loss": Job(-1, "mean negative log-likelihood, in nats", _log_loss),
    "bad_rate": Job(
        -1, "share of the approved whose label is not favourable", lambda rows, said: mean(*_bad(rows, said)), True
    ),
    "cost": Job(-1, "mean cost per person, in the unit of the costs given", _cost, True),
    "profit": Job(
        1, "mean profit per person, minus the costs given", lambda rows, said: _cost(rows, said).times(-1.0), True
    ),
}
"""What the job of a model may be, by name."""


def _bad(rows: Sample, said: Answers) -> tuple[Any, Flags, Array]:
    return ~rows.good, said.approved & rows.known, rows.weight
