"""Points of a person's own: models of any kind, or scores of fixed rows, and what is known of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..exceptions import InputError
from ..objectives import Array, Task
from .candidate_scores import decided_scores, scores_of
from .facts import Facts


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

    ``models`` is empty where scores were given: those exist on their own rows only. ``as_they_decide`` says that no
    other cut-off was asked for, so that a model's own decisions hold.
    """

    raw: ClassVar[bool] = True

    names: tuple[str, ...]
    task: Task
    models: tuple[Any, ...] = ()
    cutoffs: Array | None = None
    as_they_decide: bool = True

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
        read = decided_scores if self.as_they_decide else scores_of
        found = [read(model, X, self.task, name) for model, name in zip(self.models, self.names, strict=True)]
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        for name, (scores, _) in zip(self.names, found, strict=True):
            if scores.shape[1] != n:
                raise InputError(f"{name!r} gives scores of {scores.shape[1]} rows, expected {n}, one per row of X.")
        return np.stack([scores for scores, _ in found]), np.array([own for _, own in found])

    def shifted(self, scores: Array) -> Array:
        """Return scores less the cut-offs, so that above 0 decides for the second of two classes."""
        return scores if self.cutoffs is None else scores - self.cutoffs[:, None, None]
