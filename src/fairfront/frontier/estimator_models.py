"""Models that are estimators, fitted here; their files, and cut-offs of one."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from ..exceptions import FairfrontWarning, InputError
from ..measures.cutoffs import OperatingPoint
from ..objectives import Array, Task
from ..problems.learners import log_odds, output_of, probabilities_of, scores_of_learner
from ..storage.folders import make_folder
from ..storage.foreign import SUFFIX, check_trusted, read_estimator, write_estimator
from .models import FOLDER, Models, Places, Stored, read_known


@dataclass(frozen=True, eq=False, repr=False)
class EstimatorModels(Models):
    """N fitted estimators."""

    models: tuple[Any, ...]
    task: Task
    loss: str
    feature_names: tuple[str, ...] | None = None
    n_features: int | None = None

    def __len__(self) -> int:
        return len(self.models)

    def take(self, places: Places) -> EstimatorModels:
        return replace(self, models=tuple(self.models[place] for place in places))

    def build(self, place: int) -> Any:
        return self.models[place]

    def scores(self, X: Any) -> Array:
        return np.stack([scores_of_learner(model, X, self.task, self.loss) for model in self.models])

    @property
    def probable(self) -> NDArray[np.bool_]:
        return np.full(len(self), output_of(self.build(0), self.task, self.loss) == "probability")

    def responses(self, X: Any) -> tuple[Array, Array]:
        """Probabilities are the learner's own, to the last digit: trees give few different ones."""
        if output_of(self.build(0), self.task, self.loss) == "label":
            raise InputError(
                f"{type(self.build(0)).__name__} gives decisions and no scores, expected predict_proba or "
                "decision_function for an operating point; leave it out, or wrap it in CalibratedClassifierCV."
            )
        if not self.probable.all():
            return super().responses(X)
        return _responses([probabilities_of(model, X, self.task) for model in self.models], self.task)

    def write(self, folder: Path) -> Stored:
        return Stored(self._content(), {}, write_estimators(self.models, folder))

    @classmethod
    def read(cls, stored: Stored, folder: Path, trusted: Sequence[str]) -> EstimatorModels:
        return cls(models=read_estimators(stored.files, folder, trusted), **read_known(stored.content))


def _responses(probabilities: Sequence[Array], task: Task) -> tuple[Array, Array]:
    """Log-odds (N, 1, n), and the probabilities of the favourable label, (N, n)."""
    favourable = np.stack([1.0 - each[:, 1] if task.favourable == 0 else each[:, 1] for each in probabilities])
    return np.stack([log_odds(each) for each in probabilities]), favourable


def write_estimators(models: Sequence[Any], folder: Path) -> tuple[str, ...]:
    files = tuple(f"{FOLDER}/{place}{SUFFIX}" for place in range(len(models)))
    if files:
        make_folder(folder / FOLDER)
    for name, model in zip(files, models, strict=True):
        write_estimator(folder / name, model)
    return files


def read_estimators(files: Sequence[str], folder: Path, trusted: Sequence[str]) -> tuple[Any, ...]:
    """When types are not trusted, those of all files are named at once."""
    if files:
        check_trusted(folder / FOLDER, trusted)
    return tuple(read_estimator(folder / name, trusted) for name in files)


def at_cutoff(model: Any, operating: OperatingPoint | None, place: int, task: Task) -> Any:
    """Return a fitted model that decides at its cut-off: scikit-learn's own wrapper, its probabilities as they were.

    The model comes back as it is without an operating point and, with a warning, where it is a module that gives
    scores and decides nothing.
    """
    if operating is None:
        return model
    from sklearn.model_selection import FixedThresholdClassifier  # a large module, needed here alone

    cutoff = float(operating.cutoffs[place])
    what, method = ("probability", "predict_proba") if operating.probability[place] else ("score", "decision_function")
    if not hasattr(model, "predict"):
        warnings.warn(
            f"{type(model).__name__} gives scores and decides nothing: compare the {what} of "
            f"{task.favourable_label!r} with the cut-off {cutoff:.6g} yourself.",
            FairfrontWarning,
            stacklevel=4,
        )
        return model
    if not is_classifier(model) or not hasattr(model, method):
        raise InputError(
            f"{type(model).__name__} has no {method}, or is not a classifier of scikit-learn, expected one that can "
            "decide at another cut-off; wrap it in one, or evaluate without an operating point."
        )
    found = FixedThresholdClassifier(model, threshold=cutoff, pos_label=task.favourable_label, response_method=method)
    found.estimator_ = model  # as after fit, which would train the model again
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(found, name, getattr(model, name))
    return found
