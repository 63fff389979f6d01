"""Candidates: models or scores that a person brings, with the same dominance and selection as traced ones.

Their axes are figures of decisions on the rows given (error and worst rate gap), not training losses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, get_args

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled, spelling
from ..measures import Evaluation
from ..measures.cutoffs import Operating, Side
from ..measures.decisions import decide
from ..measures.notion_figures import figures_of, with_figures
from ..objectives import Array, Attribute, Groups, Task, check_groups, warn_of_proxies
from ..objectives.question import TaskName, read_classes
from ..validation import check_choice, check_names, check_text, counted, refuse
from ..validation.inputs import as_native, as_numbers, check_labels, check_rows, shape_of
from .estimator_models import read_estimators, write_estimators
from .frontier import Frontier
from .judgement import HeldRows, asked_of, encode_labels
from .models import Models, Places, Stored, for_favourable, task_content, task_of
from .points import Facts, Points


@dataclass(frozen=True, eq=False, repr=False)
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
        return found - own[:, None, None], for_favourable(found[:, 0], self.task, self.probable)

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
    given = scores_of_predictions(labels, task) - (0.5 if task.kind == "binary" else 0.0)
    alike = np.array_equal(decide(given[None], task), decide(scores[None], task))
    return scores, scores if alike else given


def scores_of_predictions(found: NDArray[Any], task: Task, what: str = "y") -> Array:
    """Return predicted classes as scores (K, n); numbers that are no labels of two classes are scores already."""
    if task.kind == "multiclass":
        return np.asarray(np.eye(len(task.classes))[encode_labels(found, task, what)].T)
    if found.dtype.kind in "fiu" and not np.isin(found, np.asarray(task.classes)).all():
        return as_numbers(found, "scores")[None]
    return encode_labels(found, task, what).astype(np.float64)[None]


@dataclass(frozen=True)
class Options:
    """What else may be said of candidates: the notion(s) of the second axis, labels, groups, weights, cut-offs."""

    notion: str | tuple[str, ...] = "equal_opportunity"
    name: str = "validation"
    favourable: Any = None
    groups: Groups | None = None
    sample_weight: Any = None
    task: str = "classification"
    cutoff: float | None = None
    approval_rate: float | None = None
    costs: Mapping[str, float] | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Options:
        names = [each.name for each in fields(cls)]
        unknown = [name for name in given if name not in names]
        if unknown:
            raise InputError(f"unknown option {unknown[0]!r}, expected one of {', '.join(names)}.")
        options = cls(**given)
        if not check_names(options.notion, "notion"):
            raise InputError("notion is empty, expected at least one notion.")
        check_text(options.name, "name", "the name of the evaluation")
        check_groups(options.groups)
        check_choice(options.task, "task", get_args(TaskName))
        return options

    def read(self, y: Any, n: int) -> tuple[Task, NDArray[Any]]:
        """Also return the codes of labels, or their values, (n,)."""
        labels = check_labels(y, n, like=spelled("X"))
        if self.task == "regression":
            return Task("regression"), as_numbers(labels, "y")
        return read_classes(labels, self.favourable)

    def held(self, X: Any, labels: NDArray[Any], sensitive_features: Any) -> HeldRows:
        warn_of_proxies(sensitive_features, stacklevel=5)
        return HeldRows.of(X, labels, sensitive_features, self.sample_weight, (self.groups or Groups()).resolve)

    def frontier(self, models: Models, held: HeldRows, record: Evaluation, responses: Callable[[], Array]) -> Frontier:
        notions, given = check_names(self.notion, "notion"), self.favourable is not None
        record = held.with_scores(record, notions, models.task, responses)
        return judged_frontier(models, held, record, notions, favourable_was_given=given)

    def rule(self, models: Models) -> Any:
        """None for 0.5."""
        return asked_of(Operating(self.cutoff, self.approval_rate, self.costs), {}, self.name, None, models)


def from_models(models: Mapping[str, Any], X: Any, y: Any, *, sensitive_features: Any, **options: Any) -> Frontier:
    if not isinstance(models, Mapping) or not models:
        found = "empty" if isinstance(models, Mapping) else type(models).__name__
        raise InputError(f"models is {found}, expected a mapping of names to fitted models.")
    for name, model in models.items():
        if isinstance(model, type) or not (hasattr(model, "predict") or callable(model)):
            raise refuse(f"model {name!r}", model, "a fitted model with predict, or a function of X")
    known = Options.of(options)
    task, labels = known.read(y, check_rows(X))
    given = CandidateModels(task, tuple(map(str, models)), tuple(models.values()))
    rule, held = known.rule(given), known.held(X, labels, sensitive_features)
    record = held.judge_models(given, known.name, rule)
    return known.frontier(given, held, record, lambda: given.responses(held.X)[1])


@spelling({"X": "scores"})  # there are no features
def from_scores(scores: Any, y: Any, *, sensitive_features: Any, **options: Any) -> Frontier:
    native = as_native(scores, "scores")
    if isinstance(native, nw.DataFrame):
        scores = {column.name: column.to_numpy() for column in native.iter_columns()}
    elif not isinstance(scores, Mapping):
        shape = shape_of(scores, "scores")
        rows = np.asarray(scores)[None] if len(shape) == 1 else np.asarray(scores) if shape else ()
        scores = {f"model {i}": row for i, row in enumerate(rows)}
    if not scores or not all(shape_of(given, f"scores of {name!r}") for name, given in scores.items()):
        raise InputError(f"scores is {type(scores).__name__} without rows, expected at least one candidate (n,).")
    known = Options.of(options)
    n = len(next(iter(scores.values())))
    task, labels = known.read(y, n)
    names = CandidateModels(task, tuple(map(str, scores)))
    rule = known.rule(names)
    values = np.stack([_given(each, n, task, f"scores of {str(name)!r}") for name, each in scores.items()])
    low, high = values.min(axis=(1, 2)), values.max(axis=(1, 2))
    probability = (low >= 0.0) & (high <= 1.0)
    if rule is None and task.kind == "binary" and not probability.all():
        i = int(np.argmin(probability))
        raise InputError(
            f"scores of {names.names[i]!r} run from {low[i]:g} to {high[i]:g} and are not probabilities (0 to 1), "
            "expected a cut-off; give cutoff=, approval_rate= or costs=."
        )
    held = known.held(np.arange(n), labels, sensitive_features)
    values = values[:, :, held.X]
    if rule is None:
        record = held.judge(task, known.name, values - 0.5 if task.kind == "binary" else values)
    else:  # scores are cut as they are, on the side that the favourable label is on
        side: Side = "above" if task.favourable == 1 else "below"
        record = held.judge_at(task, known.name, values, values[:, 0], rule, probability, side)
    return known.frontier(names, held, record, lambda: for_favourable(values[:, 0], task, probability))


def _given(given: Any, n: int, task: Task, what: str) -> Array:
    """Scores (K, n) from decisions, one score per row, or one column of scores per class."""
    if np.ndim(given) == 2 and np.shape(given)[1] > 1:
        matrix, K = as_numbers(given, what), len(task.classes)
        if task.kind == "regression" or matrix.shape != (n, K):
            expected = f"({n},)" if task.kind == "regression" else f"({n},), or ({n}, {K}) with one column per class"
            raise InputError(f"{what} have shape {matrix.shape}, expected {expected}.")
        if not np.isfinite(matrix).all():
            raise InputError(f"{what} have NaN or infinity, expected a number for every row and class.")
        return matrix[:, 1:].T if task.kind == "binary" else matrix.T
    values = check_labels(given, n, what, "the first")
    return as_numbers(values, what)[None] if task.kind == "regression" else scores_of_predictions(values, task, what)


def judged_frontier(
    models: Models, held: HeldRows, record: Evaluation, notions: tuple[str, ...], **known: Any
) -> Frontier:
    """``known`` are further fields of the frontier's facts."""
    record = with_figures(record, figures_of(notions, models.task), models.task.favourable)
    points = Points.of_record(record, models.task, notions)
    facts = Facts.of_record(record, models.task, notions, held.attributes, **known)
    return Frontier(models, points, facts, {record.name: record})
