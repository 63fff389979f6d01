"""Dealing: rows or people given to parts in turn, so that every stretch of them has nearly the right shares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.intp]
STRETCH = 1_000_000


def seats(n: int, shares: tuple[float, ...]) -> NDArray[np.int8]:
    """Return parts for n rows in turn, such that every stretch of them has nearly the right shares.

    Part k has its j-th seat at time (j + 1/2) / share_k; seats are taken in the order of time, a stretch at a time.
    """
    found, done, early = np.empty(n, dtype=np.int8), 0, 0.0
    while done < n:
        late = early + STRETCH / sum(shares)
        times = [_times(early, late, share) for share in shares]
        part = np.repeat(np.arange(len(shares), dtype=np.int8), [len(each) for each in times])
        order = np.argsort(np.concatenate(times), kind="stable")[: n - done]
        found[done : done + len(order)] = part[order]
        done, early = done + len(order), late
    return found


def _times(early: float, late: float, share: float) -> NDArray[np.float64]:
    """Return the times of one part's seats in a stretch."""
    places = np.arange(max(0, int(early * share) - 2), int(late * share) + 3, dtype=np.float64)
    times = (places + 0.5) / share
    return np.asarray(times[(times >= early) & (times < late)], dtype=np.float64)


def dealt(atoms: Rows, shares: tuple[float, ...], seed: int) -> NDArray[np.int8]:
    """Return the part of every row: atoms take seats in random order, and their rows in random order within."""
    rng = np.random.default_rng(seed)
    turn = rng.permutation(int(atoms.max(initial=0)) + 1)
    luck, taken = rng.random(len(atoms)), seats(len(atoms), shares)
    part, start = np.empty(len(atoms), dtype=np.int8), 0
    for atom in np.argsort(turn):  # one atom at a time, because an order of all rows takes much memory
        rows = np.flatnonzero(atoms == atom)
        part[rows[np.argsort(luck[rows], kind="stable")]] = taken[start : start + len(rows)]
        start += len(rows)
    return part


def shuffled(atoms: Rows, then: Rows, seed: int) -> Rows:
    """Return an order by atom (in random order), then by a second key, then at random."""
    rng = np.random.default_rng(seed)
    turn = rng.permutation(int(atoms.max(initial=0)) + 1)
    return np.lexsort((rng.random(len(atoms)), then, turn[atoms]))


def main_atoms(owner: Rows, atoms: Rows) -> Rows:
    """Return the most frequent atom of each owner, the first of equals."""
    n_atoms = int(atoms.max(initial=0)) + 1
    pairs, counts = np.unique(owner * n_atoms + atoms, return_counts=True)
    order = np.lexsort((-counts, pairs // n_atoms))
    first = np.unique((pairs // n_atoms)[order], return_index=True)[1]
    main: Rows = (pairs % n_atoms)[order][first]
    return main
