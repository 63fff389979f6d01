"""Moves of decisions between two models on the same rows: who comes into a rate, and who goes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from ..records import Record
from .counts import membership, ratio, row_weight, weighted_sums
from .rates import PerGroup

OVERALL = "overall"
Sides = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class Moves(PerGroup):
    """Decisions that change from one model to each of N others, per group and, as the last level, overall.

    ``overall`` has every row, those without a group too; it stands in the place of the reference, so that
    `gaps` compares each group with everyone. Shapes (N, c + 1):

    - ``gained``    weight of rows refused before and decided favourably after
    - ``lost``      weight of rows decided favourably before and refused after
    - ``n_gained``, ``n_lost``  the same in rows
    """

    names: ClassVar[tuple[str, ...]] = ("gained", "lost", "n_gained", "n_lost", "net_per_1000", "changed_per_1000")

    gained: Array
    lost: Array
    n_gained: Array
    n_lost: Array

    @property
    def net_per_1000(self) -> Array:
        """Return favourable decisions won less those lost, per 1000 of the group's weight; NaN without any."""
        return 1000.0 * ratio(self.gained - self.lost, self.weight)

    @property
    def changed_per_1000(self) -> Array:
        """Return decisions that change in either direction, per 1000 of the group's weight; NaN without any."""
        return 1000.0 * ratio(self.gained + self.lost, self.weight)


@dataclass(frozen=True, eq=False, repr=False)
class Flips(Record):
    """Changed decisions among all people and among those whose own label is the favourable one."""

    among_all: Moves
    among_favourable: Moves


def changed_sides(values: NDArray[np.bool_], before: NDArray[np.bool_], columns: Array) -> Sides:
    """Return the weights of rows that come into a share and go out of it, (N, q) each."""
    return weighted_sums(values & ~before, columns), weighted_sums(~values & before, columns)


def flips(
    before: NDArray[np.bool_],
    after: NDArray[np.bool_],
    favourable: NDArray[np.bool_],
    codes: NDArray[Any],
    levels: Sequence[str],
    sample_weight: Array | None = None,
) -> Flips:
    """Count who gains and who loses a favourable decision between one model, (n,), and each of N others, (N, n).

    Those of ``favourable`` (n,) have that label; ``codes`` are as in `membership`, and rows without a group count in
    the overall column only.
    """
    rows = np.column_stack([membership(codes, len(levels)), np.ones(len(codes))])
    weighted = rows * row_weight(sample_weight, len(rows))[:, None]
    columns = np.hstack([weighted, rows, weighted * favourable[:, None], rows * favourable[:, None]])
    gained, lost = (np.split(side, 4, axis=1) for side in changed_sides(np.atleast_2d(after), before, columns))
    total, names = np.split(columns.sum(axis=0), 4), (*levels, OVERALL)
    everyone, labelled = (  # weights, each with the rows behind them
        Moves(names, total[k + 1], total[k], gained[k], lost[k], gained[k + 1], lost[k + 1]) for k in (0, 2)
    )
    return Flips(everyone, labelled)


def moves_by_rate(
    decided: NDArray[np.bool_], wrong: NDArray[np.bool_], plain: int, good: NDArray[np.bool_], member: Array
) -> dict[str, Sides]:
    """Return how many rows come into each rate and go out of it against one model, (N, c + 1): last of everyone.

    ``decided`` and ``wrong`` are (N, n), ``good`` (n,) has the favourable label, ``member`` are (n, c).
    """
    everyone = np.column_stack([member, np.ones(len(member))])
    changes = {
        "tpr": (decided, good[:, None]),
        "fpr": (decided, ~good[:, None]),
        "error": (wrong, True),
        "selection": (decided, True),
    }
    return {rate: changed_sides(values, values[plain], everyone * among) for rate, (values, among) in changes.items()}
