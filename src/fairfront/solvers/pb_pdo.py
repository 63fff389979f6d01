"""PB-PDO: reach the frontier first, then slide along it to every preference (Algorithm 2, case II), and as printed.

The default differs from the paper: runs of the printed algorithm (`PaperPBPDO`) pass the frontier of data and seldom
end where their preference asks (docs/paper/extraction.md). Here plain training reaches the frontier, and each step goes
down the loss and along the gaps to where the preference wants them (`quadratic`). In the normalised reading of the
printed one, the KL gradient is built from raw gradients (Proposition 1) and then scaled to unit length.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, get_args

import numpy as np

from ..objectives import Algebra, Array
from ..problems import LinearProblem, Point, SecondOrder, WeightedFit
from ..validation import check_choice, check_count, check_flag, check_positive
from .base import TARGETS, TINY, Accepted, Mask, Path, Request, Status, Target, tops
from .hard_points import polished
from .loop import ENOUGH, Descent, Outcome, Plan, State, run
from .pdo import PaperPDO, PaperState
from .quadratic import DEPENDENT_GAPS, Balance, Step, capped_step, first_step, imbalance, length

ABOVE = 0.01  # share of the way from the smallest gaps to those of plain training that the last automatic target keeps
TO_FLOOR = 200  # steps that the search for the smallest gaps may take: half of a run's, because it need not be precise
ON_LEVEL = 1e-6  # how far pi_1 loss may be from its level at the end of a run, as a share of it
ROUNDING = 1e-13  # share of the merit that is rounding
SHORT_SLIDE, SHORT_STEP, NARROWEST = 1e-9, 1e-14, 1e-8
"""Slide, as a share of the longest, and step size below which a run is stuck, and smallest gaps that slides are of."""
LEAST_LOSS, LEAST_PRICE = 1e-12, 1e-6
"""What a loss counts for at least where tolerances are shares of it, and what is added to the price of a gap."""
SMALL_CAP, LEAST_CAP = 1e-3, 1e-9
"""Smallest cap that is turned into a preference, as a share of the largest and by itself: a cap of 0 has none."""
LONGER, CUT = 2.0, 0.25  # factors on step size and slide after a step that was taken, and after one that was refused


@dataclass(frozen=True)
class SlideState(State, Target):
    """Per run, beside where it goes: its level pi_1 loss, its step size and slide, and the largest allowed of both.

    ``steady`` tells whether the last move was taken: a step size that is being cut says nothing about slopes.
    ``mu`` is what a gap above its cap counts in the merit; it fades slowly, or runs near a floor go in circles.
    """

    level: Array
    eta: Array
    slide: Array
    eta_max: Array
    slide_max: Array
    steady: Mask
    mu: Array


@dataclass(frozen=True)
class PBPDO(Descent):
    """Preference-based Pareto descent that slides along the frontier.

    Parameters
    ----------
    max_iter : int, most steps of a run; each is one pass over the data for all runs together
    tol : float
        A run ends when the loss can fall by no more than ``tol`` times itself (squared metric length of the
        step) with every gap within ``tol ** 0.5`` of its cap, relative to the caps' scale.
    slide : float
        Longest move of a gap in one step, as a share of the largest gap so far; short slides leave many
        points on the way.
    line_tol : float, a preference counts as met when all pi_i h_i agree to this share
    path : {"worst_gap", "proportional"}, how automatic caps shrink, as in `Newton`
    polish : bool, whether to solve the end of every run to Newton's precision (linear models)
    """

    max_iter: int = 400
    tol: float = 1e-12
    slide: float = 0.05
    line_tol: float = 5e-3
    polish: bool = False
    path: Path = "worst_gap"
    name: ClassVar[str] = "pb_pdo"
    accepts: ClassVar[frozenset[Accepted]] = frozenset({"preferences", "caps"})

    def __post_init__(self) -> None:
        check_count(self.max_iter, "max_iter", least=0)
        check_positive(self.tol, "tol", zero=True)
        check_positive(self.slide, "slide")
        check_positive(self.line_tol, "line_tol", zero=True)
        check_flag(self.polish, "polish")
        check_choice(self.path, "path", get_args(Path))

    def aim(self, problem: LinearProblem, request: Request) -> tuple[Array, Target]:
        """Return the plain fit, where all runs start, and preferences, or caps evenly down to the smallest gaps.

        The smallest gaps are found by aiming at zero; the last target stays a little above (`ABOVE`), because at the
        floor itself multipliers have no bound.
        """
        algebra = problem.algebra
        plain = problem.fit(algebra.p)
        count, pi = request.targets(algebra.names)
        if pi is not None:
            return plain, Target.from_preferences(pi)

        def caps_of(L: Array) -> Array:
            return tops(algebra, algebra.violation(algebra.gaps(L))[0], self.path)

        shares = np.linspace(1.0, 0.0, count or TARGETS) if count != 1 else np.zeros(1)
        top = caps_of(problem.values(plain[None]))
        bottom = np.zeros_like(top)
        if not algebra.two_sided.all():
            zero = Target.from_caps(np.zeros((1, len(algebra.b))))
            lowest = caps_of(run(problem, PBPDO(max_iter=TO_FLOOR), plain, zero).L)
            bottom = lowest + ABOVE * np.maximum(top - lowest, 0.0)
        return plain, Target.from_caps(bottom + shares[:, None] * (top - bottom))

    def _finish(
        self, problem: Any, exact: Any, ends: Outcome, target: Target | None, path: Path | None = None
    ) -> Outcome:
        if self.polish and target is not None:
            return polished(problem, exact, ends, target, path, every=True)
        return super()._finish(problem, exact, ends, target, path)

    def prepare(self, problem: Any, start: Array | None, target: Target, rng: Any) -> tuple[Any, Array, SlideState]:
        """Start all runs from the plain fit, with the Hessian there as the fixed metric."""
        runs = len(target.pi)
        newton = isinstance(problem, WeightedFit) and isinstance(problem, SecondOrder)
        if newton:
            best = problem.fit(problem.algebra.p) if start is None else start.reshape(-1, *start.shape[-2:])[0]
            problem = problem.with_metric(problem.metric(best))
            start = best if start is None else start
        assert start is not None
        W = np.broadcast_to(start, (runs, *start.shape[-2:])).copy()
        first, ones = problem.cells(W[:1]), np.ones(runs)
        widest = self.slide * _range(problem.algebra, first.L)[0] * ones
        level = np.where(target.by_preference, target.pi[:, 0] * problem.algebra.loss(first.L)[0], np.nan)
        eta = ones if newton else first_step(problem.algebra, first)[0] * ones
        eta_max = np.full(runs, 1.0 if newton else np.inf)
        return problem, W, SlideState(target.pi, target.caps, level, eta, widest, eta_max, widest, ones > 0, 0.0 * ones)

    def plan(self, algebra: Algebra, point: Point, state: SlideState) -> tuple[Plan, SlideState]:
        """Slide by at most ``slide`` towards the caps, going down the loss as well."""
        loss, z = algebra.loss(point.L), algebra.gaps(point.L)
        caps = state.caps_at(algebra, state.level)
        size = np.where(algebra.two_sided, np.abs(z), z)
        near = self._near(algebra, state, size, caps)
        step = capped_step(algebra, point.Q, z, near, state.eta)
        price = step.x / state.eta[:, None]
        at_caps = loss - (np.abs(price) * (caps - size)).sum(axis=1)
        level = state.next_level(algebra, state.level, at_caps, caps, price)
        status = self._status(algebra, point, state, step, caps, size)
        plan = Plan(step.beta, status, {"near": near, "price": price, "decrease": step.decrease})
        return plan, replace(state, level=level)

    def _near(self, algebra: Algebra, state: SlideState, size: Array, caps: Array) -> Array:
        """Return caps within a slide of the gaps: on the way along the preference's ray, or at equal excess."""
        over = size - caps
        of = np.zeros(over.shape[1]) if algebra.notion_of is None else algebra.notion_of  # caps of a notion are one
        worst = np.stack([over[:, of == each].max(axis=1) for each in of], axis=1)
        shifted = caps + np.maximum(worst - state.slide[:, None], 0.0)
        short = np.maximum(size - state.slide[:, None], 0.0 if algebra.gap.even else -np.inf)
        reached = (state.pi[:, 1:] * algebra.gap.value(short)).max(axis=1)
        on_ray = state.caps_at(algebra, np.fmax(state.level, reached))
        return np.where(state.by_preference[:, None], on_ray, shifted)

    def _status(
        self, algebra: Algebra, point: Point, state: SlideState, step: Step, caps: Array, size: Array
    ) -> list[Status]:
        loss, pi = algebra.loss(point.L), state.pi
        over = (size - caps).max(axis=1)
        flat = step.length2 / state.eta <= self.tol * np.maximum(np.abs(loss), LEAST_LOSS)
        on_level = np.abs(pi[:, 0] * loss - state.level) <= ON_LEVEL * np.abs(state.level)
        within = over <= np.sqrt(self.tol) * np.maximum(size.max(axis=1), state.slide_max)
        done = flat & (on_level | ~state.by_preference) & state.steady & within
        stuck = (state.slide < SHORT_SLIDE * state.slide_max) | (state.eta < SHORT_STEP)
        levels = pi * algebra.objectives(point.L)
        on_line = levels.min(axis=1) >= (1.0 - self.line_tol) * levels.max(axis=1)
        cases = [
            (~done & stuck & (over > 0), Status.OUT_OF_REACH),
            (~done & stuck, Status.STALLED),
            (~done, Status.RUNNING),
            (~state.by_preference, Status.EFFICIENT),
            (on_line, Status.LINE),
            (np.any(step.x, axis=1), Status.CHEBYSHEV),
        ]
        return [next((each for where, each in cases if where[r]), Status.NEAREST) for r in range(point.runs)]

    def judge(self, algebra: Algebra, old: Point, new: Point, plan: Plan, state: SlideState) -> tuple[Mask, SlideState]:
        """Accept a step that lowers loss + mu * (gaps above their caps); adapt step size and slide."""
        price, near = plan.memo["price"], plan.memo["near"]
        mu = np.maximum(2.0 * np.abs(price).max(axis=1) + LEAST_PRICE, state.mu)

        def merit(point: Point) -> Array:
            z = algebra.gaps(point.L)
            size = np.where(algebra.two_sided, np.abs(z), z)
            found = algebra.loss(point.L) + mu * np.maximum(size - near, 0.0).sum(axis=1)
            return np.where(np.isfinite(found), found, np.inf)

        before = merit(old)
        promised = plan.memo["decrease"] - (before - algebra.loss(old.L))
        rounding = ROUNDING * np.maximum(np.abs(before), TINY)
        taken = merit(new) <= before + ENOUGH * np.minimum(promised, 0.0) + rounding
        along = _mostly_along(algebra, old, plan.beta, price, ~taken)
        eta = np.minimum(state.eta * np.where(taken, LONGER, CUT), state.eta_max)
        widest = np.where(taken, np.fmax(state.slide_max, self.slide * _range(algebra, new.L)), state.slide_max)
        slide = np.minimum(state.slide * np.where(taken, LONGER, np.where(along, CUT, 1.0)), widest)
        faded = np.where(taken, 0.5 * mu, mu)
        return taken, replace(state, eta=eta, slide=slide, slide_max=widest, steady=taken, mu=faded)


def _mostly_along(algebra: Algebra, point: Point, beta: Array, price: Array, which: Mask) -> Mask:
    """Tell which of the refused moves change gaps more than they go down the loss: it is the slide's fault then."""
    moved = np.einsum("rkl,rl->rk", point.Q, beta)
    share = np.zeros(point.runs)
    for r in np.flatnonzero(which):
        active = algebra.B[price[r] != 0.0]
        change = active @ moved[r]
        inverse = np.linalg.pinv(active @ point.Q[r] @ active.T, rcond=DEPENDENT_GAPS, hermitian=True)
        share[r] = change @ inverse @ change / max(float(beta[r] @ moved[r]), TINY)
    return np.asarray(share > 0.5)


def _range(algebra: Algebra, L: Array) -> Array:
    """Of the gaps, (R,), or of all objectives where the gap function is the identity."""
    size = algebra.violation(algebra.gaps(L)) if algebra.gap.even else np.abs(algebra.objectives(L))
    return np.asarray(np.maximum(size.max(axis=1), NARROWEST))


@dataclass(frozen=True)
class PaperPBPDO(PaperPDO):
    """Algorithm 2 as printed.

    Parameters
    ----------
    T, eta, K, rho, alpha0, warm_alpha, inner, gradients, start_scale : as in `PaperPDO`
    epsilon_1, epsilon_2 : float, thresholds of cases I and II
    balance : {"softmax", "ratio"}, the imbalance: the paper's softmax, or the scale-free ratio
    path : {"worst_gap", "proportional"}, how automatic caps shrink, as in `Newton`
    """

    epsilon_1: float = 1e-2
    epsilon_2: float = 1e-2
    balance: Balance = "softmax"
    path: Path = "worst_gap"
    extra_rows: ClassVar[int] = 1
    name: ClassVar[str] = "paper_pb_pdo"
    accepts: ClassVar[frozenset[Accepted]] = frozenset({"preferences", "uneven gaps"})

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.epsilon_1, "epsilon_1", zero=True)
        check_positive(self.epsilon_2, "epsilon_2", zero=True)
        check_choice(self.balance, "balance", get_args(Balance))
        check_choice(self.path, "path", get_args(Path))

    def aim(self, problem: LinearProblem, request: Request) -> tuple[Array, Target]:
        """Return random starts, and preferences, or those whose lines pass through even caps at the plain loss."""
        plain, target = PBPDO(path=self.path).aim(problem, request)
        if not target.by_preference.all():
            loss = problem.algebra.loss(problem.values(plain[None]))[0]
            small = max(SMALL_CAP * float(target.caps.max()), LEAST_CAP)
            fair = loss / problem.algebra.gap.value(np.maximum(target.caps, small))
            target = Target.from_preferences(np.column_stack([np.ones(len(fair)), fair]))
        rng = np.random.default_rng(request.random_state)
        return self._random_weights(problem, len(target.pi), rng), target

    def plan(self, algebra: Algebra, point: Point, state: PaperState) -> tuple[Plan, PaperState]:
        """Choose between h, h_PB and the KL gradient alone (Algorithm 2, lines 4 to 11)."""
        A, Q = algebra.jacobian(point.L), point.Q
        _, weights = imbalance(state.pi, algebra.objectives(point.L), self.balance)
        kl = np.einsum("rm,rmk->rk", weights, A)
        kl_norm = length(kl, Q)
        near_line = kl_norm <= self.epsilon_1
        first = state.alpha[:, :-1] / np.maximum(state.alpha[:, :-1].sum(axis=1, keepdims=True), TINY)
        alpha_h, d_h = self._direction(A, Q, first)
        alpha_pb, d_pb = self._direction(np.concatenate([A, kl[:, None]], axis=1), Q, state.alpha)
        d = np.where(near_line[:, None], d_h, d_pb)
        stopped_short = length(d, Q) <= self.epsilon_2 * kl_norm
        d = np.where(stopped_short[:, None], kl, d)
        alpha = np.where(near_line[:, None], np.column_stack([alpha_h, np.zeros(len(alpha_h))]), alpha_pb)
        return self._planned(algebra, point, d), self._remember(state, alpha)
