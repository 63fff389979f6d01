"""One evaluation on its way into a page: figures to choose on, their upper ends, and rates per group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..frontier.evaluating import GAPS, figures
from ..measures import ClassRates, Evaluation, GroupRates, PerGroup, selection_ratio, worst_gap, worst_gap_upper
from ..measures.intervals import DENOMINATORS, normal_quantile, rows_behind
from ..objectives import Array, Task
from .classes import Mask, Recalls, class_record, recalls_of, worst_recall
from .hiding import RARELY, Veil, veil_of, without
from .packing import HIDDEN, packed, rounded

CONFIDENCE = 0.95
OVERALL = ("error", "auc", "mse")
LeftOut = dict[str, dict[str, Mask]]
"""Per attribute and rate, the groups that are not in the worst gap, (c,)."""


def part_of(record: Evaluation, task: Task, small: int, kept: str, like: LeftOut | None = None) -> dict[str, Any]:
    """Return an evaluation as the page reads it, hidden figures marked.

    ``kept`` is the rate that is shown longest; ``like`` gives the groups that another record left out.
    """
    veils = {name: veil_of(rates, record.n_models, small, kept) for name, rates in record.groups.items()}
    gone = like or left_out(record, veils)
    recalls = {
        name: recalls_of(rates, task, veils[name].full, gone[name]["recall"], small, RARELY)
        for name, rates in record.groups.items()
        if isinstance(rates, ClassRates)
    }
    columns = {name: record[name] for name in OVERALL if name in record.columns}
    upper = {"error": figures(record, "error", CONFIDENCE)} if "error" in columns else {}
    for name, values, ends in (
        _worst(record, column, veils, gone, recalls) for column in record.columns if column not in OVERALL
    ):
        columns[name] = values
        if ends is not None:
            upper[name] = ends
    columns |= _mistakes(record, veils)
    return {
        "name": record.name,
        "n": record.n,
        "effective": float(record.effective_n or record.n),
        "confidence": CONFIDENCE,
        "columns": {name: packed(values) for name, values in columns.items()},
        "upper": {name: packed(values) for name, values in upper.items()},
        "attributes": [
            _attribute(name, rates, veils[name], gone[name], record.sizes.get(name))
            | _classes(rates, task, recalls.get(name))
            for name, rates in record.groups.items()
        ],
    }


def left_out(record: Evaluation, veils: dict[str, Veil]) -> LeftOut:
    """Return the groups that leave each rate's worst gap."""
    return {
        name: {rate: veils[name].everywhere(rate) for rate in rates.names if rate != "accuracy"}
        for name, rates in record.groups.items()
    }


def left_out_of(record: Evaluation, small: int, kept: str) -> LeftOut:
    """Return the groups that the page of an evaluation leaves out of its worst gaps."""
    return left_out(record, {n: veil_of(r, record.n_models, small, kept) for n, r in record.groups.items()})


def _worst(
    record: Evaluation, column: str, veils: dict[str, Veil], gone: LeftOut, recalls: Mapping[str, Recalls]
) -> tuple[str, Array, Array | None]:
    """Return a gap or ratio with its upper end, without groups that never show, hidden where one that does is."""
    attribute = column.rpartition(".")[0] or next(iter(record.groups))
    kind, rates = column.rpartition(".")[2], record.groups[attribute]
    rate = "selection" if kind == "selection_ratio" else kind.removesuffix("_gap")
    out = gone[attribute][rate]
    hidden = veils[attribute].of(rate)[:, ~out].any(axis=1)
    shown, sizes = without(rates, record.sizes.get(attribute), out)
    ends: Array | None = None
    if isinstance(shown, ClassRates) and rate == "recall":
        values, ends = worst_recall(shown, recalls[attribute], out, CONFIDENCE)
    elif not out.any():
        values, ends = record[column], figures(record, column, CONFIDENCE) if kind in GAPS else None
    else:
        values = selection_ratio(shown) if kind == "selection_ratio" else worst_gap(shown, rate)
        if kind in GAPS and isinstance(shown, GroupRates):
            ends = worst_gap_upper(shown, rate, CONFIDENCE, sizes)
    return column, np.where(hidden, HIDDEN, values), None if ends is None else np.where(hidden, HIDDEN, ends)


def _attribute(
    name: str, rates: PerGroup, veil: Veil, gone: dict[str, Mask], sizes: dict[str, Array] | None
) -> dict[str, Any]:
    """Return groups with their rows and the rates of all points, (N, c) each."""
    kept = [r for r in rates.names if r not in ("accuracy", "recall")]
    behind: dict[str, Array] = {}
    labels: dict[str, Any] = {}
    if isinstance(rates, GroupRates):
        behind = {r: rows_behind(rates, r, sizes) for r in kept if r in DENOMINATORS}
        known = {"positives": rows_behind(rates, "tpr", None), "negatives": rows_behind(rates, "fpr", None)}
        labels = {key: _counts(values, veil.labels) for key, values in known.items()}
    return {
        "name": name,
        "levels": list(rates.levels),
        "n": _counts(rates.n, veil.n),
        "labels": labels,
        "shares": isinstance(rates, GroupRates),
        "behind": {r: rounded(np.where(veil.labels, np.nan, values), 3) for r, values in behind.items()},
        "rates": {r: packed(np.where(veil.of(r), HIDDEN, rates.rate(r)), "f4") for r in kept},
        "left_out": {r: np.flatnonzero(gone[r]).tolist() for r in gone},
        "z": _together(len(rates.levels)),
        "hides": bool(veil.full.any() or veil.half.any()),
    }


def _classes(rates: PerGroup, task: Task, recalls: Recalls | None) -> dict[str, Any]:
    """Return what the page reads of single classes, nothing where there are none."""
    if recalls is None or not isinstance(rates, ClassRates):
        return {}
    stay = int((~recalls.out).sum())
    found = {"recalls": class_record(rates, task, recalls) | {"z": _together(len(rates.levels), stay)}}
    return found | ({"hides": True} if recalls.hidden.any() else {})


def _together(c: int, classes: int = 1) -> float:
    """Return the normal quantile that makes intervals of all pairs of c groups hold at once (Bonferroni)."""
    return normal_quantile(1.0 - (1.0 - CONFIDENCE) / max(1, classes * c * (c - 1) // 2))


def _counts(values: Array, gone: Mask) -> list[Any]:
    return rounded(np.where(gone, np.nan, np.round(values)), 0)


def _mistakes(record: Evaluation, veils: dict[str, Veil]) -> dict[str, Array]:
    """Return the shares of all people refused with the favourable label and favoured with another, for costs."""
    rates = next(iter(record.groups.values()))
    if not isinstance(rates, GroupRates) or isinstance(rates, ClassRates):
        return {}
    total = rates.weight.sum()
    missed = np.nansum((1.0 - rates.tpr) * rates.positives, axis=1) / total
    false = np.nansum(rates.fpr * rates.negatives, axis=1) / total
    hidden = np.any([(v.full | v.half).any(axis=1) for v in veils.values()], axis=0)
    return {"missed": np.where(hidden, HIDDEN, missed), "false": np.where(hidden, HIDDEN, false)}
