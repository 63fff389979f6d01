"""Details from rows: changes against the plain model per rate and group, calibration, and pairs told apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..frontier import Frontier
from ..measures import group_means, group_rates
from ..measures.sums import ratio, weighted_sums
from ..objectives import Array, Attribute
from .bins import calibration_bins
from .classes import Mask
from .hiding import Veil, veil_of
from .notions import rates_of
from .packing import packed_bits, rounded
from .paired import Change, effective_rows, mean_change, share_change, told_apart
from .rows import Rows

SHARES = ("selection", "tpr", "fpr", "error")
MEANS = ("prediction", "mse")


def describe(front: Frontier, rows: Rows, confidence: float, small: int) -> dict[str, Any]:
    """Return the fields of `Details` that come from rows."""
    regression = rows.task.kind == "regression"
    change, _ = _changes(rows, rows.wrong, rows.weight[:, None], confidence, small)
    compared = [r if r in SHARES + MEANS else "tpr" for r in rates_of(front.facts.notions, rows.task)]
    attributes = [_attribute(rows, a, confidence, small, compared[0]) for a in rows.attributes]
    pairs = [
        (_values(rows, rate), columns_of(rows, a, rate)) for a in rows.attributes for rate in dict.fromkeys(compared)
    ]
    told = told_apart(rows.wrong, pairs, rows.weight, confidence, share=not regression)
    return {
        "overall": {"mse" if regression else "error": {name: line[0] for name, line in _listed(change).items()}},
        "attributes": tuple(attributes),
        "told_apart": packed_bits(told),
    }


def _values(rows: Rows, rate: str) -> NDArray[Any]:
    """Return what a rate is the mean of, (k, n)."""
    return rows.wrong if rate in ("error", "mse") else rows.decided


def _among(rows: Rows, rate: str) -> Array:
    """Return the weights (n,) of the rows that a rate is about."""
    return np.asarray(rows.weight * {"tpr": rows.good, "fpr": ~rows.good}.get(rate, True))


def columns_of(rows: Rows, attribute: Attribute, rate: str) -> Array:
    """Return the weights (n, c) of the rows that a rate is about in each group, the reference last."""
    return np.asarray(attribute.membership() * _among(rows, rate)[:, None])


def _attribute(rows: Rows, attribute: Attribute, confidence: float, small: int, kept: str) -> dict[str, Any]:
    names = MEANS if rows.task.kind == "regression" else SHARES
    veil = _veil(rows, attribute, small, kept)
    return {
        "name": attribute.name,
        "levels": list(attribute.levels),
        "n": rounded(np.where(veil.n, np.nan, columns_of(rows, attribute, "selection").sum(axis=0)), 2),
        "rates": {name: _rate(rows, attribute, name, confidence, small, veil) for name in names},
        "calibration": _calibration(rows, attribute, small),
    }


def _veil(rows: Rows, attribute: Attribute, small: int, kept: str) -> Veil:
    """Find what the rates of these points hide, so that changes do not give it back."""
    codes = attribute.membership() if attribute.codes is None else attribute.codes
    if rows.task.kind == "regression":
        return veil_of(
            group_means(rows.decided, rows.decided[0], codes, attribute.levels), len(rows.places), small, kept
        )
    return veil_of(group_rates(rows.decided, rows.good, codes, attribute.levels), len(rows.places), small, kept)


def _rate(rows: Rows, attribute: Attribute, rate: str, confidence: float, small: int, veil: Veil) -> dict[str, Any]:
    """Return a rate's change in every group and, last, overall; the change of the gaps; who changed sides."""
    c = len(attribute.levels)
    columns = np.column_stack([columns_of(rows, attribute, rate), _among(rows, rate)])
    change, moved = _changes(rows, _values(rows, rate), columns, confidence, small)
    gone = veil.of(rate) | veil.of(rate)[rows.plain]
    record: dict[str, Any] = {}
    if moved is not None:
        counted = _moved(_values(rows, rate), rows.plain, (columns > 0).astype(np.float64))
        few = [(side > 0) & (side < small) for side in (*counted, counted[0] + counted[1])]
        gone = gone | few[2][:, :c]
        sides = _with_overall(gone | few[0][:, :c] | few[1][:, :c])
        record = {name: rounded(_veiled(side, sides), 2) for name, side in zip(("gained", "lost"), moved, strict=True)}
        record["few"] = np.where(few[0], 1, 0)[:, :c].tolist(), np.where(few[1], 1, 0)[:, :c].tolist()
    hidden = _with_overall(gone)
    shown = Change(*(_veiled(values, hidden) for values in (change.value, change.lower, change.upper)))
    gap = _part(shown, slice(0, c - 1)).less(_part(shown, slice(c - 1, c)))
    return record | _listed(shown, by_id=True) | {"gap": _listed(gap, by_id=True)}


def _with_overall(gone: Mask) -> Mask:
    """Hide the line of all people where a group is hidden, which could be had from it by subtraction."""
    return np.column_stack([gone, gone.any(axis=1)])


def _veiled(values: Array, hidden: Mask) -> Array:
    return np.where(hidden, np.nan, values)


def _moved(values: NDArray[Any], plain: int, columns: Array) -> tuple[Array, Array]:
    """Return the weights that come into a share and go out of it against the plain model, (k, q) each."""
    before = values[plain]
    return weighted_sums(values & ~before, columns), weighted_sums(~values & before, columns)


def _changes(
    rows: Rows, values: NDArray[Any], columns: Array, confidence: float, small: int
) -> tuple[Change, tuple[Array, Array] | None]:
    """Return the change against the plain model in each column, (k, q), and weights gained and lost for shares."""
    before, size, total = values[rows.plain], effective_rows(columns), columns.sum(axis=0)
    if rows.task.kind == "regression":
        mean = ratio(weighted_sums(values, columns, lambda block: block - before), total)
        square = ratio(weighted_sums(values, columns, lambda block: (block - before) ** 2), total)
        return mean_change(mean, square, size, confidence), None
    gained, lost = _moved(values, rows.plain, columns)
    scale = np.nan_to_num(ratio(size, total))
    return share_change(gained * scale, lost * scale, size, confidence, small), (gained, lost)


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
