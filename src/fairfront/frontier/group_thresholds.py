"""Group thresholds on one model of a frontier, for people who may use the group at prediction time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..measures import evaluate_scores
from ..objectives import Array, Attribute, Task
from ..validation import MOST_POINTS, as_columns, check_count, check_text, factorize, shown
from .candidates import judged_frontier
from .estimator_models import scores_of
from .frontier import Frontier
from .judgement import held_rows
from .models import Models, Places
from .points import Facts
from .selection import plain_place
from .threshold_curve import by_threshold, threshold_curve

NEEDS = "every prediction needs the person's group"


@dataclass(frozen=True, eq=False)
class GroupThresholdModel:
    """One model with one cut-off per group; `predict` needs the group and gives the same answer every time.

    ``cutoffs`` maps groups to what scores, turned to the favourable label and less the model's own cut-off, must
    exceed. People whose group is missing or unknown are decided by the model's own cut-off.
    """

    model: Any
    task: Task
    attribute: str
    cutoffs: dict[str, float]

    @property
    def classes_(self) -> NDArray[Any]:
        """Return the labels that `predict` gives."""
        return np.asarray(self.task.classes)

    def predict(self, X: Any, *, sensitive_features: Any) -> NDArray[Any]:
        """Decide for every row by its group's cut-off."""
        scores = favourable_scores(self.model, X, self.task)
        names = _names(sensitive_features, len(scores))
        favourable = scores > np.array([self.cutoffs.get(name, 0.0) for name in names])
        good = self.task.favourable
        return self.classes_[np.where(favourable, good, 1 - good)]


@dataclass(frozen=True, eq=False)
class ThresholdModels(Models):
    """N settings of group thresholds, (N, c) cut-offs, on one model; decisions exist only together with groups."""

    by_group = True
    loss = "error"

    model: Any
    task: Task
    attribute: str
    levels: tuple[str, ...]
    cutoffs: Array

    def __len__(self) -> int:
        return len(self.cutoffs)

    def take(self, places: Places) -> ThresholdModels:
        """Return some of the settings."""
        return replace(self, cutoffs=self.cutoffs[np.asarray(places)])

    def build(self, place: int) -> GroupThresholdModel:
        """Return the model with the thresholds of a place."""
        named = dict(zip(self.levels, self.cutoffs[place].tolist(), strict=True))
        return GroupThresholdModel(self.model, self.task, self.attribute, named)

    def scores(self, X: Any) -> Array:
        """Refuse: without groups there are no decisions."""
        raise InputError(f"{NEEDS}, and X alone was given; use front.evaluate(X, y, sensitive_features=...).")

    def judged(self, X: Any, attributes: Sequence[Attribute] = ()) -> tuple[Array, NDArray[Any]]:
        """Return the scores of the one model, which all settings cut, (N, 1, n), and what each decides, (N, n)."""
        if not attributes:
            return super().judged(X)
        codes = _codes(single_attribute(attributes), self.levels)
        scores = favourable_scores(self.model, X, self.task)
        cut = np.column_stack([self.cutoffs, np.zeros(len(self))])
        favourable = scores[None] > cut[:, codes]
        ranking = scores if self.task.favourable == 1 else -scores
        return np.repeat(ranking[None, None], len(self), axis=0), favourable == (self.task.favourable == 1)


def postprocess_frontier(
    front: Frontier,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    allow_group_at_prediction: bool = False,
    notion: str | None = None,
    id: int | None = None,
    n_points: int | None = 50,
    sample_weight: Any = None,
    name: str = "thresholds",
) -> Frontier:
    """Return the frontier of group thresholds on one model: exact between error and the worst rate gap.

    Parameters
    ----------
    front : Frontier
        Where the model comes from; models of any kind come in by `Frontier.from_models`.
    X, y, sensitive_features, sample_weight
        Rows to place the thresholds on, best rows that the model was not trained on. One sensitive column.
    allow_group_at_prediction : bool
        Has to be True: the models that come back decide by the group of the person.
    notion : str, optional
        ``equal_opportunity``, ``predictive_equality``, ``demographic_parity`` or ``equalized_odds``; by default the
        frontier's. A gap of 0 is always reachable (decide alike for everybody); how much error that costs depends.
        Equalized odds without random decisions asks one threshold per group to bring two rates together, so between
        plain thresholds and a gap of 0 there may be few points, and the error near 0 may be that of a constant.
    id : int, optional
        The point of the frontier to post-process; by default the one with the smallest loss.
    n_points : int, optional
        Most points to return, spaced evenly in the gap; None returns every point of the frontier.
    """
    if allow_group_at_prediction is not True:
        raise InputError(
            f"thresholds by group mean that {NEEDS}, and allow_group_at_prediction is "
            f"{allow_group_at_prediction!r}; expected True, once it is clear that the group may be used for "
            "decisions; otherwise choose a model of the frontier itself, which never needs it."
        )
    task, chosen = front.facts.task, _notion(front.facts, notion)
    count = None if n_points is None else check_count(n_points, "n_points", least=2, most=MOST_POINTS)
    check_text(name, "name", "the name of the evaluation")
    held = held_rows(front, X, y, sensitive_features, sample_weight, as_given=True)
    attribute, X = single_attribute(held.attributes), held.X
    model = front.models.build(front.place(id) if id is not None else plain_place(front))
    good, codes = held.labels == task.favourable, _codes(attribute, attribute.levels)
    scores = favourable_scores(model, X, task)
    curve = threshold_curve(scores, good, codes, len(attribute.levels), chosen, count, held.weight)
    models = ThresholdModels(model, task, attribute.name, attribute.levels, curve.cutoffs)
    ranking, decided = models.judged(X, held.attributes)
    known: dict[str, Any] = {"name": name, "sample_weight": held.weight, "decided": decided}
    record = evaluate_scores(ranking, held.labels, task, held.attributes, **known)
    made = {"used_for": f"evaluation and decisions: {NEEDS}", "solver": "group thresholds"}
    return judged_frontier(models, record, held.attributes, (chosen,), **made)


def favourable_scores(model: Any, X: Any, task: Task) -> Array:
    """Return scores less the model's own cut-off, turned so that higher ones speak for the favourable label, (n,)."""
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X), dtype=np.float64).reshape(-1)
    else:
        found, own = scores_of(model, X, task, type(model).__name__)
        scores = found[0] - own
    return scores if task.favourable == 1 else -scores


def _notion(facts: Facts, notion: str | None) -> str:
    if facts.task.kind != "binary":
        raise InputError(f"labels are {facts.task.kind}, expected two classes; thresholds decide between two.")
    chosen = facts.notions[0] if notion is None else notion
    if not isinstance(chosen, str) or chosen not in by_threshold():
        raise InputError(
            f"notion is {shown(chosen)}, expected one of {', '.join(by_threshold())} for group thresholds."
        )
    return chosen


def single_attribute(attributes: Sequence[Attribute]) -> Attribute:
    """Return the one attribute that thresholds are set for."""
    if len(attributes) != 1 or attributes[0].codes is None:
        found = f"{len(attributes)} sensitive columns" if len(attributes) > 1 else "probabilities of groups"
        raise InputError(f"found {found}, expected one column of groups; thresholds are set for one of them at a time.")
    return attributes[0]


def _codes(attribute: Attribute, levels: tuple[str, ...]) -> NDArray[np.intp]:
    """Return the place of every row's group in ``levels``, -1 for groups that are not among them."""
    place = [levels.index(level) if level in levels else -1 for level in attribute.levels]
    assert attribute.codes is not None
    return np.array([*place, -1], dtype=np.intp)[attribute.codes]


def _names(sensitive_features: Any, n: int) -> list[str]:
    columns = as_columns(sensitive_features, "sensitive_features", n=n)
    if len(columns) != 1:
        raise InputError(f"sensitive_features has {len(columns)} columns, expected one.")
    codes, found = factorize(next(iter(columns.values())))
    known = [*map(str, found), ""]
    return [known[code] for code in codes]
