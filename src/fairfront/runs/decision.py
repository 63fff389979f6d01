"""Decision records: who chose which point, among what, by which rule and why."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError
from ..frontier.evaluating import GAPS
from .options import options_of

if TYPE_CHECKING:
    from .run import Run


DECISIONS = "decisions"
"""Folder of a run in which decisions are kept."""


@dataclass(frozen=True)
class Decision:
    """One choice, as it is written beside the model.

    ``candidates`` are the options that the commands listed, with their figures on validation, and the chosen point
    where it was not one of them (``shown`` is then False); ``opened`` counts how many
    times the test part has been looked at in this run, this time included; ``notes`` say what else has to be known to
    read the figures.
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
    notes: tuple[str, ...] = ()
    format: str = "fairfront decision"
    schema: int = 1

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
        sure = rule.get("confidence", 0.95)
        if "least" in rule:
            allowed = rule.get("within") or {}
            within = "".join(f", {name} within {value:g} of the smallest" for name, value in allowed.items())
            return f"the least {rule['least']} ({_ends([rule['least']], sure)}){within}"
        caps = ", ".join(f"{name} at most {value:g}" for name, value in rule["at_most"].items())
        best = next((name for name in ("error", "mse") if name in self.candidates[0]), "training loss")
        return f"the smallest {best} with {caps} ({_ends(rule['at_most'], sure)})"


def _ends(names: Iterable[str], confidence: float | None) -> str:
    """Say which end of an interval a rule used; losses and gaps of predicted values have none."""
    kinds = {name.rpartition(".")[2] for name in names}
    if confidence is None or not kinds & {*GAPS, "error"}:
        return "as observed"
    return f"upper end at {confidence:.0%} confidence"


def _plain(figures: Mapping[str, float]) -> dict[str, float | None]:
    """Return figures for JSON, which has no word for those that are hidden or not defined."""
    return {name: value if math.isfinite(value) else None for name, value in figures.items()}


def check_recordable(run: Run) -> None:
    """Refuse a run that cannot count how often its test part was opened, before it is opened."""
    if run.path is not None and not os.access(run.path / DECISIONS, os.W_OK):
        raise InputError(
            f"{run.path} is read-only, expected a run in which the decision can be recorded; copy it and select there."
        )


def candidates(run: Run, id: int) -> tuple[dict[str, Any], ...]:
    """Return the options that were listed, and the chosen one, with their figures on validation."""
    shown = run.shown
    options = options_of(run.frontier, dict.fromkeys((*shown, id)))
    return tuple({"id": o.id, "mark": o.mark, "shown": o.id in shown, **_plain(o.figures)} for o in options)


def decided(run: Run, id: int, rule: Mapping[str, Any], reason: str, by: str) -> Decision:
    """Return the record of a choice from a run."""
    given = {name: value for name, value in rule.items() if value is not None or name == "confidence"}
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
        notes=run.frontier.sentences[len(run.frontier.facts.notions) :],
    )
