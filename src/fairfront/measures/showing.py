"""How an audit is written down: plain values for JSON, and notes that say why a figure has no value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..objectives.proxies import PROXY_NOTE
from .lines import ALL
from .tabulating import GroupTable
from .words import worst_record

if TYPE_CHECKING:
    from .audit import Audit

FORMAT = "fairfront audit 2"


def notes_of(table: GroupTable) -> list[str]:
    """Return for every line the reasons of figures without a value; those of gaps are said by the status."""
    plain = [name for name in table.columns if not name.endswith(("_lower", "_upper"))]
    notes = []
    for i in range(len(table.lines.names)):
        said = [(name, table.readable[name][i]) for name in plain if name not in ("group", "status")]
        found = [f"{k}: {v}" for k, v in said if isinstance(v, str) and v.startswith("not defined")]
        proxy = table.lines.is_proxy and table.lines.status[i] != ALL
        notes.append("; ".join([PROXY_NOTE, *found] if proxy else found))
    return notes


def audit_record(audit: Audit) -> dict[str, Any]:
    """Return an audit as plain values for JSON."""
    result: dict[str, Any] = {
        "format": FORMAT,
        "task": audit.task.kind,
        "favourable": None if audit.task.favourable_label is None else str(audit.task.favourable_label),
        "rule": audit.rule,
        "cutoff": audit.cutoff,
        "n": audit.n,
        "small": audit.small,
        "weighted": audit.weighted,
        "proxies": list(audit.proxies),
        "confidence": audit.confidence,
        "references": {
            name: {"group": table.lines.names[table.lines.reference], "largest": table.lines.largest}
            for name, table in audit.groups.items()
        },
        "tables": {name: table.readable for name, table in audit.groups.items()},
        "worst": {name: [worst_record(w) for w in table.worst] for name, table in audit.groups.items()},
        "sentences": [*audit.notions, *audit.found],
        "found": list(audit.found),
    }
    if audit.strata:
        strata = {
            level: {name: table.readable for name, table in tables.items()} for level, tables in audit.strata.items()
        }
        result |= {"strata": strata, "pooled": audit.pooled}
    return result
