"""Decision records: who chose which point, among what, by which rule and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from .options import shortlist

if TYPE_CHECKING:
    from .run import Run


@dataclass(frozen=True)
class Decision:
    """One choice, as it is written beside the model.

    ``candidates`` are the options that were shown, with their figures on validation; ``opened`` counts how many
    times the test part has been looked at in this run, this time included.
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
        ends = "as observed" if sure is None else f"upper end at {sure:.0%} confidence"
        if "least" in rule:
            within = ", ".join(f"{name} within {value:g} of the smallest" for name, value in rule["within"].items())
            return f"the least {rule['least']} ({ends}), {within}"
        caps = ", ".join(f"{name} at most {value:g}" for name, value in rule["at_most"].items())
        return f"the smallest error with {caps} ({ends})"


def decided(run: Run, id: int, rule: Mapping[str, Any], reason: str, by: str) -> Decision:
    """Return the record of a choice from a run."""
    given = {name: value for name, value in rule.items() if value is not None or name == "confidence"}
    options = shortlist(run.frontier, also=(id,))
    return Decision(
        id=id,
        rule=given,
        reason=reason,
        by=by,
        at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        opened=1 + len(run.decisions),
        points=len(run.frontier),
        candidates=tuple({"id": o.id, "mark": o.mark, **o.figures} for o in options),
        data=run.manifest["data"].get("sha256"),
    )
