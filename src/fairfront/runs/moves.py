"""Moves: how many people of each group a model decides otherwise than the plain one, with nothing to subtract.

Counts from 1 to 9 are hidden. The count of all people is shown (it is the same in every attribute's table), so what is
hidden within an attribute must not be its difference to the groups that are shown: further groups are hidden, the
smallest count first, until two or more are hidden and together they are 10 people or more. Rows without a group, or in
groups that training left out, are never shown and count among the hidden. A count of 0 is shown, as elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measures.changes import Moves
from ..objectives import Array

LIMIT = 10
HIDDEN = f"hidden (protects a count below {LIMIT})"


def hidden_moves(moved: Moves, place: int) -> dict[str, Any]:
    """Return one model's gained and lost decisions per group, and of all people as the last line."""
    return {
        "group": list(moved.levels),
        "gained": _words(moved.n_gained[place]),
        "lost": _words(moved.n_lost[place]),
    }


def _words(counts: Array) -> list[Any]:
    return [HIDDEN if hide else int(count) for count, hide in zip(counts, _hidden(counts), strict=True)]


def _hidden(counts: Array) -> NDArray[np.bool_]:
    """Return which lines of counts (c + 1,), that of all people last, are hidden."""
    groups, everyone = counts[:-1], float(counts[-1])
    if 0 < everyone < LIMIT:
        return np.ones(len(counts), dtype=bool)
    rest = everyone - groups.sum()  # rows without a group are a line that is not shown
    found = (groups > 0) & (groups < LIMIT)
    queue = [int(i) for i in np.argsort(groups, kind="stable") if not found[i] and groups[i] > 0]
    anything = bool(found.any() or 0 < rest < LIMIT)
    while anything and queue and not _covered(np.append(groups[found], rest)):
        found[queue.pop(0)] = True
    return np.append(found, False)


def _covered(hidden: Array) -> bool:
    """Tell whether the sum of hidden lines, which anyone can work out, gives none of them away."""
    return int((hidden > 0).sum()) >= 2 and hidden.sum() >= LIMIT
