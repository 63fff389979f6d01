"""Everything that a page shows of a frontier, as one JSON-able record: aggregates only, test rows never."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..frontier import Facts, Frontier
from ..frontier.cutoffs import is_test, operating_words
from ..frontier.frontier_columns import GAPS, figures
from ..frontier.selection import plain_place
from ..measures import ClassRates, Evaluation, GroupRates, PerGroup
from ..measures.evaluation import decides_alike, no_better, rival_words
from ..measures.figures import Column, larger_is_better
from ..measures.intervals import normal_quantile, rows_behind
from ..measures.published import published
from ..measures.rates import DENOMINATORS
from ..objectives import NOTIONS, Array, Task, rates_of
from ..solvers import Status
from .page import packed, rounded
from .rows import Details, Places, built, detailed, walk

CONFIDENCE = 0.95
TOP = 8
ALWAYS = "Labels are taken as they are: what they carry from the past is not corrected."
OF_VALUES = "It does not compare single people, nor how predictions spread inside a group."


def page_payload(
    front: Frontier,
    on: str | None,
    chosen: int | None,
    details: Details | None,
    baselines: Mapping[str, Frontier],
    small: int,
) -> dict[str, Any]:
    shown = {name: record for name, record in front.evaluations.items() if not is_test(name)}
    described = detailed(front, () if chosen is None else (chosen,))
    return {
        "facts": facts_of(front),
        "points": _points(front),
        "parts": [_part(shown[name], front.facts, small) for name in sorted(shown, key=lambda name: name != on)],
        "baselines": [_baseline(front, name, other, on, small) for name, other in baselines.items()],
        "moved": most_moved(front, described),
        "details": details and {k: v for k, v in vars(details).items() if k not in ("plain", "version")},
        "chosen": None if chosen is None else front.place(chosen),
        "small": small,
    }


def facts_of(front: Frontier) -> dict[str, Any]:
    facts, task = front.facts, front.facts.task
    columns = dict.fromkeys(name for record in front.evaluations.values() for name in record.columns)
    return {
        "task": task.kind,
        "favourable": None if task.favourable_label is None else str(task.favourable_label),
        "classes": [str(label) for label in task.classes],
        "favourable_was_given": facts.favourable_was_given,
        "notions": [
            {"name": name, "sentence": sentence, "leaves_out": _not_compared(name, task)}
            for name, sentence in zip(facts.notions, facts.sentences, strict=False)
        ],
        "notes": list(front.sentences[len(facts.notions) :]),
        "rates": rates_of(facts.notions, task),
        "loss": facts.loss,
        "unit": facts.unit,
        "gap_column": facts.gap_column,
        "ridge": facts.ridge,
        "solver": facts.solver,
        "used_for": facts.used_for,
        "sensitive": [[name, list(levels)] for name, levels in facts.sensitive],
        "largest": list(facts.largest),
        "left_out": [[name, list(levels)] for name, levels in facts.told_left_out],
        "missing": list(facts.missing),
        "trained": facts.surrogate != "decision",
        "larger": [name for name in columns if larger_is_better(name)],
    }


def _not_compared(notion: str, task: Task) -> str:
    if task.kind == "regression":
        return f"{OF_VALUES} {ALWAYS}"
    caveat = NOTIONS[notion].caveat if notion in NOTIONS else ""
    return f"{caveat} {ALWAYS}".strip().format(good=f"“{task.favourable_label}”")


def _points(front: Frontier) -> dict[str, Any]:
    kinds = list(dict.fromkeys(front.status))
    names = front.models.names
    training = {"loss": packed(front.loss), front.facts.gap_column: packed(front.gaps.max(axis=1))}
    return {
        "ids": front.ids.tolist(),
        "names": None if names is None else [str(name) for name in names],
        "statuses": [{"text": str(status), "name": status.name.lower()} for status in kinds],
        "status": [kinds.index(status) for status in front.status],
        "solved": front.solved.tolist() if len(front.solved) < len(front) else None,
        "walk": walk(front).tolist(),
        "certified": "".join("1" if yes else "0" for yes in front.certified),
        "kkt": rounded([float(f"{v:.1e}") for v in front.kkt], 18) if np.isfinite(front.kkt).any() else None,
        "plain": plain_place(front),
        "training": training if front.facts.surrogate != "decision" else {},
        "past": Status.PAST in front.status,
    }


def _baseline(front: Frontier, name: str, other: Frontier, on: str | None, small: int) -> dict[str, Any]:
    if on is None:
        raise InputError("baselines are compared on rates, expected an evaluation; call front.evaluate(...) first.")
    front.overlay(other, next(iter(front.evaluations[on].columns)), on=on)
    part = _part(other.evaluations[on], front.facts, small)
    names = other.models.names
    return {
        "name": name,
        "points": [str(label) for label in (names if names is not None else other.ids)],
        "columns": part["columns"],
        "attributes": part["attributes"],
    }


def _part(record: Evaluation, facts: Facts, small: int) -> dict[str, Any]:
    """Published counts and what follows from them, unless small is 0."""
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
    """Recalls are rates ``recall:k``; nothing where there are no single classes."""
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
    """The normal quantile that makes intervals of all pairs of c groups hold at once (Bonferroni)."""
    return normal_quantile(1.0 - (1.0 - CONFIDENCE) / max(1, classes * c * (c - 1) // 2))


def _mistakes(record: Evaluation) -> dict[str, Array]:
    """Shares of all people refused with the favourable label and favoured with another, for costs."""
    rates = next(iter(record.groups.values()))
    if not isinstance(rates, GroupRates) or isinstance(rates, ClassRates):
        return {}
    total = rates.weight.sum()
    missed = np.nansum((1.0 - rates.tpr) * rates.positives, axis=1) / total
    false = np.nansum(rates.fpr * rates.negatives, axis=1) / total
    return {"missed": missed, "false": false}


def most_moved(front: Frontier, places: Places, top: int = TOP) -> dict[str, Any] | None:
    """Per id the ``top`` features with the largest change: name index, before, after; None without any."""
    found = _strengths(front, places)
    if found is None:
        return None
    kind, names, values, before = found
    used: dict[str, int] = {}
    lines: dict[str, list[list[float]]] = {}
    for place, after in zip(places, values, strict=True):
        order = np.argsort(-np.abs(after - before), kind="stable")[:top]
        lines[str(int(front.ids[place]))] = [
            [used.setdefault(names[j], len(used)), _short(before[j]), _short(after[j])]
            for j in order
            if after[j] != before[j]
        ]
    return {"kind": kind, "names": list(used), "lines": lines}


def _short(value: float) -> float:
    return float(f"{value:.5g}")


def _strengths(front: Frontier, places: Places) -> tuple[str, list[str], Array, Array] | None:
    """What is compared, feature names, values (k, d) and those of the plain model (d,)."""
    wanted, task, kind = np.append(places, plain_place(front)), front.facts.task, "coefficient"
    names: Any = front.models.feature_names
    try:
        row = task.favourable if task.kind == "multiclass" else 0
        sign = -1.0 if task.kind == "binary" and task.favourable == 0 else 1.0
        values = sign * front.models.weights[wanted, row, : front.models.n_features]
    except InputError:  # models that are not linear
        kind = "importance"
        models = built(front, wanted) or []
        found = [model.feature_importances_ for model in models if hasattr(model, "feature_importances_")]
        if len(found) < len(models) or len({len(each) for each in found}) != 1:
            return None
        values = np.array(found, dtype=np.float64)
        names = getattr(models[0], "feature_names_in_", None)
    named = [f"x{j}" for j in range(values.shape[1])] if names is None else [str(name) for name in names]
    return kind, named, values[:-1], values[-1]
