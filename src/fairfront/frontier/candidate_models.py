"""Candidates of a person's own: models of any kind, or scores of fixed rows, and how scores are read from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..measures.evaluation import decide
from ..objectives import Array, Attribute, Task
from ..validation import as_native, as_numbers, check_labels, counted, shape_of
from .held_rows import encode_labels
from .models import Models, Places, Stored, read_estimators, task_content, task_of, write_estimators


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
        """Return some of the candidates."""
        models = tuple(self.models[i] for i in places) if self.models else ()
        return replace(self, names=tuple(self.names[i] for i in places), models=models)

    def build(self, place: int) -> Any:
        """Return the model that was given."""
        if not self.models:
            raise InputError(f"{self.names[place]!r} was given as scores, expected models; use Frontier.from_models.")
        return self.models[place]

    def scores(self, X: Any) -> Array:
        """Return the scores of all models less the cut-offs that are their own, (N, K, n): they decide as they do."""
        return self._read(X, judged_scores)[1]

    def judged(self, X: Any, attributes: Sequence[Attribute] = ()) -> tuple[Array, NDArray[Any]]:
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

    def write(self, folder: Path) -> Stored:
        """Write every model into a file, or just the names of what was given as scores."""
        content = {"task": task_content(self.task), "names": self.names}
        return Stored(content, {}, write_estimators(self.models, folder))

    @classmethod
    def read(cls, stored: Stored, folder: Path, trusted: Sequence[str]) -> CandidateModels:
        """Return the models, all of their types trusted, or the names alone."""
        content = stored.content
        models = read_estimators(stored.files, folder, trusted)
        return cls(task_of(content["task"]), tuple(content["names"]), models)


def scores_of(model: Any, X: Any, task: Task, name: str) -> tuple[Array, float]:
    """Return scores (K, n) and the cut-off above which, for two classes, the model decides for the second.

    A model is anything with ``predict_proba``, ``decision_function`` or ``predict``, or a function of X that
    returns labels, probabilities of the second class, or predictions.
    """
    if task.kind == "regression":
        predict = getattr(model, "predict", model)
        return np.asarray(predict(X), dtype=np.float64).reshape(1, -1), 0.0
    if hasattr(model, "predict_proba"):
        return _of_probabilities(np.asarray(model.predict_proba(X), dtype=np.float64), model, task, name), 0.5
    if hasattr(model, "decision_function") and task.kind == "binary":
        _check_classes(model, task, name)
        return np.asarray(model.decision_function(X), dtype=np.float64).reshape(1, -1), 0.0
    return _of_predictions(np.asarray(getattr(model, "predict", model)(X)), task), 0.5


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
    decided = scores_of_labels(labels, task)
    if task.kind == "multiclass":
        return scores, scores if np.array_equal(decided.argmax(axis=0), scores.argmax(axis=0)) else decided
    return scores, scores if np.array_equal(decided[1] > 0, scores[0] > 0) else decided[1:] - 0.5


def _of_probabilities(found: Array, model: Any, task: Task, name: str) -> Array:
    if found.ndim == 1 and task.kind == "binary":
        return found[None]
    places = _check_classes(model, task, name)
    if found.ndim != 2 or found.shape[1] != len(task.classes):
        raise InputError(f"{name!r} gives probabilities {found.shape}, expected (n, {len(task.classes)}).")
    return found[:, [places[1]]].T if task.kind == "binary" else found[:, places].T


def _check_classes(model: Any, task: Task, name: str) -> list[int]:
    """Return the place of each class among the model's own."""
    known = list(getattr(model, "classes_", task.classes))
    missing = [label for label in task.classes if label not in known]
    if missing or len(known) != len(task.classes):
        raise InputError(f"{name!r} knows the classes {known}, expected those of y: {list(task.classes)}.")
    return [known.index(label) for label in task.classes]


def _of_predictions(found: NDArray[Any], task: Task) -> Array:
    if task.kind == "multiclass":
        return scores_of_labels(found.ravel(), task)
    return numbers_of(found.ravel(), task)[None]


def named_scores(scores: Any) -> dict[str, Any]:
    """Return candidates by name: of a mapping, of a frame's columns, or numbered along the first axis of an array."""
    native = as_native(scores, "scores")
    if isinstance(native, nw.DataFrame):
        scores = {column.name: column.to_numpy() for column in native.iter_columns()}
    elif not isinstance(scores, Mapping):
        shape = shape_of(scores, "scores")
        rows = np.asarray(scores)[None] if len(shape) == 1 else np.asarray(scores) if shape else ()
        scores = {f"model {i}": row for i, row in enumerate(rows)}
    if not scores or not all(shape_of(given, f"scores of {name!r}") for name, given in scores.items()):
        raise InputError(f"scores is {type(scores).__name__} without rows, expected at least one candidate (n,).")
    return {str(name): given for name, given in scores.items()}


def given_scores(given: Any, n: int, task: Task, name: str) -> Array:
    """Return one candidate's scores (K, n) from decisions, one score per row, or one column of scores per class."""
    what = f"scores of {name!r}"
    if np.ndim(given) == 2 and np.shape(given)[1] > 1:
        return _of_columns(as_numbers(given, what), n, task, what)
    values = check_labels(given, n, what, "the first")
    if task.kind == "regression":
        return as_numbers(values, what)[None]
    return scores_of_labels(values, task, what) if task.kind == "multiclass" else numbers_of(values, task, what)[None]


def _of_columns(matrix: Array, n: int, task: Task, what: str) -> Array:
    """Return scores given as one column per class; of two classes the second's."""
    K = len(task.classes)
    if task.kind == "regression" or matrix.shape != (n, K):
        expected = f"({n},)" if task.kind == "regression" else f"({n},), or ({n}, {K}) with one column per class"
        raise InputError(f"{what} have shape {matrix.shape}, expected {expected}.")
    if not np.isfinite(matrix).all():
        raise InputError(f"{what} have NaN or infinity, expected a number for every row and class.")
    return matrix[:, 1:].T if task.kind == "binary" else matrix.T


def numbers_of(given: NDArray[Any], task: Task, what: str = "y") -> Array:
    """Return scores as they are, and decisions of two classes as 0 and 1, (n,)."""
    if given.dtype.kind in "fiu" and not np.isin(given, np.asarray(task.classes)).all():
        return as_numbers(given, "scores")
    return encode_labels(given, task, what).astype(np.float64)


def scores_of_labels(labels: NDArray[Any], task: Task, what: str = "y") -> Array:
    """Return one column of 0 and 1 per class, (K, n)."""
    codes = encode_labels(labels, task, what)
    return np.asarray(np.arange(len(task.classes))[:, None] == codes, dtype=np.float64)
