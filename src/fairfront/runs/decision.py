"""Decision records: who chose which point, among what, by which rule and why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..frontier.cautions import notes_of
from ..frontier.choice import choice_of, unread_words
from ..frontier.frontier_figures import BOTH
from ..frontier.held_out import HELD_OUT
from ..frontier.selection import Rule
from ..measures.figures import Column, larger_is_better
from ..records import Record
from .manifest import now
from .options import indistinct_words, mark_words, options_of

if TYPE_CHECKING:
    from .run import Run

FORMAT, SCHEMA = "fairfront decision", 5


@dataclass(frozen=True, repr=False)
class Decision(Record):
    """One choice, as it is written beside the model.

    ``candidates`` are the options that the commands listed, with their figures on validation, and the chosen point
    where it was not one of them (``shown`` is then False); ``opened`` counts how many times the test part has been
    looked at in this run, this time included. ``run`` is the checksum of the run's other files; ``operating`` is the
    rule and the cut-off of the model, None at 0.5; ``notes`` say what else has to be known to read the figures and what
    speaks against the choice, ``footnotes`` what marks mean; ``about`` are the fields of the card that people fill.
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
    operating: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()
    footnotes: tuple[str, ...] = ()
    about: Mapping[str, str] = field(default_factory=dict)
    promises: tuple[Mapping[str, Any], ...] = ()
    format: str = FORMAT
    schema: int = SCHEMA

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def rule_words(self) -> str:
        rule, sure = self.rule, self.rule.get("confidence", 0.95)
        if "id" in rule:
            return "selected by id"
        if rule.get("knee"):
            return "the knee of the training frontier"
        if "preference" in rule:
            return f"nearest to the preference {list(rule['preference'])}"
        conditions = [
            f"{name} {words} {value:g} ({self._end(name, sure)})"
            for words, key in (("at most", "at_most"), ("at least", "at_least"))
            for name, value in (rule.get(key) or {}).items()
        ]
        for name, value in (rule.get("within") or {}).items():
            conditions.append(f"{name} within {value:g} of the {'highest' if larger_is_better(name) else 'lowest'}")
        for word, key in (("smallest", "least"), ("largest", "most")):
            if rule.get(key):
                return ", ".join([f"the {word} {rule[key]} ({self._end(rule[key], sure)})", *conditions])
        best = f"the lowest {next((n for n in ('error', 'mse') if n in self.candidates[0]), 'training loss')}"
        return f"{best} with {', '.join(conditions)}" if conditions else best

    def _end(self, name: str, confidence: float | None) -> str:
        """Say which bound of an interval the rule used: of what was promised, the only figures that have one."""
        if name not in {each["figure"] for each in self.promises}:
            return "as observed"
        if confidence is None:
            return "as observed" if Column.of(name).kind == "error" else "expected"
        return f"{confidence:.0%} {'lower' if larger_is_better(name) else 'upper'} bound"


def candidates(run: Run, id: int) -> tuple[dict[str, Any], ...]:
    """With their figures on validation."""
    listed = run.listed
    options = options_of(run.frontier, dict.fromkeys((*listed, id)))
    return tuple(each.to_json(shown=each.id in listed) for each in options)


def decided(run: Run, id: int, rule: Mapping[str, Any], reason: str, by: str, about: Mapping[str, str]) -> Decision:
    front, point = run.frontier, run.frontier.operating()
    options = options_of(front, dict.fromkeys((*run.listed, id)))
    own = [option for option in options if option.id == id]
    unsure = [said for gap in _gaps_of(rule) if (said := indistinct_words(front, gap, rule.get("confidence", 0.95)))]
    unsure += [said] if "confidence" in rule and (said := unread_words(front, rule.get("on"))) else []
    given = {name: value for name, value in rule.items() if value is not None or name == "confidence"}
    operating = None
    if point is not None:
        cutoff = float(point.cutoffs[front.place(id)])
        operating = {"rule": point.rule.words, "cutoff": cutoff, "placed_on": point.placed_on}
    return Decision(
        id=id,
        rule=json.loads(json.dumps(given, default=lambda value: value.tolist())),  # arrays become lists
        reason=reason,
        by=by,
        at=now(),
        opened=1 + len(run.decisions),
        points=len(front),
        candidates=candidates(run, id),
        data=run.manifest["data"].get("sha256"),
        run=run.checksum,
        operating=operating,
        about=dict(about),
        promises=promises_of(run, id, rule),
        footnotes=(*mark_words(front, options), *unsure),
        notes=(
            *notes_of(front, front.place(id)),
            *(f"id {id} is marked as {said}" for said in mark_words(front, own)),
            *unsure,
        ),
    )


def promises_of(run: Run, id: int, rule: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """Return what is said of the choice, with the noise of the run's test part."""
    found = choice_of(run.frontier, Rule.of(rule), run.frontier.place(id))
    rows = run.manifest["split"]["rows"].get("test")
    told = () if found is None else tuple(found.to_json(rows))
    other = run.frontier.evaluations.get(HELD_OUT)
    if found is not None and other is not None and found.on not in (HELD_OUT, BOTH):  # judged too, and not read
        known = [each["figure"] for each in told if other.parts(each["figure"])]
        seen = {name: {"observed": _plain(float(other.figure(name)[found.place])), "rows": other.n} for name in known}
        told = tuple({**each, HELD_OUT: seen[each["figure"]]} if each["figure"] in seen else each for each in told)
    return tuple({name: _plain(value) for name, value in each.items()} for each in told)


def _plain(value: Any) -> Any:
    """JSON has no word for numbers that are not defined."""
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _gaps_of(rule: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the gaps that a rule is about."""
    return tuple(filter(None, (rule.get("least"), *(rule.get("at_most") or {}))))
