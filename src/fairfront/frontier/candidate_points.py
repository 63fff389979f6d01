"""Points of a person's own: models of any kind, or scores of fixed rows, and what is known of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np

from ..exceptions import InputError
from ..objectives import Array, Task
from .candidate_scores import scores_of
from .facts import Facts


class Given(StrEnum):
    """How a candidate stands among the others; `solved` means that rules may choose it."""

    EFFICIENT = "given: no other candidate is at least as good on every axis and better on one"
    DOMINATED = "given: another candidate is at least as good on every axis and better on one"

    @property
    def solved(self) -> bool:
        """Return True: a candidate is a finished model."""
        return True


@dataclass(frozen=True)
class CandidateFacts(Facts):
    """Facts of candidates: nothing was trained, and gaps are those of decisions."""

    used_for: str = "evaluation; nothing was trained here"

    @property
    def unit(self) -> str:
        """Name the unit of ``Frontier.gaps``."""
        return "value gap" if self.task.kind == "regression" else "rate gap"


@dataclass(frozen=True, eq=False)
class CandidatePoints:
    """N models, or their scores on fixed rows, with one cut-off each that is taken off the scores.

    ``models`` is empty where scores were given: those exist on their own rows only.
    """

    raw: ClassVar[bool] = True

    names: tuple[str, ...]
    task: Task
    models: tuple[Any, ...] = ()
    cutoffs: Array | None = None

    def __len__(self) -> int:
        return len(self.names)

    def build(self, place: int) -> Any:
        """Return the model that was given."""
        if not self.models:
            raise InputError(f"{self.names[place]!r} was given as scores, expected models; use Frontier.from_models.")
        return self.models[place]

    def scores(self, X: Any) -> Array:
        """Return the scores of all models less their cut-offs, (N, K, n)."""
        return self.shifted(self.raw_scores(X)[0])

    def raw_scores(self, X: Any) -> tuple[Array, Array]:
        """Return the scores of all models, (N, K, n), and the cut-offs that are their own, (N,)."""
        if not self.models:
            raise InputError("the candidates were given as scores of fixed rows, expected models; use from_models.")
        found = [scores_of(m, X, self.task, name) for m, name in zip(self.models, self.names, strict=True)]
        return np.stack([scores for scores, _ in found]), np.array([own for _, own in found])

    def shifted(self, scores: Array) -> Array:
        """Return scores less the cut-offs, so that above 0 decides for the second of two classes."""
        return scores if self.cutoffs is None else scores - self.cutoffs[:, None, None]
