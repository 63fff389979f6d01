"""PDO, default form: go down all objectives at once until none can fall without another rising (Algorithm 1).

Differs from the paper where the printed algorithm stops far from the frontier (`PaperPDO` runs it as printed):
gradients have unit length, the inner problem is solved exactly, the step is searched so that no objective rises,
and a gap within a band around zero becomes a constraint while the loss goes on falling along it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..objectives import Algebra, Array
from ..problems import Point, SecondOrder
from ..validation import check_count, check_positive
from .base import TINY, Mask, State, Status
from .loop import ENOUGH, Descent, Plan
from .quadratic import common_direction, factor, first_step

LONGEST = 4.0
"""Longest step in the metric of the first Hessian: curvature falls on the way, seldom by more."""
REFUSALS = 40
"""Steps refused in a row after which a run has stalled: the step is down to rounding by then."""
FLAT = 1e-28
"""Squared slope of the first objective, as a share of the largest, that is none."""
LEAST = 1e-3
"""Smallest unit of the loss, as a share of the largest objective, where the loss itself vanishes at the start."""
LONGER, SHORTER, CUT = 1.5, 0.5, 0.25
"""Factors on a step size: after a step that lowered the loss, after one that paid the way back, after a refusal."""


@dataclass(frozen=True)
class DescentState(State):
    """Per run: step size and the largest allowed, size of the loss at the start, band around zero, rejections."""

    eta: Array
    eta_max: Array
    scale: Array
    band: Array
    refused: NDArray[np.intp]


@dataclass(frozen=True)
class PDO(Descent):
    """Pareto descent from a start point to a point of the frontier.

    Parameters
    ----------
    max_iter : int
        Most steps; each is one pass over the data.
    tol : float
        A run ends when the loss can fall by no more than ``tol`` times itself along the common direction.
    band : float
        Gaps below ``band`` times the loss at the start are held there, and the loss goes on falling.
    start_scale : float
        Spread of the random start.
    """

    max_iter: int = 1000
    tol: float = 1e-11
    band: float = 1e-4
    start_scale: float = 0.1
    name: ClassVar[str] = "pdo"

    def __post_init__(self) -> None:
        check_count(self.max_iter, "max_iter", least=0)
        check_positive(self.tol, "tol", zero=True)
        check_positive(self.band, "band", zero=True)
        check_positive(self.start_scale, "start_scale")

    def prepare(
        self, problem: Any, start: Array | None, target: Any, rng: np.random.Generator
    ) -> tuple[Any, Array, DescentState]:
        """Start from random weights unless told otherwise, with the loss's Hessian there as the fixed metric."""
        W = self._starts(problem, start, rng)
        newton = isinstance(problem, SecondOrder)
        if newton:
            problem = problem.with_metric(problem.metric(W[0]))
        first = problem.cells(W)
        size = np.abs(problem.algebra.objectives(first.L))
        scale = np.maximum(np.maximum(size[:, 0], LEAST * size.max(axis=1)), 1e-12)
        eta = np.ones(len(W)) if newton else first_step(problem.algebra, first)
        top = np.full(len(W), LONGEST if newton else np.inf)
        refused = np.zeros(len(W), dtype=np.intp)
        return problem, W, DescentState(eta, top, scale, self.band * scale, refused)

    def plan(self, algebra: Algebra, point: Point, state: DescentState) -> tuple[Plan, DescentState]:
        F, z = factor(point.Q), algebra.gaps(point.L)
        A, held = algebra.jacobian(point.L), self._held(algebra, z, state)
        beta, status = np.zeros_like(point.L), []
        promise, toll = np.zeros((2, point.runs))
        flat = np.zeros(point.runs, dtype=bool)
        for r, Q in enumerate(point.Q):
            moves, back = common_direction(A[r], algebra.B, F[r], z[r], held[r])
            if state.refused[r] % 2 and not held[r].all():  # the way back may raise a gap that is not held
                back = np.zeros_like(back)
            beta[r] = state.eta[r] * moves + back
            promise[r], toll[r] = float(moves @ Q @ moves), max(0.0, -float(algebra.p @ Q @ back))
            slope2 = float(A[r, 0] @ Q @ A[r, 0])
            flat[r] = not algebra.gap.even and slope2 <= FLAT * float(Q.max())
            plain = algebra.gap.even and slope2 <= self.tol**2 * state.scale[r]
            reach = state.eta[r] if np.isinf(state.eta_max[r]) else 1.0
            little = not state.refused[r] and reach * promise[r] <= self.tol * state.scale[r]
            stuck = state.refused[r] > REFUSALS
            least = flat[r] and stuck  # the first objective is at its smallest and would rise
            done = promise[r] == 0.0 or plain or little or least
            status.append(Status.EFFICIENT if done else Status.STALLED if stuck else Status.RUNNING)
        returns = held.any(axis=1) & ~held.all(axis=1) & (state.refused % 2 == 0)
        memo = {"promise": np.where(flat, 0.0, promise), "toll": toll, "returns": returns}
        norms = np.sqrt(np.maximum(np.einsum("rmk,rkl,rml->rm", A, point.Q, A), 0.0))
        drop = np.einsum("rmk,rkl,rl->rm", A, point.Q, beta) / np.maximum(norms, TINY)
        size = np.sqrt(np.maximum(np.einsum("rk,rkl,rl->r", beta, point.Q, beta), TINY))
        return Plan(beta, status, memo, -drop.min(axis=1) / size), state

    def _held(self, algebra: Algebra, z: Array, state: DescentState) -> Mask:
        """Gaps that are held at zero, (R, q)."""
        return np.asarray(algebra.gap.even & algebra.two_sided & (np.abs(z) <= state.band[:, None]))

    def judge(
        self, algebra: Algebra, old: Point, new: Point, plan: Plan, state: DescentState
    ) -> tuple[Mask, DescentState]:
        """Accept a step that raises no objective outside the band and lowers the loss.

        The way back to zero of a held gap may cost some loss; that toll is granted.
        """
        h_old, h_new = algebra.objectives(old.L), algebra.objectives(new.L)
        inside = self._held(algebra, algebra.gaps(old.L), state) & (np.abs(algebra.gaps(new.L)) <= state.band[:, None])
        calm = (h_new[:, 1:] <= h_old[:, 1:]) | inside
        granted = 2.0 * plan.memo["toll"] - ENOUGH * state.eta * plan.memo["promise"]
        enough = h_new[:, 0] <= h_old[:, 0] + granted
        taken = np.asarray(enough & calm.all(axis=1) & np.isfinite(h_new).all(axis=1))
        fell = h_new[:, 0] < h_old[:, 0]
        grow = np.where(taken, np.where(fell, LONGER, SHORTER), np.where(plan.memo["returns"], 1.0, CUT))
        eta = np.minimum(grow * state.eta, state.eta_max)
        return taken, replace(state, eta=eta, refused=np.where(taken, 0, state.refused + 1))
