"""fairfront's own methods: the Newton tracer in three forms, rules in rates, PB-PDO, exact thresholds per group."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

import fairfront as ff
from fairfront.frontier.group_thresholds import GroupScores
from fairfront.tracing import trace_problem

from .base import Candidates, Fitting, Peer, frontier_weights, linear_candidates, plain_model

OVERSHOOT = 0.5
"""A loss gap of 0 is not a rate gap of 0, so the path goes on to half the plain gap on the other side."""
RUNS = 10


def newton(**options: Any) -> Any:
    """Return a fit of the Newton tracer with some options."""

    def fit(fitting: Fitting) -> Candidates:
        rows = fitting.train
        front = ff.trace(
            rows.X,
            rows.y,
            sensitive_features=rows.groups,
            n_points=fitting.n_points,
            held_out=False,
            progress=False,
            **options,
        )
        return linear_candidates(frontier_weights(front))

    return fit


def rules(fitting: Fitting) -> Candidates:
    """Trace the rules in rates, on logistic posteriors."""
    rows = fitting.train
    known = {"random_state": fitting.seed, "progress": False}
    asked = {"sensitive_features": rows.groups, "units": "rates", "n_points": fitting.n_points}
    front = ff.trace(rows.X, rows.y, **asked, **known, held_out=False)
    fits = 4 * sum(guess.model is not None for guess in front.models.guesses)  # three folds and all rows
    scores = lambda X: front.models.scores(X)[:, 0]  # noqa: E731
    return Candidates(lambda X, groups: (scores(X) > 0).astype(np.float64), scores=scores, solved=fits)


def pb_pdo(fitting: Fitting) -> Candidates:
    rows = fitting.train
    problem = ff.linear_problem(rows.X, rows.y, sensitive_features=rows.groups)
    front = trace_problem(problem, "pb_pdo", preferences=RUNS, n_points=fitting.n_points, progress=False)
    return linear_candidates(frontier_weights(front), raised=lambda: _raised(problem))


def _raised(problem: object) -> float:
    """Return the share of steps of a run to the smallest gap that raised an objective: sliding trades one for another."""
    history = ff.solve(problem, "pb_pdo").history[0]
    return float((np.diff(history, axis=0) > 1e-12).any(axis=1).mean())


def thresholds(fitting: Fitting) -> Candidates:
    return on_model(plain_model(fitting.train), fitting)


def boosted_thresholds(fitting: Fitting) -> Candidates:
    """Cruz and Hardt's protocol with a stronger plain model."""
    boosted = HistGradientBoostingClassifier(random_state=fitting.seed)
    return on_model(boosted.fit(fitting.train.X, fitting.train.y), fitting)


def on_model(model: Any, fitting: Fitting) -> Candidates:
    """Return exact group thresholds on the scores of a model, placed on validation rows."""
    held = fitting.validation
    scores = GroupScores(model.decision_function(held.X), held.good, held.groups, fitting.n_groups)
    curve = scores.curve(fitting.n_points)

    def approve(X: np.ndarray, groups: np.ndarray) -> np.ndarray:
        return (model.decision_function(X)[None] > curve.cutoffs[:, groups]).astype(np.float64)

    return Candidates(approve, solved=1)


PEERS = {
    "fairfront_newton": Peer("fairfront Newton", newton()),
    "fairfront_overshoot": Peer(
        "fairfront Newton, overshoot",
        newton(solver=ff.Newton(overshoot=OVERSHOOT)),
        note="goes on to half the plain gap on the other side",
    ),
    "fairfront_rate": Peer("fairfront Newton, rate surrogate", newton(surrogate="rate")),
    "fairfront_rates": Peer("fairfront, rates", rules, note="guesses the group"),
    "fairfront_pb_pdo": Peer(
        "fairfront PB-PDO", pb_pdo, note="slides along the front, so steps trade objectives by design"
    ),
    "fairfront_thresholds": Peer("fairfront group thresholds", thresholds, needs_group_at_prediction=True),
    "boosted_thresholds": Peer(
        "group thresholds on boosted trees",
        boosted_thresholds,
        needs_group_at_prediction=True,
        note="not a linear model",
    ),
}
