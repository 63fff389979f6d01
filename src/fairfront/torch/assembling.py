"""From trained weights to a frontier of modules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..frontier import Frontier, facts_of
from ..objectives import Array
from ..pareto import nondominated
from ..solvers import Status
from .modules import copied
from .points import TorchPoints
from .problem import TorchProblem


def assemble_modules(problem: TorchProblem, W: Array, status: list[Status], pi: Array, solver: Any) -> Frontier:
    """Return the frontier of weights (N, 1, P), sorted by loss; the first, plain training, always stays.

    Points that another one dominates on loss and worst gaps go, unless a preference asked for them.
    """
    algebra = problem.algebra
    L = np.concatenate([problem.values(W[i : i + 1]) for i in range(len(W))])
    axes = np.column_stack([algebra.loss(L), algebra.worst(L)])
    kept = nondominated(axes) | ~np.isnan(pi[:, 0])
    kept[0] = True
    places = np.flatnonzero(kept)
    places = places[np.lexsort((places, axes[places, 0]))]
    laid = problem.objectives.laid
    setup = laid[0]
    points = TorchPoints(
        states=tuple(problem.state(W[i]) for i in places),
        task=setup.task,
        loss=setup.problem.loss.name,
        n_scores=problem.objectives.n_scores,
        module=copied(problem.module).eval(),
        tasks=tuple(each.task for each in laid) if len(laid) > 1 else (),
    )
    N = len(places)
    return Frontier(
        points=points,
        objectives=algebra.objectives(L[places]),
        gaps=algebra.worst(L[places]),
        signed_gaps=algebra.gaps(L[places]),
        objective_names=algebra.names,
        status=tuple(status[i] for i in places),
        preferences=pi[places],
        facts=replace(facts_of(setup, solver), notions=algebra.notions),
        kkt=np.full(N, np.nan),
        certified=np.zeros(N, dtype=bool),
        multipliers=np.zeros((N, 0)),
        multiplier_names=(),
        ids=np.arange(N),
    )
