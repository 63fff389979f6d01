"""Moves: how many people of each group a model decides otherwise than the plain one, with nothing to subtract.

Counts from 1 to 9 are hidden. The count of all people is shown (it is the same in every attribute's table), so what is
hidden within an attribute must not be its difference to the groups that are shown: further groups are hidden, the
smallest count first, until two or more are hidden and together they have no small count. Rows without a group, or in
groups that training left out, are never shown and count among the hidden.
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
    counts = np.column_stack([moved.n_gained[place], moved.n_lost[place]])
    hide = _hidden(counts[:-1], counts[-1])
    return {
        "group": list(moved.levels),
        "gained": _words(counts[:, 0], hide),
        "lost": _words(counts[:, 1], hide),
    }


def _words(counts: Array, hide: NDArray[np.bool_]) -> list[Any]:
    return [HIDDEN if hidden else int(count) for count, hidden in zip(counts, hide, strict=True)]


def _hidden(groups: Array, everyone: Array) -> NDArray[np.bool_]:
    """Return which lines are hidden, that of all people last; ``groups`` (c, 2) and ``everyone`` (2,) are counts."""
    if _small(everyone).any():
        return np.ones(len(groups) + 1, dtype=bool)
    rest = everyone - groups.sum(axis=0)  # rows without a group are a line that is not shown
    found = np.atleast_1d(_small(groups).any(axis=1))
    queue = [int(i) for i in np.argsort(groups.sum(axis=1), kind="stable") if not found[i]]
    anything = bool(found.any() or _small(rest).any())
    while anything and queue and not _covered(np.vstack([groups[found], rest[None]])):
        found[queue.pop(0)] = True
    return np.append(found, False)


def _covered(hidden: Array) -> bool:
    """Tell whether the sum of hidden lines, which anyone can work out, gives none of them away."""
    return int(hidden.any(axis=1).sum()) >= 2 and not _small(hidden.sum(axis=0)).any()


def _small(counts: Array) -> NDArray[np.bool_]:
    return np.asarray((counts > 0) & (counts < LIMIT))
