"""Two models on the same rows: who changes sides, and differences of shares, means and areas with intervals.

A difference of two shares rests on the rows where the two models differ. With b rows for the one and c for the other of
n, Agresti and Min (Statistics in Medicine 24, 2005, 729-740) add half a row to each of the four cells:

    (b - c) / (n + 2)  -+  z sqrt(b + c + 1 - (b - c)^2 / (n + 2)) / (n + 2)

Means of values (regression) take the plain normal interval of the differences. With unequal weights, n is Kish's
effective number of rows and b, c are scaled to it.

The difference of two areas takes the variance of DeLong, DeLong and Clarke-Pearson (Biometrics 44, 1988, 837-845): that
of each row's place among the rows of the other label, the one model's less the other's. Weights count as the weights of
a mean, sum w^2 (v - mean)^2 / (sum w)^2, which is theirs where all are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..objectives import Array, Attribute, Task
from ..objectives.groups import rounded as rounded_counts
from ..records import Record
from .counts import count, membership, ratio, row_weight, weighted_sums
from .disclosure import pool_of
from .intervals import normal_quantile
from .published import published_people
from .rates import Margins, PerGroup

OVERALL = "overall"
Sides = tuple[Array, Array]


def rounded(values: ArrayLike, digits: int = 6) -> list[Any]:
    """None for NaN."""
    array = np.round(np.asarray(values, dtype=np.float64), digits)
    found = array.astype(object)
    found[~np.isfinite(array)] = None
    return list(found.tolist())


@dataclass(frozen=True, eq=False)
class Change:
    """A difference with the ends of its interval, arrays of one shape."""

    value: Array
    lower: Array
    upper: Array

    def less(self, other: Change) -> Change:
        """Of other people: squared and added, as Newcombe does for two shares."""
        value = self.value - other.value
        down = np.hypot(self.value - self.lower, other.upper - other.value)
        up = np.hypot(self.upper - self.value, other.value - other.lower)
        return Change(value, value - down, value + up)

    def moved_to(self, value: Array) -> Change:
        return Change(value, self.lower - self.value + value, self.upper - self.value + value)

    def columns(self, part: slice | int) -> Change:
        return Change(self.value[:, part], self.lower[:, part], self.upper[:, part])

    def at(self, place: int) -> Change:
        return Change(self.value[place], self.lower[place], self.upper[place])

    def listed(self) -> dict[str, Any]:
        return {"change": rounded(self.value), "lower": rounded(self.lower), "upper": rounded(self.upper)}

    @property
    def excludes_zero(self) -> NDArray[np.bool_]:
        return np.asarray((self.lower > 0) | (self.upper < 0))


def share_change(gained: Array, lost: Array, size: Array, confidence: float) -> Change:
    """Of a share when ``gained`` of ``size`` rows come in and ``lost`` go out."""
    net, differ = gained - lost, gained + lost
    n = np.where(size > 0, size, np.nan)
    half = normal_quantile(confidence) * np.sqrt(np.maximum(differ + 1.0 - net**2 / (n + 2.0), 0.0)) / (n + 2.0)
    middle, value = net / (n + 2.0), net / n
    return Change(value, np.minimum(middle - half, value), np.maximum(middle + half, value))


def mean_change(mean: Array, square: Array, size: Array, confidence: float) -> Change:
    """From the mean and mean square of the rows' differences."""
    n = np.where(size > 1, size, np.nan)
    half = normal_quantile(confidence) * np.sqrt(np.maximum(square - mean**2, 0.0) / n)
    return Change(mean, mean - half, mean + half)


def effective_rows(columns: Array) -> Array:
    """Kish's effective number of rows of each column of weights, (q,)."""
    squared = (columns**2).sum(axis=0)
    return np.asarray(columns.sum(axis=0) ** 2 / np.where(squared > 0, squared, 1.0))


def mean_changes(values: NDArray[Any], plain: int, columns: Array, people: Array, confidence: float) -> Change:
    """Of weighted means of N models against one of them in each column of weights (n, q), (N, q).

    ``people`` (q,) are published over exact rows.
    """
    before, total = values[plain], columns.sum(axis=0)
    mean = ratio(weighted_sums(values, columns, lambda block: block - before), total)
    square = ratio(weighted_sums(values, columns, lambda block: (block - before) ** 2), total)
    return mean_change(mean, square, effective_rows(columns) * people, confidence)


def share_changes(
    values: NDArray[np.bool_], plain: int, columns: Array, weight: Array, sides: Sides, people: Array, confidence: float
) -> Change:
    """Of weighted shares, as `mean_changes`; ``sides`` are the rows, as published, that came in and went out."""
    before, total = values[plain], columns.sum(axis=0)
    size = effective_rows(columns) * people
    exact = changed_sides(values, before, columns / weight[:, None])
    weights = changed_sides(values, before, columns)
    scale = np.nan_to_num(ratio(size, total * people))
    gained, lost = (
        w * np.nan_to_num(ratio(shown, all_rows)) * scale
        for w, shown, all_rows in zip(weights, sides, exact, strict=True)
    )
    return share_change(gained, lost, size, confidence)


def area_changes(
    scores: Array, positive: NDArray[np.bool_], weight: Array | None, plain: int, confidence: float
) -> Change:
    """Of the areas under the ROC curve of N models against one of them, (N,); scores (N, n) speak for ``positive``."""
    one = np.ones(len(positive)) if weight is None else weight
    before = _places(scores[plain], positive, one)
    value, variance = np.empty(len(scores)), np.empty(len(scores))
    for model, each in enumerate(scores):
        moved = _places(each, positive, one) - before
        mean, above = _mean_and_variance(moved[positive], one[positive])
        _, below = _mean_and_variance(moved[~positive], one[~positive])
        value[model], variance[model] = mean, above + below
    half = normal_quantile(confidence) * np.sqrt(variance)
    return Change(value, value - half, value + half)


def _places(scores: Array, positive: NDArray[np.bool_], weight: Array) -> Array:
    """Return the share of rows of the other label that each row is on the right side of, ties counting half, (n,)."""
    found, code = np.unique(scores, return_inverse=True)
    up, down = (np.bincount(code, np.where(kept, weight, 0.0), len(found)) for kept in (positive, ~positive))
    beaten = ratio(np.cumsum(down) - 0.5 * down, down.sum())
    beating = ratio(up.sum() - np.cumsum(up) + 0.5 * up, up.sum())
    return np.asarray(np.where(positive, beaten[code], beating[code]))


def _mean_and_variance(values: Array, weight: Array) -> tuple[float, float]:
    """Return a weighted mean and the variance of that mean; NaN for fewer than two rows."""
    n, total = len(values), float(weight.sum())
    if n < 2 or total <= 0:
        return np.nan, np.nan
    mean = float(values @ weight) / total
    return mean, float((weight**2) @ (values - mean) ** 2) / total**2 * n / (n - 1)


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
    less = rounded_counts(np.minimum(gained, lost))
    up, down = np.where(gained <= lost, less, less + net), np.where(gained <= lost, less - net, less)
    below = np.maximum(0.0, -np.minimum(up, down))
    return rounded_counts(up + below), rounded_counts(down + below)


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


def moves_by_group(
    attribute: Attribute, decided: NDArray[Any], labels: NDArray[Any], task: Task, plain: int, small: int
) -> tuple[tuple[str, ...], dict[str, Sides]]:
    """Return groups and everyone, and how many rows of each come into each rate and go out of it, (N, c + 1).

    ``decided`` (N, n) and ``labels`` (n,) are codes of classes. Counts are exact where ``small`` is 0, else as they may
    be published, with small groups pooled.
    """
    member, levels, shown = attribute.membership(), attribute.levels, None
    if small:
        pool = pool_of(levels, member.sum(axis=0))
        levels, member = pool.levels, np.column_stack([member[:, list(some)].sum(axis=1) for some in pool.members])
        counts = count(decided, labels, len(task.classes), member, member.shape[1])
        shown, _ = published_people(counts.rows, task.favourable)
    favoured, good = decided == task.favourable, labels == task.favourable
    return (*levels, OVERALL), moves_by_rate(favoured, decided != labels, plain, good, member, shown)
