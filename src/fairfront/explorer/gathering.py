"""Everything that a page shows of a frontier, as one JSON-able record: aggregates only, test rows never."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..frontier import Frontier
from ..frontier.cutoffs import is_test
from ..frontier.selection import plain_place
from ..measures.figures import larger_is_better
from ..objectives import rates_of
from ..solvers import Status
from .details import Details
from .moved import most_moved
from .notions import not_compared
from .order import detailed, walk
from .packing import packed, rounded
from .parts import part_of


def gathered(
    front: Frontier,
    *,
    on: str | None,
    chosen: int | None,
    details: Details | None,
    baselines: Mapping[str, Frontier],
    small: int,
) -> dict[str, Any]:
    """Return what the page reads."""
    shown = {name: record for name, record in front.evaluations.items() if not is_test(name)}
    described = detailed(front, () if chosen is None else (chosen,))
    return {
        "facts": facts_of(front),
        "points": points_of(front),
        "parts": [part_of(shown[name], front.facts, small) for name in _ordered(shown, on)],
        "baselines": [_baseline(front, name, other, on, small) for name, other in baselines.items()],
        "moved": most_moved(front, described),
        "details": None if details is None else _details(details),
        "chosen": None if chosen is None else front.place(chosen),
        "small": small,
    }


def _ordered(names: Mapping[str, Any], on: str | None) -> list[str]:
    """Return the evaluations, the one to choose on first."""
    return sorted(names, key=lambda name: (name != on, list(names).index(name)))


def facts_of(front: Frontier) -> dict[str, Any]:
    """Return what the frontier was made from, in words."""
    facts, task = front.facts, front.facts.task
    columns = dict.fromkeys(name for record in front.evaluations.values() for name in record.columns)
    return {
        "task": task.kind,
        "favourable": None if task.favourable_label is None else str(task.favourable_label),
        "classes": [str(label) for label in task.classes],
        "favourable_was_given": facts.favourable_was_given,
        "notions": [
            {"name": name, "sentence": sentence, "leaves_out": not_compared(name, task)}
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


def points_of(front: Frontier) -> dict[str, Any]:
    """Return ids, status, walk and training figures of all points."""
    kinds = list(dict.fromkeys(front.status))
    code = {status: i for i, status in enumerate(kinds)}
    worst = front.gaps.max(axis=1)
    names = front.models.names
    training = {"loss": packed(front.loss), front.facts.gap_column: packed(worst)}
    return {
        "ids": front.ids.tolist(),
        "names": None if names is None else [str(name) for name in names],
        "statuses": [{"text": str(status), "name": status.name.lower()} for status in kinds],
        "status": [code[status] for status in front.status],
        "solved": front.solved.tolist() if len(front.solved) < len(front) else None,
        "walk": walk(front).tolist(),
        "certified": "".join("1" if yes else "0" for yes in front.certified),
        "kkt": rounded([float(f"{v:.1e}") for v in front.kkt], 18) if np.isfinite(front.kkt).any() else None,
        "plain": plain_place(front),
        "training": training if front.facts.surrogate != "decision" else {},
        "past": Status.PAST in front.status,
    }


def _baseline(front: Frontier, name: str, other: Frontier, on: str | None, small: int) -> dict[str, Any]:
    """Return points laid over the frontier, which must have been judged on the same rows."""
    if on is None:
        raise InputError("baselines are compared on rates, expected an evaluation; call front.evaluate(...) first.")
    record = front.evaluations[on]
    front.overlay(other, next(iter(record.columns)), on=on)
    part = part_of(other.evaluations[on], front.facts, small)
    names = other.models.names
    return {
        "name": name,
        "points": [str(label) for label in (names if names is not None else other.ids)],
        "columns": part["columns"],
        "attributes": part["attributes"],
    }


def _details(details: Details) -> dict[str, Any]:
    return {
        "on": details.on,
        "n": details.n,
        "confidence": details.confidence,
        "small": details.small,
        "weighted": details.weighted,
        "ids": list(details.ids),
        "overall": details.overall,
        "attributes": list(details.attributes),
        "told_apart": details.told_apart,
    }
