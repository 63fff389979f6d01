"""People who are left out of a fit: blocks of their rows, and the step that the scores of each of them take."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from .base import TINY

Ints = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class PeopleBlock:
    """Sorted rows of ``people`` people with m rows each, which are left out together."""

    rows: Ints | slice
    people: int
    m: int = 1

    def total(self, values: Array) -> Array:
        """Return sums (..., people) of values (..., rows)."""
        return values if self.m == 1 else values.reshape(*values.shape[:-1], self.people, self.m).sum(axis=-1)

    def spread(self, values: Array) -> Array:
        """Return values (..., people) at all their rows."""
        return values if self.m == 1 else np.repeat(values, self.m, axis=-1)

    def by_person(self, values: Array) -> Array:
        """Return values (K, rows, ...) as (people, m K, ...)."""
        K, _, *rest = values.shape
        return np.moveaxis(values.reshape(K, self.people, self.m, *rest), 0, 2).reshape(self.people, self.m * K, *rest)

    def by_row(self, values: Array) -> Array:
        """Return values (people, m K) as (K, rows)."""
        return np.moveaxis(values.reshape(self.people, self.m, -1), 2, 0).reshape(-1, self.people * self.m)

    def squares(self, U: Array) -> Array:
        """Return h = U U^T of every person from U (K, rows, r): (rows,), or (people, m K, m K) of several scores."""
        if len(U) * self.m == 1:
            return np.asarray(np.einsum("nr,nr->n", U[0], U[0]), dtype=np.float64)
        each = self.by_person(U)
        return np.asarray(each @ each.swapaxes(1, 2), dtype=np.float64)

    def solver(self, h: Array, v: Array, clip: float) -> tuple[Any, NDArray[np.bool_]]:
        """Return what solves s = h (r + v s) + b for r and b (K, rows), and whose h v was clipped, (people,)."""
        if h.ndim == 1:
            own = h * v[0, 0]
            rest = 1.0 - np.minimum(own, clip)
            return lambda r, b: (h * r + b) / rest, own > clip
        split = h.reshape(*h.shape[:2], self.m, -1)
        blocks = np.moveaxis(v.reshape(*v.shape[:2], -1, self.m), (2, 3), (0, 1))  # (people, m, K, K)
        own = np.einsum("gimb,gmbc->gimc", split, blocks).reshape(h.shape)
        rough = np.flatnonzero(np.sqrt((own * own).sum(axis=(1, 2))) > clip)
        top = np.linalg.eigvals(own[rough]).real.max(axis=1, initial=0.0)
        own[rough] *= np.minimum(1.0, clip / np.maximum(top, TINY))[:, None, None]
        rest = np.eye(own.shape[1]) - own

        def solve(r: Array, b: Array) -> Array:
            known = h @ self.by_person(r)[..., None] + self.by_person(b)[..., None]
            return self.by_row(np.linalg.solve(rest, known)[..., 0])

        clipped = np.zeros(self.people, dtype=bool)
        clipped[rough[top > clip]] = True
        return solve, clipped


def people_blocks(person: Ints | None, ends: Ints, size: int) -> list[PeopleBlock]:
    """Cut rows into blocks of whole people with about ``size`` rows; None: every row is another person.

    Blocks of single rows end where a cell does, if that leaves a quarter of them: their rows count in few averages.
    """
    if person is None:
        cuts, n = [0], int(ends[-1])
        while (a := cuts[-1]) < n:
            whole = ends[(ends >= a + size // 4) & (ends <= a + size)]
            cuts.append(int(whole[-1]) if len(whole) else min(a + size, n))
        return [PeopleBlock(slice(a, b), b - a) for a, b in pairwise(cuts)]
    order = np.argsort(person, kind="stable")
    _, first, counts = np.unique(person[order], return_index=True, return_counts=True)
    found = []
    for m in np.unique(counts).tolist():
        rows, some = order[first[counts == m][:, None] + np.arange(m)], max(1, size // m)
        parts = (rows[a : a + some] for a in range(0, len(rows), some))
        found += [PeopleBlock(part.reshape(-1), len(part), m) for part in parts]
    return found
