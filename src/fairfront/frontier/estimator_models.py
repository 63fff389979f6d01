"""Models that are estimators: fitted here, weighing one set of posteriors, or candidates that a person gave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from ..exceptions import InputError
from ..measures.evaluation import decide
from ..objectives import Array, Attribute, Task
from ..problems.learners import log_odds, output_of, probabilities_of, scores_of_learner
from ..problems.posteriors import Guess, PosteriorClassifier, Posteriors, Scaling, weighed
from ..validation import as_numbers, counted
from .models import (
    Models,
    Places,
    Stored,
    encode_labels,
    read_estimators,
    read_known,
    task_content,
    task_of,
    write_estimators,
)


@dataclass(frozen=True, eq=False)
class EstimatorModels(Models):
    """N fitted estimators; with ``refit``, those that are missing are fitted when they are asked for.

    ``refit`` holds the training rows until then, which a frontier otherwise never keeps.
    """

    models: dict[int, Any]
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
        """Fits that were put off are made now, because the rows are not kept."""
        models = {new: self.build(int(old)) for new, old in enumerate(places)}
        return replace(self, models=models, size=len(models), refit=None)

    def build(self, place: int) -> Any:
        return self._fitted([place])[0]

    def scores(self, X: Any) -> Array:
        return np.stack([scores_of_learner(model, X, self.task, self.loss) for model in self._fitted()])

    @property
    def probable(self) -> NDArray[np.bool_]:
        return np.full(self.size, output_of(self.build(0), self.task, self.loss) == "probability")

    def responses(self, X: Any) -> tuple[Array, Array]:
        """Probabilities are the learner's own, to the last digit: trees give few different ones."""
        if output_of(self.build(0), self.task, self.loss) == "label":
            raise InputError(
                f"{type(self.build(0)).__name__} gives decisions and no scores, expected predict_proba or "
                "decision_function for an operating point; leave it out, or wrap it in CalibratedClassifierCV."
            )
        if not self.probable.all():
            return super().responses(X)
        return _log_odds_and_second([probabilities_of(model, X, self.task) for model in self._fitted()])

    def _fitted(self, places: Sequence[int] | None = None) -> list[Any]:
        wanted = range(self.size) if places is None else places
        lacking = [place for place in wanted if place not in self.models]
        if lacking:
            assert self.refit is not None
            found = Parallel(n_jobs=self.n_jobs)(delayed(self.refit)(place) for place in lacking)
            self.models.update(zip(lacking, found, strict=True))
        return [self.models[place] for place in wanted]

    def write(self, folder: Path) -> Stored:
        """The training rows that a later fit would need stay out."""
        return Stored(self._content("n_jobs"), {}, write_estimators(self._fitted(), folder))

    @classmethod
    def read(cls, stored: Stored, folder: Path, trusted: Sequence[str]) -> EstimatorModels:
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
        return replace(self, weightings=self.weightings[list(places)])

    def build(self, place: int) -> PosteriorClassifier:
        return PosteriorClassifier(self.posteriors, self.weightings[place], self.task.classes)

    def scores(self, X: Any) -> Array:
        return self.responses(X)[0]

    @property
    def probable(self) -> NDArray[np.bool_]:
        return np.ones(len(self), dtype=bool)

    def responses(self, X: Any) -> tuple[Array, Array]:
        pairs = self.posteriors.pairs(X)
        return _log_odds_and_second([weighed(pairs, weights) for weights in self.weightings])

    def write(self, folder: Path) -> Stored:
        """Every classifier once, however many models there are; scalings and weights are arrays."""
        guesses = self.posteriors.guesses
        content = {**self._content(), "models": [guess.model is not None for guess in guesses]}
        arrays: dict[str, NDArray[Any]] = {"weights": self.weightings}
        for i, guess in enumerate(guesses):
            arrays[f"scaling_{i}"] = np.concatenate([[guess.scaling.slope], guess.scaling.bias])
            arrays[f"seen_{i}"] = guess.seen
        return Stored(content, arrays, write_estimators([g.model for g in guesses if g.model is not None], folder))

    @classmethod
    def read(cls, stored: Stored, folder: Path, trusted: Sequence[str]) -> PosteriorModels:
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


def _log_odds_and_second(probabilities: Sequence[Array]) -> tuple[Array, Array]:
    return np.stack([log_odds(each) for each in probabilities]), np.stack([each[:, 1] for each in probabilities])


@dataclass(frozen=True, eq=False)
class CandidateModels(Models):
    """N models, or their scores on fixed rows.

    ``models`` is empty where scores were given: those exist on their own rows only.
    """

    loss = "error"

    task: Task
    names: tuple[str, ...] = ()
    models: tuple[Any, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    def take(self, places: Places) -> CandidateModels:
        models = tuple(self.models[i] for i in places) if self.models else ()
        return replace(self, names=tuple(self.names[i] for i in places), models=models)

    def build(self, place: int) -> Any:
        if not self.models:
            raise InputError(f"{self.names[place]!r} was given as scores, expected models; use Frontier.from_models.")
        return self.models[place]

    def scores(self, X: Any) -> Array:
        """Less the cut-offs that are the models' own: they decide as they do."""
        return self._read(X, judged_scores)[1]

    def judged(self, X: Any, attributes: Sequence[Attribute] = ()) -> tuple[Array, NDArray[Any]]:
        ranking, deciding = self._read(X, judged_scores)
        return ranking, decide(deciding, self.task)

    @property
    def probable(self) -> NDArray[np.bool_]:
        return np.array([hasattr(model, "predict_proba") for model in self.models])

    def responses(self, X: Any) -> tuple[Array, Array]:
        """A model's own threshold plays no part."""
        found, own = self._read(X, scores_of)
        return found - own[:, None, None], found[:, 0]

    def _read(self, X: Any, read: Callable[..., tuple[Array, Any]]) -> tuple[Array, Array]:
        if not self.models:
            raise InputError("the candidates were given as scores of fixed rows, expected models; use from_models.")
        n, found = X.shape[0] if hasattr(X, "shape") else len(X), []
        for model, name in zip(self.models, self.names, strict=True):
            scores, other = read(model, X, self.task, name)
            found.append((scores, np.asarray(other)))
            if scores.shape[1] != n:
                raise InputError(
                    f"{name!r} gives scores of {counted(scores.shape[1], 'row')}, expected {n}, one per row of X."
                )
        return np.stack([scores for scores, _ in found]), np.stack([other for _, other in found])

    def write(self, folder: Path) -> Stored:
        """Just the names of what was given as scores."""
        files = write_estimators(self.models, folder)
        return Stored({"task": task_content(self.task), "names": self.names}, {}, files)

    @classmethod
    def read(cls, stored: Stored, folder: Path, trusted: Sequence[str]) -> CandidateModels:
        models = read_estimators(stored.files, folder, trusted)
        return cls(task_of(stored.content["task"]), tuple(stored.content["names"]), models)


def scores_of(model: Any, X: Any, task: Task, name: str) -> tuple[Array, float]:
    """Return scores (K, n) and the cut-off above which, for two classes, the model decides for the second.

    A model is anything with ``predict_proba``, ``decision_function`` or ``predict``, or a function of X that
    returns labels, probabilities of the second class, or predictions.
    """
    predict, binary = getattr(model, "predict", model), task.kind == "binary"
    if task.kind == "regression":
        return np.asarray(predict(X), dtype=np.float64).reshape(1, -1), 0.0
    known = list(getattr(model, "classes_", task.classes))
    wrong = InputError(f"{name!r} knows the classes {known}, expected those of y: {list(task.classes)}.")
    alike = len(known) == len(task.classes) and all(label in known for label in task.classes)
    if hasattr(model, "predict_proba"):
        found = np.asarray(model.predict_proba(X), dtype=np.float64)
        if found.ndim == 1 and binary:
            return found[None], 0.5
        if not alike:
            raise wrong
        if found.ndim != 2 or found.shape[1] != len(task.classes):
            raise InputError(f"{name!r} gives probabilities {found.shape}, expected (n, {len(task.classes)}).")
        return found[:, [known.index(label) for label in (task.classes[1:] if binary else task.classes)]].T, 0.5
    if hasattr(model, "decision_function") and binary:
        if not alike:
            raise wrong
        return np.asarray(model.decision_function(X), dtype=np.float64).reshape(1, -1), 0.0
    return scores_of_predictions(np.asarray(predict(X)).ravel(), task), 0.5


def judged_scores(model: Any, X: Any, task: Task, name: str) -> tuple[Array, Array]:
    """Return scores less the model's own cut-off, which rank rows, and those that decide; both (K, n).

    They are the same, unless ``predict`` does not follow the scores: a model with a tuned threshold decides otherwise
    than its probabilities do at one half, and its decisions then stand in the place of scores.
    """
    scores, own = scores_of(model, X, task, name)
    scores = scores - own if task.kind == "binary" else scores
    if task.kind == "regression" or not hasattr(model, "predict_proba") or not hasattr(model, "predict"):
        return scores, scores
    labels = np.asarray(model.predict(X)).ravel()
    if not np.isin(labels, np.asarray(task.classes)).all():  # some name classes otherwise in predict: True as "True"
        return scores, scores
    codes = encode_labels(labels, task)
    if np.array_equal(codes, decide(scores[None], task)[0]):
        return scores, scores
    return scores, np.eye(len(task.classes))[codes].T if task.kind == "multiclass" else codes[None] - 0.5


def scores_of_predictions(found: NDArray[Any], task: Task, what: str = "y") -> Array:
    """Return predicted classes as scores (K, n); numbers that are no labels of two classes are scores already."""
    if task.kind == "multiclass":
        return np.asarray(np.eye(len(task.classes))[encode_labels(found, task, what)].T)
    if found.dtype.kind in "fiu" and not np.isin(found, np.asarray(task.classes)).all():
        return as_numbers(found, "scores")[None]
    return encode_labels(found, task, what).astype(np.float64)[None]
