"""The problem in rates: rows, the classifiers that guess labels and groups from them, and what is compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..exceptions import InputError, spelled
from ..objectives import Array, GroupProbabilities, Objectives, Question
from ..objectives.strata import without_strata
from ..validation import check_seed, is_dask
from . import fit_rows, learners
from .decision_rules import Rules, compared_by
from .fit_rows import Folds, Reading
from .guesses import Coded, Posteriors
from .pieces import Names, feature_names
from .posteriors import RuleClassifier, learn_posteriors, rule_scores

RATES, LOSSES = "units='rates'", "units='losses'"
RULED = frozenset({"tpr", "fpr", "selection", "error", "recall"})
"""Rates of decisions that rules are traced for: linear in decisions, with a whole that no decision changes."""
FEWEST_DRIVEN = 16
"""Fewest rows of a label in a compared group: rates of fewer people cannot be driven, and a model would tell them."""


FOLDS = 3
"""In how many parts rows are left out of the fits that posteriors are scaled on, and rules measured."""


@dataclass(frozen=True, eq=False)
class RateProblem:
    """A learner, its rows, and what its decisions are compared by; ``learnt`` holds the posteriors once made."""

    estimator: Any
    X: Any
    rows: Coded
    objectives: Objectives
    folds: Folds
    cost: Array
    approval: float | None = None
    seed: int = 0
    n_jobs: int | None = None
    learnt: list[tuple[Posteriors, Array]] = field(default_factory=list)

    @property
    def fits(self) -> int:
        """To labels and groups, in every fold and on all rows."""
        parts = len(self.folds.pairs) + (not self.folds.same)
        return parts * sum(size > 1 for size in self.rows.sizes)

    @property
    def columns(self) -> tuple[Names, int | None]:
        """Names of features and their number, where known."""
        shape: tuple[Any, ...] = getattr(self.X, "shape", ())
        return feature_names(self.X), int(shape[1]) if len(shape) == 2 else None

    def learn(self, on_fit: Callable[[], None] = lambda: None) -> tuple[Posteriors, Array]:
        if not self.learnt:
            known = (self.X, self.rows, self.folds, self.seed, self.n_jobs)
            self.learnt.append(learn_posteriors(self.estimator, *known, on_fit))
        return self.learnt[0]

    def rules(self, on_fit: Callable[[], None] = lambda: None) -> Rules:
        held, rows, objectives = self.folds.held, self.rows, self.objectives
        weight = np.ones(len(held)) if rows.weight is None else rows.weight[held]
        known = (rows.label[held], rows.pair[held], rows.pairs, self.cost)
        asked = compared_by(objectives, rows.pairs, len(self.cost))
        rest = (self.approval, objectives.task.favourable, float(weight.sum()))
        return Rules(self.learn(on_fit)[1], weight / weight.sum(), *known, asked, *rest)

    def model(self, W: Array) -> RuleClassifier:
        return RuleClassifier(self.learn()[0], W, self.objectives.task.classes)

    def reading(self, rules: Rules, multipliers: Array, W: Array, keeps_scores: bool = False) -> Reading:
        """Return a rule with its measured error and gaps, and if asked scores of all rows (those not held out: 0)."""
        decided, whole = rules.decide(W), None
        gaps = rules.gaps(rules.measured(decided))
        if keeps_scores:
            scores = rule_scores(rules.P, W)
            whole = np.zeros((len(scores), len(self.rows.label)))
            whole[:, self.folds.held] = scores
        return Reading(multipliers, rules.loss(decided), gaps, gaps, scores=whole)

    def check(self) -> None:
        """Refuse cells of so few rows that rates cannot be driven, or a model would tell them."""
        layout = self.objectives.layout
        compared = np.unique(np.concatenate([average.cells for average in layout.averages]))
        pairs, counts = np.unique(np.stack([self.rows.label, self.rows.cell]), axis=1, return_counts=True)
        if (counts[np.isin(pairs[1], compared)] < FEWEST_DRIVEN).any():
            several, smallest = len(self.objectives.attributes) > 1, spelled("min_size", "groups=Groups(min_size=...)")
            what = "a combination of groups of several columns" if several else "a group"
            remedy = "give one column at a time" if several else f"leave some out with {smallest}"
            raise InputError(
                f"{what} has fewer than {FEWEST_DRIVEN} rows of a label, expected more: rates of so few people cannot "
                f"be driven, and their number could be read from the models; merge groups, or {remedy}."
            )


def rate_problem(
    X: Any,
    y: Any,
    *,
    estimator: Any,
    sensitive_features: Any,
    sample_weight: Any = None,
    loss: Any = "logistic",
    ridge: float | None = None,
    fit_intercept: bool = True,
    costs: tuple[float, float] | None = None,
    approval_rate: float | None = None,
    cv: Any = "auto",
    n_jobs: int | None = None,
    random_state: int | None = None,
    person: Any = None,
    **known: Any,
) -> RateProblem:
    """Check the data and lay out the cells whose rates are compared.

    ``estimator`` is a classifier with probabilities, or None for logistic regression with this ridge. ``costs`` are
    those of a false positive and of a false negative. ``known``: favourable, notion, gap, groups, as in
    `linear_problem`.
    """
    question = replace(_question(loss, known), surrogate="rate")
    if isinstance(without_strata(sensitive_features), GroupProbabilities):
        raise InputError(
            f"{spelled(RATES)} needs the group of every row, found GroupProbabilities; leave it out, or give groups."
        )
    given = (X, y, sensitive_features, sample_weight)
    decided = (costs, approval_rate)
    if any(is_dask(part) for part in given):
        raise InputError(
            f"{spelled(RATES)} is for data in memory, found Dask collections; give it a sample, X.compute(), or use "
            f"{spelled(LOSSES)}."
        )
    kept = fit_rows.kept_rows(*given)
    if estimator is None:
        estimator = learners.logistic_learner(kept.X, kept.total, ridge, fit_intercept)
    learners.check_guesser(estimator, loss)
    if kept.weight is not None:
        learners.weight_keyword(estimator)
    objectives = Objectives.of(question, kept.labels, kept.groups, kept.weight)
    task, cells = objectives.task, objectives.layout.cells
    codes = np.array([task.classes.index(v) for v in kept.labels.tolist()], dtype=np.intp)
    seed = check_seed(random_state) or 0
    who = None if person is None else fit_rows.person_codes(person, kept.n, kept.kept)
    coded = Coded(codes, cells.of_rows, kept.weight)
    few = FOLDS if who is None else max(2, min(FOLDS, int(who.max()) + 1))
    auto = isinstance(cv, str) and cv == "auto"
    folds = fit_rows.find_folds(few if auto else cv, *kept.whole, kept.kept, cells, True, seed, who)
    cost = _cost(len(task.classes), task.favourable, *decided)
    problem = RateProblem(estimator, kept.X, coded, objectives, folds, cost, approval_rate, seed, n_jobs)
    problem.check()
    return problem


def _question(loss: Any, known: Mapping[str, Any]) -> Question:
    question = Question.of(**known, loss=loss, ridge=0.0, task="classification")
    for notion in question.notions:
        if notion.no_rates or not RULED.issuperset(notion.rates):
            raise InputError(
                f"notion {notion.name!r} compares no rates of decisions (not linear in them), found {spelled(RATES)}; "
                "use 'disparate_mistreatment' for error rates, 'demographic_parity' for selection rates, or "
                f"{spelled(LOSSES)}."
            )
    return question


def _cost(K: int, good: int, costs: tuple[float, float] | None, approval: float | None) -> Array:
    """Return what deciding j costs for label y, (K, K): 1 for a mistake, or the two costs that were given."""
    if K > 2 and (costs is not None or approval is not None):
        what = "costs" if approval is None else "approval_rate"
        raise InputError(f"{spelled(what)} is for two classes, found {K}; leave it out.")
    found = 1.0 - np.eye(K)
    if costs is not None:
        found[1 - good, good], found[good, 1 - good] = costs
    return found
