"""Each comparator asked for several points of one front: its objectives, and what they cost."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import fairfront as ff
from fairfront.problems import FunctionProblem
from fairfront.solvers import Target, descend

from . import comparators as by

Function = by.Function


@dataclass(frozen=True)
class Question:
    """A vector of two functions, a start, the minimiser of each, preferences (N, 2) and step sizes to try.

    ``shift`` (2,) is taken off the objectives for sectors, which need a front that fans out from the origin.
    ``hessian`` gives that of a.h at w, for the methods that walk along the front with second derivatives.
    """

    f: Function
    start: np.ndarray
    minima: tuple[np.ndarray, np.ndarray]
    pi: np.ndarray
    etas: tuple[float, ...]
    steps: int
    shift: np.ndarray
    hessian: by.Hessian

    @property
    def unit(self) -> np.ndarray:
        """Return how far each objective ranges between the two minima, (2,)."""
        ends = [self.f(w)[0] for w in self.minima]
        return np.maximum(np.abs(ends[1] - ends[0]), 1e-12)

    @property
    def walk(self) -> float:
        """Return the length of steps, in objectives over their range, that leads to about as many points."""
        return 1.35 / len(self.pi)

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
    """NBI begins with both individual minima: what L-BFGS takes to find them is counted with the first point."""
    found = [by.nbi(q.f, q.minima, row, (row[:, None] * q.minima).sum(axis=0)) for row in q.weights]
    search = sum(by.weighted_sum(q.f, row, q.start).evaluations for row in np.eye(2))
    return [replace(found[0], evaluations=found[0].evaluations + search), *found[1:]]


def epsilon_constraints(q: Question) -> list[by.Found]:
    return [by.epsilon_constraint(q.f, np.array([cap]), q.start) for cap in q.caps()]


def exact_searches(q: Question, eta: float) -> list[by.Found]:
    return [by.epo(q.f, row, q.start, eta=eta, steps=q.steps) for row in q.pi]


def multi_task(q: Question, eta: float) -> list[by.Found]:
    turned, unit = by.sectors(len(q.pi)), q.unit

    def shifted(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        h, J = q.f(w)
        return h - q.shift, J

    found = [by.pareto_mtl(shifted, turned, k, q.start, eta, q.steps, unit) for k in range(len(q.pi))]
    return [by.Found(a.w, a.h + q.shift, a.evaluations, a.path) for a in found]


def perturbed(q: Question) -> list[by.Found]:
    return by.weight_perturbation(q.f, q.weights, q.start, steps=50)


def _first_end(q: Question) -> by.Found:
    """Walks begin at the minimiser of the first objective, found by L-BFGS."""
    return by.weighted_sum(q.f, np.array([1.0, 0.0]), q.start)


def homotopies(q: Question) -> list[by.Found]:
    first = _first_end(q)
    found, hessians = by.homotopy(q.f, q.hessian, first.w, q.unit, q.walk)
    return _from(first, found, hessians)


def explorations(q: Question) -> list[by.Found]:
    first = _first_end(q)
    return _from(first, by.exploration(q.f, first.w, q.unit, q.walk))


def _from(first: by.Found, found: list[by.Found], hessians: int = 0) -> list[by.Found]:
    """Count the search for the first end, and all Hessians, with the first point; keep the end itself."""
    return [replace(first, hessians=hessians), *found]


def smooth_chebyshevs(q: Question) -> list[by.Found]:
    return [by.smooth_chebyshev(q.f, row, q.start) for row in q.pi]


def _run(q: Question, solver: Any) -> list[by.Found]:
    """All preferences as one batch: evaluations are those of all runs together, counted with the first point."""
    calls = [0]

    def f(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        calls[0] += 1
        return q.f(w)

    problem = FunctionProblem(f, q.start, jac=True)
    starts = np.repeat(q.start[None, None], len(q.pi), axis=0)
    ended = descend(problem, solver, starts, Target.from_preferences(q.pi))
    spent = [calls[0], *[0] * (len(q.pi) - 1)]
    return [by.Found(w[0], h, n, h[None]) for w, h, n in zip(ended.W, ended.objectives, spent, strict=True)]


def printed_raw(q: Question, eta: float) -> list[by.Found]:
    return _run(q, ff.PaperPBPDO(T=q.steps, eta=eta))


def printed(q: Question, eta: float) -> list[by.Found]:
    return _run(q, ff.PaperPBPDO(T=q.steps, eta=eta, gradients="normalised"))


def default(q: Question) -> list[by.Found]:
    return _run(q, ff.PBPDO())


STEPPING = (exact_searches, multi_task, printed_raw, printed)
"""Methods with constant steps, whose size is theirs to choose."""
METHODS: dict[str, Callable[..., list[by.Found]]] = {
    "weighted sum (L-BFGS)": weighted_sums,
    "NBI (SLSQP)": normal_boundaries,
    "epsilon-constraint (SLSQP)": epsilon_constraints,
    "EPO": exact_searches,
    "Pareto MTL": multi_task,
    "weight perturbation (first order)": perturbed,
    "homotopy (Hillermeier)": homotopies,
    "continuous exploration (Ma et al.)": explorations,
    "smooth Chebyshev (STCH)": smooth_chebyshevs,
    "PB-PDO as printed, raw": printed_raw,
    "PB-PDO as printed, normalised": printed,
    "PB-PDO (fairfront)": default,
}
TOLD = {
    "NBI (SLSQP)": "both minima (their search is counted)",
    "epsilon-constraint (SLSQP)": "range of the second objective",
    "Pareto MTL": "range of both objectives",
    "homotopy (Hillermeier)": "range of both objectives",
    "continuous exploration (Ma et al.)": "range of both objectives",
}
"""What methods are told beforehand, besides functions and a start."""


def answers(
    q: Question, off: Callable[[np.ndarray], np.ndarray], etas: dict[str, float | None] | None = None
) -> dict[str, dict[str, Any]]:
    """Ask every method; return objectives, cost, and ``off`` (N, 2) -> (N,), how far off the front.

    Of a method with constant steps the size given in ``etas`` is taken, or that with the smallest median ``off``.
    """
    found = {}
    for name, method in METHODS.items():
        sizes: tuple[float | None, ...] = q.etas if method in STEPPING else (None,)
        if etas is not None:
            sizes = (etas[name],)
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
    return {"h": h, "off": off(h), "eta": eta, "evaluations": sum(point.evaluations for point in points),
            "hessians": sum(point.hessians for point in points), "seconds": seconds}  # fmt: skip
