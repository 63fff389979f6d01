"""Models of a frontier as files: one format for each kind of points, found by name in one registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Task
from ..problems.fits.posteriors import Guess, Posteriors
from ..problems.fits.scaling import Scaling
from ..registry import Registry
from ..storage.folders import make_folder
from ..storage.foreign import SUFFIX, check_trusted, read_estimator, write_estimator
from .candidate_points import CandidatePoints
from .estimator_points import EstimatorPoints
from .points import LinearPoints, Points
from .posterior_points import PosteriorPoints

MODELS = "models"
MOST = 1_000_000
"""More classes than any task has."""


@dataclass(frozen=True, eq=False)
class Stored:
    """What a kind of points becomes: content for JSON, arrays, and files that were written into the folder."""

    content: dict[str, Any]
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    files: tuple[str, ...] = ()


class PointsFormat(Protocol):
    """How one kind of points is written and read; a new kind is one class and one line in `POINTS`."""

    @property
    def points(self) -> type[Any]:
        """Return the class of points that it is for."""
        ...

    def write(self, points: Any, folder: Path) -> Stored:
        """Write what needs files of its own into the folder and return the rest."""
        ...

    def read(self, stored: Stored, folder: Path, trusted: Sequence[str]) -> Points:
        """Return the points; estimators of others are loaded only if their types are trusted."""
        ...


def task_content(task: Task) -> dict[str, Any]:
    """Return a task for JSON; labels are text, numbers or booleans and come back as Python's."""
    return {"kind": task.kind, "classes": list(task.classes), "favourable": task.favourable}


def task_of(content: dict[str, Any]) -> Task:
    """Return the task that `task_content` was given, or say what is not a task."""
    kind, classes, favourable = content["kind"], content["classes"], content["favourable"]
    few = {"regression": range(1), "binary": range(2, 3), "multiclass": range(3, MOST)}.get(kind)
    if few is None or not isinstance(classes, list) or len(classes) not in few:
        raise InputError(f"the task is {kind!r} with the classes {str(classes)[:80]}, expected as many as it has.")
    if type(favourable) is not int or favourable not in range(max(1, len(classes))):
        raise InputError(f"the favourable class is {favourable!r}, expected its place among {len(classes)} classes.")
    return Task(kind, tuple(classes), favourable)


def _fit_content(points: EstimatorPoints | PosteriorPoints) -> dict[str, Any]:
    """Return for JSON what points of both kinds of fits know."""
    return {
        "task": task_content(points.task),
        "loss": points.loss,
        "feature_names": None if points.feature_names is None else list(points.feature_names),
        "n_features": points.n_features,
    }


def _fit_facts(content: dict[str, Any]) -> dict[str, Any]:
    """Return what `_fit_content` was given, as points take it, and all that is kept beside it as it is."""
    names = content["feature_names"]
    read = {"task": task_of(content["task"]), "feature_names": None if names is None else tuple(names)}
    return {**content, **read}


def linear_points(arrays: Mapping[str, NDArray[Any]], d: int, **known: Any) -> LinearPoints:
    """Return linear models of d features that were stored, refusing coefficients that no trained model has."""
    points = LinearPoints(coef=arrays["coef"], intercept=arrays["intercept"], **known)
    N, names = len(points.coef), points.feature_names
    K = 1 if len(points.task.classes) <= 2 else len(points.task.classes)
    if names is not None and len(names) != d:
        raise InputError(f"there are {len(names)} names of features, expected {d}; save it again.")
    for name, expected in (("coef", (N, K, d)), ("intercept", (N, K))):
        found = arrays[name]
        if found.dtype.kind != "f" or found.shape != expected:
            raise InputError(
                f"{name} are {found.dtype} of shape {found.shape}, expected numbers of shape {expected}; save it again."
            )
        if not np.isfinite(found).all():
            raise InputError(f"{name} have infinite or missing numbers, expected finite ones; save it again.")
    return points


class LinearFormat:
    """Linear models: coefficients and intercepts are arrays, the rest is JSON."""

    points = LinearPoints

    def write(self, points: LinearPoints, folder: Path) -> Stored:
        """Return everything; there are no files."""
        content = {
            "task": task_content(points.task),
            "loss": points.loss,
            "ridge": points.ridge,
            "total": points.total,
            "fit_intercept": points.fit_intercept,
            "feature_names": None if points.feature_names is None else list(points.feature_names),
            "n_features": points.coef.shape[-1],
        }
        return Stored(content, {"coef": points.coef, "intercept": points.intercept})

    def read(self, stored: Stored, folder: Path, trusted: Sequence[str]) -> Points:
        """Return the models; nothing needs to be trusted."""
        known = dict(stored.content)
        names, d = known.pop("feature_names"), known.pop("n_features")
        return linear_points(
            stored.arrays,
            d,
            **{**known, "task": task_of(known["task"])},
            feature_names=None if names is None else tuple(names),
        )


class CandidateFormat:
    """A person's own models, each in a file of skops, or just the names of what was given as scores."""

    points = CandidatePoints

    def write(self, points: CandidatePoints, folder: Path) -> Stored:
        """Write every model into a file."""
        content = {"task": task_content(points.task), "names": list(points.names)}
        return Stored(content, {}, write_models(points.models, folder))

    def read(self, stored: Stored, folder: Path, trusted: Sequence[str]) -> Points:
        """Return the models, all of their types trusted, or the names alone."""
        content = stored.content
        return CandidatePoints(
            names=tuple(content["names"]),
            task=task_of(content["task"]),
            models=read_models(stored.files, folder, trusted),
        )


class EstimatorFormat:
    """Weighted fits of a user's learner, each in a file of skops; those not fitted yet are fitted first."""

    points = EstimatorPoints

    def write(self, points: EstimatorPoints, folder: Path) -> Stored:
        """Write every model into a file; the training rows that a later fit would need stay out."""
        content = {**_fit_content(points), "n_jobs": points.n_jobs}
        return Stored(content, {}, write_models([points.build(place) for place in range(len(points))], folder))

    def read(self, stored: Stored, folder: Path, trusted: Sequence[str]) -> Points:
        """Return the models, all of their types trusted."""
        models = dict(enumerate(read_models(stored.files, folder, trusted)))
        return EstimatorPoints(models=models, size=len(stored.files), **_fit_facts(stored.content))


class PosteriorFormat:
    """Weightings of one set of posteriors: its classifiers in files of skops, scalings and weights as arrays."""

    points = PosteriorPoints

    def write(self, points: PosteriorPoints, folder: Path) -> Stored:
        """Write every classifier once, however many points there are."""
        guesses = points.posteriors.guesses
        content = {**_fit_content(points), "models": [guess.model is not None for guess in guesses]}
        arrays: dict[str, NDArray[Any]] = {"weights": points.weights}
        for i, guess in enumerate(guesses):
            arrays[f"scaling_{i}"] = np.concatenate([[guess.scaling.slope], guess.scaling.bias])
            arrays[f"seen_{i}"] = guess.seen
        return Stored(content, arrays, write_models([g.model for g in guesses if g.model is not None], folder))

    def read(self, stored: Stored, folder: Path, trusted: Sequence[str]) -> Points:
        """Return the points, all types of their classifiers trusted."""
        known = _fit_facts(stored.content)
        models, arrays = iter(read_models(stored.files, folder, trusted)), stored.arrays
        label, *members = (
            Guess(
                next(models) if there else None,
                arrays[f"seen_{i}"],
                Scaling(float(arrays[f"scaling_{i}"][0]), arrays[f"scaling_{i}"][1:]),
            )
            for i, there in enumerate(known.pop("models"))
        )
        return PosteriorPoints(Posteriors(label, tuple(members)), arrays["weights"], **known)


def write_models(models: Sequence[Any], folder: Path) -> tuple[str, ...]:
    """Write estimators into files of the folder and return their names."""
    files = tuple(f"{MODELS}/{place}{SUFFIX}" for place in range(len(models)))
    if files:
        make_folder(folder / MODELS)
    for name, model in zip(files, models, strict=True):
        write_estimator(folder / name, model)
    return files


def read_models(files: Sequence[str], folder: Path, trusted: Sequence[str]) -> tuple[Any, ...]:
    """Return the estimators of files; when types are not trusted, those of all files are named at once."""
    if files:
        check_trusted(folder / MODELS, trusted)
    return tuple(read_estimator(folder / name, trusted) for name in files)


POINTS: Registry[PointsFormat] = Registry("kind of points")
POINTS.add("linear", LinearFormat())
POINTS.add("candidates", CandidateFormat())
POINTS.add("estimators", EstimatorFormat())
POINTS.add("posteriors", PosteriorFormat())

ROOMS = {"torch": "torch"}
"""Kinds of points that rooms above this one add when they are imported."""


def format_of(kind: str) -> PointsFormat:
    """Return the format of a kind, importing the room that adds it if that was not done yet."""
    if kind not in POINTS and kind in ROOMS:
        import_module(f"{__package__.partition('.')[0]}.{ROOMS[kind]}")
    return POINTS[kind]


def kind_of(points: Any) -> str:
    """Return the name of the format for these points."""
    for name in POINTS:
        if POINTS[name].points is type(points):
            return name
    raise InputError(
        f"points of type {type(points).__name__} cannot be saved, expected one of "
        f"{', '.join(POINTS[name].points.__name__ for name in POINTS)}; save its models one by one."
    )
