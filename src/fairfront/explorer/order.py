"""The order in which a person walks a frontier, and the points that are looked at closely."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..frontier import Frontier
from ..frontier.selection import plain_place
from ..solvers import Status

MOST_DETAILED = 150
"""Points that are described one by one; larger frontiers are thinned, evenly along the walk."""

DECISIONS = 20_000_000
"""Decisions that are held at once: on very many rows fewer points are described."""

Places = NDArray[np.intp]


def most_detailed(n: int) -> int:
    """Return how many points are described on n rows."""
    return min(MOST_DETAILED, max(12, DECISIONS // max(1, n)))


def walk(front: Frontier) -> Places:
    """Return the finished points from the largest gap to the smallest and on past zero, then the others left out."""
    places = front.solved
    past = np.array([front.status[i] is Status.PAST for i in places])
    gap = front.gaps[places].max(axis=1)
    return np.asarray(places[np.lexsort((front.loss[places], np.where(past, gap, -gap)))])


def detailed(front: Frontier, ids: Iterable[int] = (), limit: int = MOST_DETAILED) -> Places:
    """Return at most ``limit`` places along the walk, always with the plain model and the ids asked for."""
    wanted = {plain_place(front), *(front.place(i) for i in ids)}
    if limit < len(wanted):
        raise InputError(f"limit is {limit}, expected at least {len(wanted)}: the plain model and the ids asked for.")
    along = [int(i) for i in walk(front) if int(i) not in wanted]
    room = limit - len(wanted)
    if len(along) > room:
        along = [along[i] for i in np.unique(np.linspace(0, len(along) - 1, room).round().astype(int))]
    return np.array(sorted(wanted | set(along)), dtype=np.intp)
