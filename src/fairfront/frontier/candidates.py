"""Candidates: models or scores that a person brings, with the same dominance and selection as traced ones.

Their axes are figures of decisions on the rows given (error and worst rate gap), not training losses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, get_args

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..measures import Evaluation
from ..measures.figures import Column
from ..measures.operating_points import Operating
from ..objectives import (
    NOTIONS,
    Array,
    Attribute,
    Groups,
    Task,
    check_groups,
    proxy_sentences,
    rates_of,
    take_groups,
    warn_of_proxies,
)
from ..objectives.question import TaskName
from ..pareto import nondominated
from ..solvers import Status
from ..validation import (
    as_native,
    as_numbers,
    check_choice,
    check_favourable,
    check_labels,
    check_names,
    check_rows,
    check_text,
    check_weights,
    find_classes,
    refuse,
    shape_of,
    shown,
    weighted_rows,
)
from .cutoffs import asked_of, responses_of
from .estimator_models import CandidateModels, scores_of_predictions
from .frontier import Frontier
from .judgement import HeldRows
from .models import Models
from .points import DECISION, UNITS, Facts, Points


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
        labels = check_labels(y, n)
        if self.task == "regression":
            return Task("regression"), as_numbers(labels, "y")
        classes, codes = find_classes(labels)
        place = check_favourable(self.favourable, classes)
        return Task("binary" if len(classes) == 2 else "multiclass", tuple(classes), place), codes

    def rule(self, models: Models) -> Any:
        """None for 0.5."""
        return asked_of(Operating(self.cutoff, self.approval_rate, self.costs), {}, self.name, None, models)


def from_models(models: Mapping[str, Any], X: Any, y: Any, *, sensitive_features: Any, **options: Any) -> Frontier:
    if not isinstance(models, Mapping) or not models:
        raise InputError(f"models is {type(models).__name__}, expected a mapping of names to fitted models.")
    for name, model in models.items():
        if isinstance(model, type) or not (hasattr(model, "predict") or callable(model)):
            raise refuse(f"model {name!r}", model, "a fitted model with predict, or a function of X")
    known = Options.of(options)
    task, labels = known.read(y, check_rows(X))
    given = CandidateModels(task, tuple(map(str, models)), tuple(models.values()))
    rule = known.rule(given)
    if rule is None:
        return _frontier(given, known, labels, sensitive_features, *given.judged(X))
    scores, responses = responses_of(given, X)
    return _frontier(given, known, labels, sensitive_features, scores, responses, rule, probability=given.probable)


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
    if rule is not None:  # scores are cut as they are, on the side that the favourable label is on
        side = "above" if task.favourable == 1 else "below"
        cut: dict[str, Any] = {"probability": probability, "side": side}
        return _frontier(names, known, labels, sensitive_features, values, values[:, 0], rule, **cut)
    if task.kind == "binary" and not probability.all():
        i = int(np.argmin(probability))
        raise InputError(
            f"scores of {names.names[i]!r} run from {low[i]:g} to {high[i]:g} and are not probabilities (0 to 1), "
            "expected a cut-off; give cutoff=, approval_rate= or costs=."
        )
    return _frontier(names, known, labels, sensitive_features, values - 0.5 if task.kind == "binary" else values)


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


def _frontier(
    models: CandidateModels,
    options: Options,
    labels: NDArray[Any],
    sensitive_features: Any,
    scores: Array,
    second: Any = None,
    rule: Any = None,
    **known: Any,
) -> Frontier:
    """Judge scores (N, K, n); ``second`` (N, n) are decisions or, with a rule, what its cut-offs are put on."""
    warn_of_proxies(sensitive_features, stacklevel=5)
    weight = check_weights(options.sample_weight, len(labels))
    rows = weighted_rows(weight)
    if rows is not None and weight is not None:
        sensitive_features = take_groups(sensitive_features, rows, len(labels))
        scores, labels, weight = scores[:, :, rows], labels[rows], weight[rows]
        second = None if second is None else second[:, rows]
    attributes = (options.groups or Groups()).resolve(sensitive_features, len(labels))
    held = HeldRows(None, labels, attributes, weight)
    if rule is None:
        record = held.judge(models.task, options.name, scores, second)
    else:
        record = held.judge_at(models.task, scores, second, rule, placed_on=options.name, **known)
    notions, given = check_names(options.notion, "notion"), options.favourable is not None
    return judged_frontier(models, record, attributes, notions, favourable_was_given=given)


def judged_frontier(
    models: Models, record: Evaluation, attributes: tuple[Attribute, ...], notions: tuple[str, ...], **known: Any
) -> Frontier:
    """``known`` are further fields of the frontier's facts."""
    task, points = models.task, judged_points(record, models.task, notions)
    groups = Facts.of_groups(attributes)
    facts = Facts(
        task=task,
        notions=notions,
        sentences=(*(NOTIONS[notion]().sentence(task) for notion in notions), *proxy_sentences(groups["proxies"])),
        surrogate=DECISION,
        loss=points.objective_names[0],
        gap="absolute",
        ridge=0.0,
        unit="value gap" if task.kind == "regression" else UNITS[DECISION],
        measured_on=record.name,
        **groups,
        **{"solver": "given by the user", "used_for": "evaluation; nothing was trained here", **known},
    )
    return Frontier(models, points, facts, {record.name: record})


def judged_points(record: Evaluation, task: Task, notions: tuple[str, ...]) -> Points:
    """Objectives are the error and, per notion, the worst gap of its rates over all attributes."""
    best, gaps = "mse" if task.kind == "regression" else "error", []
    known = [name for name in NOTIONS if task.kind in NOTIONS[name].kinds]
    for notion in notions:
        if notion not in known:
            raise InputError(f"notion is {shown(notion)}, expected one of {', '.join(known)} for {task.kind} labels.")
        wanted = [f"{rate}_gap" for rate in rates_of((notion,), task)]
        found = [values for name, values in record.columns.items() if Column.of(name).kind in wanted]
        gaps.append(np.fmax.reduce(np.stack(found), axis=0))
    worst = np.column_stack(gaps)
    axes = np.column_stack([record.columns[best], worst])
    efficient = nondominated(np.where(np.isnan(axes), np.inf, axes))
    status = tuple(Status.GIVEN if good else Status.DOMINATED for good in efficient)
    return Points.new(axes, worst, worst, (best, *notions), status)
