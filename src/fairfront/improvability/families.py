"""Families of alternatives: each proposes models from the search rows alone; one judge compares them all.

A new family is one class and one line in `FAMILIES`.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from ..exceptions import FairfrontError, FairfrontWarning
from ..frontier.candidates import CandidateModels
from ..frontier.estimator_models import at_cutoff
from ..frontier.models import Models
from ..frontier.rate_frontier import Rates
from ..measures.cutoffs import Operating, OperatingPoint
from ..objectives import Array, Groups, Task
from ..solvers import Newton, Weighting
from ..tracing import trace
from ..validation import Registry
from ..validation.inputs import check_matrix, take_rows
from .estimates import Answers, Sample

Ints = NDArray[np.intp]
SHIFTS = (-0.05, -0.02, -0.01, 0.01, 0.02, 0.05)
"""By how much the share of approved people is moved where the incumbent's own cut-off is shifted."""
STRENGTHS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
DROPPED = 12
SEEDS = 6


@dataclass(frozen=True, eq=False)
class Data:
    """All rows, as families need them: features, labels, groups as columns, and what was given besides.

    ``incumbent`` are its answers on all rows, ``given`` those of a person's own candidates, by name. ``names`` say of
    every column of X to which column of a person's table it belongs; none where X is not a matrix.
    """

    X: Any
    y: NDArray[Any]
    columns: Mapping[str, NDArray[Any]]
    task: Task
    sample: Sample
    notions: tuple[str, ...]
    reference: Mapping[str, str]
    incumbent: Answers | None = None
    given: Mapping[str, tuple[Any, Answers]] | None = None
    names: tuple[str, ...] = ()

    def rows(self, places: Ints) -> dict[str, Any]:
        """Return what `fairfront.trace` takes of some rows, those with a label."""
        known = places[self.sample.known[places]]
        weight = self.sample.weight[known]
        return {
            "X": take_rows(self.X, known),
            "y": self.y[known],
            "sensitive_features": {name: each[known] for name, each in self.columns.items()},
            "sample_weight": None if (weight == 1.0).all() else weight,
            "favourable": self.task.favourable_label,
            "notion": list(self.notions),
            "groups": Groups(reference=dict(self.reference), min_size=2),
            "progress": False,
        }


@dataclass(frozen=True, eq=False)
class Found:
    """What a family proposes: settings of every model, and how they score any rows of the data.

    ``rates`` are the shares to be approved, None for that of the incumbent. ``build`` gives a fitted model that decides
    at a cut-off.
    """

    family: str
    settings: tuple[Mapping[str, Any], ...]
    responses: Callable[[Ints], Array]
    build: Callable[[int, float], Any]
    fits: int
    probability: bool = True
    rates: tuple[float | None, ...] | None = None
    models: Models | None = None
    """The models themselves, in the order of the settings; None of what cannot be written, such as scores."""


class Family(ABC):
    """A way to propose alternatives."""

    name: ClassVar[str]
    words: ClassVar[str]
    numeric: ClassVar[bool] = True
    """Whether X has to be a matrix of numbers."""
    eager: ClassVar[bool] = False
    """Whether its models fit the rows they have seen so well that they are compared on others, a third of them."""

    @abstractmethod
    def propose(self, data: Data, rows: Ints, rate: float, most: int, seed: int) -> Found | None:
        """Return models fitted on some rows, with at most so many fits; None where it has none to offer."""


def _of_models(family: str, data: Data, models: Models, settings: Sequence[Mapping[str, Any]], fits: int) -> Found:
    def responses(rows: Ints) -> Array:
        X = take_rows(data.X, rows)
        return models.responses(X if models.raw else check_matrix(X))[1]

    def build(place: int, cutoff: float) -> Any:
        probable = np.asarray(models.probable)[[place]]
        point = OperatingPoint(Operating(cutoff=cutoff), np.array([cutoff]), probable, "search")
        return at_cutoff(models.build(place), point, 0, models.task)

    return Found(family, tuple(settings), responses, build, fits, bool(np.all(models.probable)), models=models)


class Linear(Family):
    """The frontier of linear models between logistic loss and gaps of loss."""

    name, words = "linear", "linear models on the frontier between logistic loss and gaps of loss"
    points: ClassVar[int] = 12

    def propose(self, data: Data, rows: Ints, rate: float, most: int, seed: int) -> Found | None:
        if most < 2:
            return None
        front = trace(**data.rows(rows), n_points=min(self.points, most), solver=Newton(overshoot=0.5), held_out=False)
        settings = [{"loss_gap": round(float(gap), 4)} for gap in front.gaps.max(axis=1)]
        return _of_models(self.name, data, front.models, settings, len(front))


class RateRules(Family):
    """The frontier in rates: rules on posteriors of label and group."""

    name, words = "rates", "rules on posteriors of label and group, which guess the group from the features"
    points: ClassVar[int] = 12

    def propose(self, data: Data, rows: Ints, rate: float, most: int, seed: int) -> Found | None:
        if most < 8:
            return None
        units = Rates(approval_rate=rate)
        front = trace(**data.rows(rows), units=units, n_points=self.points, held_out=False, random_state=seed)
        settings = [{"rate_gap": round(float(gap), 3)} for gap in front.gaps.max(axis=1)]
        return replace(_of_models(self.name, data, front.models, settings, 8), probability=False)


class Boosting(Family):
    """Boosted trees, fitted with weights that lower the gap."""

    name, words = "boosting", "boosted trees with weights that lower gaps of loss"
    numeric = False
    eager = True

    def propose(self, data: Data, rows: Ints, rate: float, most: int, seed: int) -> Found | None:
        from sklearn.ensemble import HistGradientBoostingClassifier

        if most < 3:
            return None
        learner = HistGradientBoostingClassifier(max_iter=100, learning_rate=0.1, random_state=seed)
        solver = Weighting(max_fits=min(8, most), cv=0.25)
        front = trace(**data.rows(rows), estimator=learner, solver=solver, random_state=seed)
        settings = [{"loss_gap": round(float(gap), 4)} for gap in front.gaps.max(axis=1)]
        return _of_models(self.name, data, front.models, settings, min(8, most))


class LeftOut(Family):
    """Logistic regression without the columns that tell the group most, one more at a time."""

    name, words = "features", "logistic regression without the columns that tell the group most, one more at a time"

    def propose(self, data: Data, rows: Ints, rate: float, most: int, seed: int) -> Found | None:
        known = data.rows(rows)
        X = np.asarray(check_matrix(known["X"]), dtype=np.float64)
        order = np.argsort(-_telling(X, known["sensitive_features"]), kind="stable")
        models, settings = [], []
        for k in range(1, min(most, DROPPED, X.shape[1] - 1) + 1):
            kept = np.sort(order[k:])
            models.append(_logistic(X, known["y"], known["sample_weight"], kept))
            out = [data.names[j] if data.names else str(j) for j in order[:k].tolist()]
            settings.append({"left_out": list(dict.fromkeys(out))})
        if not models:
            return None
        names = tuple(map(str, range(len(models))))
        return _of_models(self.name, data, CandidateModels(data.task, names, tuple(models)), settings, len(models))


def _telling(X: Array, columns: Mapping[str, NDArray[Any]]) -> Array:
    """Return how far means of groups lie apart in each column, in standard deviations of the column."""
    spread = X.std(axis=0)
    found = np.zeros(X.shape[1])
    for values in columns.values():
        texts = np.array([str(value) for value in values])
        means = np.stack([X[texts == level].mean(axis=0) for level in np.unique(texts)])
        found = np.maximum(found, np.ptp(means, axis=0))
    return np.asarray(np.divide(found, spread, out=np.zeros_like(found), where=spread > 0))


def _logistic(X: Array, y: Any, weight: Array | None, kept: Ints) -> LogisticRegression:
    """Return a logistic regression of all columns that does not use some of them."""
    model = LogisticRegression(max_iter=1000).fit(X[:, kept], y, sample_weight=weight)
    coef = np.zeros((1, X.shape[1]))
    coef[:, kept] = model.coef_
    model.coef_, model.n_features_in_ = coef, X.shape[1]
    return model


class Retrained(Family):
    """Plain models of other penalties, and boosted trees of other seeds and settings."""

    name, words = (
        "settings",
        "plain logistic regression with other penalties, boosted trees with other seeds and settings",
    )
    eager = True

    def propose(self, data: Data, rows: Ints, rate: float, most: int, seed: int) -> Found | None:
        from sklearn.ensemble import HistGradientBoostingClassifier

        known = data.rows(rows)
        X, y, weight = check_matrix(known["X"]), known["y"], known["sample_weight"]
        random, models, settings = np.random.default_rng(seed), list[Any](), list[dict[str, Any]]()
        for C in STRENGTHS[:most]:
            models.append(LogisticRegression(C=C, max_iter=1000).fit(X, y, sample_weight=weight))
            settings.append({"learner": "logistic regression", "C": C})
        for k in range(min(SEEDS, most - len(models))):
            drawn = {"learning_rate": float(random.choice([0.05, 0.1, 0.2])), "max_iter": int(random.choice([50, 100]))}
            drawn |= {"max_leaf_nodes": int(random.choice([7, 15, 31])), "random_state": k}
            models.append(HistGradientBoostingClassifier(**drawn, max_features=0.5).fit(X, y, sample_weight=weight))
            settings.append({"learner": "boosted trees", **drawn})
        if not models:
            return None
        names = tuple(map(str, range(len(models))))
        return _of_models(self.name, data, CandidateModels(data.task, names, tuple(models)), settings, len(models))


class Shifted(Family):
    """The incumbent itself at another cut-off, the same for all groups: it approves more or fewer people."""

    name, words = "cutoffs", "the incumbent's own scores at other cut-offs, the same for every group"
    numeric = False

    def propose(self, data: Data, rows: Ints, rate: float, most: int, seed: int) -> Found | None:
        said = data.incumbent
        if said is None or said.scores is None:
            return None
        scores = said.scores
        rates = [rate + shift for shift in SHIFTS if 0.0 < rate + shift < 1.0]
        settings = [{"approval_rate": round(each, 4)} for each in rates]

        def build(place: int, cutoff: float) -> Any:
            return {"cutoff": cutoff, "on": "the incumbent's score for the favourable label"}

        def responses(some: Ints) -> Array:
            return np.tile(scores[some], (len(rates), 1))

        return Found(self.name, tuple(settings), responses, build, 0, said.probability, tuple(rates))


class Given(Family):
    """Candidates that a person hands in: fitted models, or scores of all rows."""

    name, words = "candidates", "models that were handed in; nothing of them was fitted here"
    numeric = False

    def propose(self, data: Data, rows: Ints, rate: float, most: int, seed: int) -> Found | None:
        if not data.given:
            return None
        models, answers = zip(*data.given.values(), strict=True)
        scores = np.stack([each.approved.astype(float) if each.scores is None else each.scores for each in answers])
        settings = [{"name": name} for name in data.given]
        known = all(each.probability for each in answers)
        return Found(self.name, tuple(settings), lambda some: scores[:, some], lambda i, _: models[i], 0, known)


FAMILIES: Registry[Family] = Registry(
    "family", Linear(), RateRules(), Boosting(), Shifted(), LeftOut(), Retrained(), Given()
)
USUAL = ("linear", "rates")


def proposed(family: Family, data: Data, rows: Ints, rate: float, most: int, seed: int) -> tuple[Found | None, str]:
    """Return what a family proposes, or a sentence why it does not."""
    with warnings.catch_warnings(action="ignore", category=FairfrontWarning):
        try:
            found = family.propose(data, rows, rate, most, seed)
        except FairfrontError as error:
            return None, str(error)
    return found, "" if found is not None else "it has nothing to offer here, or the budget of fits is used up."
