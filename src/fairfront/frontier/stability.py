"""Stability: the whole frontier again on bootstrap samples of the training data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..measures.table import decide
from ..objectives import Array, Cells
from ..problems import LinearProblem, blas_threads
from ..progress import progress_bar
from ..solvers import Newton, Status
from ..solvers.aiming import working_problem
from ..solvers.newton import first_knot, follow
from ..validation import check_count
from .refining import path_caps_of, same_problem, weights_of

if TYPE_CHECKING:
    from .frontier import Frontier


@dataclass(frozen=True)
class Stability:
    """Bands from n refits, point by point (N points).

    loss, gap (N, 2)     band of the refitted loss on its sample, and of the refit's worst gap on all training rows
    coef (N, K, d, 2)    band of every coefficient
    flips (N,)           mean share of training rows whose decision differs between the point and its refit; NaN for
                         regression
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
    check_count(n, "n")
    setup = same_problem(front, X, y, sensitive_features, sample_weight)
    newton = replace(front.facts.newton, tol=1e-7)
    problem = working_problem(setup, newton)
    if problem.layout.cells.shares is not None:
        raise InputError("stability draws rows inside groups, expected group labels, found probabilities.")
    W = weights_of(front)
    caps = path_caps_of(front, problem)
    decided = _decisions(problem, W)
    solved = 0
    rng = np.random.default_rng(random_state)
    losses, gaps, coefs, flips = [], [], [], []
    with progress_bar(progress, "bootstrap", n) as bar:
        for done in range(n):
            sample = problem.with_row_weights(_draw(problem.layout.cells, rng))
            refit, converged = _refit(sample, newton, W, caps, int(np.argmin(front.loss)))
            solved += converged
            L = problem.values(refit)
            losses.append(problem.algebra.loss(sample.values(refit)))
            gaps.append(problem.algebra.worst(L).max(axis=1))
            coefs.append(refit)
            flips.append((_decisions(problem, refit) != decided).mean(axis=1))
            bar.update(done + 1, f"{done + 1} of {n} samples")
    tails = [(1.0 - confidence) / 2, (1.0 + confidence) / 2]

    def band(values: list[Array]) -> Array:
        return np.moveaxis(np.quantile(np.stack(values), tails, axis=0), 0, -1)

    share = np.mean(flips, axis=0) if setup.task.classes else np.full(len(W), np.nan)
    return Stability(band(losses), band(gaps), band(coefs), share, solved, confidence)


def _draw(cells: Cells, rng: np.random.Generator) -> Array:
    """Return bootstrap weights of the sorted rows; every cell keeps its total, so the algebra stays as it is."""
    base = np.ones(cells.n) if cells.row_weight is None else cells.row_weight
    weight = np.zeros(cells.n)
    for start, stop in zip(cells.offsets[:-1], cells.offsets[1:], strict=True):
        size = int(stop - start)
        drawn = base[start:stop] * np.bincount(rng.integers(size, size=size), minlength=size)
        weight[start:stop] = drawn * (base[start:stop].sum() / max(float(drawn.sum()), 1e-300))
    return weight


def _refit(sample: LinearProblem, newton: Newton, W: Array, caps: Array, plain: int) -> tuple[Array, bool]:
    """Solve every point of the frontier on a sample, plain training without caps; say whether all converged."""
    weights = sample.fit(sample.algebra.p, W[plain])
    solver = newton.solver(sample, weights)
    first = first_knot(solver, weights)
    knot = replace(first, caps=np.maximum(first.caps, caps.max(axis=0)))
    found, converged = [], True
    for place, row in enumerate(caps):
        if place == plain:
            found.append(weights)
            continue
        if knot.status is not Status.FLOOR or (row >= knot.caps).all():  # below its floor a sample has nothing more
            knot = follow(solver, knot, row[None])[-1]
        converged &= knot.status.solved
        found.append(knot.at.W)
    return np.stack(found), converged


def _decisions(problem: LinearProblem, W: Array) -> NDArray[Any]:
    """Return the decided class of every row for all models (predictions for regression), (N, n)."""
    N, K, d = W.shape
    parts = []
    for start in range(0, problem.design.n, 65_536):
        stop = min(start + 65_536, problem.design.n)
        scores = problem.design.scores(start, stop, W.reshape(N * K, d)).reshape(N, K, -1)
        parts.append(decide(scores, problem.task))
    return np.concatenate(parts, axis=1)
