"""Dealing: rows or people given to parts in turn, so that every stretch of them has nearly the right shares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.intp]


def seats(n: int, shares: tuple[float, ...]) -> NDArray[np.int8]:
    """Return parts for n rows in turn, such that every stretch of them has nearly the right shares.

    Part k has its j-th seat at time (j + 1/2) / share_k; seats are taken in the order of time.
    """
    times = [(np.arange(int(n * share / sum(shares)) + 2) + 0.5) / share for share in shares]
    part = np.repeat(np.arange(len(shares), dtype=np.int8), [len(each) for each in times])
    found: NDArray[np.int8] = part[np.argsort(np.concatenate(times), kind="stable")][:n]
    return found


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
