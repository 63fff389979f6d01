"""PDO: go down all objectives at once until none can fall without another rising (Algorithm 1), as printed and default.

`PaperPDO` runs it as printed, every open choice a named parameter, in two readings. ``raw``: g_i is the gradient of
h_i, as the algorithm shows. ``normalised``: g_i has unit length, as the text below equation (5) says ("the normalized
gradient vector").

The default differs from the paper where the printed algorithm stops far from the frontier: gradients have unit length,
the inner problem is solved exactly, the step is searched so that no objective rises, and a gap within a band around
zero becomes a constraint while the loss goes on falling along it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..objectives import Algebra, Array
from ..problems import FunctionProblem, LinearProblem, Point, SecondOrder
from ..validation import check_choice, check_count, check_flag, check_positive, refuse
from ..validation.inputs import as_numbers
from .base import TINY, Accepted, Mask, Status, Target
from .loop import ENOUGH, Descent, Plan, State
from .quadratic import (
    DEPENDENT,
    common_direction,
    factor,
    first_step,
    min_norm,
    projected_gradient,
    steepest,
)

Gradients = Literal["raw", "normalised"]
Inner = Literal["projected_gradient", "exact"]
STILL = 1e-12  # length of a direction that is none
BALANCED = 1e-4  # share of the loss gradient that may be left where the gaps' gradients balance it
VANISHED = 1e-6  # length of a gradient, as a share of the longest, that is none
SHORTEST = 1e-150  # length of a gradient that is not scaled to unit length: its square is 0
SUM = 1e-9  # how far the sum of given weights may be from 1
WIDE = 2.0  # rounding of a hinge that has curvature at small weights, where the metric is taken
LONGEST = 4.0  # longest step in the metric of the first Hessian: curvature falls on the way, seldom by more
REFUSALS = 40  # steps refused in a row after which a run has stalled: the step is down to rounding by then
FLAT = 1e-28  # squared slope of the first objective, as a share of the largest, that is none
LEAST, NONE = 1e-3, 1e-12
"""Smallest unit of the loss where it vanishes at the start: as a share of the largest objective, and by itself."""
RAY, FAR = 10.0 ** np.arange(-6, 2), 3
"""Lengths at which a ray from the end of a run is looked at, in units of its size; how many of them are far away."""
UNLIKE, FALL, TIED = 1e-2, 1e-6, 0.99
"""Length of a common direction of unit gradients that is none; share of what objectives fell by that is no fall; share
of the largest pi_i h_i that is as large."""
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
    max_iter : int, most steps; each is one pass over the data
    tol : float, a run ends when the loss can fall by no more than ``tol`` times itself along the common direction
    band : float, gaps below ``band`` times the loss at the start are held there, and the loss goes on falling
    start_scale : float, spread of the random start
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
            problem = problem.with_metric(problem.with_loss(problem.loss.smoothed(WIDE)).metric(W[0]))
        first = problem.cells(W)
        size = np.abs(problem.algebra.objectives(first.L))
        scale = np.maximum(np.maximum(size[:, 0], LEAST * size.max(axis=1)), NONE)
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
        return Plan(beta, status, memo), state

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


@dataclass(frozen=True)
class PaperState(State):
    """Per run: the inner weights to start from, and the preference (Algorithm 2)."""

    alpha: Array
    pi: Array


@dataclass(frozen=True)
class PaperPDO(Descent):
    """Algorithm 1 as printed.

    Parameters
    ----------
    T, eta : outer steps (int) and their constant length (float)
    K, rho : inner steps (int) and their length (float); None takes 1 / L_Phi, which Lemma 2 allows
    alpha0 : array of shape (m,), inner start; uniform by default
    warm_alpha : bool, whether to start inner steps from the last step's weights instead
    inner : {"projected_gradient", "exact"}
    gradients : {"raw", "normalised"}, the two readings of the paper
    start_scale : float, spread of the random start
    """

    T: int = 1000
    eta: float = 0.1
    K: int = 20
    rho: float | None = None
    alpha0: tuple[float, ...] | None = None
    warm_alpha: bool = False
    inner: Inner = "projected_gradient"
    gradients: Gradients = "raw"
    start_scale: float = 0.1
    extra_rows: ClassVar[int] = 0
    name: ClassVar[str] = "paper_pdo"
    accepts: ClassVar[frozenset[Accepted]] = frozenset({"uneven gaps"})

    def __post_init__(self) -> None:
        check_count(self.T, "T", least=0)
        check_positive(self.eta, "eta")
        check_count(self.K, "K", least=0)
        if self.rho is not None:
            check_positive(self.rho, "rho")
        if self.alpha0 is not None:  # inner steps do not lead back to the simplex from outside
            alpha = as_numbers(self.alpha0, "alpha0")
            if alpha.ndim != 1 or not (alpha >= 0.0).all() or not abs(alpha.sum() - 1.0) <= SUM:
                raise refuse("alpha0", self.alpha0, "numbers of at least 0 that sum to 1, one per objective")
        check_flag(self.warm_alpha, "warm_alpha")
        check_choice(self.inner, "inner", get_args(Inner))
        check_choice(self.gradients, "gradients", get_args(Gradients))
        check_positive(self.start_scale, "start_scale")

    @property
    def max_iter(self) -> int:
        return self.T

    def working(self, problem: LinearProblem) -> LinearProblem:
        return problem

    def prepare(
        self, problem: Any, start: Array | None, target: Target | None, rng: np.random.Generator
    ) -> tuple[Any, Array, PaperState]:
        """Take the start as given, or random weights; no metric, no data-dependent choice."""
        m = problem.algebra.m
        pi = np.ones((1, m)) if target is None else target.pi
        W = self._starts(problem, start, rng)
        runs, rows = max(len(W), len(pi)), m + self.extra_rows
        alpha = np.full(rows, 1.0 / rows) if self.alpha0 is None else np.asarray(self.alpha0, dtype=np.float64)
        if len(alpha) != rows:
            raise refuse("alpha0", self.alpha0, f"{rows} numbers, one per row of gradients")
        state = PaperState(np.tile(alpha, (runs, 1)), np.broadcast_to(pi, (runs, m)).copy())
        return problem, np.broadcast_to(W, (runs, *W.shape[1:])).copy(), state

    def plan(self, algebra: Algebra, point: Point, state: PaperState) -> tuple[Plan, PaperState]:
        """Take K inner steps and move by eta along their direction (Algorithm 1, lines 3 to 9)."""
        A = algebra.jacobian(point.L)
        alpha, d = self._direction(A, point.Q, state.alpha)
        return self._planned(algebra, point, d), self._remember(state, alpha)

    def _planned(self, algebra: Algebra, point: Point, d: Array) -> Plan:
        """Stop when the direction vanishes: stuck if unit gradients have one, weak if only the gaps are smallest."""
        status = [Status.RUNNING] * point.runs
        for r in np.flatnonzero(~(np.einsum("rk,rkl,rl->r", d, point.Q, d) > STILL**2)):
            F = factor(point.Q[r : r + 1])[0]
            J, g, C = algebra.jacobian(point.L[r : r + 1])[0] @ F, algebra.p @ F, algebra.B @ F
            left = g - np.linalg.lstsq(C.T, g, rcond=DEPENDENT)[0] @ C  # what the gaps' gradients cannot balance
            weak = np.linalg.norm(left) > BALANCED * np.linalg.norm(g)
            norms = np.linalg.norm(J, axis=1)
            stuck = norms.min() > VANISHED * norms.max() and np.linalg.norm(steepest(J)) > BALANCED
            status[r] = Status.STUCK if stuck else Status.WEAK if weak else Status.EFFICIENT
        return Plan(self.eta * d, status)

    def _remember(self, state: PaperState, alpha: Array) -> PaperState:
        return PaperState(alpha, state.pi) if self.warm_alpha else state

    def _direction(self, A: Array, Q: Array, alpha0: Array) -> tuple[Array, Array]:
        """Return inner weights and the direction in cell coordinates (DescentDirection of Algorithm 2)."""
        if self.gradients == "normalised":
            norms = np.sqrt(np.maximum(np.einsum("rik,rkl,ril->ri", A, Q, A), 0.0))
            A = A / np.where(norms > SHORTEST, norms, 1.0)[:, :, None]
        if self.inner == "exact":
            alpha = min_norm(A @ factor(Q))
        else:
            alpha = projected_gradient(np.einsum("rik,rkl,rjl->rij", A, Q, A), alpha0, self.rho, self.K)
        return alpha, np.einsum("ri,rik->rk", alpha, A)

    def judge(self, algebra: Algebra, old: Point, new: Point, plan: Plan, state: PaperState) -> tuple[Mask, PaperState]:
        return np.ones(old.runs, dtype=bool), state


def confirmed(
    problem: FunctionProblem, status: Status, x: Array, history: Array, preference: Any
) -> tuple[Status, int]:
    """Return the status of an end or what is true instead, and how many evaluations that took.

    A run ends where its objectives hardly fall any more, which they do on a plateau as well, and where they fall for
    ever. So the point is compared with others on rays down the gradients, unless these balance each other.
    """
    moved = status is Status.LIMIT and len(history) > 1
    if not (status.solved or moved or status is Status.OUT_OF_REACH):
        return status, 0
    h, J = problem.evaluate(x)
    only = np.ones(len(h), dtype=bool)
    if status in (Status.NEAREST, Status.OUT_OF_REACH):  # the first one is at its smallest, or the largest of the rest
        only = np.append(status is Status.NEAREST, (h * preference)[1:] >= TIED * (h * preference)[1:].max())
        only[1:] &= status is Status.OUT_OF_REACH
    down, spans = steepest(J[only]), np.ptp(history, axis=0)
    if not J.any() and len(history) > 1 and (history[0] - h <= FALL * np.abs(h)).all():
        return Status.STALLED, 1  # it went nowhere, on a plateau without slopes
    if np.linalg.norm(down) <= UNLIKE:
        return status, 1
    try:
        with np.errstate(all="ignore"):
            ray = np.array([problem.heights(x - t * (1.0 + np.linalg.norm(x)) * down)[0] for t in RAY])
    except Exception:  # functions need not be defined so far away, and how they say so is their affair
        return status, 1
    step = np.diff(np.vstack([h, ray[-FAR:]]), axis=0)
    if (step <= 0.0).all() and (step < 0.0).any(axis=1).all():
        return Status.UNATTAINED, 1 + len(RAY)
    fall = ((h - ray) / np.where(spans > 0.0, spans, np.maximum(np.abs(h), TINY)))[:, only]
    better = (fall >= 0.0).all(axis=1) & (fall.sum(axis=1) > FALL)
    return Status.STALLED if better.any() and status is not Status.LIMIT else status, 1 + len(RAY)
