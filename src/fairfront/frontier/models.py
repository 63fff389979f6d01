"""Models of a frontier: what every kind of them can do, and how they are kept in files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..exceptions import InputError
from ..measures.cutoffs import OperatingPoint
from ..measures.decisions import decide
from ..objectives import Array, Attribute, Task, is_likelihood
from ..records import Record

Places = Sequence[int] | NDArray[np.intp]
FOLDER = "models"
"""Where models with files of their own lie in the folder of a saved frontier."""
MOST_CLASSES = 1_000_000
"""More classes than any task has."""


@dataclass(frozen=True, eq=False)
class Stored:
    """What models become in files: content for JSON, arrays, and names of files that were written into the folder."""

    content: dict[str, Any]
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    files: tuple[str, ...] = ()


class Models(Record, ABC):
    """N models of one kind, scored together and built one by one; a new kind is a class and a line in `store.MODELS`.

    ``names`` are those that a person gave. ``raw`` models take X as it comes, others a checked matrix. Models
    ``by_group`` have a cut-off of their own for every group, which `judged` needs to know.
    """

    raw: ClassVar[bool] = True
    by_group: ClassVar[bool] = False
    task: Task
    loss: str
    names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] | None = None

    @property
    def n_features(self) -> int | None:
        """None where it is not known."""
        return None

    @property
    def probable(self) -> NDArray[np.bool_]:
        """Tell which models give probabilities, (N,)."""
        return np.full(len(self), self.task.kind == "binary" and is_likelihood(self.loss))

    @property
    def weights(self) -> Array:
        """Return the weights (N, K, d) of linear models, the intercept last."""
        raise InputError("this needs a frontier of linear models that was traced by fairfront.")

    @abstractmethod
    def __len__(self) -> int:
        """N."""

    @abstractmethod
    def take(self, places: Places) -> Models:
        """Return some of the models.

        Parameters
        ----------
        places : their rows, in the order in which they come back
        """

    @abstractmethod
    def build(self, place: int) -> Any:
        """Return one model as a stock scikit-learn estimator, or as what the user gave.

        Parameters
        ----------
        place : its row
        """

    @abstractmethod
    def scores(self, X: Any) -> Array:
        """Return the scores of all models, (N, K, n): above 0 decides for the second of two classes.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
        """

    def responses(self, X: Any) -> tuple[Array, Array]:
        """Return scores (N, 1, n), and what cut-offs are on, (N, n): the favourable label's probabilities, or scores.

        Parameters
        ----------
        X : as in `scores`
        """
        scores = self.scores(X)
        return scores, responses_of(scores[:, 0], self.task, self.probable)

    def judged(self, X: Any, attributes: Sequence[Attribute] = ()) -> tuple[Array, NDArray[Any]]:
        """Return scores that rank rows, (N, K, n), and what the models decide without a cut-off of ours, (N, n)."""
        scores = self.scores(X)
        return scores, decide(scores, self.task)

    def decisions(
        self, X: Any, operating: OperatingPoint | None, attributes: Sequence[Attribute] = ()
    ) -> tuple[Array, NDArray[Any]]:
        """Return scores and decisions as `judged` does, but at the cut-offs of an operating point if there is one."""
        if operating is None:
            return self.judged(X, attributes)
        scores, responses = self.responses(X)
        return scores, second_class(operating, responses, self.task)

    def _content(self, *names: str) -> dict[str, Any]:
        known = {name: getattr(self, name) for name in ("loss", "feature_names", "n_features", *names)}
        return {**known, "task": task_content(self.task)}

    def write(self, folder: Path) -> Stored:
        """Write what needs files of its own and return the rest; for kinds in `store.MODELS`.

        Parameters
        ----------
        folder : that of the frontier, which exists
        """
        raise NotImplementedError

    @classmethod
    def read(cls, stored: Stored, folder: Path, trusted: Sequence[str]) -> Models:
        """Return the models that `write` was called of.

        Parameters
        ----------
        stored : what `write` returned
        folder : that of the frontier
        trusted : types that estimators of others may have, besides those that skops trusts
        """
        raise NotImplementedError


def for_favourable(second: Array, task: Task, probability: NDArray[np.bool_]) -> Array:
    """Responses (N, n) of the second class turned to the favourable label."""
    if task.favourable == 1:
        return second
    return np.where(probability[:, None], 1.0 - second, -second)


def responses_of(scores: Array, task: Task, probability: NDArray[np.bool_]) -> Array:
    """What cut-offs are on, (N, n), of scores (N, n) that are log-odds where ``probability`` says so."""
    second = np.where(probability[:, None], expit(scores), scores)
    return for_favourable(second, task, probability)


def second_class(operating: OperatingPoint, responses: Array, task: Task) -> NDArray[np.bool_]:
    return np.asarray(operating.favoured(responses) == (task.favourable == 1))


def task_content(task: Task) -> dict[str, Any]:
    """Labels are text, numbers or booleans and come back as Python's."""
    return {"kind": task.kind, "classes": list(task.classes), "favourable": task.favourable}


def task_of(content: Mapping[str, Any]) -> Task:
    kind, classes, favourable = content["kind"], content["classes"], content["favourable"]
    few = {"regression": range(1), "binary": range(2, 3), "multiclass": range(3, MOST_CLASSES)}.get(kind)
    if few is None or not isinstance(classes, list) or len(classes) not in few:
        raise InputError(f"the task is {kind!r} with the classes {str(classes)[:80]}, expected as many as it has.")
    if type(favourable) is not int or favourable not in range(max(1, len(classes))):
        raise InputError(f"the favourable class is {favourable!r}, expected its place among {len(classes)} classes.")
    return Task(kind, tuple(classes), favourable)


def read_known(content: Mapping[str, Any]) -> dict[str, Any]:
    names = content["feature_names"]
    return {**content, "task": task_of(content["task"]), "feature_names": None if names is None else tuple(names)}
