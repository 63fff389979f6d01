"""Notes of an audit's data frame: why a figure has no value."""

from __future__ import annotations

from ..objectives.proxies import PROXY_NOTE
from .lines import ALL
from .tabulating import GroupTable


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
