"""Facts: what a frontier was made from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..objectives import Attribute, Question, Task
from ..objectives.small_counts import FEWEST
from ..solvers import Newton
from ..solvers.aiming import Path

UNNAMED = f"(a group of fewer than {FEWEST} rows)"


@dataclass(frozen=True)
class Facts:
    """What a frontier was made from, in words and names; no rows, labels or counts of small groups.

    ``sensitive`` maps each attribute to its groups, the reference last; ``left_out`` names the groups that
    were too small for the gaps, ``unnamed`` those of them with so few rows that no output names them,
    ``missing`` the attributes that some rows lack (those count in the loss alone);
    ``largest`` names the attributes whose reference is their largest group because none was named;
    ``question``, ``newton`` and ``path`` are the settings that lay out the same problem and solve it again;
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
    question: Question | None = field(default=None, repr=False)
    newton: Newton = field(default_factory=Newton, repr=False)
    path: Path = "worst_gap"
    used_for: str = "training weights and evaluation; predictions need no sensitive feature"
    measured_on: str = "training"
    proxies: tuple[str, ...] = ()
    unnamed: tuple[tuple[str, tuple[str, ...]], ...] = field(default=(), repr=False)

    @classmethod
    def without(cls, attributes: Iterable[Attribute]) -> dict[str, Any]:
        """Return what training left out, and what of it is not named, as fields of this record."""
        out = [(a.name, a.left_out) for a in attributes if a.left_out]
        few = [(name, tuple(level for level, n in levels if n < FEWEST)) for name, levels in out]
        return {
            "left_out": tuple((name, tuple(level for level, _ in levels)) for name, levels in out),
            "unnamed": tuple((name, levels) for name, levels in few if levels),
        }

    @property
    def told_left_out(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the groups that training left out as outputs name them."""
        few = dict(self.unnamed)
        return tuple(
            (name, tuple(UNNAMED if level in few.get(name, ()) else level for level in levels))
            for name, levels in self.left_out
        )

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


@dataclass(frozen=True)
class EstimatorFacts(Facts):
    """Facts of weighted fits: which gap was driven, and on which rows it was measured."""

    drive: str = "loss_gap"
    estimator: str = ""
    heuristic: bool = False

    @property
    def unit(self) -> str:
        """Name the unit of ``Frontier.gaps``."""
        return self.drive.replace("_", " ")


@dataclass(frozen=True)
class CandidateFacts(Facts):
    """Facts of candidates: nothing was trained, and gaps are those of decisions."""

    used_for: str = "evaluation; nothing was trained here"

    @property
    def loss_name(self) -> str:
        """Name what ``Frontier.loss`` is: the error or the mean squared error, as in the evaluation."""
        return self.loss

    @property
    def unit(self) -> str:
        """Name the unit of ``Frontier.gaps``."""
        return "value gap" if self.task.kind == "regression" else "rate gap"
