"""Details from rows: changes against the plain model per rate and group, calibration, and which points differ."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..frontier import Frontier
from ..measures import Evaluation, GroupRates
from ..measures.disclosure import publish_counts
from ..measures.published import pool_of, published
from ..measures.sums import ratio, weighted_sums
from ..objectives import Array, Attribute, rates_of
from .bins import calibration_bins
from .packing import packed_bits, rounded
from .paired import Change, effective_rows, mean_change, share_change, told_apart
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
    told = told_apart(rows.wrong, pairs, rows.weight, confidence, share=not regression)
    record = published(rows.record, rows.task) if small else rows.record
    error = "mse" if regression else "error"
    change = _overall_change(rows, record[error], confidence, small)
    return {
        "overall": {error: {name: line[0] for name, line in _listed(change).items()}},
        "attributes": tuple(_attribute(rows, a, record, confidence, small) for a in rows.attributes),
        "told_apart": packed_bits(told),
    }


def _overall_change(rows: Rows, error: Array, confidence: float, small: int) -> Change:
    """Return the change of the error of all rows against the plain model, (k, 1)."""
    change = _changes(rows, rows.wrong, rows.weight[:, None], confidence, small)[0]
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
    return {
        "name": attribute.name,
        "levels": list(rates.levels),
        "n": rounded(rates.n, 0),
        "rates": {name: _rate(rows, shown, name, rates.rate(name), confidence, small) for name in names},
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


def _rate(rows: Rows, attribute: Attribute, rate: str, values: Array, confidence: float, small: int) -> dict[str, Any]:
    """Return a rate's change in every group and, last, overall; the change of the gaps; who changed sides.

    ``values`` (k, c) are the rates themselves, from whose differences the changes are.
    """
    c = len(attribute.levels)
    columns = np.column_stack([columns_of(rows, attribute, rate), _among(rows, rate)])
    change, moved = _changes(rows, _values(rows, rate), columns, confidence, small)
    change = change.moved_to(np.column_stack([values - values[rows.plain], change.value[:, c:]]))
    gap = _part(change, slice(0, c - 1)).less(_part(change, slice(c - 1, c)))
    sides = {} if moved is None else {"gained": rounded(moved[0], 0), "lost": rounded(moved[1], 0)}
    return sides | _listed(change, by_id=True) | {"gap": _listed(gap, by_id=True)}


def _changes(
    rows: Rows, values: NDArray[Any], columns: Array, confidence: float, small: int
) -> tuple[Change, tuple[Array, Array] | None]:
    """Return the change against the plain model in each column, (k, q), and for shares the rows gained and lost."""
    before, size, total = values[rows.plain], effective_rows(columns), columns.sum(axis=0)
    if rows.task.kind == "regression":
        mean = ratio(weighted_sums(values, columns, lambda block: block - before), total)
        square = ratio(weighted_sums(values, columns, lambda block: (block - before) ** 2), total)
        return mean_change(mean, square, size, confidence), None
    sides = (values & ~before, ~values & before)
    weights = [weighted_sums(side, columns) for side in sides]
    people = [weighted_sums(side, columns / rows.weight[:, None]) for side in sides]
    moved = [_published(side) for side in people] if small else people
    scale = np.nan_to_num(ratio(size, total))
    gained, lost = (
        w * np.nan_to_num(ratio(shown, exact)) * scale for w, shown, exact in zip(weights, moved, people, strict=True)
    )
    return share_change(gained, lost, size, confidence), (moved[0], moved[1])


def _published(moved: Array) -> Array:
    """Return rows that changed sides, (k, q), everyone in the last column, as they may be published."""
    groups, everyone = moved[:, :-1], moved[:, -1:]
    shown, total = publish_counts(np.column_stack([groups, everyone - groups.sum(axis=1, keepdims=True)]))
    return np.column_stack([shown[:, :-1], total])


def _calibration(rows: Rows, attribute: Attribute, small: int) -> list[Any] | None:
    """Return bins per point and group, or None where the models give no probabilities or groups are not known."""
    if rows.probability is None or attribute.codes is None:
        return None
    inside = [np.flatnonzero(attribute.codes == g) for g in range(len(attribute.levels))]
    return [
        [calibration_bins(p[group], rows.good[group], rows.weight[group], small) for group in inside]
        for p in rows.probability
    ]


def _part(change: Change, columns: slice) -> Change:
    return Change(change.value[:, columns], change.lower[:, columns], change.upper[:, columns])


def _listed(change: Change, *, by_id: bool = False) -> dict[str, Any]:
    """Return lists, per column or per id."""
    named = {"change": change.value, "lower": change.lower, "upper": change.upper}
    return {name: rounded(values if by_id else values.T) for name, values in named.items()}
