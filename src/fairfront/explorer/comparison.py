"""Details from rows: changes against the plain model per rate and group, calibration, and which points differ."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..frontier import Frontier
from ..measures import ClassRates, Evaluation, GroupRates, PerGroup
from ..measures.calibration import reliability_bins
from ..measures.changes import Sides, changed_sides, moves_by_rate
from ..measures.counts import ratio, weighted_sums
from ..measures.published import pool_of, published, published_people, published_totals
from ..measures.rates import rate_sums
from ..objectives import Array, Attribute, rates_of
from .page import packed_bits, rounded
from .paired_differences import Change, differing_pairs, effective_rows, mean_change, share_change
from .rows import Rows

SHARES = ("selection", "tpr", "fpr", "error")
MEANS = ("prediction", "mse")


def describe(front: Frontier, rows: Rows, confidence: float, small: int) -> dict[str, Any]:
    """Return the fields of `Details` that come from rows."""
    regression = rows.task.kind == "regression"
    compared = [r if r in SHARES + MEANS else "tpr" for r in rates_of(front.facts.notions, rows.task)]
    pairs = [
        (_values(rows, rate), columns_of(rows, a, rate)) for a in rows.attributes for rate in dict.fromkeys(compared)
    ]
    differ = differing_pairs(rows.wrong, pairs, rows.weight, confidence, share=not regression)
    record = published(rows.record, rows.task) if small else rows.record
    error = "mse" if regression else "error"
    change = _overall_change(rows, record[error], confidence, small)
    return {
        "overall": {error: {name: line[0] for name, line in _listed(change).items()}},
        "attributes": tuple(_attribute(rows, a, record, confidence, small) for a in rows.attributes),
        "told_apart": packed_bits(differ),
    }


def _overall_change(rows: Rows, error: Array, confidence: float, small: int) -> Change:
    """Return the change of the error of all rows against the plain model, (k, 1)."""
    sides = None
    if rows.task.kind != "regression":
        sides = _moves(rows, 0, _pooled(rows.attributes[0]) if small else rows.attributes[0], small)["error"]
        sides = sides[0][:, -1:], sides[1][:, -1:]
    change = _changes(rows, rows.wrong, rows.weight[:, None], confidence, sides, np.ones(1))
    return change.moved_to((error - error[rows.plain])[:, None])


def _values(rows: Rows, rate: str) -> NDArray[Any]:
    """Return what a rate is the mean of, (k, n)."""
    return rows.wrong if rate in ("error", "mse") else rows.decided


def _among(rows: Rows, rate: str) -> Array:
    """Return the weights (n,) of the rows that a rate is about."""
    return np.asarray(rows.weight * {"tpr": rows.good, "fpr": ~rows.good}.get(rate, True))


def columns_of(rows: Rows, attribute: Attribute, rate: str) -> Array:
    """Return the weights (n, c) of the rows that a rate is about in each group, the reference last."""
    return np.asarray(attribute.membership() * _among(rows, rate)[:, None])


def _attribute(rows: Rows, attribute: Attribute, record: Evaluation, confidence: float, small: int) -> dict[str, Any]:
    rates = record.groups[attribute.name]
    shown = _pooled(attribute) if small else attribute
    names = SHARES if isinstance(rates, GroupRates) else MEANS
    moved = _moves(rows, list(record.groups).index(attribute.name), shown, small)
    return {
        "name": attribute.name,
        "levels": list(rates.levels),
        "n": rounded(rates.n, 0),
        "rates": {name: _rate(rows, shown, name, rates, moved, confidence, small) for name in names},
        "calibration": _calibration(rows, shown, small),
    }


def _pooled(attribute: Attribute) -> Attribute:
    """Return the attribute with groups of a few people pooled, as `published` does."""
    member = attribute.membership()
    pool = pool_of(attribute.levels, member.sum(axis=0))
    if attribute.codes is None:
        joined = np.column_stack([member[:, list(some)].sum(axis=1) for some in pool.members])
        return replace(attribute, levels=pool.levels, shares=joined)
    place = np.full(len(attribute.levels) + 1, -1, dtype=attribute.codes.dtype)
    for new, some in enumerate(pool.members):
        place[list(some)] = new
    return replace(attribute, levels=pool.levels, codes=place[attribute.codes])


def _rate(
    rows: Rows,
    attribute: Attribute,
    rate: str,
    rates: PerGroup,
    moved: dict[str, Sides],
    confidence: float,
    small: int,
) -> dict[str, Any]:
    """Return a rate's change in every group and, last, overall; the change of the gaps; who changed sides.

    Changes are differences of ``rates``, and their intervals rest on the rows ``moved`` and on the people of ``rates``.
    """
    c, values = len(attribute.levels), rates.rate(rate)
    columns = np.column_stack([columns_of(rows, attribute, rate), _among(rows, rate)])
    sides = moved.get(rate)
    people = _people(rates, rate, columns, rows, small)
    change = _changes(rows, _values(rows, rate), columns, confidence, sides, people)
    change = change.moved_to(np.column_stack([values - values[rows.plain], change.value[:, c:]]))
    gap = _part(change, slice(0, c - 1)).less(_part(change, slice(c - 1, c)))
    counts = {} if sides is None else {"gained": rounded(sides[0], 0), "lost": rounded(sides[1], 0)}
    return counts | _listed(change, by_id=True) | {"gap": _listed(gap, by_id=True)}


def _people(rates: PerGroup, rate: str, columns: Array, rows: Rows, small: int) -> Array:
    """Return published over exact rows behind a rate, of every group and of everyone, (c + 1,)."""
    behind = (columns / rows.weight[:, None]).sum(axis=0)
    shown, everyone = rates.n, float(behind[-1])
    if isinstance(rates, GroupRates) and rates.labelled is not None and rate in ("tpr", "fpr"):
        good = rows.task.favourable if isinstance(rates, ClassRates) else 0
        favourable = rates.labelled[:, good]
        shown = favourable if rate == "tpr" else rates.labelled.sum(axis=1) - favourable
        if small and rows.record.sums is not None:
            exact: Any = rows.record.sums.everyone
            totals = published_totals(rate_sums(exact.rows, rows.task.favourable))
            everyone = float((totals.positives if rate == "tpr" else totals.negatives)[0])
    return np.nan_to_num(ratio(np.append(shown, everyone), behind))


def _moves(rows: Rows, place: int, attribute: Attribute, small: int) -> dict[str, Sides]:
    """Return the rows that gained and lost by rate, (k, c + 1) each, everyone last; none for regression."""
    if rows.task.kind == "regression":
        return {}
    shown = _published_people(rows, place) if small else None
    return moves_by_rate(rows.decided, rows.wrong, rows.plain, rows.good, attribute.membership(), shown)


def _published_people(rows: Rows, place: int) -> Any:
    """Return the people of an attribute's groups that may be published, small groups pooled, those of none last."""
    assert rows.record.sums is not None
    counts: Any = rows.record.sums.groups[place]
    c = len(rows.attributes[place].levels)
    pool = pool_of(rows.attributes[place].levels, counts.sizes[:c])
    return published_people(rate_sums(counts.pooled((*pool.members, (c,))).rows, rows.task.favourable))


def _changes(
    rows: Rows, values: NDArray[Any], columns: Array, confidence: float, sides: Sides | None, people: Array
) -> Change:
    """Return the change against the plain model in each column, (k, q), from the rows that changed sides."""
    before, total = values[rows.plain], columns.sum(axis=0)
    size = effective_rows(columns) * people
    if sides is None:
        mean = ratio(weighted_sums(values, columns, lambda block: block - before), total)
        square = ratio(weighted_sums(values, columns, lambda block: (block - before) ** 2), total)
        return mean_change(mean, square, size, confidence)
    exact = changed_sides(values, before, columns / rows.weight[:, None])
    weights = changed_sides(values, before, columns)
    scale = np.nan_to_num(ratio(size, total * people))
    gained, lost = (
        w * np.nan_to_num(ratio(shown, all_rows)) * scale
        for w, shown, all_rows in zip(weights, sides, exact, strict=True)
    )
    return share_change(gained, lost, size, confidence)


def _calibration(rows: Rows, attribute: Attribute, small: int) -> list[Any] | None:
    """Return bins per point and group, or None where the models give no probabilities or groups are not known."""
    if rows.probability is None or attribute.codes is None:
        return None
    inside = [np.flatnonzero(attribute.codes == g) for g in range(len(attribute.levels))]
    return [
        [_bins(p[group], rows.good[group], rows.weight[group], small) for group in inside] for p in rows.probability
    ]


def _bins(probability: Array, good: NDArray[np.bool_], weight: Array, small: int) -> dict[str, Any] | None:
    found = reliability_bins(probability, good, weight, small)
    if found is None:
        return None
    predicted, observed, n = found
    return {"predicted": rounded(predicted, 4), "observed": rounded(observed, 4), "n": rounded(n, 0)}


def _part(change: Change, columns: slice) -> Change:
    return Change(change.value[:, columns], change.lower[:, columns], change.upper[:, columns])


def _listed(change: Change, *, by_id: bool = False) -> dict[str, Any]:
    """Return lists, per column or per id."""
    named = {"change": change.value, "lower": change.lower, "upper": change.upper}
    return {name: rounded(values if by_id else values.T) for name, values in named.items()}
