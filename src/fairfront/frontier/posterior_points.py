"""Points that share one set of posteriors and differ in how they weigh them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array, Task
from ..problems.fits.learners import log_odds
from ..problems.fits.posteriors import PosteriorClassifier, Posteriors, weighed


@dataclass(frozen=True, eq=False)
class PosteriorPoints:
    """N weightings (N, pairs, K) of one set of posteriors."""

    raw: ClassVar[bool] = True

    posteriors: Posteriors
    weights: Array
    task: Task
    loss: str
    feature_names: tuple[str, ...] | None = None
    n_features: int | None = None

    def __len__(self) -> int:
        return len(self.weights)

    def build(self, place: int) -> PosteriorClassifier:
        """Return the classifier of a point."""
        return PosteriorClassifier(self.posteriors, self.weights[place], self.task.classes)

    def scores(self, X: Any) -> Array:
        """Return the scores of all models, (N, K, n); the posteriors are asked once."""
        pairs = self.posteriors.pairs(X)
        return np.stack([log_odds(weighed(pairs, weights)) for weights in self.weights])

    @property
    def probable(self) -> NDArray[np.bool_]:
        """Tell that all of them give probabilities, (N,)."""
        return np.ones(len(self), dtype=bool)

    def responses(self, X: Any) -> tuple[Array, Array]:
        """Return scores (N, 1, n), and what cut-offs are on: probabilities of the second class, (N, n)."""
        pairs = self.posteriors.pairs(X)
        found = [weighed(pairs, weights) for weights in self.weights]
        return np.stack([log_odds(each) for each in found]), np.stack([each[:, 1] for each in found])

    def take(self, places: Sequence[int]) -> PosteriorPoints:
        """Return some of the points."""
        return replace(self, weights=self.weights[list(places)])
