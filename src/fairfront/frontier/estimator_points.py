"""Points that are estimators of any kind, fitted, or fitted when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Array, Task
from ..problems.fits.learners import log_odds, output_of, probabilities_of, scores_of_learner
from .facts import Facts


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


@dataclass(frozen=True, eq=False)
class EstimatorPoints:
    """N fitted estimators; with ``refit``, those that are missing are fitted when they are asked for.

    ``refit`` holds the training rows until then, which a frontier otherwise never keeps.
    """

    raw: ClassVar[bool] = True

    models: Mapping[int, Any]
    size: int
    task: Task
    loss: str
    feature_names: tuple[str, ...] | None = None
    n_features: int | None = None
    refit: Callable[[int], Any] | None = field(default=None, repr=False)
    n_jobs: int | None = None

    def __len__(self) -> int:
        return self.size

    def build(self, place: int) -> Any:
        """Return the fitted estimator."""
        if place not in self.models:
            self._fit([place])
        return self.models[place]

    def scores(self, X: Any) -> Array:
        """Return the scores of all models, (N, K, n): above 0 decides for the second of two classes."""
        self._fit([place for place in range(self.size) if place not in self.models])
        return np.stack([scores_of_learner(self.models[i], X, self.task, self.loss) for i in range(self.size)])

    @property
    def probable(self) -> NDArray[np.bool_]:
        """Tell which models give probabilities, (N,)."""
        return np.full(self.size, output_of(self.build(0), self.task, self.loss) == "probability")

    def responses(self, X: Any) -> tuple[Array, Array]:
        """Return scores (N, 1, n), and what cut-offs are on, (N, n): probabilities of the second class, or scores.

        Probabilities are the learner's own, to the last digit: trees give few different ones.
        """
        if output_of(self.build(0), self.task, self.loss) == "label":
            raise InputError(
                f"{type(self.build(0)).__name__} gives decisions and no scores, expected predict_proba or "
                "decision_function for an operating point; leave it out, or wrap it in CalibratedClassifierCV."
            )
        if not self.probable.all():
            scores = self.scores(X)
            return scores, scores[:, 0]
        self._fit([place for place in range(self.size) if place not in self.models])
        found = [probabilities_of(self.models[i], X, self.task) for i in range(self.size)]
        return np.stack([log_odds(each) for each in found]), np.stack([each[:, 1] for each in found])

    def _fit(self, places: list[int]) -> None:
        if not places:
            return
        assert self.refit is not None
        assert isinstance(self.models, dict)
        found = Parallel(n_jobs=self.n_jobs)(delayed(self.refit)(place) for place in places)
        self.models.update(zip(places, found, strict=True))
