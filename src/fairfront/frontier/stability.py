"""Stability: the whole frontier again on bootstrap samples of the training data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..objectives import Array, Cells
from ..problems import LinearProblem
from ..progress import progress_bar
from ..solvers import Newton, Target
from ..solvers.aiming import working_problem
from ..solvers.newton import first_knot, solve_knot
from .refining import same_problem, weights_of

if TYPE_CHECKING:
    from .frontier import Frontier


@dataclass(frozen=True)
class Stability:
    """Bands from n refits, point by point (N points).

    loss, gap (N, 2)     band of the refitted loss on its sample, and of the refit's worst gap on all training rows
    coef (N, K, d, 2)    band of every coefficient
    flips (N,)           mean share of training rows whose decision differs between the point and its refit
    n                    refits that converged, ``confidence`` of the bands
    """

    loss: Array
    gap: Array
    coef: Array
    flips: Array
    n: int
    confidence: float


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
    setup = same_problem(front, X, y, sensitive_features, sample_weight)
    problem = working_problem(setup, Newton())
    W = weights_of(front)
    caps = problem.algebra.violation(front.signed_gaps)
    decided = _decisions(problem, W)
    rng = np.random.default_rng(random_state)
    losses, gaps, coefs, flips = [], [], [], []
    with progress_bar(progress, "bootstrap", n) as bar:
        for done in range(n):
            sample = problem.with_row_weights(_draw(problem.layout.cells, rng))
            refit = _refit(sample, W, caps)
            L = problem.values(refit)
            losses.append(problem.algebra.loss(sample.values(refit)))
            gaps.append(problem.algebra.worst(L).max(axis=1))
            coefs.append(refit)
            flips.append((_decisions(problem, refit) != decided).mean(axis=1))
            bar.update(done + 1, f"{done + 1} of {n} samples")
    tails = [(1.0 - confidence) / 2, (1.0 + confidence) / 2]

    def band(values: list[Array]) -> Array:
        return np.moveaxis(np.quantile(np.stack(values), tails, axis=0), 0, -1)

    return Stability(band(losses), band(gaps), band(coefs), np.mean(flips, axis=0), n, confidence)


def _draw(cells: Cells, rng: np.random.Generator) -> Array:
    """Return bootstrap weights of the sorted rows; every cell keeps its total, so the algebra stays as it is."""
    base = np.ones(cells.n) if cells.row_weight is None else cells.row_weight
    weight = np.zeros(cells.n)
    for start, stop in zip(cells.offsets[:-1], cells.offsets[1:], strict=True):
        size = int(stop - start)
        drawn = base[start:stop] * np.bincount(rng.integers(size, size=size), minlength=size)
        weight[start:stop] = drawn * (base[start:stop].sum() / max(float(drawn.sum()), 1e-300))
    return weight


def _refit(sample: LinearProblem, W: Array, caps: Array) -> Array:
    """Solve every point of the frontier on a sample, from its neighbour's refit."""
    plain = sample.fit(sample.algebra.p, W[0])
    solver = Newton(tol=1e-7).solver(sample, plain)
    knot = first_knot(solver, plain)
    found = []
    for row in caps:
        knot = solve_knot(solver, knot, Target.from_caps(row[None]))
        found.append(knot.at.W)
    return np.stack(found)


def _decisions(problem: LinearProblem, W: Array) -> Array:
    """Return the decided class of every row for all models, (N, n), or the prediction's sign for one score."""
    N, K, d = W.shape
    parts = []
    for start in range(0, problem.design.n, 65_536):
        stop = min(start + 65_536, problem.design.n)
        scores = problem.design.scores(start, stop, W.reshape(N * K, d)).reshape(N, K, -1)
        parts.append(scores[:, 0] > 0 if K == 1 else scores.argmax(axis=1))
    return np.concatenate(parts, axis=1)
