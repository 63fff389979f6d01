"""One evaluation on its way into a page: figures to choose on, their upper ends, and rates per group."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..frontier import Facts
from ..frontier.cutoffs import operating_words
from ..frontier.frontier_columns import GAPS, figures
from ..measures import ClassRates, Evaluation, GroupRates, PerGroup
from ..measures.claims import decides_alike, no_better, rival_words
from ..measures.figures import Column
from ..measures.intervals import DENOMINATORS, normal_quantile, rows_behind
from ..measures.published import published
from ..objectives import Array, Task
from .packing import packed, rounded

CONFIDENCE = 0.95
OVERALL = ("error", "approval_rate", "auc", "mse")


def part_of(record: Evaluation, facts: Facts, small: int) -> dict[str, Any]:
    """Return an evaluation as the page reads it: published counts and what follows from them, unless small is 0."""
    task = facts.task
    record = published(record, task) if small else record
    sure = [name for name in record.columns if name == "error" or Column.of(name).kind in GAPS]
    return {
        "name": record.name,
        "n": record.n,
        "effective": float(record.effective_n or record.n),
        "weighted": record.weighted,
        "small": record.small,
        "confidence": CONFIDENCE,
        "operating": operating_words(record, facts),
        "alike": np.flatnonzero(decides_alike(record)).tolist(),
        "no_better": np.flatnonzero(no_better(record, task)).tolist(),
        "rival": rival_words(record),
        "columns": {name: packed(values) for name, values in (record.columns | _mistakes(record)).items()},
        "upper": {name: packed(figures(record, name, CONFIDENCE)) for name in sure},
        "attributes": [
            _attribute(name, rates, record.sizes.get(name)) | _classes(rates, task, record.sizes.get(name))
            for name, rates in record.groups.items()
        ],
    }


def _attribute(name: str, rates: PerGroup, sizes: dict[str, Array] | None) -> dict[str, Any]:
    """Return groups with their rows and the rates of all points, (N, c) each."""
    kept = [r for r in rates.names if r not in ("accuracy", "recall")]
    behind, labels = {}, {}
    if isinstance(rates, GroupRates):
        behind = {r: rounded(rows_behind(rates, r, sizes), 3) for r in kept if r in DENOMINATORS}
        known = {"positives": rows_behind(rates, "tpr", None), "negatives": rows_behind(rates, "fpr", None)}
        if rates.labelled is not None and not isinstance(rates, ClassRates):
            known = dict(zip(known, rates.labelled.T, strict=True))
        labels = {key: rounded(np.round(values), 0) for key, values in known.items()}
    return {
        "name": name,
        "levels": list(rates.levels),
        "n": rounded(np.round(rates.n), 0),
        "labels": labels,
        "shares": isinstance(rates, GroupRates),
        "behind": behind,
        "rates": {r: packed(rates.rate(r), "f4") for r in kept},
        "z": _together(len(rates.levels)),
    }


def _classes(rates: PerGroup, task: Task, sizes: dict[str, Array] | None) -> dict[str, Any]:
    """Return what the page reads of single classes, recalls as rates ``recall:k``; nothing where there are none."""
    if not isinstance(rates, ClassRates):
        return {}
    behind = rows_behind(rates, "recall", sizes)
    rows = behind if rates.labelled is None else rates.labelled
    every = range(len(task.classes))
    return {
        "recalls": {
            "classes": [str(label) for label in task.classes],
            "rows": {f"recall:{k}": rounded(np.round(rows[:, k]), 0) for k in every},
            "behind": {f"recall:{k}": rounded(behind[:, k], 3) for k in every},
            "rates": {f"recall:{k}": packed(rates.recall[:, :, k], "f4") for k in every},
            "z": _together(len(rates.levels), len(task.classes)),
        }
    }


def _together(c: int, classes: int = 1) -> float:
    """Return the normal quantile that makes intervals of all pairs of c groups hold at once (Bonferroni)."""
    return normal_quantile(1.0 - (1.0 - CONFIDENCE) / max(1, classes * c * (c - 1) // 2))


def _mistakes(record: Evaluation) -> dict[str, Array]:
    """Return the shares of all people refused with the favourable label and favoured with another, for costs."""
    rates = next(iter(record.groups.values()))
    if not isinstance(rates, GroupRates) or isinstance(rates, ClassRates):
        return {}
    total = rates.weight.sum()
    missed = np.nansum((1.0 - rates.tpr) * rates.positives, axis=1) / total
    false = np.nansum(rates.fpr * rates.negatives, axis=1) / total
    return {"missed": missed, "false": false}
