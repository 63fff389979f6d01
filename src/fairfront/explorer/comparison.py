"""Points against the plain model on the same rows: changes per rate and group, calibration, and which points differ.

A difference of two shares on the same rows rests on the rows where the two differ. With b rows for the one and c for
the other of n, Agresti and Min (Statistics in Medicine 24, 2005, 729-740) add half a row to each of the four cells:

    (b - c) / (n + 2)  -+  z sqrt(b + c + 1 - (b - c)^2 / (n + 2)) / (n + 2)

Means of values (regression) take the plain normal interval of the differences. With unequal weights, n is Kish's
effective number of rows and b, c are scaled to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..frontier import Frontier
from ..measures import ClassRates, GroupRates, PerGroup
from ..measures.calibration import reliability_bins
from ..measures.counts import ratio, weighted_sums
from ..measures.disclosure import pool_of, publish_table
from ..measures.intervals import normal_quantile
from ..measures.moves import Sides, changed_sides, moves_by_rate
from ..measures.published import published
from ..measures.rates import margins
from ..objectives import Array, Attribute, rates_of
from .page import packed_bits, rounded
from .rows import Rows

SHARES = ("selection", "tpr", "fpr", "error")
MEANS = ("prediction", "mse")
ROWS_AT_ONCE = 16_384


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


def _mean_change(mean: Array, square: Array, size: Array, confidence: float) -> Change:
    """From the mean and mean square of the rows' differences."""
    n = np.where(size > 1, size, np.nan)
    half = normal_quantile(confidence) * np.sqrt(np.maximum(square - mean**2, 0.0) / n)
    return Change(mean, mean - half, mean + half)


def _effective_rows(columns: Array) -> Array:
    """Kish's effective number of rows of each column of weights, (q,)."""
    squared = (columns**2).sum(axis=0)
    return np.asarray(columns.sum(axis=0) ** 2 / np.where(squared > 0, squared, 1.0))


def pairwise(values: NDArray[Any], weight: Array, confidence: float, *, share: bool) -> Change:
    """Return the differences of weighted means between any two of k models, (k, k), row model less column model.

    ``values`` (k, n) are flags where ``share`` is true; products run over blocks of rows.
    """
    k, total = len(values), float(weight.sum())
    product, mean = np.zeros((k, k)), np.zeros(k)
    kind: Any = np.float32 if share else np.float64
    for start in range(0, values.shape[1], ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        block: NDArray[Any] = values[:, part].astype(kind)
        row: NDArray[Any] = weight[part].astype(kind)
        product += np.asarray((block * row) @ block.T, dtype=np.float64)
        mean += np.asarray(block @ row, dtype=np.float64)
    if total <= 0:
        return Change(*(np.full((k, k), np.nan) for _ in range(3)))
    size = _effective_rows(weight[:, None])[0]
    own = np.diag(product) / total
    square = np.maximum(own[:, None] + own[None, :] - 2.0 * product / total, 0.0)
    difference = (mean[:, None] - mean[None, :]) / total
    if not share:
        return _mean_change(difference, square, size, confidence)
    gained, lost = (np.maximum(square + s * difference, 0.0) * size / 2.0 for s in (1.0, -1.0))
    return share_change(gained, lost, size, confidence)


def describe(front: Frontier, rows: Rows, confidence: float, small: int) -> dict[str, Any]:
    """Return the fields of `Details` that come from rows.

    Of each rate: its change in every group and, last, overall; the change of the gaps to the reference; who changed
    sides. Changes are differences of published rates, and their intervals rest on published people.
    """
    regression = rows.task.kind == "regression"
    record = published(rows.record, rows.task) if small else rows.record
    described, moves = [], []
    for place, attribute in enumerate(rows.attributes):
        rates = record.groups[attribute.name]
        shown = _pooled(attribute) if small else attribute
        moved = {} if regression else _moves(rows, place, shown, small)
        moves.append(moved)
        changes = {}
        for rate in SHARES if isinstance(rates, GroupRates) else MEANS:
            c, values, sides = len(shown.levels), rates.rate(rate), moved.get(rate)
            columns = np.column_stack([_weights(rows, shown, rate), _among(rows, rate)])
            people = _people(rates, rate, columns, rows, small)
            change = _change(rows, _values(rows, rate), columns, confidence, sides, people)
            change = change.moved_to(np.column_stack([values - values[rows.plain], change.value[:, c:]]))
            gap = change.columns(slice(0, c - 1)).less(change.columns(slice(c - 1, c)))
            counts = {} if sides is None else {"gained": rounded(sides[0], 0), "lost": rounded(sides[1], 0)}
            changes[rate] = counts | change.listed() | {"gap": gap.listed()}
        described.append(
            {
                "name": attribute.name,
                "levels": list(rates.levels),
                "n": rounded(rates.n, 0),
                "rates": changes,
                "calibration": _calibration(rows, shown, small),
            }
        )
    error = "mse" if regression else "error"
    everyone = None if regression else tuple(side[:, -1:] for side in moves[0]["error"])
    overall = _change(rows, rows.wrong, rows.weight[:, None], confidence, everyone, np.ones(1))
    overall = overall.moved_to((record[error] - record[error][rows.plain])[:, None])
    return {
        "overall": {error: overall.columns(0).listed()},
        "attributes": tuple(described),
        "told_apart": packed_bits(_differing(front, rows, confidence)),
    }


def _differing(front: Frontier, rows: Rows, confidence: float) -> NDArray[np.bool_]:
    """Which two of k models differ significantly, (k, k): in error or in a gap of the notion."""
    share = rows.task.kind != "regression"
    found = pairwise(rows.wrong, rows.weight, confidence, share=share).excludes_zero
    compared = dict.fromkeys(r if r in SHARES + MEANS else "tpr" for r in rates_of(front.facts.notions, rows.task))
    for attribute in rows.attributes:
        for rate in compared:
            columns = _weights(rows, attribute, rate).T
            *others, reference = (pairwise(_values(rows, rate), w, confidence, share=share) for w in columns)
            for one in others:
                found |= one.less(reference).excludes_zero
    return found


def _values(rows: Rows, rate: str) -> NDArray[Any]:
    """What a rate is the mean of, (k, n)."""
    return rows.wrong if rate in ("error", "mse") else rows.decided


def _among(rows: Rows, rate: str) -> Array:
    """Weights (n,) of the rows that a rate is about."""
    return np.asarray(rows.weight * {"tpr": rows.good, "fpr": ~rows.good}.get(rate, True))


def _weights(rows: Rows, attribute: Attribute, rate: str) -> Array:
    """Weights (n, c) of the rows that a rate is about in each group, the reference last."""
    return np.asarray(attribute.membership() * _among(rows, rate)[:, None])


def _pooled(attribute: Attribute) -> Attribute:
    """Groups of a few people together, as `published` does."""
    member = attribute.membership()
    pool = pool_of(attribute.levels, member.sum(axis=0))
    if attribute.codes is None:
        joined = np.column_stack([member[:, list(some)].sum(axis=1) for some in pool.members])
        return replace(attribute, levels=pool.levels, shares=joined)
    place = np.full(len(attribute.levels) + 1, -1, dtype=attribute.codes.dtype)
    for new, some in enumerate(pool.members):
        place[list(some)] = new
    return replace(attribute, levels=pool.levels, codes=place[attribute.codes])


def _moves(rows: Rows, place: int, shown: Attribute, small: int) -> dict[str, Sides]:
    """Rows that gained and lost by rate, (k, c + 1) each, everyone last."""
    people = None
    if small:
        assert rows.record.sums is not None
        counts: Any = rows.record.sums.groups[place]
        levels = rows.attributes[place].levels
        pool = pool_of(levels, counts.sizes[: len(levels)])
        pooled = counts.pooled((*pool.members, (len(levels),)))
        people = margins(publish_table(pooled.rows, rows.task.favourable)[:, :-1], rows.task.favourable)
    return moves_by_rate(rows.decided, rows.wrong, rows.plain, rows.good, shown.membership(), people)


def _people(rates: PerGroup, rate: str, columns: Array, rows: Rows, small: int) -> Array:
    """Published over exact rows behind a rate, of every group and of everyone, (c + 1,)."""
    behind = (columns / rows.weight[:, None]).sum(axis=0)
    shown, everyone = rates.n, float(behind[-1])
    if isinstance(rates, GroupRates) and rates.labelled is not None and rate in ("tpr", "fpr"):
        favourable = rates.labelled[:, rows.task.favourable if isinstance(rates, ClassRates) else 0]
        shown = favourable if rate == "tpr" else rates.labelled.sum(axis=1) - favourable
        if small and rows.record.sums is not None:
            exact: Any = rows.record.sums.everyone
            totals = margins(publish_table(exact.rows, rows.task.favourable)[0, -1], rows.task.favourable)
            everyone = float(totals["positive" if rate == "tpr" else "negative"])
    return np.nan_to_num(ratio(np.append(shown, everyone), behind))


def _change(rows: Rows, values: NDArray[Any], columns: Array, confidence: float, sides: Any, people: Array) -> Change:
    """Against the plain model in each column, (k, q), from the rows that changed ``sides``."""
    before, total = values[rows.plain], columns.sum(axis=0)
    size = _effective_rows(columns) * people
    if sides is None:
        mean = ratio(weighted_sums(values, columns, lambda block: block - before), total)
        square = ratio(weighted_sums(values, columns, lambda block: (block - before) ** 2), total)
        return _mean_change(mean, square, size, confidence)
    exact = changed_sides(values, before, columns / rows.weight[:, None])
    weights = changed_sides(values, before, columns)
    scale = np.nan_to_num(ratio(size, total * people))
    gained, lost = (
        w * np.nan_to_num(ratio(shown, all_rows)) * scale
        for w, shown, all_rows in zip(weights, sides, exact, strict=True)
    )
    return share_change(gained, lost, size, confidence)


def _calibration(rows: Rows, attribute: Attribute, small: int) -> list[Any] | None:
    """Bins per point and group; None where the models give no probabilities or groups are not known."""
    if rows.probability is None or attribute.codes is None:
        return None
    inside = [np.flatnonzero(attribute.codes == g) for g in range(len(attribute.levels))]

    def bins(probability: Array, group: NDArray[np.intp]) -> dict[str, Any] | None:
        found = reliability_bins(probability[group], rows.good[group], rows.weight[group], small)
        if found is None:
            return None
        predicted, observed, n = found
        return {"predicted": rounded(predicted, 4), "observed": rounded(observed, 4), "n": rounded(n, 0)}

    return [[bins(probability, group) for group in inside] for probability in rows.probability]
