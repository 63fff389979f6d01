"""What a peer is: a name, whether it needs the group at prediction time, and a way to fit candidate models."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

import fairfront as ff

from ..cases import Rows


@dataclass(frozen=True)
class Fitting:
    """What a peer may see: training rows, validation rows (for thresholds and for choices) and a seed.

    ``columns`` names the columns of X, so that dropping some of them can be tried. ``quick`` asks for a small try.
    """

    train: Rows
    validation: Rows
    columns: tuple[str, ...]
    n_points: int
    seed: int = 0
    quick: bool = False

    @property
    def n_groups(self) -> int:
        """Return the number of groups."""
        return int(self.train.groups.max()) + 1


@dataclass(frozen=True)
class Candidates:
    """N models that a peer offers to choose among.

    ``approve`` gives the probability of a favourable decision, (N, n) from features and groups: 0 or 1 for
    deterministic models, between for those that draw. ``scores`` are what a cut-off is taken of (above 0 is
    favourable), None where only decisions exist. ``labels`` (N, n) are decisions among several labels. ``weights``
    (N, d + 1) are linear models on all columns, the intercept last. ``raised`` finds the share of steps of a
    first-order method that raised an objective. ``solved`` counts the models that were fitted to find these.
    A regression's candidates predict amounts instead of approving.
    """

    approve: Callable[[np.ndarray, np.ndarray], np.ndarray]
    scores: Callable[[np.ndarray], np.ndarray] | None = None
    labels: Callable[[np.ndarray], np.ndarray] | None = None
    weights: np.ndarray | None = None
    raised: Callable[[], float] | None = None
    solved: int = 0


@dataclass(frozen=True)
class Peer:
    """One method: ``fit`` makes candidates, ``packages`` have to be importable, ``limits`` says what it cannot do.

    ``most_splits`` keeps slow methods within the budget; their intervals are wider for it.
    """

    name: str
    fit: Callable[[Fitting], Candidates]
    needs_group_at_prediction: bool = False
    packages: tuple[str, ...] = ()
    limits: Callable[[Fitting], str | None] = lambda fitting: None
    note: str = ""
    most_splits: int = 10

    def missing(self) -> str | None:
        """Import what is needed before any clock runs; return why the peer is skipped, or None."""
        for package in self.packages:
            try:
                importlib.import_module(package)
            except Exception as error:  # a broken peer is skipped with its reason, whatever it raises on import
                return f"{package} cannot be imported ({type(error).__name__}: {error})"
        return None


def linear_candidates(W: np.ndarray, **known: Any) -> Candidates:
    """Return linear models (N, d + 1) as candidates; rows are decided favourably above 0."""
    weights = np.asarray(W, dtype=np.float64)

    def scores(X: np.ndarray) -> np.ndarray:
        return weights[:, :-1] @ X.T + weights[:, -1:]

    return Candidates(
        approve=lambda X, groups: (scores(X) > 0).astype(np.float64),
        scores=scores,
        weights=weights,
        **{"solved": len(weights), **known},
    )


def frontier_weights(front: ff.Frontier) -> np.ndarray:
    """Return coefficients and intercept (N, d + 1) of a frontier of linear models."""
    return np.column_stack([front.models.coef[:, 0], front.models.intercept[:, 0]])


def model_candidates(models: list[Any], **known: Any) -> Candidates:
    """Return classifiers of scikit-learn's interface as candidates."""

    def approve(X: np.ndarray, groups: np.ndarray) -> np.ndarray:
        return np.stack([np.asarray(model.predict(X), dtype=np.float64) for model in models])

    return Candidates(approve, **{"solved": len(models), **known})


def two_groups(fitting: Fitting) -> str | None:
    """Say no beyond two groups."""
    return f"{fitting.n_groups} groups: for two here" if fitting.n_groups > 2 else None


def weights_of(models: list[Any]) -> np.ndarray:
    """Return the weights (N, d + 1) of fitted linear models of scikit-learn."""
    return np.stack([np.append(model.coef_.ravel(), model.intercept_.ravel()[0]) for model in models])


def base_learner() -> LogisticRegression:
    """Return the fastest sensible base estimator of these sizes for methods that refit: same loss, same ridge."""
    return LogisticRegression(solver="newton-cholesky")


def plain_model(rows: Rows) -> LogisticRegression:
    """Return the most accurate plain model of the family: logistic regression with scikit-learn's defaults."""
    return LogisticRegression(max_iter=2000).fit(rows.X, rows.y)


def exact_plain_weights(rows: Rows) -> np.ndarray:
    """Return the plain fit to high precision, (d + 1,), by scikit-learn's Newton solver."""
    return weights_of([LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=200).fit(rows.X, rows.y)])[0]
