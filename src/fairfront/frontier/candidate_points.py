"""Points of a person's own: models of any kind, or scores of fixed rows, and what is known of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..measures.evaluation import decide
from ..objectives import Array, Task
from ..validation import counted
from .candidate_scores import judged_scores, scores_of
from .facts import Facts


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


@dataclass(frozen=True, eq=False)
class CandidatePoints:
    """N models, or their scores on fixed rows.

    ``models`` is empty where scores were given: those exist on their own rows only.
    """

    raw: ClassVar[bool] = True

    names: tuple[str, ...]
    task: Task
    models: tuple[Any, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    def build(self, place: int) -> Any:
        """Return the model that was given."""
        if not self.models:
            raise InputError(f"{self.names[place]!r} was given as scores, expected models; use Frontier.from_models.")
        return self.models[place]

    def scores(self, X: Any) -> Array:
        """Return the scores of all models less the cut-offs that are their own, (N, K, n): they decide as they do."""
        return self._read(X, judged_scores)[1]

    def judged(self, X: Any) -> tuple[Array, NDArray[Any]]:
        """Return scores that rank rows, (N, K, n), and what the models decide, (N, n)."""
        ranking, deciding = self._read(X, judged_scores)
        return ranking, decide(deciding, self.task)

    @property
    def probable(self) -> NDArray[np.bool_]:
        """Tell which models give probabilities, (N,)."""
        return np.array([hasattr(model, "predict_proba") for model in self.models])

    def responses(self, X: Any) -> tuple[Array, Array]:
        """Return scores (N, 1, n), and what cut-offs are on, (N, n): probabilities of the second class, or scores.

        A threshold that a model has of its own plays no part.
        """
        found, own = self._read(X, scores_of)
        return found - own[:, None, None], found[:, 0]

    def _read(self, X: Any, read: Callable[..., tuple[Array, Any]]) -> tuple[Array, Array]:
        """Return what is read of every model: scores (N, K, n), and what comes with them."""
        if not self.models:
            raise InputError("the candidates were given as scores of fixed rows, expected models; use from_models.")
        found = [read(model, X, self.task, name) for model, name in zip(self.models, self.names, strict=True)]
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        for name, (scores, _) in zip(self.names, found, strict=True):
            if scores.shape[1] != n:
                raise InputError(
                    f"{name!r} gives scores of {counted(scores.shape[1], 'row')}, expected {n}, one per row of X."
                )
        return np.stack([scores for scores, _ in found]), np.stack([np.asarray(other) for _, other in found])
