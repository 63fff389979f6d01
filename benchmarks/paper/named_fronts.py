"""Each comparator asked for several points of one front: its objectives, and what they cost."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import fairfront as ff
from fairfront.problems import FunctionProblem
from fairfront.solvers import Target, run

from . import comparators as by

Function = by.Function


@dataclass(frozen=True)
class Question:
    """A vector of two functions, a start, the minimiser of each, preferences (N, 2) and step sizes to try.

    ``shift`` (2,) is taken off the objectives for sectors, which need a front that fans out from the origin.
    """

    f: Function
    start: np.ndarray
    minima: tuple[np.ndarray, np.ndarray]
    pi: np.ndarray
    etas: tuple[float, ...]
    steps: int
    shift: np.ndarray

    @property
    def shares(self) -> np.ndarray:
        """Return evenly spread positions strictly between the two ends."""
        return (np.arange(len(self.pi)) + 0.5) / len(self.pi)

    @property
    def weights(self) -> np.ndarray:
        """Return evenly spread weights (N, 2)."""
        return np.column_stack([1.0 - self.shares, self.shares])

    def caps(self) -> np.ndarray:
        """Return caps on the second objective, even in its root between the two ends."""
        ends = np.sqrt([self.f(w)[0][1] for w in self.minima])
        return (ends[0] + (ends[1] - ends[0]) * self.shares) ** 2


def weighted_sums(q: Question) -> list[by.Found]:
    return [by.weighted_sum(q.f, row, q.start) for row in q.weights]


def normal_boundaries(q: Question) -> list[by.Found]:
    return [by.nbi(q.f, q.minima, row, (row[:, None] * q.minima).sum(axis=0)) for row in q.weights]


def epsilon_constraints(q: Question) -> list[by.Found]:
    return [by.epsilon_constraint(q.f, np.array([cap]), q.start) for cap in q.caps()]


def exact_searches(q: Question, eta: float) -> list[by.Found]:
    return [by.epo(q.f, row, q.start, eta=eta, steps=q.steps) for row in q.pi]


def multi_task(q: Question, eta: float) -> list[by.Found]:
    turned = by.sectors(len(q.pi))
    unit = np.maximum(np.array([abs(q.f(q.minima[1 - i])[0][i] - q.shift[i]) for i in (0, 1)]), 1e-12)

    def shifted(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        h, J = q.f(w)
        return h - q.shift, J

    found = [by.pareto_mtl(shifted, turned, k, q.start, eta, q.steps, unit) for k in range(len(q.pi))]
    return [by.Found(a.w, a.h + q.shift, a.evaluations, a.path) for a in found]


def perturbed(q: Question) -> list[by.Found]:
    return by.weight_perturbation(q.f, q.weights, q.start, steps=50)


def smooth_chebyshevs(q: Question) -> list[by.Found]:
    return [by.smooth_chebyshev(q.f, row, q.start) for row in q.pi]


def _run(q: Question, solver: Any) -> list[by.Found]:
    found = []
    for row in q.pi:
        problem = FunctionProblem(q.f, q.start, jac=True)
        ended = run(problem, solver, q.start[None, None], Target.from_preferences(row[None]))
        found.append(by.Found(ended.W[0, 0], ended.objectives[0], ended.passes, ended.history[0]))
    return found


def printed(q: Question, eta: float) -> list[by.Found]:
    return _run(q, ff.PaperPBPDO(T=q.steps, eta=eta, gradients="normalised"))


def default(q: Question) -> list[by.Found]:
    return _run(q, ff.PBPDO())


STEPPING = (exact_searches, multi_task, printed)
"""Methods with constant steps, whose size is theirs to choose."""
METHODS: dict[str, Callable[..., list[by.Found]]] = {
    "weighted sum (L-BFGS)": weighted_sums,
    "NBI (SLSQP)": normal_boundaries,
    "epsilon-constraint (SLSQP)": epsilon_constraints,
    "EPO": exact_searches,
    "Pareto MTL": multi_task,
    "weight perturbation (first order)": perturbed,
    "smooth Chebyshev (STCH)": smooth_chebyshevs,
    "PB-PDO as printed, normalised": printed,
    "PB-PDO (fairfront)": default,
}


def answers(q: Question, off: Callable[[np.ndarray], np.ndarray]) -> dict[str, dict[str, Any]]:
    """Ask every method; return objectives, evaluations, seconds, and ``off`` (N, 2) -> (N,), how far off the front.

    Of a method with constant steps the step size with the smallest median ``off`` counts.
    """
    found = {}
    for name, method in METHODS.items():
        sizes: tuple[float | None, ...] = q.etas if method in STEPPING else (None,)
        tried = [_answer(q, method, eta, off) for eta in sizes]
        found[name] = min(tried, key=lambda answer: float(np.nan_to_num(np.median(answer["off"]), nan=np.inf)))
    return found


def _answer(
    q: Question, method: Callable[..., list[by.Found]], eta: float | None, off: Callable[[np.ndarray], np.ndarray]
) -> dict[str, Any]:
    begun = time.process_time()
    with np.errstate(all="ignore"):
        points = method(q) if eta is None else method(q, eta)
    seconds = time.process_time() - begun
    h = np.nan_to_num(np.array([point.h for point in points]), nan=1e6, posinf=1e6)
    evaluations = sum(point.evaluations for point in points)
    return {"h": h, "off": off(h), "eta": eta, "evaluations": evaluations, "seconds": seconds}
