"""Facts: what a frontier was made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..objectives import Task
from ..solvers import Newton
from ..solvers.aiming import Path


@dataclass(frozen=True)
class Facts:
    """What a frontier was made from, in words and names; no rows, labels or counts of small groups.

    ``sensitive`` maps each attribute to its groups, the reference last; ``left_out`` names the groups that
    were too small for the gaps, ``missing`` the attributes that some rows lack (those count in the loss alone);
    ``largest`` names the attributes whose reference is their largest group because none was named;
    ``recipe``, ``newton`` and ``path`` are the settings that lay out the same problem and solve it again;
    ``measured_on`` says which rows losses and gaps are of; ``proxies`` are the attributes whose groups were given as
    probabilities.
    """

    task: Task
    notions: tuple[str, ...]
    sentences: tuple[str, ...]
    surrogate: str
    loss: str
    gap: str
    ridge: float
    sensitive: tuple[tuple[str, tuple[str, ...]], ...]
    left_out: tuple[tuple[str, tuple[str, ...]], ...]
    solver: str
    missing: tuple[str, ...] = ()
    favourable_was_given: bool = True
    largest: tuple[str, ...] = ()
    recipe: Mapping[str, Any] = field(default_factory=dict, repr=False)
    newton: Newton = field(default_factory=Newton, repr=False)
    path: Path = "worst_gap"
    used_for: str = "training weights and evaluation; predictions need no sensitive feature"
    measured_on: str = "training"
    proxies: tuple[str, ...] = ()

    @property
    def loss_name(self) -> str:
        """Name what ``Frontier.loss`` is."""
        return "loss"

    @property
    def unit(self) -> str:
        """Name the unit of ``Frontier.gaps``."""
        return "loss gap" if self.surrogate == "loss" else "smooth rate gap"

    @property
    def gap_column(self) -> str:
        """Name the column of the worst training gap over all notions."""
        return self.unit.replace(" ", "_")

    @property
    def gap_columns(self) -> tuple[str, ...]:
        """Name the columns of training gaps: ``loss_gap`` or ``smooth_rate_gap``, one per notion."""
        name = self.gap_column
        return (name,) if len(self.notions) == 1 else tuple(f"{notion}.{name}" for notion in self.notions)
