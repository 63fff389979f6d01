"""Decision records: who chose which point, among what, by which rule and why."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from ..frontier.frontier_columns import GAPS
from ..measures.disclosure import LIMIT
from ..measures.figures import Column, larger_is_better
from ..storage.checksums import digest
from .manifest import as_text
from .options import mark_words, options_of

if TYPE_CHECKING:
    from .run import Run


DECISIONS = "decisions"
"""Folder of a run in which decisions are kept."""
FORMAT, SCHEMA = "fairfront decision", 2


@dataclass(frozen=True)
class Decision:
    """One choice, as it is written beside the model.

    ``candidates`` are the options that the commands listed, with their figures on validation, and the chosen point
    where it was not one of them (``shown`` is then False); ``opened`` counts how many times the test part has been
    looked at in this run, this time included. ``run`` is the checksum of the run's other files and ``previous`` that of
    the record before this one (None for the first, and for a run that was not saved); ``small`` is 0 where the rule
    read exact counts. ``operating`` is the rule and the cut-off of the model, None at 0.5; ``notes`` say what else has
    to be known to read the figures and what speaks against the choice, ``footnotes`` what marks mean.
    """

    id: int
    rule: Mapping[str, Any]
    reason: str
    by: str
    at: str
    opened: int
    points: int
    candidates: tuple[Mapping[str, Any], ...]
    data: str | None
    run: str | None = None
    previous: str | None = None
    small: int = LIMIT
    operating: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()
    footnotes: tuple[str, ...] = ()
    format: str = FORMAT
    schema: int = SCHEMA

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    @property
    def rule_words(self) -> str:
        """Say the rule in words."""
        rule = self.rule
        if "id" in rule:
            return f"id {rule['id']} was named"
        if rule.get("knee"):
            return "the knee of the training frontier"
        if "preference" in rule:
            return f"nearest to the preference {list(rule['preference'])}"
        first = ", " if rule.get("least") or rule.get("most") else " with "
        return self._best() + first * bool(conditions := list(self._conditions())) + ", ".join(conditions)

    def _best(self) -> str:
        """Say what was best among the points that were allowed."""
        rule, sure = self.rule, self.rule.get("confidence", 0.95)
        for word, key in (("least", "least"), ("largest", "most")):
            if rule.get(key):
                return f"the {word} {rule[key]} ({_ends(rule[key], sure)})"
        return f"the smallest {next((n for n in ('error', 'mse') if n in self.candidates[0]), 'training loss')}"

    def _conditions(self) -> Iterator[str]:
        """Say which points were allowed."""
        rule, sure = self.rule, self.rule.get("confidence", 0.95)
        for words, key in (("at most", "at_most"), ("at least", "at_least")):
            for name, value in (rule.get(key) or {}).items():
                yield f"{name} {words} {value:g} ({_ends(name, sure)})"
        for name, value in (rule.get("within") or {}).items():
            yield f"{name} within {value:g} of the {'largest' if larger_is_better(name) else 'smallest'}"


def _ends(name: str, confidence: float | None) -> str:
    """Say which end of an interval a rule used; losses, AUC and gaps of predicted values have none."""
    if confidence is None or Column.of(name).kind not in {*GAPS, "error", "selection_ratio"}:
        return "as observed"
    return f"{'lower' if larger_is_better(name) else 'upper'} end at {confidence:.0%} confidence"


def _plain(figures: Mapping[str, float]) -> dict[str, float | None]:
    """Return figures for JSON, which has no word for those that are hidden or not defined."""
    return {name: value if math.isfinite(value) else None for name, value in figures.items()}


def _spelt(value: Any) -> Any:
    """Return a part of a rule in Python's own numbers, lists and mappings, as JSON has them."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, Mapping):
        return {name: _spelt(each) for name, each in value.items()}
    return [_spelt(each) for each in value] if isinstance(value, (list, tuple)) else value


def candidates(run: Run, id: int) -> tuple[dict[str, Any], ...]:
    """Return the options that were listed, and the chosen one, with their figures on validation."""
    shown = run.shown
    options = options_of(run.frontier, dict.fromkeys((*shown, id)))
    return tuple({"id": o.id, "mark": o.mark, "shown": o.id in shown, **_plain(o.figures)} for o in options)


def decided(run: Run, id: int, rule: Mapping[str, Any], reason: str, by: str) -> Decision:
    """Return the record of a choice from a run."""
    given = {name: _spelt(value) for name, value in rule.items() if value is not None or name == "confidence"}
    front, point = run.frontier, run.frontier.operating()
    options = options_of(front, dict.fromkeys((*run.shown, id)))
    own = next(option for option in options if option.id == id)
    return Decision(
        id=id,
        rule=given,
        reason=reason,
        by=by,
        at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        opened=1 + len(run.decisions),
        points=len(run.frontier),
        candidates=candidates(run, id),
        data=run.manifest["data"].get("sha256"),
        run=run.checksum,
        previous=digest(as_text(run.decisions[-1])) if run.decisions else None,
        small=0 if run.exact else LIMIT,
        operating=None
        if point is None
        else {
            "rule": point.rule.words,
            "cutoff": float(point.cutoffs[front.place(id)]),
            "placed_on": point.placed_on,
        },
        footnotes=tuple(mark_words(front, options)),
        notes=(
            *front.sentences[len(front.facts.notions) :],
            *(f"id {id} is marked as {said}" for said in mark_words(front, [own])),
        ),
    )
