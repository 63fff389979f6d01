"""Figures of scores: ranking, calibration and level in every group, with bootstrap draws and intervals.

Every figure is a sum over a tally of distinct scores, so rows are sorted once and not gathered. The bootstrap draws
counts of (score bin, label) from a multinomial, so a draw costs as much as there are bins, not rows; draws are shifted
to the exact figure, which leaves only their spread to the bins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from .calibration import logistic_line
from .counts import ratio
from .lines import Lines
from .proportions import normal_quantile
from .table_columns import APART, Settings, distance_columns, drawn_columns, drawn_error, normal_columns
from .worst_contrasts import Worst, worst_means

BINS = 100
BLOCK = 1 << 14
FEW_ROWS = 500
DRAWN = ("auc", "gini", "ks", "brier", "in_the_large", "mean_score")
LIMITS = {"auc": (0.0, 1.0), "gini": (-1.0, 1.0), "ks": (0.0, 1.0), "brier": (0.0, 1.0)}


@dataclass(frozen=True, eq=False)
class Tally:
    """Distinct scores ``value`` (m,), ascending, and the weights of rows at each.

    ``up`` (m,) are those of rows with the favourable label, ``down`` (m,) of the others; ``size`` is the effective
    number of rows. ``probability`` tells whether scores lie in [0, 1], ``below`` whether low ones are favourable.
    """

    value: Array
    up: Array
    down: Array
    size: float
    probability: bool
    below: bool


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Scores and labels of n rows: one score each, and whether the label is the favourable one."""

    scores: Array
    positive: NDArray[np.bool_]
    weight: Array | None
    probability: bool
    below: bool
    known: dict[Any, Any] = field(default_factory=dict)  # what was found of all rows together, by how it was drawn

    def tally(self, rows: NDArray[np.intp] | None = None, share: Array | None = None) -> Tally:
        """Count rows, all by default, each with its share of membership; those without weight are left out."""
        at = slice(None) if rows is None else rows
        if self._keys is not None and share is None:
            ranked = np.sort(self._keys[at])
            up = (ranked & np.uint64(1)).astype(np.float64)
            ranked >>= np.uint64(2)
            return self._by_score(ranked.view(np.float64), up, 1.0 - up, float(len(ranked)))
        scores = self.scores[at]
        weight = np.ones(len(scores)) if self.weight is None else self.weight[at]
        weight = weight if share is None else share * weight
        order = np.argsort(scores)
        order = order if weight.all() else order[weight[order] > 0]
        up, weight = np.where(self.positive[at], weight, 0.0)[order], weight[order]
        size = weight.sum() ** 2 / (weight @ weight) if len(order) else 0.0
        return self._by_score(scores[order], up, weight - up, float(size))

    @cached_property
    def _keys(self) -> NDArray[np.uint64] | None:
        """Return score and label of every row as one number that sorts by score; None where that is not possible.

        Floats from 0 to 1 leave their first two bits free. Sorting such numbers is several times faster than finding
        the order of rows and gathering labels by it.
        """
        if self.weight is not None or not self.probability:
            return None
        bits = (self.scores + 0.0).view(np.uint64) << np.uint64(2)  # adding 0 turns -0 into 0
        return np.asarray(bits | self.positive)

    def _by_score(self, value: Array, up: Array, down: Array, size: float) -> Tally:
        new = value[1:] != value[:-1]
        if not new.all():
            starts = np.concatenate([[0], np.flatnonzero(new) + 1])
            value, up, down = value[starts], np.add.reduceat(up, starts), np.add.reduceat(down, starts)
        return Tally(value, up, down, size, self.probability, self.below)


@dataclass(frozen=True, eq=False)
class Binned:
    """A tally in bins of about equal weight.

    ``sums`` (3, 2, bins) are weights, weighted scores and weighted squared scores of rows with the favourable label
    and with another; scores are counted from ``origin``. ``area`` is that under the ROC curve in pairs of weights,
    ``apart`` (2,) are the running shares of either label where they differ most; equal where there is one label only.
    """

    sums: Array
    origin: float
    area: float
    apart: Array


def figures_of(tally: Tally) -> tuple[dict[str, float], Binned | None]:
    """Return every figure of `SCORED`, the slope's standard error and the spread, NaN where unknown; and the bins."""
    found = dict.fromkeys((*DRAWN, *APART, "slope", "slope_error", "spread"), float("nan"))
    if not len(tally.value):
        return found, None
    binned = bins_of(tally)
    values = _of_sums(binned.sums.sum(axis=2)[None], binned.origin, tally)
    found |= {name: float(value[0]) for name, value in values.items()}
    up, down = binned.sums[0].sum(axis=1)
    if up > 0 and down > 0:
        area = binned.area / (up * down)
        auc = float(np.clip(1.0 - area if tally.below else area, 0.0, 1.0))
        distance, sizes = float(np.ptp(binned.apart)), tally.size * np.array([up, down]) / (up + down)
        found |= {"auc": auc, "gini": 2.0 * auc - 1.0, "ks": distance}
        low, high = np.argsort(binned.apart, kind="stable")
        apart = binned.apart[high], sizes[high], binned.apart[low], sizes[low]
        found |= dict(zip(APART, map(float, apart), strict=True))
    if tally.probability:
        line = logistic_line(tally.value, tally.up, tally.down, tally.size, -1.0 if tally.below else 1.0)
        found["slope"], found["slope_error"] = line
    return found, binned


def bins_of(tally: Tally) -> Binned:
    """Add up the rows of every bin in one pass, as many bins at a time as stay in the cache."""
    starts = _starts(tally)
    up, down = tally.up.sum(), tally.down.sum()
    origin = 0.0 if tally.probability else float(tally.value[len(tally.value) // 2])  # keeps squares from cancelling
    sums, area, apart, before = np.empty((3, 2, len(starts))), 0.0, np.zeros(2), np.zeros((2, 1))
    bounds = np.append(starts, len(tally.value))
    firsts = np.searchsorted(starts, np.arange(0, bounds[-1], BLOCK))  # a large bin is a block of its own
    for first, last in pairwise([*np.unique(firsts[firsts < len(starts)]).tolist(), len(starts)]):
        part = slice(bounds[first], bounds[last])
        value, sides = tally.value[part] - origin, np.stack([tally.up[part], tally.down[part]])
        running = before + np.cumsum(sides, axis=1)
        weighted = sides * value
        each = np.stack([sides, weighted, weighted * value])
        sums[:, :, first:last] = np.add.reduceat(each, bounds[first:last] - bounds[first], axis=2)
        area += float(sides[0] @ (running[1] - 0.5 * sides[1]))
        if up > 0 and down > 0:
            shares = running / np.array([[up], [down]])
            farthest = shares[:, int(np.argmax(np.abs(shares[0] - shares[1])))]
            apart = farthest if np.ptp(farthest) > np.ptp(apart) else apart
        before = running[:, -1:]
    return Binned(sums, origin, area, apart)


def _starts(tally: Tally) -> NDArray[np.intp]:
    """Return the first place of every bin; equal scores share one."""
    if tally.size == len(tally.value):  # rows without weights or ties
        return np.unique(np.arange(BINS) * len(tally.value) // BINS)
    mass = tally.up + tally.down
    after = np.cumsum(mass)
    edges = np.searchsorted(after - 0.5 * mass, after[-1] * np.arange(BINS) / BINS)
    return np.unique(edges[edges < len(mass)])


def drawn(
    tally: Tally, binned: Binned | None, exact: dict[str, float], n_resamples: int, random: np.random.Generator
) -> dict[str, Array]:
    """Return n_resamples draws of each figure of `DRAWN`, (R,), around its exact value."""
    if binned is None:
        return {name: np.full(n_resamples, np.nan) for name in DRAWN}
    share = binned.sums[0] / binned.sums[0].sum()
    counts = drawn_counts(binned.sums[0], max(1, round(tally.size)), n_resamples, random)
    draws, middle = (_of_counts(each, binned, tally) for each in (counts.astype(np.float64), share[None]))
    shifted = {name: exact[name] + draws[name] - middle[name] for name in DRAWN}
    return {name: np.clip(at, *LIMITS[name]) if name in LIMITS else at for name, at in shifted.items()}


def drawn_counts(weight: Array, size: int, n_resamples: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Draw ``size`` rows n_resamples times and count them in cells of this weight (2, bins): (R, 2, bins).

    Few rows without weights are drawn themselves, others as counts from a multinomial: what is quicker, and alike.
    """
    cells = weight.ravel()
    if size <= FEW_ROWS and cells.sum() == size and np.array_equal(cells, np.rint(cells)):
        cell_of = np.repeat(np.arange(len(cells)), cells.astype(np.intp))
        picked = cell_of[random.integers(size, size=(n_resamples, size), dtype=np.int32)]
        picked += len(cells) * np.arange(n_resamples)[:, None]
        counts = np.bincount(picked.ravel(), minlength=n_resamples * len(cells))
    else:
        counts = random.multinomial(size, cells / cells.sum(), size=n_resamples)
    return counts.reshape(n_resamples, *weight.shape)


def _of_counts(counts: Array, binned: Binned, tally: Tally) -> dict[str, Array]:
    running = np.cumsum(counts, axis=2)
    total = running[:, :, -1]
    area = np.einsum("rb,rb->r", counts[:, 0], running[:, 1] - 0.5 * counts[:, 1])
    area = ratio(area, total[:, 0] * total[:, 1])
    up, across = (ratio(running[:, side], total[:, side, None]) for side in range(2))
    means = np.concatenate(
        [np.ones((1, *binned.sums.shape[1:])), np.nan_to_num(ratio(binned.sums[1:], binned.sums[0]))]
    )
    sums = np.stack([counts[:, side] @ means[:, side].T for side in range(2)], axis=2)
    found = _of_sums(sums, binned.origin, tally)
    auc = 1.0 - area if tally.below else area
    return {**found, "auc": auc, "gini": 2.0 * auc - 1.0, "ks": np.abs(up - across).max(axis=1)}


def _of_sums(sums: Array, origin: float, tally: Tally) -> dict[str, Array]:
    """Return level, spread and calibration from sums (R, 3, 2) of weights, scores and squared scores by label."""
    weight, score, squared = np.moveaxis(sums / sums[:, :1].sum(axis=2, keepdims=True), 1, 0)
    mean, good = score.sum(axis=1), weight[:, 0]
    spread = np.sqrt(np.maximum(squared.sum(axis=1) - mean**2, 0.0))
    found = {"mean_score": origin + mean, "spread": spread}
    if not tally.probability:
        return found | dict.fromkeys(("brier", "in_the_large"), np.full(len(sums), np.nan))
    wrong = 1 if tally.below else 0  # the label that a score of 0 speaks against
    brier = squared.sum(axis=1) - 2.0 * score[:, wrong] + weight[:, wrong]
    return found | {"brier": brier, "in_the_large": good - (1.0 - mean if tally.below else mean)}


@dataclass(frozen=True, eq=False)
class Scores:
    """Figures of scores by name: values (lines,), and draws of them (R, lines)."""

    value: dict[str, Array]
    draws: dict[str, Array]


def drawn_scores(scored: ScoredRows, lines: Lines, settings: Settings) -> Scores:
    random, found = np.random.default_rng(settings.random_state), []
    drawn_as = (settings.n_resamples, settings.random_state)
    for rows, share in lines.parts():
        known = scored.known if rows is None else {}  # the line of all rows is that of every attribute
        if drawn_as not in known:
            tally = scored.tally(rows, share)
            figures, binned = figures_of(tally)
            known[drawn_as] = figures, drawn(tally, binned, figures, settings.n_resamples, random)
        found.append(known[drawn_as])
    value = {name: np.array([figures[name] for figures, _ in found]) for name in found[0][0]}
    draws = {name: np.column_stack([draws[name] for _, draws in found]) for name in DRAWN}
    return Scores(value, draws)


def score_columns(
    scores: Scores, suffix: str, lines: Lines, settings: Settings
) -> tuple[dict[str, Array], tuple[Worst, ...]]:
    """Names end with ``suffix``, such as [a]."""
    value, error, columns = scores.value, {"slope": scores.value["slope_error"]}, dict[str, Array]()
    for name in DRAWN:
        draws = scores.draws[name]
        error[name] = drawn_error(draws)
        if name == "ks":
            columns |= distance_columns(name + suffix, value, draws, lines, settings)
        else:
            columns |= drawn_columns(name + suffix, value[name], draws, lines, settings)
    columns |= normal_columns("slope" + suffix, value["slope"], error["slope"], lines, settings)
    wide = columns[f"ks{suffix}_upper"] - columns[f"ks{suffix}_lower"]
    error["ks"] = wide / (2.0 * normal_quantile(settings.confidence))
    worst = tuple(worst_means(name + suffix, value[name], error[name], lines, settings) for name in (*DRAWN, "slope"))
    spread = np.full(len(lines.names), value["spread"][-1])  # gaps of the mean score in deviations of all rows' scores
    for end in ("", "_lower", "_upper"):
        columns[f"smd{suffix}{end}"] = ratio(columns[f"mean_score{suffix}_gap{end}"], spread)
    return columns, worst
