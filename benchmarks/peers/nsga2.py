"""pymoo's NSGA-II on loss and worst loss gap of the same linear model: the floor without gradients."""

from __future__ import annotations

import numpy as np

from ..optimum import Logistic
from .base import Candidates, Fitting, Peer, linear_candidates, plain_model, weights_of

POPULATION, GENERATIONS = 50, 100


def fit(fitting: Fitting) -> Candidates:
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.core.problem import Problem
    from pymoo.optimize import minimize

    objectives = Logistic(fitting.train)
    start = weights_of([plain_model(fitting.train)])[0]
    random = np.random.default_rng(fitting.seed)
    width = 0.5 * np.abs(start).max()

    class Front(Problem):
        def __init__(self) -> None:
            super().__init__(n_var=len(start), n_obj=2, xl=start - 2 * width, xu=start + 2 * width)

        def _evaluate(self, x: np.ndarray, out: dict[str, np.ndarray], *args: object, **options: object) -> None:
            loss, each = objectives.losses(x)
            out["F"] = np.column_stack([loss, np.ptp(each, axis=1)])

    first = start + 0.05 * width * random.normal(size=(POPULATION, len(start)))
    first[0] = start
    found = minimize(Front(), NSGA2(POPULATION, sampling=first), ("n_gen", GENERATIONS), seed=fitting.seed)
    return linear_candidates(np.atleast_2d(found.X), solved=POPULATION * GENERATIONS)


PEERS = {
    "nsga2": Peer(
        "pymoo NSGA-II",
        fit,
        packages=("pymoo.optimize",),
        note="started around the plain fit; counts evaluations",
        most_splits=5,
    )
}
