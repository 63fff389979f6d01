"""Models that are estimators of any kind, and those that weigh one set of posteriors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Array, Task
from ..problems.learners import log_odds, output_of, probabilities_of, scores_of_learner
from ..problems.posteriors import Guess, PosteriorClassifier, Posteriors, Scaling, weighed
from .models import Models, Places, Stored, read_estimators, read_known, task_content, write_estimators


@dataclass(frozen=True, eq=False)
class EstimatorModels(Models):
    """N fitted estimators; with ``refit``, those that are missing are fitted when they are asked for.

    ``refit`` holds the training rows until then, which a frontier otherwise never keeps.
    """

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

    def take(self, places: Places) -> EstimatorModels:
        """Return some of the models; fits that were put off are made now, because the rows are not kept."""
        models = {new: self.build(int(old)) for new, old in enumerate(places)}
        return replace(self, models=models, size=len(models), refit=None)

    def build(self, place: int) -> Any:
        """Return the fitted estimator."""
        return self._fitted([place])[0]

    def scores(self, X: Any) -> Array:
        """Return the scores of all models, (N, K, n): above 0 decides for the second of two classes."""
        return np.stack([scores_of_learner(model, X, self.task, self.loss) for model in self._fitted()])

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
        return _log_odds_and_second([probabilities_of(model, X, self.task) for model in self._fitted()])

    def _fitted(self, places: Sequence[int] | None = None) -> list[Any]:
        """Return the models at some places, or all, after those that are missing were fitted."""
        wanted = range(self.size) if places is None else places
        lacking = [place for place in wanted if place not in self.models]
        if lacking:
            assert self.refit is not None
            assert isinstance(self.models, dict)
            found = Parallel(n_jobs=self.n_jobs)(delayed(self.refit)(place) for place in lacking)
            self.models.update(zip(lacking, found, strict=True))
        return [self.models[place] for place in wanted]

    def write(self, folder: Path) -> Stored:
        """Write every model into a file; the training rows that a later fit would need stay out."""
        return Stored({**_content(self), "n_jobs": self.n_jobs}, {}, write_estimators(self._fitted(), folder))

    @classmethod
    def read(cls, stored: Stored, folder: Path, trusted: Sequence[str]) -> EstimatorModels:
        """Return the models, all of their types trusted."""
        models = dict(enumerate(read_estimators(stored.files, folder, trusted)))
        return cls(models=models, size=len(stored.files), **read_known(stored.content))


@dataclass(frozen=True, eq=False)
class PosteriorModels(Models):
    """N weightings (N, pairs, K) of one set of posteriors."""

    posteriors: Posteriors
    weightings: Array
    task: Task
    loss: str
    feature_names: tuple[str, ...] | None = None
    n_features: int | None = None

    def __len__(self) -> int:
        return len(self.weightings)

    def take(self, places: Places) -> PosteriorModels:
        """Return some of the models."""
        return replace(self, weightings=self.weightings[list(places)])

    def build(self, place: int) -> PosteriorClassifier:
        """Return the classifier of a point."""
        return PosteriorClassifier(self.posteriors, self.weightings[place], self.task.classes)

    def scores(self, X: Any) -> Array:
        """Return the scores of all models, (N, K, n)."""
        return np.stack([log_odds(each) for each in self._weighed(X)])

    @property
    def probable(self) -> NDArray[np.bool_]:
        """Tell that all of them give probabilities, (N,)."""
        return np.ones(len(self), dtype=bool)

    def responses(self, X: Any) -> tuple[Array, Array]:
        """Return scores (N, 1, n), and what cut-offs are on: probabilities of the second class, (N, n)."""
        return _log_odds_and_second(self._weighed(X))

    def _weighed(self, X: Any) -> list[Array]:
        """Return the probabilities (n, K) of all models; the posteriors are asked once."""
        pairs = self.posteriors.pairs(X)
        return [weighed(pairs, weights) for weights in self.weightings]

    def write(self, folder: Path) -> Stored:
        """Write every classifier once, however many models there are; scalings and weights are arrays."""
        guesses = self.posteriors.guesses
        content = {**_content(self), "models": [guess.model is not None for guess in guesses]}
        arrays: dict[str, NDArray[Any]] = {"weights": self.weightings}
        for i, guess in enumerate(guesses):
            arrays[f"scaling_{i}"] = np.concatenate([[guess.scaling.slope], guess.scaling.bias])
            arrays[f"seen_{i}"] = guess.seen
        return Stored(content, arrays, write_estimators([g.model for g in guesses if g.model is not None], folder))

    @classmethod
    def read(cls, stored: Stored, folder: Path, trusted: Sequence[str]) -> PosteriorModels:
        """Return the models, all types of their classifiers trusted."""
        known, arrays = read_known(stored.content), stored.arrays
        models = iter(read_estimators(stored.files, folder, trusted))
        label, *members = (
            Guess(
                next(models) if there else None,
                arrays[f"seen_{i}"],
                Scaling(float(arrays[f"scaling_{i}"][0]), arrays[f"scaling_{i}"][1:]),
            )
            for i, there in enumerate(known.pop("models"))
        )
        return cls(Posteriors(label, tuple(members)), arrays["weights"], **known)


def _content(models: EstimatorModels | PosteriorModels) -> dict[str, Any]:
    """Return for JSON what models of both kinds know."""
    known = {name: getattr(models, name) for name in ("loss", "feature_names", "n_features")}
    return {**known, "task": task_content(models.task)}


def _log_odds_and_second(probabilities: Sequence[Array]) -> tuple[Array, Array]:
    """Return the log-odds (N, 1, n) and the probabilities of the second class (N, n) from those of models (n, 2)."""
    return np.stack([log_odds(each) for each in probabilities]), np.stack([each[:, 1] for each in probabilities])
