"""Candidates: models or scores that a person brings, with the same dominance and selection as traced ones.

Their axes are figures of decisions on the rows given (error and worst rate gap), not training losses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..measures import Evaluation, evaluate_scores
from ..measures.figures import Column
from ..measures.operating_points import Operating, OperatingPoint, Side
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
    shown,
    weighted_rows,
)
from .candidate_models import CandidateModels, given_scores, named_scores
from .cutoffs import asked_of, placed, responses_of, second_class
from .frontier import Frontier
from .models import Models
from .points import DECISION, UNITS, Facts, Points


def from_models(models: Mapping[str, Any], X: Any, y: Any, *, sensitive_features: Any, **options: Any) -> Frontier:
    """Judge models of any kind on the same rows; options are those of `Options`."""
    if not isinstance(models, Mapping) or not models:
        raise InputError(f"models is {type(models).__name__}, expected a mapping of names to fitted models.")
    for name, model in models.items():
        if isinstance(model, type) or not (hasattr(model, "predict") or callable(model)):
            raise refuse(f"model {name!r}", model, "a fitted model with predict, or a function of X")
    known = Options(**_known(options))
    task, labels = _task(y, check_rows(X), known)
    given = CandidateModels(task, tuple(map(str, models)), tuple(models.values()))
    rule = asked_of(known.operating, {}, known.name, None, given)
    if rule is None:
        ranking, decided = given.judged(X)
        return _frontier(given, ranking, labels, sensitive_features, known, decided=decided)
    scores, responses = responses_of(given, X)
    return _frontier(given, scores, labels, sensitive_features, known, Asked(rule, responses, given.probable))


def from_scores(scores: Any, y: Any, *, sensitive_features: Any, **options: Any) -> Frontier:
    """Judge scores or decisions of any origin on the same rows; options are those of `Options`."""
    named = named_scores(scores)
    known = Options(**_known(options))
    n = len(next(iter(named.values())))
    task, labels = _task(y, n, known)
    names = CandidateModels(task, tuple(named))
    rule = asked_of(known.operating, {}, known.name, None, names)
    values = np.stack([_values(v, n, task, name, rule is None) for name, v in named.items()])
    if rule is None:
        return _frontier(names, values - 0.5 if task.kind == "binary" else values, labels, sensitive_features, known)
    probability = np.array([0.0 <= each.min() <= each.max() <= 1.0 for each in values])
    side: Side = "above" if task.favourable == 1 else "below"
    return _frontier(names, values, labels, sensitive_features, known, Asked(rule, values[:, 0], probability, side))


@dataclass(frozen=True, eq=False)
class Asked:
    """A rule, what its cut-offs are put on (N, n), for which models these are probabilities, and the favourable side.

    Scores that a person gave are cut as they are, on the side that the favourable label is on.
    """

    rule: Operating | OperatingPoint
    responses: Array
    probability: NDArray[np.bool_]
    side: Side = "above"


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

    def __post_init__(self) -> None:
        check_names(self.notion, "notion")
        check_text(self.name, "name", "the name of the evaluation")
        check_groups(self.groups)
        check_choice(self.task, "task", get_args(TaskName))

    @property
    def operating(self) -> Operating:
        """Return the rule that places cut-offs."""
        return Operating(self.cutoff, self.approval_rate, self.costs)

    @property
    def notions(self) -> tuple[str, ...]:
        """Return the notions of the second axis and of those after it."""
        names = check_names(self.notion, "notion")
        if not names:
            raise InputError("notion is empty, expected at least one notion.")
        return names


def _known(options: Mapping[str, Any]) -> Mapping[str, Any]:
    names = [each.name for each in fields(Options)]
    unknown = [name for name in options if name not in names]
    if unknown:
        raise InputError(f"unknown option {unknown[0]!r}, expected one of {', '.join(names)}.")
    return options


def _task(y: Any, n: int, options: Options) -> tuple[Task, NDArray[Any]]:
    labels = check_labels(y, n)
    if options.task == "regression":
        return Task("regression"), as_numbers(labels, "y")
    classes, codes = find_classes(labels)
    place = check_favourable(options.favourable, classes)
    return Task("binary" if len(classes) == 2 else "multiclass", tuple(classes), place), codes


def _values(given: Any, n: int, task: Task, name: str, at_half: bool) -> Array:
    """Return one candidate's scores (K, n); scores that are not probabilities need a way to a cut-off."""
    scores = given_scores(given, n, task, name)
    low, high = scores.min(), scores.max()
    if task.kind == "binary" and at_half and not 0.0 <= low <= high <= 1.0:
        raise InputError(
            f"scores of {name!r} run from {low:g} to {high:g} and are not probabilities (0 to 1), expected a cut-off; "
            "give cutoff=, approval_rate= or costs=."
        )
    return scores


def _frontier(
    models: CandidateModels,
    scores: Array,
    labels: NDArray[Any],
    sensitive_features: Any,
    options: Options,
    asked: Asked | None = None,
    decided: NDArray[Any] | None = None,
) -> Frontier:
    warn_of_proxies(sensitive_features, stacklevel=5)
    weight = check_weights(options.sample_weight, len(labels))
    rows = weighted_rows(weight)
    if rows is not None and weight is not None:
        sensitive_features = take_groups(sensitive_features, rows, len(labels))
        scores, labels, weight = scores[:, :, rows], labels[rows], weight[rows]
        decided = None if decided is None else decided[:, rows]
    attributes = (options.groups or Groups()).resolve(sensitive_features, len(labels))
    operating = None
    if asked is not None:
        known = {"probability": asked.probability, "placed_on": options.name, "side": asked.side}
        responses = asked.responses if rows is None else asked.responses[:, rows]
        operating = placed(asked.rule, responses, labels == models.task.favourable, weight, **known)
        decided = second_class(operating, responses, models.task)
    record = evaluate_scores(
        scores, labels, models.task, attributes, name=options.name, sample_weight=weight, decided=decided
    )
    given = options.favourable is not None
    judged = replace(record, operating=operating)
    return judged_frontier(models, judged, attributes, options.notions, favourable_was_given=given)


def judged_frontier(
    models: Models, record: Evaluation, attributes: tuple[Attribute, ...], notions: tuple[str, ...], **known: Any
) -> Frontier:
    """Return models that an evaluation judged as a frontier; ``known`` are further fields of its facts."""
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
    """Return points whose objectives are figures of an evaluation: the error and the worst gap of each notion."""
    best = "mse" if task.kind == "regression" else "error"
    gaps = np.column_stack([notion_gap(record, task, notion) for notion in notions])
    axes = np.column_stack([record.columns[best], gaps])
    efficient = nondominated(np.where(np.isnan(axes), np.inf, axes))
    status = tuple(Status.GIVEN if good else Status.DOMINATED for good in efficient)
    return Points.new(axes, gaps, gaps, (best, *notions), status)


def notion_gap(record: Evaluation, task: Task, notion: str) -> Array:
    """Return a notion's worst gap of decisions over all attributes, (N,)."""
    known = [name for name in NOTIONS if task.kind in NOTIONS[name].kinds]
    if notion not in known:
        raise InputError(f"notion is {shown(notion)}, expected one of {', '.join(known)} for {task.kind} labels.")
    gaps = [f"{rate}_gap" for rate in rates_of((notion,), task)]
    found = [values for name, values in record.columns.items() if Column.of(name).kind in gaps]
    return np.asarray(np.fmax.reduce(np.stack(found), axis=0))
