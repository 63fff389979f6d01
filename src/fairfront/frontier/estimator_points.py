"""Points that are estimators of any kind, fitted, or fitted when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed

from ..objectives import Array, Task
from ..problems.fits.learners import scores_of_learner
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

    def _fit(self, places: list[int]) -> None:
        if not places:
            return
        assert self.refit is not None
        assert isinstance(self.models, dict)
        found = Parallel(n_jobs=self.n_jobs)(delayed(self.refit)(place) for place in places)
        self.models.update(zip(places, found, strict=True))
