"""How an audit is shown: notes for missing values, and tables within levels with small counts hidden."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..objectives.proxies import PROXY_NOTE
from .lines import ALL
from .suppression import suppressed, together
from .tabulating import GroupTable

Strata = Mapping[str, Mapping[str, GroupTable]]


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


def shown_strata(strata: Strata) -> dict[str, Any]:
    """Return the tables of each level, a line hidden in all of them where one hides it."""
    shown: dict[str, Any] = {level: {} for level in strata}
    for name in next(iter(strata.values())):
        hidden = together([tables[name].hidden for tables in strata.values()])
        for (level, tables), hide in zip(strata.items(), hidden, strict=True):
            shown[level][name] = suppressed(tables[name].readable, hide)
    return shown


def shown_pooled(pooled: Mapping[str, Mapping[str, list[Any]]], strata: Strata) -> dict[str, dict[str, list[Any]]]:
    """Return pooled gaps, hidden where the lines that they pool are."""
    shown: dict[str, dict[str, list[Any]]] = {}
    for name, columns in pooled.items():
        hidden = together([tables[name].hidden for tables in strata.values()])[0]
        masks = {key: hidden.of(key) if key != "group" else [False] * len(values) for key, values in columns.items()}
        shown[name] = {
            key: [hidden.words if masks[key][i] else value for i, value in enumerate(values)]
            for key, values in columns.items()
        }
    return shown
