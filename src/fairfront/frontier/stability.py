"""Stability: the whole frontier again on bootstrap samples of the training data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..exceptions import InputError
from ..objectives import Array
from ..problems import LinearProblem, blas_threads
from ..problems.bounds import check_memory, check_points
from ..problems.samples import Samples
from ..progress import progress_bar
from ..solvers.aiming import working_problem
from ..solvers.refits import refit
from ..validation import check_confidence, check_count, check_progress, check_seed
from .cutoffs import decide_at
from .refining import path_caps_of, same_problem, weights_of

if TYPE_CHECKING:
    from .frontier import Frontier


MOST_REFITS = 100_000
USUAL = 100


@dataclass(frozen=True)
class Stability:
    """Bands from n refits, point by point (N points).

    loss, gap (N, 2)     band of the refitted loss on its sample, and of the refit's worst gap on all training rows
    coef (N, K, d, 2)    band of every coefficient
    flips (N,)           mean share of training rows whose decision differs between the point and its refit, both at
                         the point's own cut-off where there is an operating point; NaN for regression
    n                    refits in which every point converged, ``confidence`` of the bands
    """

    loss: Array
    gap: Array
    coef: Array
    flips: Array
    n: int
    confidence: float


@blas_threads(1)
def bootstrap_frontier(
    front: Frontier,
    X: Any,
    y: Any,
    sensitive_features: Any,
    n: int,
    confidence: float,
    sample_weight: Any,
    random_state: int | None,
    progress: bool | Literal["auto"],
) -> Stability:
    """Refit all points n times, rows drawn with replacement inside each (group, label) cell."""
    check_count(n, "n", most=MOST_REFITS)
    check_confidence(confidence)
    check_seed(random_state)
    check_progress(progress)
    setup = same_problem(front, X, y, sensitive_features, sample_weight)
    newton = replace(front.facts.newton, tol=1e-7)
    problem = working_problem(setup, newton)
    if problem.layout.cells.shares is not None:
        raise InputError("stability draws rows inside groups, expected group labels, found probabilities.")
    W = problem.from_user(weights_of(front))
    caps = path_caps_of(front, problem)
    check_memory(2.0 * n * problem.rows.n, f"{n} samples of {problem.rows.n} rows")
    check_points(problem, n * len(W), USUAL * len(W), "refits of points")
    samples = Samples.draw(problem, n, np.random.default_rng(random_state))
    with progress_bar(progress, "bootstrap", n * len(W)) as bar:

        def on_points(done: int) -> None:
            bar.update(done, f"{done} of {n * len(W)} points")

        found = refit(problem, newton, samples, W, caps, int(np.argmin(front.loss)), on_points)
    tails = [(1.0 - confidence) / 2, (1.0 + confidence) / 2]

    def band(values: Array) -> Array:
        return np.moveaxis(np.quantile(values, tails, axis=0), 0, -1)

    worst = problem.algebra.worst(found.everyone.reshape(n * len(W), -1)).max(axis=1)
    return Stability(
        loss=band(found.L @ problem.algebra.p),
        gap=band(worst.reshape(n, -1)),
        coef=band(problem.to_user(found.W)),
        flips=_flips(front, problem, W, found.W) if setup.task.classes else np.full(len(W), np.nan),
        n=int(found.solved.all(axis=1).sum()),
        confidence=confidence,
    )


def _flips(front: Frontier, problem: LinearProblem, W: Array, refits: Array) -> Array:
    """Return the mean share of rows whose decision differs between a point (N, K, d) and its refits (S, N, K, d)."""
    S, N, K, d = refits.shape
    models = np.concatenate([W[None], refits]).reshape(-1, d)
    operating = front.operating()
    if operating is not None:
        operating = operating.take(np.tile(np.arange(N), S + 1))
    changed = np.zeros((S, N))
    size = max(64, problem.design.rows_per_chunk(len(models)))
    for start in range(0, problem.design.n, size):
        stop = min(start + size, problem.design.n)
        scores = problem.design.scores(start, stop, models).reshape((S + 1) * N, K, -1)
        decided = decide_at(scores, problem.task, operating).reshape(S + 1, N, -1)
        changed += (decided[1:] != decided[0]).sum(axis=2)
    return np.asarray(changed.mean(axis=0) / problem.design.n)
