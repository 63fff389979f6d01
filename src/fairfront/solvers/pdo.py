"""PDO: lower all objectives together until none can fall without another rising.

Every step goes down the shortest vector in the hull of the unit gradients u_i = g_i / |g_i|,

    d = |g_1| sum_i a_i u_i,   a the exact minimiser of |sum_i a_i u_i| on the simplex    (1)

for which <d, g_i> > 0 for all i (Lemma 1 of the paper), and is as long as Armijo's rule for
*every* objective allows. So no objective ever rises. In terms of the gradients themselves the
weights are alpha_i proportional to a_i / |g_i|.

Differs from Algorithm 1, which is in `paper`. There, raw gradients with phi(z) = z^2 / 2 stop at
any model with equal losses, far from the frontier, because the gradient z dz of a gap vanishes
with it and takes all the weight. Here a gap within a narrow band around zero is *held*: it becomes
a constraint. The components of (1) along the gradients C of held gaps are taken out,

    u_i <- u_i - C^T (C C^T)^+ C u_i,                                                    (2)

and the step also brings held gaps back towards zero, as far as every other objective still falls.
Held gaps stay in the band, and the loss goes on falling along it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..objectives import Algebra, Array
from ..problems import LinearProblem, Point, SecondOrder, WeightedFit
from ..validation import check_count, check_flag, check_positive
from .base import TINY, TOLERANCES, Ids, Mask, Request, Status, Target
from .descent import Beginning, Course, Descent, Judgement, Plan
from .run_log import all_running
from .simplex import factor, min_norm

LONGER, SHORTER = 1.5, 0.25
"""Factors on the step size after an accepted and after a refused step."""
MOST_REFUSALS = 40
"""Refused steps in a row after which a run ends; the step size is 1e-24 of what it was by then."""
RESERVE = 0.5
"""Share of every promised decrease that bringing held gaps back to zero has to leave."""
EXACT = 4e-16
"""Relative change of an objective that is rounding, not a rise."""
SMALLEST_UNIT = 1e-12
"""Smallest unit of an objective, as a share of the largest at the start."""
WIDE = 2.0
"""Width over which a hinge is rounded where its Hessian becomes the metric, at small weights."""
FAR, NEAR_ZERO = 1e18, 1e-3
"""A run whose step size grew by the first factor, with no step ever refused, follows objectives
that fall however far it goes; unless they fell faster than step sizes grew, to less than the second
share of that, as towards a flat minimum of 0: exp(-w) falls with 1 / eta, w^4 with 1 / eta^2."""
VANISHED = 1e-6
"""Fall of an objective, as a share of the largest, at which it is at its minimum to the precision
of finite differences."""


@dataclass(frozen=True, eq=False)
class CommonDirection:
    """What (1) says at one point.

    down (k,), falls (m,)   (1) in cell coordinates; the decrease per unit of step that it promises
    back (k,), costs (m,)   the step that takes held gaps to zero, and the rise that it costs
    alpha (m,)              weights of the gradients g_i in (1), on the simplex; 0 for held gaps
    norm                    |sum_i alpha_i g_i|
    balance                 |sum_i a_i u_i|, free of the lengths of gradients
    """

    down: Array
    falls: Array
    back: Array
    costs: Array
    alpha: Array
    norm: float
    balance: float


def common_direction(A: Array, B: Array, F: Array, z: Array, held: Mask) -> CommonDirection:
    """Return the direction (1) at a point.

    Parameters
    ----------
    A : array of shape (m, k), rows of the objectives' gradients in cell coordinates
    B : array of shape (q, k), rows of the gaps
    F : array of shape (k, r) with Q = F F^T
    z : array of shape (q,), the gaps
    held : array of shape (q,) of booleans, the gaps that are constraints
    """
    J, C = A @ F, B[held] @ F
    inverse = np.linalg.pinv(C @ C.T, rcond=TOLERANCES.dependent, hermitian=True)
    removed = J @ C.T @ inverse  # (2): rows of J minus these combinations of rows of C
    rows, coordinates = J - removed @ C, A - removed @ B[held]
    back = (inverse @ z[held]) @ B[held]
    norms = np.linalg.norm(rows, axis=1)
    longest = max(float(np.linalg.norm(J, axis=1).max()), TINY)
    free = np.concatenate([[True], ~held])
    used = free & (norms > TOLERANCES.zero_row * longest)
    down, alpha = np.zeros(A.shape[1]), np.zeros(len(A))
    balance = norm = 0.0
    # A loss that cannot fall along the held gaps ends the run, whatever other gaps could do.
    if used.any() and (used[0] or not held.any()):
        weights = min_norm((rows[used] / norms[used, None])[None])[0] / norms[used]
        combined = weights @ rows[used]
        balance = float(np.linalg.norm(combined))
        norm = balance / float(weights.sum())
        alpha[used] = weights / weights.sum()
        length = norms[0] if used[0] else norms[used].max()
        down = length * weights @ coordinates[used]
    falls, costs = J @ (F.T @ down), -J @ (F.T @ back)
    return CommonDirection(down, falls, back, costs, alpha, norm, balance)


@dataclass(frozen=True, eq=False)
class PDOState:
    """Per run.

    eta, first_eta      step size, and the first one
    bounded, refusals   whether a step was ever refused, and how many were in a row
    band, unit (m,)     width of the band around zero, and the unit of every objective
    """

    eta: Array
    first_eta: Array
    bounded: Mask
    refusals: Ids
    band: Array
    unit: Array


@dataclass(frozen=True, eq=False)
class PDOForecast:
    """Per run: the decrease (m,) that the step promises, and the gaps (q,) that are held."""

    decrease: Array
    held: Mask


@dataclass(frozen=True, eq=False)
class RunRecord:
    """What decides whether one run goes on.

    unit (m,)           of every objective
    height              the largest objective, in its unit
    growth              of the step size since the start
    bounded, refusals   as in `PDOState`
    """

    unit: Array
    height: float
    growth: float
    bounded: bool
    refusals: int


@dataclass(frozen=True)
class PDO(Descent):
    """Pareto descent from a start to a point of the frontier.

    Parameters
    ----------
    max_iter : int, most steps; each is one pass over the data for all runs
    tol : float
        A run ends when no objective is promised to fall by more than this share of its size at the
        start, and longer steps have failed.
    band : float, gaps below this share of the loss at the start are held
    start_scale : float, spread of random starts
    visited : bool, whether a frontier keeps the non-dominated points that runs pass
    """

    max_iter: int = 1000
    tol: float = 1e-11
    band: float = 1e-4
    start_scale: float = 0.1
    visited: bool = False
    name: ClassVar[str] = "pdo"

    def __post_init__(self) -> None:
        check_count(self.max_iter, "max_iter", least=0)
        check_positive(self.tol, "tol", zero=True)
        check_positive(self.band, "band", zero=True)
        check_positive(self.start_scale, "start_scale")
        check_flag(self.visited, "visited")

    def course(self, problem: LinearProblem, request: Request, plain: Array) -> Course:
        """Return one random start, or several from there towards the unconstrained model.

        A run ends with gaps at most as large as those at its start, so that starts with gaps from
        none to those of the unconstrained model lead to different parts of the frontier.
        """
        course = super().course(problem, request, plain)
        runs = len(course.start)
        shares = 1.0 - (1.0 - np.arange(runs) / runs) ** 2  # gaps fall faster than the loss
        return replace(course, start=course.start + shares[:, None, None] * plain)

    def beginning(
        self, problem: Any, start: Array | None, target: Target | None, rng: np.random.Generator
    ) -> Beginning:
        """Start at random unless told otherwise, in the metric of the loss at its minimum."""
        W = self.starts(problem, start, rng)
        if isinstance(problem, SecondOrder) and isinstance(problem, WeightedFit):
            linear: Any = problem
            rounded = linear.with_loss(linear.loss.smoothed(WIDE))
            problem = linear.with_metric(rounded.metric(linear.fit(linear.algebra.p)))
        return Beginning(problem, W)

    def begin(self, algebra: Algebra, point: Point, target: Target | None) -> PDOState:
        """Let the steepest decrease be as large as the largest objective: free of units."""
        h = np.abs(algebra.objectives(point.L))
        largest = h.max(axis=1)
        unit = np.maximum(h, np.maximum(SMALLEST_UNIT * largest, SMALLEST_UNIT)[:, None])
        band = self.band * unit[:, 0]
        directions = _directions(algebra, point, _held(algebra, point, band))
        steepest = np.array([direction.falls.max() for direction in directions])
        eta = np.ones(point.runs)
        np.divide(largest, steepest, out=eta, where=(steepest > 0.0) & (largest > 0.0))
        nothing = np.zeros(point.runs, dtype=np.intp)
        return PDOState(eta, eta, nothing > 0, nothing, band, unit)

    def plan(self, algebra: Algebra, point: Point, state: PDOState) -> Plan:
        """Step along (1), and back to zero with held gaps."""
        held = _held(algebra, point, state.band)
        directions = _directions(algebra, point, held)
        beta = np.zeros_like(point.L)
        decrease = np.zeros((point.runs, algebra.m))
        for r, direction in enumerate(directions):
            share = _share_back(direction, held[r], float(state.eta[r]))
            beta[r] = state.eta[r] * direction.down + share * direction.back
            decrease[r] = state.eta[r] * direction.falls - share * direction.costs
        status, h = all_running(point.runs), algebra.objectives(point.L)
        for r, direction in enumerate(directions):
            status[r] = self._status(direction, decrease[r], held[r], _record_of_run(state, h, r))
        alpha = np.array([direction.alpha for direction in directions])
        norm = np.array([direction.norm for direction in directions])
        return Plan(beta, status, alpha, norm, PDOForecast(decrease, held))

    def _status(self, direction: CommonDirection, decrease: Array, held: Mask, run: RunRecord) -> Status:
        """Tell whether a run goes on."""
        free = np.concatenate([[True], ~held])
        if direction.balance <= TOLERANCES.balanced:
            return Status.EFFICIENT
        if run.refusals > MOST_REFUSALS:
            falls = direction.falls[free]
            is_at_minimum = falls.min() <= VANISHED * falls.max()
            return Status.EFFICIENT if is_at_minimum else Status.STALLED
        little = (decrease <= self.tol * run.unit)[free].all()
        # On a plateau steps promise little until they are long, so longer ones are tried first.
        if little and run.bounded and not run.refusals:
            return Status.EFFICIENT
        if little and run.growth > FAR:
            return Status.UNATTAINED if run.growth * run.height > NEAR_ZERO else Status.EFFICIENT
        return Status.RUNNING

    def judge(self, algebra: Algebra, old: Point, new: Point, plan: Plan, state: PDOState) -> Judgement:
        """Accept a step that lowers every free objective and leaves held gaps in the band."""
        h_old, h_new = algebra.objectives(old.L), algebra.objectives(new.L)
        allowed = h_old - TOLERANCES.armijo * plan.forecast.decrease + EXACT * np.abs(h_old)
        lower = h_new <= allowed
        in_band = algebra.violation(algebra.gaps(new.L)) <= state.band[:, None]
        gaps_fine = np.where(plan.forecast.held, in_band, lower[:, 1:])
        accepted = lower[:, 0] & gaps_fine.all(axis=1)
        return Judgement(
            accepted,
            replace(
                state,
                eta=state.eta * np.where(accepted, LONGER, SHORTER),
                bounded=state.bounded | ~accepted,
                refusals=np.where(accepted, 0, state.refusals + 1),
            ),
        )


def _record_of_run(state: PDOState, h: Array, r: int) -> RunRecord:
    """Return what decides whether run r goes on."""
    return RunRecord(
        unit=state.unit[r],
        height=float((np.abs(h[r]) / state.unit[r]).max()),
        growth=float(state.eta[r] / state.first_eta[r]),
        bounded=bool(state.bounded[r]),
        refusals=int(state.refusals[r]),
    )


def _held(algebra: Algebra, point: Point, band: Array) -> Mask:
    """Tell which gaps are constraints, (R, q): those in the band, if phi grows with |z|."""
    return np.asarray(algebra.gap.even & (np.abs(algebra.gaps(point.L)) <= band[:, None]))


def _directions(algebra: Algebra, point: Point, held: Mask) -> list[CommonDirection]:
    A, F, z = algebra.jacobian(point.L), factor(point.Q), algebra.gaps(point.L)
    return [common_direction(A[r], algebra.B, F[r], z[r], held[r]) for r in range(point.runs)]


def _share_back(direction: CommonDirection, held: Mask, eta: float) -> float:
    """Return the share of the way back that leaves every free objective falling."""
    free = np.concatenate([[True], ~held])
    limited = free & (direction.costs > 0.0)
    if not limited.any():
        return 1.0
    affordable = (1.0 - RESERVE) * eta * direction.falls[limited] / direction.costs[limited]
    return float(min(1.0, affordable.min()))
