"""What an audit may say of groups when some of them are too small: their names, and the gaps between the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..measures import Audit
from ..measures.lines import COMPARED, REFERENCE, TOO_FEW, Lines
from ..measures.tabulating import GroupTable
from ..measures.words import is_hidden, worst_sentence
from ..measures.worst import worst_shares


def without_small_names(found: Audit, limit: int = 10) -> Audit:
    """Return an audit in which groups of fewer people than the limit have no name."""
    return replace(found, groups={name: _renamed(table, limit) for name, table in found.groups.items()})


def _renamed(table: GroupTable, limit: int) -> GroupTable:
    n = np.asarray(table.columns["n"])
    few = [kind == TOO_FEW and count < limit for kind, count in zip(table.lines.status, n, strict=True)]
    words = [f"(group {k} of fewer than {limit} rows)" for k in np.cumsum(few)]
    names = tuple(word if hide else name for word, hide, name in zip(words, few, table.lines.names, strict=True))
    columns = table.columns | {"group": np.array(names, dtype=object)}
    return replace(table, lines=replace(table.lines, names=names), columns=columns)


def shown_sentences(found: Audit) -> Iterator[str]:
    """Say the worst gaps between the groups that are shown, where others are hidden and the worst of all is too."""
    for name, table in found.groups.items():
        for figure in [worst.figure for worst in table.worst if worst.notion and is_hidden(worst, table)]:
            lines = _shown_lines(table, figure)
            known = [i for i, kind in enumerate(lines.status) if kind in (COMPARED, REFERENCE)]
            if not table.shares or len(known) < 2:
                continue
            shown = ", ".join(lines.names[i] for i in known)
            for worst in worst_shares(table.shares, lines, found.confidence):
                if worst.figure == figure and worst.value == worst.value:
                    words = worst_sentence(worst, found.confidence).replace("over all groups", "over these groups")
                    yield f"{name}: among the groups that are shown ({shown}), {words}"


def _shown_lines(table: GroupTable, figure: str) -> Lines:
    """Return the lines with the groups whose figure is hidden marked as not compared."""
    hidden = table.hidden.of(figure.removesuffix("_gap"))
    status = tuple(
        TOO_FEW if kind in (COMPARED, REFERENCE) and hide else kind
        for kind, hide in zip(table.lines.status, hidden, strict=True)
    )
    return replace(table.lines, status=status)
