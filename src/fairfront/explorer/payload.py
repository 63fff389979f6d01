"""Everything that a page shows of a frontier, as one JSON-able record: aggregates only, test rows never."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..exceptions import InputError
from ..frontier import Facts, Frontier
from ..frontier.cautions import notes_of
from ..frontier.judgement import check_comparable, is_test, operating_words
from ..frontier.models import Models, Places
from ..frontier.selection import plain_place, promised, walk
from ..measures import ClassRates, Evaluation, GroupRates, PerGroup
from ..measures.claims import decides_alike, no_better, rival_words
from ..measures.figures import RATIO_OF, Column, larger_is_better
from ..measures.intervals import rows_behind, worst_gap_lower
from ..measures.notion_figures import more_of
from ..measures.paired import rounded
from ..measures.promises import expected, has_ends, together
from ..measures.rates import DENOMINATORS
from ..objectives import NOTIONS, Array, Task, rates_of
from .comparison import base64_of
from .details import Details, detailed
from .small_counts import shown_counts, shown_details, shown_rates

CONFIDENCE = 0.95
TOP = 8
FACTS = (
    *("loss", "unit", "gap_column", "solver", "rule", "used_for", "sensitive", "largest", "missing", "trained"),
    "favourable_was_given",
)
ALWAYS = "Labels are taken as they are: what they carry from the past is not corrected."
OF_VALUES = "It does not compare single people, nor how predictions spread inside a group."


def packed(values: ArrayLike, kind: Literal["f8", "f4"] = "f8") -> dict[str, str]:
    """Little-endian floats in base64; ``f8`` keeps every bit, so that choices agree with Python's, and NaN."""
    return {kind: base64_of(np.ascontiguousarray(values, dtype=f"<{kind}").tobytes())}


def page_payload(
    front: Frontier,
    on: str | None,
    chosen: int | None,
    details: Details | None,
    baselines: Mapping[str, Frontier],
    hide_below: int,
) -> dict[str, Any]:
    shown = {name: record for name, record in front.evaluations.items() if not is_test(name)}
    described = detailed(front, () if chosen is None else (chosen,))
    facts = facts_of(front)
    return {
        "facts": facts | {"notes": [*facts["notes"], *_of_others(facts["notes"], baselines)]},
        "points": _points(front),
        "parts": [
            _part(front, shown[name], front.facts, hide_below) for name in sorted(shown, key=lambda name: name != on)
        ],
        "baselines": [_baseline(front, name, other, on, hide_below) for name, other in baselines.items()],
        "moved": most_moved(front, described),
        "details": details and shown_details(details, hide_below),
        "chosen": None if chosen is None else front.place(chosen),
        "hide_below": hide_below,
    }


def facts_of(front: Frontier) -> dict[str, Any]:
    facts, task = front.facts, front.facts.task
    columns = dict.fromkeys(name for record in front.evaluations.values() for name in record.columns)
    return {name: getattr(facts, name) for name in FACTS} | {
        "task": task.kind,
        "favourable": None if task.favourable_label is None else str(task.favourable_label),
        "classes": [str(label) for label in task.classes],
        "notions": [
            {"name": name, "sentence": sentence, "leaves_out": _not_compared(name, task)}
            for name, sentence in zip(facts.notions, facts.sentences, strict=False)
        ],
        "notes": list(notes_of(front)),
        "rates": rates_of(facts.notions, task),
        "left_out": facts.left_out,
        "larger": [name for name in columns if larger_is_better(name)],
    }


def _of_others(own: list[str], baselines: Mapping[str, Frontier]) -> list[str]:
    """What has to be known of frontiers that lie over this one and is not true of it: that they guess the group."""
    told = {name: other.facts.sentences[len(other.facts.notions) :] for name, other in baselines.items()}
    return [f"{name}: {said}" for name, sentences in told.items() for said in sentences if said not in own]


def _not_compared(notion: str, task: Task) -> str:
    if task.kind == "regression":
        return f"{OF_VALUES} {ALWAYS}"
    caveat = NOTIONS[notion].caveat if notion in NOTIONS else ""
    return f"{caveat} {ALWAYS}".strip().format(good=f"“{task.favourable_label}”")


def _points(front: Frontier) -> dict[str, Any]:
    kinds = list(dict.fromkeys(front.status))
    names, facts = front.models.names, front.facts
    training = {"loss": packed(front.loss), facts.gap_column: packed(front.gaps.max(axis=1))}
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
        "training": training if facts.trained else {},
    }


def _baseline(front: Frontier, name: str, other: Frontier, on: str | None, hide_below: int) -> dict[str, Any]:
    if on is None:
        raise InputError("baselines are compared on rates, expected an evaluation; call front.evaluate(...) first.")
    if on not in other.evaluations:
        raise InputError(f"both frontiers need the evaluation {on!r}; call evaluate on the same rows.")
    check_comparable(front.evaluations[on], other.evaluations[on])
    part, names = _part(other, other.evaluations[on], front.facts, hide_below), other.models.names
    points = [str(label) for label in (names if names is not None else other.ids)]
    return {"name": name, "points": points, "columns": part["columns"], "attributes": part["attributes"]}


def _part(front: Frontier, record: Evaluation, facts: Facts, hide_below: int) -> dict[str, Any]:
    task, plain = facts.task, plain_place(front)
    sure = [name for name in record.columns if (name == "error" or Column.of(name).gap) and has_ends(record, name)]
    return {name: getattr(record, name) for name in ("name", "n", "weighted")} | {
        "effective": float(record.effective_n or record.n),
        "confidence": CONFIDENCE,
        "operating": operating_words(record, facts),
        "alike": np.flatnonzero(decides_alike(record)).tolist(),
        "no_better": np.flatnonzero(no_better(record, task, front.facts.operating)).tolist(),
        "rival": rival_words(record, front.facts.operating),
        "columns": {name: packed(values) for name, values in (record.columns | _mistakes(record)).items()},
        "upper": {name: packed(together(record, name, CONFIDENCE)) for name in sure},
        "lower": {
            name: packed(record.figure(name, CONFIDENCE, worst_gap_lower)) for name in sure if _pair_rates(record, name)
        },
        "pairs": {name: pairs for name in record.columns if (pairs := _worst_pairs(record, name)) is not None},
        "promised": {name: packed(promised(front, record, name, CONFIDENCE)) for name in sure if front.facts.trained},
        "expected": {name: packed(expected(record, name)) for name in sure},
        "attributes": [
            _attribute(name, rates, record, task, plain, hide_below) for name, rates in record.groups.items()
        ],
    }


def _pair_rates(record: Evaluation, column: str) -> PerGroup | None:
    """Return the rates that a gap is between, if it is one of rates that have intervals."""
    found = Column.of(column)
    if not found.gap or found.end:
        return None
    attribute = found.attribute or next(iter(record.groups))
    rates = record.groups[attribute]
    known = isinstance(rates, GroupRates) and found.figure in (*rates.names, *more_of(record))
    return rates if known and found.figure not in record.scored.get(attribute, {}) else None


def _worst_pairs(record: Evaluation, column: str) -> dict[str, list[int]] | None:
    """Return the places of the lowest and the highest group of every point, -1 where fewer than two have the rate.

    Of recall, which has several, the class (``of``) of the widest gap.
    """
    found = Column.of(column)
    rates = record.groups.get(found.attribute or next(iter(record.groups)))
    if not found.gap or found.end or rates is None or found.figure not in (*rates.names, *more_of(record)):
        return None
    values, of = np.asarray(rates.rate(found.figure)), None
    if values.ndim == 3:
        spread = np.fmax.reduce(values, axis=1) - np.fmin.reduce(values, axis=1)
        of = np.nan_to_num(spread, nan=-1.0).argmax(axis=1)
        values = np.take_along_axis(values, of[:, None, None], axis=2)[:, :, 0]
    known = ~np.isnan(values)
    defined, last = known.sum(axis=1) > 1, known.shape[1] - 1 - known[:, ::-1].argmax(axis=1)
    low, high = np.where(known, values, np.inf).argmin(axis=1), np.where(known, values, -np.inf).argmax(axis=1)
    high = np.where(low == high, last, high)  # where all rates are equal
    pairs = {"low": np.where(defined, low, -1).tolist(), "high": np.where(defined, high, -1).tolist()}
    return pairs if of is None else pairs | {"of": of.tolist()}


def _attribute(
    name: str, rates: PerGroup, record: Evaluation, task: Task, plain: int, hide_below: int
) -> dict[str, Any]:
    """Return rates, the effective rows ``behind`` them, and which groups have none; of single classes ``recall:k``."""
    sizes = record.sizes.get(name)
    more = [name for name in more_of(record) if name not in RATIO_OF]
    kept = [r for r in (*rates.names, *more) if r not in ("accuracy", "recall")]
    undefined = {r: np.flatnonzero(np.isnan(rates.rate(r)[plain])).tolist() for r in kept}
    found: dict[str, Any] = {
        "name": name,
        "levels": list(rates.levels),
        "n": shown_counts(rates.n, hide_below),
        "labels": {},
        "shares": isinstance(rates, GroupRates),
        "behind": {},
        "undefined": undefined,
    }
    people = {r: rates.people(r, task.favourable) for r in kept}
    if not isinstance(rates, GroupRates):
        shown = {r: shown_rates(rates.rate(r), people[r], hide_below) for r in kept}
        return found | {"rates": {r: packed(values, "f4") for r, values in shown.items()}}
    behind = {r: rows_behind(rates, r, sizes) for r in kept if r in DENOMINATORS}
    behind |= {r: record.further_sizes[name][r] for r in more}  # of every model
    people |= {r: behind[r] for r in more}
    shown = {r: shown_rates(rates.rate(r), people[r], hide_below) for r in kept}
    found["rates"] = {r: packed(values, "f4") for r, values in shown.items()}
    found["behind"] = {r: rounded(_large(each, people[r], hide_below).ravel(), 3) for r, each in behind.items()}
    known = [rows_behind(rates, "tpr", None), rows_behind(rates, "fpr", None)]
    if isinstance(rates, ClassRates):
        by_class = rows_behind(rates, "recall", sizes)
        rows = by_class if rates.labelled is None else rates.labelled
        every, few = {f"recall:{k}": k for k in range(len(task.classes))}, rows < hide_below
        recall = np.where(few, np.nan, rates.recall)
        found["undefined"] |= {
            key: np.flatnonzero(np.isnan(rates.recall[plain, :, k])).tolist() for key, k in every.items()
        }
        found["recalls"] = {
            "classes": [str(label) for label in task.classes],
            "rows": {key: shown_counts(rows[:, k], hide_below) for key, k in every.items()},
            "behind": {key: rounded(_large(by_class, rows, hide_below)[:, k], 3) for key, k in every.items()},
            "rates": {key: packed(recall[:, :, k], "f4") for key, k in every.items()},
        }
    elif rates.labelled is not None:
        known = list(rates.labelled.T)
    found["labels"] = {
        key: shown_counts(n, hide_below) for key, n in zip(("positives", "negatives"), known, strict=True)
    }
    return found


def _large(behind: Array, people: Array, hide_below: int) -> Array:
    """Return effective rows, 0 where the rate is of few people and so not on the page."""
    return np.where(people < hide_below, 0.0, behind)


def _mistakes(record: Evaluation) -> dict[str, Array]:
    """Shares of all people refused with the favourable label and favoured with another, for costs."""
    rates = next(iter(record.groups.values()))
    if not isinstance(rates, GroupRates) or isinstance(rates, ClassRates):
        return {}
    total = rates.weight.sum()
    missed = np.nansum((1.0 - rates.tpr) * rates.positives, axis=1) / total
    false = np.nansum(rates.fpr * rates.negatives, axis=1) / total
    return {"missed": missed, "false": false}


def most_moved(front: Frontier, places: Places) -> dict[str, Any] | None:
    """Per id the `TOP` features with the largest change: name index, before, after; None without any."""
    models, task, kind = front.models, front.facts.task, "coefficient"
    names: Any = models.feature_names
    wanted = [*places, plain_place(front)]
    try:
        row = task.favourable if task.kind == "multiclass" else 0
        sign = -1.0 if task.kind == "binary" and task.favourable == 0 else 1.0
        values = sign * models.weights[wanted, row, : models.n_features]
    except InputError:  # models that are not linear
        kind, found = "importance", _importances(models, wanted)
        if found is None:
            return None
        names, values = found
    *after, before = values
    used: dict[str, int] = {}
    lines: dict[str, list[list[float]]] = {}
    for place, now in zip(places, after, strict=True):
        order = np.argsort(-np.abs(now - before), kind="stable")[:TOP]
        lines[str(int(front.ids[place]))] = [
            [used.setdefault(f"x{j}" if names is None else str(names[j]), len(used)), _short(before[j]), _short(now[j])]
            for j in order
            if now[j] != before[j]
        ]
    return {"kind": kind, "names": list(used), "lines": lines}


def _importances(models: Models, places: list[Any]) -> tuple[Any, Array] | None:
    """Names of features, if known, and their importance in each model; None where models were given as scores."""
    try:
        given = [models.build(int(place)) for place in places]
    except InputError:
        return None
    found: list[Any] = [getattr(model, "feature_importances_", ()) for model in given]
    if len({len(each) for each in found}) != 1 or not len(found[0]):
        return None
    return getattr(given[0], "feature_names_in_", None), np.array(found, dtype=np.float64)


def _short(value: float) -> float:
    return float(f"{value:.5g}")
