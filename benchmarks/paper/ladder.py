"""A printed algorithm at several step sizes in one batch: the paper states neither step nor length of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

import fairfront as ff
from fairfront.solvers import Outcome, Target, descend
from fairfront.solvers.base import OnIterate
from fairfront.solvers.descent import Beginning, Descent, Judgement, Plan
from fairfront.solvers.paper import PaperState

BEND = {"logistic": 0.25, "hinge": 1.0, "squared_hinge": 2.0}
"""Largest second derivative of a loss in its margin; the hinge has none, and 1 stands in its place."""


def smoothness(X: np.ndarray, loss: str) -> float:
    """Return L, the largest curvature of the mean loss: `BEND` times the largest eigenvalue of [X 1]^T [X 1] / n."""
    whole = np.column_stack([X, np.ones(len(X))])
    return float(BEND[loss] * np.linalg.eigvalsh(whole.T @ whole / len(whole))[-1])


@dataclass(frozen=True, eq=False)
class LadderState:
    """Per run: what the algorithm remembers, and its step size."""

    printed: PaperState
    eta: np.ndarray


@dataclass(frozen=True)
class Ladder(Descent):
    """Runs of ``printed`` (with a step of 1), each with its own constant step size; nothing else changes."""

    printed: ff.PaperPDO
    etas: tuple[float, ...]
    name: ClassVar[str] = "ladder"
    last_status: ClassVar[ff.Status] = ff.Status.STEPS_TAKEN  # type: ignore[misc]

    @property
    def max_iter(self) -> int:
        return self.printed.T

    def beginning(self, problem: Any, start: Any, target: Any, rng: np.random.Generator) -> Beginning:
        return self.printed.beginning(problem, start, target, rng)

    def begin(self, algebra: Any, point: Any, target: Any) -> LadderState:
        return LadderState(self.printed.begin(algebra, point, target), np.array(self.etas))

    def plan(self, algebra: Any, point: Any, state: LadderState) -> Plan:
        plan = self.printed.plan(algebra, point, state.printed)
        return replace(plan, beta=state.eta[:, None] * plan.beta)

    def judge(self, algebra: Any, old: Any, new: Any, plan: Plan, state: LadderState) -> Judgement:
        judgement = self.printed.judge(algebra, old, new, plan, state.printed)
        return Judgement(judgement.accepted, replace(state, printed=judgement.state))


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
        return descend(problem, ladder, np.tile(starts, (many, 1, 1)), target, on_iterate)
