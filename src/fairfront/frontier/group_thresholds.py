"""Group thresholds: one cut-off per group on the scores of one model, exact between error and worst rate gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import NOTIONS, Array, Attribute, Task
from ..pareto import nondominated
from ..validation.inputs import as_columns, factorize
from .candidates import scores_of
from .models import Models, Places

NEEDS = "every prediction needs the person's group"
RATES = {"tpr": "favourable", "fpr": "other", "selection": "any"}
"""Rates that never fall when a cut-off does, and the labels that they are of."""
ROUNDING = 1e-13
"""Rates that differ by less are equal: they are quotients of sums of weights."""
STEP, WINDOWS = 1e-12, 200
"""How far below a gap the next cap lies, and where windows start per rate, if three groups are compared by two."""
Ints = NDArray[np.intp]


def by_threshold() -> list[str]:
    """Notions that compare rates of decisions which cut-offs move."""
    plain = [name for name in NOTIONS if not (NOTIONS[name].no_rates or NOTIONS[name].no_losses)]
    return [name for name in plain if set(NOTIONS[name].rates) <= set(RATES)]


@dataclass(frozen=True, eq=False)
class GroupThresholdModel:
    """One model with one cut-off per group; `predict` needs the group and gives the same answer every time.

    ``cutoffs`` are on scores turned to the favourable label, less the model's own cut-off, which decides for people
    whose group is missing or unknown.
    """

    model: Any
    task: Task
    attribute: str
    cutoffs: dict[str, float]

    @property
    def classes_(self) -> NDArray[Any]:
        return np.asarray(self.task.classes)

    def predict(self, X: Any, *, sensitive_features: Any) -> NDArray[Any]:
        """Decide for every row by its group's cut-off."""
        scores = favourable_scores(self.model, X, self.task)
        columns = as_columns(sensitive_features, "sensitive_features", n=len(scores))
        if len(columns) != 1:
            raise InputError(f"sensitive_features has {len(columns)} columns, expected one.")
        codes, found = factorize(next(iter(columns.values())))
        cutoffs = np.array([self.cutoffs.get(str(level), 0.0) for level in found] + [0.0])
        good = self.task.favourable
        return self.classes_[np.where(scores > cutoffs[codes], good, 1 - good)]


@dataclass(frozen=True, eq=False, repr=False)
class ThresholdModels(Models):
    """N settings of group thresholds, (N, c) cut-offs, on one model; decisions exist only together with groups."""

    by_group = True
    loss = "error"

    model: Any
    task: Task
    attribute: str
    levels: tuple[str, ...]
    cutoffs: Array

    def __len__(self) -> int:
        return len(self.cutoffs)

    def take(self, places: Places) -> ThresholdModels:
        return replace(self, cutoffs=self.cutoffs[np.asarray(places)])

    def build(self, place: int) -> GroupThresholdModel:
        named = dict(zip(self.levels, self.cutoffs[place].tolist(), strict=True))
        return GroupThresholdModel(self.model, self.task, self.attribute, named)

    def scores(self, X: Any) -> Array:
        raise InputError(f"{NEEDS}, and X alone was given; use front.evaluate(X, y, sensitive_features=...).")

    def judged(self, X: Any, attributes: Sequence[Attribute] = ()) -> tuple[Array, NDArray[Any]]:
        """Scores of the one model, which all settings cut, (N, 1, n)."""
        if not attributes:
            return super().judged(X)
        _, codes = single_column(attributes, self.levels)
        scores = favourable_scores(self.model, X, self.task)
        cut = np.column_stack([self.cutoffs, np.zeros(len(self))])
        favourable, second = scores[None] > cut[:, codes], self.task.favourable == 1
        return np.repeat((scores if second else -scores)[None, None], len(self), axis=0), favourable == second


def favourable_scores(model: Any, X: Any, task: Task) -> Array:
    """Less the model's own cut-off, turned so that higher ones speak for the favourable label, (n,)."""
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X), dtype=np.float64).reshape(-1)
    else:
        found, own = scores_of(model, X, task, type(model).__name__)
        scores = found[0] - own
    return scores if task.favourable == 1 else -scores


def single_column(
    attributes: Sequence[Attribute], levels: tuple[str, ...] | None = None
) -> tuple[tuple[str, ...], Ints]:
    """Also the place of every row's group, -1 for none."""
    if len(attributes) != 1 or attributes[0].codes is None:
        found = f"{len(attributes)} sensitive columns" if len(attributes) > 1 else "probabilities of groups"
        raise InputError(f"found {found}, expected one column of groups; thresholds are set for one of them at a time.")
    levels = levels or attributes[0].levels
    place = [levels.index(level) if level in levels else -1 for level in attributes[0].levels]
    return levels, np.array([*place, -1], dtype=np.intp)[attributes[0].codes]


@dataclass(frozen=True, eq=False)
class ThresholdCurve:
    """Thresholds that no others beat on error and worst gap: cut-offs (N, c), error (N,) as a share, gap (N,)."""

    cutoffs: Array
    error: Array
    gap: Array


@dataclass(frozen=True, eq=False)
class GroupScores:
    """Rows that thresholds are placed on, and the notion whose worst gap is lowered.

    Higher ``scores`` (n,) speak for the favourable label, which ``good`` (n,) tells. ``codes`` (n,) are groups from 0
    on, and -1 for rows without a group, which keep the cut-off 0.
    """

    scores: Array
    good: NDArray[np.bool_]
    codes: Ints
    n_groups: int
    notion: str = "equal_opportunity"
    weight: Array | None = None

    def take(self, rows: NDArray[np.bool_]) -> GroupScores:
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, scores=self.scores[rows], good=self.good[rows], codes=self.codes[rows], weight=weight)

    def curve(self, n_points: int | None = 50) -> ThresholdCurve:
        """Return the frontier of group thresholds between error and the worst gap, largest gap first.

        ``n_points`` caps are solved, evenly from the gap of the least error to 0; None finds every point. Exact, but
        for equalized odds of three groups or more, where the two windows start on a grid: every point is what it says,
        and another may have a slightly smaller error.
        """
        search, rest = self._search, self.codes < 0
        outside = float(self._mass[rest] @ ((self.scores[rest] > 0) != self.good[rest]))
        places = search.every() if n_points is None else search.even(n_points)
        error, gap = (search.errors(places) + outside) / self._mass.sum(), search.gaps(places)
        kept = np.flatnonzero(nondominated(np.round(np.column_stack([error, gap]), 12)))
        order = kept[np.argsort(-gap[kept], kind="stable")]
        return ThresholdCurve(search.cutoffs(places)[order], error[order], gap[order])

    def within(self, caps: Array) -> Array:
        """Return the cut-offs (N, c) of least error within each of N caps on the gap."""
        search = self._search
        return search.cutoffs(np.stack([search.tight(float(cap)) for cap in caps]))

    @cached_property
    def _mass(self) -> Array:
        return np.ones(len(self.scores)) if self.weight is None else self.weight

    @cached_property
    def _search(self) -> _Search:
        groups = [self.codes == g for g in range(self.n_groups)]
        ladders = [_ladder(self.scores[g], self.good[g], self._mass[g], self.notion) for g in groups]
        return _Search(ladders)


@dataclass(frozen=True, eq=False)
class _Ladder:
    """The k places to cut one group's scores, from nobody to everybody: weight of mistakes, and rates (r, k)."""

    cutoffs: Array
    error: Array
    rates: Array

    @cached_property
    def table(self) -> Ints:
        """Row j: the place of the least error among the 2^j places from each one on."""
        rows, k = [np.arange(len(self.error))], len(self.error)
        while 2 * (width := 1 << (len(rows) - 1)) <= k:
            left, right = rows[-1][:-width], rows[-1][width:]
            rows.append(np.where(self.error[right] < self.error[left], right, left))
        return np.stack([np.pad(row, (0, k - len(row))) for row in rows])

    def within(self, low: Array, high: Array) -> tuple[Ints, Array]:
        """Places of the least error with rates from low to high (r, w), infinite where there are none."""
        ends = zip(self.rates, low, high, strict=True)
        found = [(np.searchsorted(r, a - ROUNDING), np.searchsorted(r, b + ROUNDING, "right")) for r, a, b in ends]
        first, last = np.max([a for a, _ in found], axis=0), np.min([b for _, b in found], axis=0)
        level, top = np.frexp(np.maximum(last - first, 1))[1] - 1, len(self.error) - 1
        one = self.table[level, np.minimum(first, top)]
        two = self.table[level, np.clip(last - (1 << level), 0, top)]
        best = np.where(self.error[two] < self.error[one], two, one)
        return best, np.where(last > first, self.error[best], np.inf)


def _ladder(scores: Array, good: NDArray[np.bool_], mass: Array, notion: str) -> _Ladder:
    """Sort one group's scores and cut between those that differ; halfway, so that rounding does not decide."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    last = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)
    up, across = (np.append(0.0, np.cumsum(mass[order] * side[order])[last]) for side in (good, ~good))
    cut = np.concatenate([[np.inf], (ranked[last[:-1]] + ranked[last[:-1] + 1]) / 2.0, [-np.inf]])
    error, parts = across + up[-1] - up, {"tpr": up, "fpr": across, "selection": up + across}
    for name in NOTIONS[notion].rates:
        if parts[name][-1] <= 0.0:
            raise InputError(
                f"a group has no rows with {RATES[name]} label(s), expected some in every group; the rate that the "
                "notion compares has no value there: give more rows, or leave the group out."
            )
    rates = np.stack([parts[name] / parts[name][-1] for name in NOTIONS[notion].rates])
    run = np.cumsum(np.append(True, (np.diff(rates, axis=1) != 0.0).any(axis=0))) - 1
    by_error = np.lexsort((error, run))  # of places with the same rates, the one with the least error stays
    kept = by_error[np.searchsorted(run[by_error], np.arange(run[-1] + 1))]
    return _Ladder(cut[kept], error[kept], rates[:, kept])


class _Search:
    """Finds, for a cap on the gap, the places with the least total error whose rates lie together in a window."""

    def __init__(self, ladders: Sequence[_Ladder]) -> None:
        self.ladders = ladders
        values = [np.unique(np.concatenate(each)) for each in zip(*(x.rates for x in ladders), strict=True)]
        if len(values) > 1:
            values = [v[np.unique(np.linspace(0, len(v) - 1, WINDOWS).astype(np.intp))] for v in values]
        self.starts = np.stack([axis.ravel() for axis in np.meshgrid(*values, indexing="ij")])

    def errors(self, places: Ints) -> Array:
        return np.asarray(sum(ladder.error[places[:, g]] for g, ladder in enumerate(self.ladders)))

    def gaps(self, places: Ints) -> Array:
        rates = np.stack([ladder.rates[:, places[:, g]] for g, ladder in enumerate(self.ladders)])
        return np.asarray((rates.max(axis=0) - rates.min(axis=0)).max(axis=0))

    def cutoffs(self, places: Ints) -> Array:
        return np.column_stack([ladder.cutoffs[places[:, g]] for g, ladder in enumerate(self.ladders)])

    def at(self, cap: float) -> Ints:
        if len(self.ladders) == 2:  # for every place of one, the best place of the other within the cap
            one, two = self.ladders
            best, error = two.within(one.rates - cap, one.rates + cap)
            place = int(np.argmin(one.error + error))
            return np.array([place, best[place]])
        found = [ladder.within(self.starts, self.starts + cap) for ladder in self.ladders]
        window = int(np.argmin(sum(error for _, error in found)))
        return np.array([best[window] for best, _ in found])

    def every(self) -> Ints:
        found = [self.at(1.0)]
        while (gap := float(self.gaps(found[-1][None])[0])) > 0.0:
            found.append(self.at(max(gap - STEP, 0.0)))
        return np.stack(found)

    def even(self, n_points: int) -> Ints:
        first = self.tight(1.0)
        caps = np.linspace(float(self.gaps(first[None])[0]), 0.0, n_points)
        return np.stack([first, *[self.tight(float(cap)) for cap in caps[1:]]])

    def tight(self, cap: float) -> Ints:
        """Of several places with the least error within the cap, those with the smallest gap."""
        best = self.at(cap)
        while (gap := float(self.gaps(best[None])[0])) > 0.0:
            closer = self.at(max(gap - STEP, 0.0))
            if self.errors(closer[None])[0] > self.errors(best[None])[0]:
                break
            best = closer
        return best
