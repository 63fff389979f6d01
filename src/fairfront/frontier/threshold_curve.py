"""Group thresholds: one cut-off per group on the scores of one model, exact between error and worst rate gap.

Every place to cut is looked at: scores are sorted once per group, and a cap on the gap asks each group for its least
error among rates that lie together in a window. Decisions are deterministic, so rates are shares of rows that exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import NOTIONS, Array
from ..pareto import nondominated

CUT = frozenset({"tpr", "fpr", "selection"})
"""Rates that never fall when a cut-off does."""
ROUNDING = 1e-13
STEP = 1e-12
WINDOWS = 200


def by_threshold() -> list[str]:
    """Return the notions that thresholds can serve: those that compare rates of decisions which cut-offs move."""
    return [name for name in NOTIONS if not NOTIONS[name].no_rates and set(NOTIONS[name].rates) <= CUT]


@dataclass(frozen=True, eq=False)
class Ladder:
    """The places to cut one group's scores, from nobody to everybody.

    ``cutoffs`` (k,): scores above are decided favourably; ``error`` (k,): weight of wrong decisions; ``rates``
    (r, k): the rates of the notion, none of which falls from one place to the next.
    """

    cutoffs: Array
    error: Array
    rates: Array

    @property
    def least(self) -> NDArray[np.intp]:
        """Return a table whose row j holds the place of the least error among the 2^j places from each one on."""
        rows = [np.arange(len(self.error))]
        while 2 * (width := 1 << (len(rows) - 1)) <= len(self.error):
            left, right = rows[-1][:-width], rows[-1][width:]
            rows.append(np.where(self.error[right] < self.error[left], right, left))
        table = np.zeros((len(rows), len(self.error)), dtype=np.intp)
        for j, row in enumerate(rows):
            table[j, : len(row)] = row
        return table


@dataclass(frozen=True, eq=False)
class ThresholdCurve:
    """Thresholds that no others beat on error and worst gap: cut-offs (N, c), error (N,) as a share, gap (N,)."""

    cutoffs: Array
    error: Array
    gap: Array


def threshold_curve(
    scores: Array,
    good: NDArray[np.bool_],
    codes: NDArray[np.intp],
    n_groups: int,
    notion: str = "equal_opportunity",
    n_points: int | None = 50,
    weight: Array | None = None,
) -> ThresholdCurve:
    """Return the frontier of group thresholds between error and the worst gap of a notion, largest gap first.

    Parameters
    ----------
    scores : array of shape (n,)
        Higher scores speak for the favourable label; above 0 is favourable for rows without a group.
    good : array of bool, shape (n,)
        Whether the label is the favourable one.
    codes : array of int, shape (n,)
        Groups 0, 1, ... ``n_groups`` - 1, and -1 for rows without a group, which keep the cut-off 0.
    n_points : int, optional
        How many caps to solve, evenly from the gap of the least error to 0; None finds every point of the frontier.

    Notes
    -----
    Exact for any number of groups, but for equalized odds of three groups or more, where the two windows start on a
    grid of 200 x 200 places: every point is what it says, and another may have a slightly smaller error.
    """
    mass = np.ones(len(scores)) if weight is None else weight
    ladders = [_ladder(scores[codes == g], good[codes == g], mass[codes == g], notion) for g in range(n_groups)]
    rest = codes < 0
    outside = float(mass[rest] @ ((scores[rest] > 0) != good[rest]))
    search = _Search(ladders)
    places = search.every() if n_points is None else search.even(n_points)
    error = (search.errors(places) + outside) / mass.sum()
    gap = search.gaps(places)
    kept = nondominated(np.round(np.column_stack([error, gap]), 12))
    cut = np.column_stack([ladder.cutoffs[places[:, g]] for g, ladder in enumerate(ladders)])
    order = np.flatnonzero(kept)[np.argsort(-gap[kept], kind="stable")]
    return ThresholdCurve(cut[order], error[order], gap[order])


def _ladder(scores: Array, good: NDArray[np.bool_], mass: Array, notion: str) -> Ladder:
    """Sort one group's scores and cut between those that differ; halfway, so that rounding does not decide."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    last = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)
    up = np.append(0.0, np.cumsum(mass[order] * good[order])[last])
    across = np.append(0.0, np.cumsum(mass[order] * ~good[order])[last])
    cut = np.concatenate([[np.inf], (ranked[last[:-1]] + ranked[last[:-1] + 1]) / 2.0, [-np.inf]])
    parts = {"tpr": (up, "favourable"), "fpr": (across, "other"), "selection": (up + across, "")}
    rates = np.stack([_rate(*parts[name]) for name in NOTIONS[notion].rates])
    return _distinct(Ladder(cut, across + up[-1] - up, rates))


def _rate(part: Array, labels: str) -> Array:
    if part[-1] <= 0.0:
        raise InputError(
            f"a group has no rows with {labels or 'any'} label(s), expected some in every group; the rate that the "
            "notion compares has no value there: give more rows, or leave the group out."
        )
    return np.asarray(part / part[-1])


def _distinct(ladder: Ladder) -> Ladder:
    """Keep the place with the least error among those with the same rates."""
    new = np.append(True, (np.diff(ladder.rates, axis=1) != 0.0).any(axis=0))
    run = np.cumsum(new) - 1
    order = np.lexsort((ladder.error, run))
    kept = order[np.searchsorted(run[order], np.arange(run[-1] + 1))]
    return Ladder(ladder.cutoffs[kept], ladder.error[kept], ladder.rates[:, kept])


class _Search:
    """Finds, for a cap on the gap, the places of all groups with the least total error."""

    def __init__(self, ladders: Sequence[Ladder]) -> None:
        self.ladders = ladders
        self.tables = [ladder.least for ladder in ladders]
        if len(ladders) > 2:
            self.starts = _starts(ladders)

    def errors(self, places: NDArray[np.intp]) -> Array:
        """Return the total weight of mistakes of each row of places (N, c)."""
        return np.asarray(sum(ladder.error[places[:, g]] for g, ladder in enumerate(self.ladders)))

    def gaps(self, places: NDArray[np.intp]) -> Array:
        """Return the worst difference of any rate between two groups, (N,)."""
        rates = np.stack([ladder.rates[:, places[:, g]] for g, ladder in enumerate(self.ladders)])
        return np.asarray((rates.max(axis=0) - rates.min(axis=0)).max(axis=0))

    def at(self, cap: float) -> NDArray[np.intp]:
        """Return the places (c,) of the least error with a gap of at most the cap."""
        return self._pairs(cap) if len(self.ladders) == 2 else self._windows(cap)

    def every(self) -> NDArray[np.intp]:
        """Return every point of the frontier: each cap lies just below the gap found before."""
        found = [self.at(1.0)]
        while (gap := float(self.gaps(found[-1][None])[0])) > 0.0:
            found.append(self.at(max(gap - STEP, 0.0)))
        return np.stack(found)

    def even(self, n_points: int) -> NDArray[np.intp]:
        """Return the solutions at caps spaced evenly from the gap of the least error to 0."""
        first = self._tight(1.0)
        caps = np.linspace(float(self.gaps(first[None])[0]), 0.0, n_points)
        return np.stack([first, *[self._tight(float(cap)) for cap in caps[1:]]])

    def _tight(self, cap: float) -> NDArray[np.intp]:
        """Return the places with the least error within the cap and, of several, with the smallest gap."""
        best = self.at(cap)
        while (gap := float(self.gaps(best[None])[0])) > 0.0:
            closer = self.at(max(gap - STEP, 0.0))
            if self.errors(closer[None])[0] > self.errors(best[None])[0]:
                break
            best = closer
        return best

    def _pairs(self, cap: float) -> NDArray[np.intp]:
        """Two groups: for every place of one, the best place of the other within the cap."""
        one, two = self.ladders
        low = np.max([_from(b, a - cap) for a, b in zip(one.rates, two.rates, strict=True)], axis=0)
        high = np.min([_to(b, a + cap) for a, b in zip(one.rates, two.rates, strict=True)], axis=0)
        best, error = _range_least(two.error, self.tables[1], low, high)
        place = int(np.argmin(one.error + error))
        return np.array([place, best[place]])

    def _windows(self, cap: float) -> NDArray[np.intp]:
        """Three groups or more: for every start of the windows, the best place of each group inside them."""
        total = np.zeros(self.starts.shape[1])
        chosen = []
        for ladder, table in zip(self.ladders, self.tables, strict=True):
            low = np.max([_from(r, t) for r, t in zip(ladder.rates, self.starts, strict=True)], axis=0)
            high = np.min([_to(r, t + cap) for r, t in zip(ladder.rates, self.starts, strict=True)], axis=0)
            best, error = _range_least(ladder.error, table, low, high)
            total += error
            chosen.append(best)
        window = int(np.argmin(total))
        return np.array([best[window] for best in chosen])


def _starts(ladders: Sequence[Ladder]) -> Array:
    """Return where windows start, (r, w): every rate of any group, on a grid where two rates are compared."""
    values: list[Any] = [np.unique(np.concatenate([x.rates[j] for x in ladders])) for j in range(len(ladders[0].rates))]
    if len(values) == 1:
        return np.asarray(values[0][None])
    thin = [v[np.unique(np.linspace(0, len(v) - 1, WINDOWS).astype(np.intp))] for v in values]
    return np.stack([axis.ravel() for axis in np.meshgrid(*thin, indexing="ij")])


def _from(rates: Array, low: Array) -> NDArray[np.intp]:
    return np.searchsorted(rates, low - ROUNDING, side="left")


def _to(rates: Array, high: Array) -> NDArray[np.intp]:
    return np.searchsorted(rates, high + ROUNDING, side="right")


def _range_least(
    error: Array, table: NDArray[np.intp], low: NDArray[np.intp], high: NDArray[np.intp]
) -> tuple[NDArray[np.intp], Array]:
    """Return the place of the least error in [low, high) and that error, infinite where the range is empty."""
    width = np.maximum(high - low, 1)
    level = np.frexp(width)[1] - 1
    start = np.minimum(low, len(error) - 1)
    one = table[level, start]
    two = table[level, np.clip(high - (1 << level), 0, len(error) - 1)]
    best = np.where(error[two] < error[one], two, one)
    return best, np.where(high > low, error[best], np.inf)
