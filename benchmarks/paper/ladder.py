"""A printed algorithm at several step sizes in one batch: the paper states neither step nor length of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

import fairfront as ff
from fairfront.solvers import Target, run
from fairfront.solvers.loop import Descent, OnIterate, Outcome, Plan
from fairfront.solvers.pdo import PaperState

BEND = {"logistic": 0.25, "hinge": 1.0, "squared_hinge": 2.0}
"""Largest second derivative of a loss in its margin; the hinge has none, and 1 stands in its place."""


def smoothness(X: np.ndarray, loss: str) -> float:
    """Return L, the largest curvature of the mean loss: `BEND` times the largest eigenvalue of [X 1]^T [X 1] / n."""
    whole = np.column_stack([X, np.ones(len(X))])
    return float(BEND[loss] * np.linalg.eigvalsh(whole.T @ whole / len(whole))[-1])


@dataclass(frozen=True)
class LadderState(PaperState):
    """Per run, beside what the algorithm remembers: its step size."""

    eta: np.ndarray


@dataclass(frozen=True)
class Ladder(Descent):
    """Runs of ``printed`` (with a step of 1), each with its own constant step size; nothing else changes."""

    printed: ff.PaperPDO
    etas: tuple[float, ...]
    name: ClassVar[str] = "ladder"

    @property
    def max_iter(self) -> int:
        return self.printed.T

    def prepare(self, problem: Any, start: Any, target: Any, rng: np.random.Generator) -> tuple[Any, Any, LadderState]:
        problem, W, state = self.printed.prepare(problem, start, target, rng)
        return problem, W, LadderState(state.alpha, state.pi, np.array(self.etas))

    def plan(self, algebra: Any, point: Any, state: LadderState) -> tuple[Plan, LadderState]:
        plan, _ = self.printed.plan(algebra, point, state)
        return replace(plan, beta=state.eta[:, None] * plan.beta), state

    def judge(self, algebra: Any, old: Any, new: Any, plan: Plan, state: LadderState) -> tuple[Any, LadderState]:
        return self.printed.judge(algebra, old, new, plan, state)[0], state


def climb(
    problem: Any,
    printed: ff.PaperPDO,
    etas: Sequence[float],
    starts: np.ndarray,
    pi: np.ndarray | None = None,
    on_iterate: OnIterate | None = None,
) -> Outcome:
    """Run from every start (S, 1, d), with the preference of its place if there are any, at every step size.

    Runs are in the order of step sizes, and of starts within each.
    """
    many = len(etas)
    target = None if pi is None else Target.from_preferences(np.tile(pi, (many, 1)))
    ladder = Ladder(replace(printed, eta=1.0), tuple(np.repeat(etas, len(starts)).tolist()))
    with np.errstate(over="ignore", invalid="ignore"):  # runs at too long a step leave the range of floats
        return run(problem, ladder, np.tile(starts, (many, 1, 1)), target, on_iterate)
