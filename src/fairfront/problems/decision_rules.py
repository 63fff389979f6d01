"""Rules of decisions: error and rates of whatever is decided by posteriors, expected and measured.

A rule decides d(x), and every rate is linear in it: with Q_c(x) = P(cell c | x) / P(cell c), the expected rate of a
cell is E[d(x) Q_c(x)]. So a rule's expected figures are sums of one small table, (pair of label and cell) x decision,
and its measured figures are the same sums of the table of what rows really are. The rule that maximises

    expected gain  -  sum_q lambda_q z_q,        z = signed gaps of rates,

decides argmax_j sum_pairs P(pair | x) W[pair, j] with W = gain - sum_q lambda_q C_q.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from ..objectives import Array, Layout, Objectives, Question
from ..validation import check_seed, is_dask
from . import fit_rows, learners
from .fit_rows import Folds, Ints, Reading
from .guesses import Coded
from .posteriors import RuleClassifier, Stack, learn_posteriors, rule_scores

FEWEST_DRIVEN = 16
"""Fewest rows of a label in a compared group: rates of fewer people cannot be driven, and a model would tell them."""


@dataclass(frozen=True, eq=False)
class Rules:
    """What there is to know of rows to find rules: nothing of features.

    P (n, pairs)          P(label, cell | x), by models that have not seen the row
    share (n,)            weights of rows, which sum to 1
    label, own (n,)       what rows really are: the label, and the pair (-1: its cell is too small to be guessed)
    pairs (pairs, 2)      label and cell of each pair
    cost (K, K)           what deciding j costs for a row of label y
    events (a, pairs, K)  which decisions of which pairs an average counts; ``inside`` (a, pairs) whom it is over
    signs (a, q)          which averages each gap compares, and ``offset`` (q,) what is subtracted from it
    approval              the share of rows to be decided for the label ``favourable``, None: as many as pay
    """

    P: Array
    share: Array
    label: Ints
    own: Ints
    pairs: Ints
    cost: Array
    events: Array
    inside: Array
    signs: Array
    offset: Array
    two_sided: NDArray[np.bool_]
    approval: float | None = None
    favourable: int = 1

    @property
    def K(self) -> int:
        return len(self.cost)

    @cached_property
    def gain(self) -> Array:
        return np.asarray(-self.cost[self.pairs[:, 0]])

    @cached_property
    def known(self) -> Array:
        """The share of every pair, (pairs,), among rows whose pair is known."""
        some = self.own >= 0
        return np.asarray(np.bincount(self.own[some], self.share[some], minlength=len(self.pairs)), dtype=np.float64)

    @cached_property
    def contrasts(self) -> Array:
        """C (q, pairs, K) with z = sum C * table + constants, for tables of expected decisions."""
        scale = 1.0 / np.maximum(self.inside @ (self.share @ self.P), 1e-300)
        return np.asarray(np.einsum("aq,apk->qpk", self.signs, self.events * scale[:, None, None]))

    def weights(self, multipliers: Array) -> Array:
        """Return W (pairs, K) of the rule of these multipliers; with an approval rate, its cut-off is inside."""
        W = self.gain - np.tensordot(multipliers, self.contrasts, axes=1)
        if self.approval is not None:
            W[:, self.favourable] -= self._cutoff(W)
        return np.asarray(W)

    def _cutoff(self, W: Array) -> float:
        """Return the cut-off midway between two scores at which the approved share comes nearest to what is asked."""
        margin = self.P @ (W[:, self.favourable] - W[:, 1 - self.favourable])
        order = np.argsort(-margin, kind="stable")
        sorted_, approved = margin[order], np.cumsum(self.share[order])
        ends = np.flatnonzero(np.append(sorted_[1:] < sorted_[:-1], True))  # rows with the same score go together
        assert self.approval is not None
        best = ends[np.argmin(np.abs(approved[ends] - self.approval))]
        if best == len(order) - 1:
            return float(sorted_[-1] - 1.0)
        return float(0.5 * (sorted_[best] + sorted_[best + 1]))

    def decide(self, W: Array) -> Ints:
        scores = rule_scores(self.P, W)
        return np.asarray(scores[0] > 0.0 if len(scores) == 1 else scores.argmax(axis=0), dtype=np.intp)

    def expected(self, decided: Ints) -> Array:
        """Return the table (pairs, K) that posteriors expect of decisions (n,)."""
        return np.stack([self.share[decided == j] @ self.P[decided == j] for j in range(self.K)], axis=1)

    def measured(self, decided: Ints) -> Array:
        """Return the table (pairs, K) of what rows really are."""
        code, some = self.own * self.K + decided, self.own >= 0
        found = np.bincount(code[some], self.share[some], minlength=len(self.pairs) * self.K)
        return np.asarray(found.reshape(-1, self.K), dtype=np.float64)

    def rates(self, table: Array) -> Array:
        """Return the average of every group, (a,), of a table."""
        whole = np.maximum(self.inside @ table.sum(axis=1), 1e-300)
        return np.asarray((self.events * table).sum(axis=(1, 2)) / whole)

    def gaps(self, table: Array) -> Array:
        return np.asarray(self.rates(table) @ self.signs - self.offset)

    def utility(self, table: Array) -> float:
        return float((self.gain * table).sum())

    def loss(self, decided: Ints) -> float:
        """Return the measured error, or cost, of decisions."""
        return float(self.share @ self.cost[self.label, decided])

    def errors(self) -> Array:
        """Return the standard error of every measured rate of the plain rule, (a,), by effective numbers of rows."""
        rate = self.rates(self.measured(self.decide(self.weights(np.zeros(self.signs.shape[1])))))
        squares = np.bincount(self.own[self.own >= 0], self.share[self.own >= 0] ** 2, minlength=len(self.pairs))
        rows = (self.inside @ self.known) ** 2 / np.maximum(self.inside @ squares, 1e-300)
        return np.asarray(np.sqrt(rate * (1.0 - rate) / np.maximum(rows, 1.0)))


@dataclass(frozen=True, eq=False)
class RateProblem:
    """Learners, their rows, and what their decisions are compared by; ``learnt`` holds the posteriors once made."""

    estimators: tuple[Any, ...]
    X: Any
    rows: Coded
    objectives: Objectives
    folds: Folds
    cost: Array
    approval: float | None = None
    seed: int = 0
    n_jobs: int | None = None
    learnt: list[tuple[Stack, Array]] = field(default_factory=list)

    @property
    def fits(self) -> int:
        """To labels and groups, in every fold and on all rows, of every learner."""
        parts = len(self.folds.pairs) + (not self.folds.same)
        return parts * len(self.estimators) * sum(size > 1 for size in self.rows.sizes)

    def learn(self, on_fit: Callable[[], None] = lambda: None) -> tuple[Stack, Array]:
        if not self.learnt:
            known = (self.X, self.rows, self.folds, self.seed, self.n_jobs)
            self.learnt.append(learn_posteriors(self.estimators, *known, on_fit))
        return self.learnt[0]

    def rules(self, on_fit: Callable[[], None] = lambda: None) -> Rules:
        held, rows, layout = self.folds.held, self.rows, self.objectives.layout
        weight = np.ones(len(held)) if rows.weight is None else rows.weight[held]
        events, inside = _averages(layout, rows.pairs, len(self.cost))
        algebra, task = self.objectives.algebra, self.objectives.task
        assert algebra.signs is not None
        return Rules(
            self.learn(on_fit)[1],
            weight / weight.sum(),
            rows.label[held],
            rows.pair[held],
            rows.pairs,
            self.cost,
            events,
            inside,
            algebra.signs,
            algebra.b,
            algebra.two_sided,
            self.approval,
            task.favourable,
        )

    def model(self, W: Array) -> RuleClassifier:
        return RuleClassifier(self.learn()[0], W, self.objectives.task.classes)

    def reading(self, rules: Rules, multipliers: Array, W: Array) -> Reading:
        """Return a rule with its measured error and gaps, and scores of all rows (those not held out have 0)."""
        decided = rules.decide(W)
        gaps, scores = rules.gaps(rules.measured(decided)), rule_scores(rules.P, W)
        whole = np.zeros((len(scores), len(self.rows.label)))
        whole[:, self.folds.held] = scores
        return Reading(multipliers, rules.loss(decided), gaps, gaps, scores=whole)

    def check(self) -> None:
        """Refuse shares of groups, and cells of so few rows that rates cannot be driven, or a model would tell them."""
        layout = self.objectives.layout
        if layout.cells.shares is not None:
            raise InputError(
                f"{RATES} needs the group of every row, found GroupProbabilities; leave it out, or give groups."
            )
        compared = np.unique(np.concatenate([average.cells for average in layout.averages]))
        pairs, counts = np.unique(np.stack([self.rows.label, self.rows.cell]), axis=1, return_counts=True)
        if (counts[np.isin(pairs[1], compared)] < FEWEST_DRIVEN).any():
            raise InputError(
                f"a group has fewer than {FEWEST_DRIVEN} rows of a label, expected more for {RATES}: rates of so few "
                "people cannot be driven, and their number could be read from the models; merge groups, or leave some "
                f"out with {spelled('min_size', 'groups=Groups(min_size=...)')}."
            )


RATES = "units='rates'"


def _averages(layout: Layout, pairs: Ints, K: int) -> tuple[Array, Array]:
    """Return which decisions of which pairs every average counts, (a, pairs, K), and whom it is over, (a, pairs)."""
    inside = np.stack([np.isin(pairs[:, 1], average.cells) for average in layout.averages]).astype(np.float64)
    decided = np.zeros((len(layout.averages), len(pairs), K))
    for counted, average in zip(decided, layout.averages, strict=True):
        if average.quantity.label is None:  # errors
            counted[:] = pairs[:, :1] != np.arange(K)
        else:
            counted[:, average.quantity.label] = 1.0
    return decided * inside[:, :, None], inside


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
    cv: Any = 3,
    n_jobs: int | None = None,
    random_state: int | None = None,
    person: Any = None,
    **known: Any,
) -> RateProblem:
    """Check the data and lay out the cells whose rates are compared.

    ``estimator`` is a classifier with probabilities, several of them to be stacked, or None for logistic regression
    with this ridge. ``costs`` are those of a false positive and of a false negative. ``known``: favourable, notion,
    gap, groups, as in `linear_problem`.
    """
    if any(is_dask(part) for part in (X, y, sensitive_features, sample_weight)):
        raise InputError(
            f"{RATES} is for data in memory, found Dask collections; give it a sample, X.compute(), or use "
            "units='losses'."
        )
    kept = fit_rows.kept_rows(X, y, sensitive_features, sample_weight)
    asked: Sequence[Any] = estimator if isinstance(estimator, (list, tuple)) else [estimator]
    if not len(asked):
        raise InputError("estimator is an empty list, expected classifiers to stack, or None for logistic regression.")
    learner = learners.logistic_learner(kept.X, kept.total, ridge, fit_intercept)
    chosen = tuple(learner if each is None else each for each in asked)
    for each in chosen:
        learners.check_guesser(each, loss)
        if kept.weight is not None:
            learners.weight_keyword(each)
    question = Question.of(**known, loss=loss, ridge=0.0, task="classification")
    for notion in question.notions:
        if notion.no_rates:
            raise InputError(
                f"notion {notion.name!r} compares no rates of decisions, found {RATES}; use 'disparate_mistreatment' "
                "for error rates or 'demographic_parity' for selection rates, or units='losses'."
            )
    asked_of = (kept.labels, kept.groups, kept.weight)
    objectives = Objectives.of(replace(question, surrogate="rate"), *asked_of)
    task, cells = objectives.task, objectives.layout.cells
    codes = np.array([task.classes.index(v) for v in kept.labels.tolist()], dtype=np.intp)
    seed = check_seed(random_state) or 0
    who = None if person is None else fit_rows.person_codes(person, kept.n, kept.kept)
    folds = fit_rows.find_folds(cv, *kept.whole, kept.kept, cells, True, seed, who)
    cost = _cost(len(task.classes), task.favourable, costs, approval_rate)
    of_rows = np.zeros(len(codes), dtype=np.intp) if cells.shares is not None else cells.of_rows
    coded = Coded(codes, of_rows, kept.weight)
    problem = RateProblem(chosen, kept.X, coded, objectives, folds, cost, approval_rate, seed, n_jobs)
    problem.check()
    return problem


def _cost(K: int, good: int, costs: tuple[float, float] | None, approval: float | None) -> Array:
    """Return what deciding j costs for label y, (K, K): 1 for a mistake, or the two costs that were given."""
    if K > 2 and (costs is not None or approval is not None):
        what = "costs" if approval is None else "approval_rate"
        raise InputError(f"{spelled(what)} is for two classes, found {K}; leave it out.")
    found = 1.0 - np.eye(K)
    if costs is not None:
        found[1 - good, good], found[good, 1 - good] = costs
    return found
