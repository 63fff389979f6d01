"""The rows of Table 1: each method turns rows to fit on into candidates, linear models or mixtures of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from fairlearn.reductions import ExponentiatedGradient, GridSearch, TruePositiveRateParity
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import fairfront as ff

from ..cases import Split
from ..peers.base import Candidates, frontier_weights, linear_candidates
from .choices import FERM, GRID, KINDS, NORMAL, Choice
from .comparators import ferm
from .ladder import climb, smoothness

C = 0.1
"""Strength of all learners in scikit-learn's sense; the ridge is 1 / (C n)."""
STEPS, STARTS = (0.05, 0.25, 1.0, 2.0), (0.1, 1.0, 3.0)
"""Printed algorithms: step sizes in units of 1 / L, and lengths of random starts, all tried and chosen among on validation."""
OWN = STEPS.index(1.0) * len(STARTS) + STARTS.index(1.0)
"""The run of Algorithm 1 that is shown where nothing is chosen: step 1 / L from a start of length 1."""


@dataclass(frozen=True)
class Budget:
    """How much each method may try."""

    grid: int = 100
    points: int = 20
    steps: int = 5000
    rounds: int = 50


Method = Callable[[Split, str, int, Budget], Candidates]


def learner(loss: str, strength: float = C) -> Any:
    """Return scikit-learn's plain learner of a loss."""
    if loss == "hinge":
        return LinearSVC(loss="hinge", C=strength, max_iter=20_000, random_state=0)
    if loss == "squared_hinge":
        return LinearSVC(loss="squared_hinge", dual=False, C=strength)
    return LogisticRegression(C=strength, solver="newton-cholesky")


def weights_or_constant(model: Any, d: int) -> np.ndarray:
    """Return (d + 1,) weights; a model without coefficients answers the same for everybody."""
    if hasattr(model, "coef_"):
        return np.append(np.asarray(model.coef_).reshape(-1), model.intercept_)
    return np.append(np.zeros(d), 1.0 if model.predict(np.zeros((1, d)))[0] == 1 else -1.0)


def normal(parts: Split, loss: str, seed: int, budget: Budget) -> Candidates:
    """Plain training."""
    fitted = learner(loss).fit(parts.train.X, parts.train.y)
    return linear_candidates(weights_or_constant(fitted, parts.train.X.shape[1])[None])


def linear_ferm(parts: Split, loss: str, seed: int, budget: Budget) -> Candidates:
    """Linear FERM with three strengths."""
    fit = parts.train
    found = [ferm(fit.X, fit.good, fit.groups, lambda s=s: learner(loss, s)) for s in (0.01, 0.1, 1.0)]
    return linear_candidates(np.array(found))


def grid_search(parts: Split, loss: str, seed: int, budget: Budget) -> Candidates:
    """Minimax reduction: fairlearn's GridSearch, one weighted fit per grid point."""
    search = GridSearch(learner(loss), TruePositiveRateParity(), grid_size=budget.grid)
    search.fit(parts.train.X, parts.train.y, sensitive_features=parts.train.groups)
    return linear_candidates(
        np.array([weights_or_constant(model, parts.train.X.shape[1]) for model in search.predictors_])
    )


def exponentiated_gradient(parts: Split, loss: str, seed: int, budget: Budget) -> Candidates:
    """Minimax reduction: fairlearn's ExponentiatedGradient, a random choice among models at every decision."""
    models, mixtures = [], []
    for bound in (0.01, 0.05):
        reduction = ExponentiatedGradient(
            learner(loss), TruePositiveRateParity(difference_bound=bound), max_iter=budget.rounds
        )
        reduction.fit(parts.train.X, parts.train.y, sensitive_features=parts.train.groups)
        mixtures.append((len(models), np.asarray(reduction.weights_, dtype=np.float64)))
        models += [weights_or_constant(model, parts.train.X.shape[1]) for model in reduction.predictors_]
    shares = np.zeros((len(mixtures), len(models)))
    for row, (first, weight) in zip(shares, mixtures, strict=True):
        row[first : first + len(weight)] = weight / weight.sum()
    single = linear_candidates(np.array(models))
    return Candidates(lambda X, groups: shares @ single.approve(X, groups), solved=len(models))


def problem(parts: Split, loss: str, **options: Any) -> dict[str, Any]:
    """Return the arguments of fairfront's problem."""
    fit = parts.train
    groups = ff.Groups(reference=parts.levels[-1], min_size=1)
    common = {"sensitive_features": parts.names(fit), "favourable": 1, "groups": groups}
    return {"X": fit.X, "y": fit.y, "loss": loss, "ridge": 1.0 / (C * len(fit.y)), **common, **options}


def printed_pdo(gap: Any, gradients: Any) -> Method:
    """Return Algorithm 1 as printed, in one reading, from random starts of several lengths at several steps."""

    def fit(parts: Split, loss: str, seed: int, budget: Budget) -> Candidates:
        linear = ff.linear_problem(**problem(parts, loss, gap=gap))
        rng, d = np.random.default_rng(seed), linear.d
        starts = np.concatenate([rng.normal(scale=s / np.sqrt(d), size=(1, 1, d)) for s in STARTS])
        etas = np.array(STEPS) / smoothness(parts.train.X, loss)
        ended = climb(linear, ff.PaperPDO(gradients=gradients, T=budget.steps), etas, starts)
        return linear_candidates(ended.W[:, 0])

    return fit


def traced(solver: Any, **options: Any) -> Method:
    """Return one of fairfront's default tracers."""

    def run(parts: Split, loss: str, seed: int, budget: Budget) -> Candidates:
        count = {"n_points": budget.points} if solver != "pb_pdo" else {"preferences": 10}
        front = ff.trace(**problem(parts, loss, **options), solver=solver, held_out=False, progress=False, **count)
        return linear_candidates(frontier_weights(front))

    return run


PDOS: dict[str, Method] = {
    Choice("", gap, gradients).method: printed_pdo("squared" if gap == "either" else gap, gradients)
    for gap, gradients in KINDS
}
METHODS: dict[str, Method] = {
    NORMAL: normal,
    FERM: linear_ferm,
    GRID: grid_search,
    "Minimax reduction: ExponentiatedGradient": exponentiated_gradient,
    **PDOS,
    "PB-PDO (fairfront)": traced("pb_pdo"),
    "Newton (fairfront)": traced(ff.Newton(overshoot=0.5)),
    "Newton, rate surrogate (fairfront)": traced("newton", surrogate="rate"),
}


def candidates(name: str, parts: Split, loss: str, seed: int, budget: Budget) -> Candidates:
    """Run one method; what its learners warn about is not what is compared here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return METHODS[name](parts, loss, seed, budget)
