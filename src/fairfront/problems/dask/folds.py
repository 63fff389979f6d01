"""Folds of rows in partitions: what each of them counts at many weights, in one pass over rows where they come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...objectives import Array
from ...validation.inputs import check_labels, factorize
from ..pieces import Bound, Factors, summed
from ..resources import one_thread
from .partition import Plan, Side, matrix_of, prepared, side
from .passes import Runner, blocks_of

FOLDS = 10
SETS = 100 * FOLDS
"""Sets of people, each in one fold, of whom partitions have rows."""
HELD = 1 << 26
"""Bytes of Hessians that a pass brings back: as many weights go together as have room."""


def sets_of(person: Any, n: int) -> NDArray[np.intp]:
    """Return the set that each of n rows is in, by a hash of its person, the same in every partition.

    A whole number is the same person as an integer and as a float.
    """
    codes, levels = factorize(check_labels(person, n, "person"))
    known = (int(each) if isinstance(each, float) and each.is_integer() else each for each in levels)
    digests = [blake2b(str(each).encode(), digest_size=8).digest() for each in known]
    return np.array([int.from_bytes(each, "big") % SETS for each in digests], dtype=np.intp)[codes]


def fold_of(place: int, n: int, person: Any = None) -> NDArray[np.intp]:
    """Return a fold for each of n rows of a partition, dealt out like cards; the same every time.

    Of a ``person`` with several rows it is the same in every partition.
    """
    if person is not None:
        return sets_of(person, n) % FOLDS
    return np.random.default_rng([FOLDS, place]).permutation(np.arange(n, dtype=np.intp) % FOLDS)


@dataclass(frozen=True, eq=False)
class Source:
    """Partitions as they came in, features, labels, groups and weights, and how they become pieces.

    ``lengths`` are their rows, where known without reading; ``people`` say who each row is.
    """

    runner: Runner
    blocks: Sequence[tuple[Any, ...]]
    plan: Plan
    digests: tuple[str, ...]
    lengths: tuple[int, ...] | None
    people: Sequence[Any] | None = None

    def of(self, person: Any) -> Source:
        """Return the partitions with who each row is, None where everybody has one."""
        if person is None:
            return self
        return replace(self, people=blocks_of("person", person, self.lengths, len(self.blocks)))

    def over(self, function: Callable[..., Any], combine: Callable[[list[Any]], Any]) -> Any:
        """Return the combination of a function's results on the place, the blocks and the people of every partition."""
        people = self.people or [None] * len(self.blocks)
        parts = [(i, *block, who) for i, (block, who) in enumerate(zip(self.blocks, people, strict=True))]
        return self.runner.over(parts, function, combine)

    def fold_sums(self, measures: Bound, k: int, W: Array, factors: Sequence[Factors]) -> tuple[Array, ...]:
        """Return sums over folds at weights W (N, K, d) of framed rows, each with factors of its own.

        Of measures over cells (F, N, k), of gradients (F, k, N K, d), of the Hessians (F, N, K, K, d, d), and the
        weights of cells (F, c).
        """
        each = 8 * FOLDS * W[0].size ** 2
        parts = np.array_split(np.arange(len(W)), -(-len(W) // max(1, HELD // each)))
        found = [
            self.over(_Ask(self.plan, self.digests, measures, k, W[some], [factors[j] for j in some]), summed)
            for some in parts
        ]
        L, G, H, weight = zip(*found, strict=True)
        return np.concatenate(L, axis=1), np.concatenate(G, axis=2), np.concatenate(H, axis=1), np.array(weight[0])


@dataclass(frozen=True, eq=False)
class _Ask:
    """What a pass adds up over the folds of one partition."""

    plan: Plan
    digests: tuple[str, ...]
    measures: Bound
    k: int
    W: Array
    factors: Sequence[Factors]

    def __call__(self, place: int, x: Any, y: Any, groups: Any, weight: Any, person: Any) -> tuple[Array, ...]:
        known, fold = side(y, groups, weight, self.plan, self.digests[place]), fold_of(place, len(y), person)
        matrix = matrix_of(x)
        with one_thread():
            parts = [self._fold(matrix, known, np.flatnonzero(fold == f)) for f in range(FOLDS)]
        return tuple(map(np.stack, zip(*parts, strict=True)))

    def _fold(self, matrix: Any, known: Side, rows: NDArray[np.intp]) -> tuple[Array, ...]:
        target, weights = (None if each is None else each[rows] for each in (known.target, known.weight))
        some = Side(known.key[rows], target, weights)
        piece, (N, K, d) = prepared(matrix[rows], some, self.plan, loose=True), self.W.shape
        cell, count = self.plan.cell[some.key], len(self.plan.weight)
        weight = np.bincount(cell, some.weight, minlength=count + 1)[:count].astype(np.float64)
        if not piece.n:
            return np.zeros((N, self.k)), np.zeros((self.k, N * K, d)), np.zeros((N, K, K, d, d)), weight
        L, G = piece.fresh_sums(self.measures, self.k, self.W, True)
        pairs = zip(self.W, self.factors, strict=True)
        H = np.stack([piece.products(self.measures, factors, W, False) for W, factors in pairs])
        return L, G, H, weight
