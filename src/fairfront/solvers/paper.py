"""Algorithms 1 (PDO) and 2 (PB-PDO) as printed, beside the paper's lines.

The paper does not number its lines. Here the first ``for t`` is line 1 of each algorithm, and
DescentDirection, the function at the end of Algorithm 2, has lines D1 to D4. The outer loop and its
move are `descent.descend`; every step is taken.

What the paper leaves open is a setting:

- the gradients g_i: ``raw``, as the algorithms show, or ``normalised`` to unit length, as the text
  below equation (5) says ("the normalized gradient vector"). In the normalised reading g_KL is
  built from raw gradients (Proposition 1) and then scaled like the others; case II compares and
  follows the raw one;
- phi: the gap function of the problem;
- the imbalance: the printed ``softmax`` of pi h, or the ``ratio`` pi h / sum(pi h), which has the
  same zeros and does not depend on the scale of pi (`kl_gradient_weights`);
- the inner level: K and rho, its start alpha0, whether it starts from the weights of the last
  outer step (``warm_alpha``), or an exact solution (``inner="exact"``);
- eta, T, epsilon_1 and epsilon_2, for which the paper gives no rule.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from scipy.special import softmax

from ..exceptions import FairfrontWarning
from ..objectives import Algebra, Array
from ..problems import LinearProblem, Point
from ..validation import check_choice, check_count, check_flag, check_positive, refuse
from ..validation.inputs import as_numbers
from .base import TARGETS, TINY, TOLERANCES, Accepted, Mask, Outcome, Request, Status, Target
from .descent import Beginning, Course, Descent, Judgement, Plan
from .pb_pdo import automatic_preferences
from .run_log import Statuses, all_running, mark
from .simplex import factor, lengths, min_norm, projected_gradient, steepest

Gradients = Literal["raw", "normalised"]
Inner = Literal["projected_gradient", "exact"]
Balance = Literal["softmax", "ratio"]
ZERO_DIRECTION = 1e-12
"""Length of a printed direction at which a run ends; the algorithms themselves never stop."""
STATIONARY = 1e-4
"""Length of a common direction of unit gradients, and share of the loss gradient, that is none."""
VANISHED = 1e-6
"""Length of a gradient, as a share of the longest, that is none."""
SHORTEST = 1e-150
"""Length of a gradient that is not scaled to unit length: its square is 0."""
SUM_OF_WEIGHTS = 1e-9
"""How far the sum of given inner weights may be from 1."""
FAR_ABOVE = 1.1
"""Loss of an end, in units of that of a model without weights, above which the run has diverged;
runs that stop where all losses are equal may end a little above it."""
SMALLEST_GAP = 0.1
"""Gap that the last automatic preference aims at, as a share of the unconstrained model's. Case II
steps by pi, which grows with the inverse square of that gap."""


@dataclass(frozen=True, eq=False)
class PaperState:
    """Per run: inner weights to begin at, preference (Algorithm 2), and whether it has diverged."""

    alpha: Array
    pi: Array
    diverged: Mask


@dataclass(frozen=True, eq=False)
class PaperForecast:
    """Per run: the inner weights that the step used, one per row of gradients."""

    alpha: Array


@dataclass(frozen=True, eq=False)
class Direction:
    """What DescentDirection returns: inner weights (R, rows), and the direction (R, k) in cells."""

    alpha: Array
    beta: Array


@dataclass(frozen=True)
class PaperPDO(Descent):
    """Algorithm 1, Bilevel Pareto Descent Optimization, as printed.

    Parameters
    ----------
    T, eta : outer steps (int) and their constant length (float)
    K, rho : inner steps (int) and their length (float); None takes 1 / L_Phi, which Lemma 2 allows
    alpha0 : array of shape (m,), inner start; uniform by default
    warm_alpha : bool, whether to start inner steps from the last step's weights instead
    inner : {"projected_gradient", "exact"}
    gradients : {"raw", "normalised"}, the two readings of the paper
    start_scale : float, spread of the random start
    visited : bool, whether a frontier keeps the non-dominated points that runs pass
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
    visited: bool = False
    name: ClassVar[str] = "paper_pdo"
    accepts: ClassVar[frozenset[Accepted]] = frozenset({"uneven gaps"})
    last_status: ClassVar[Status] = Status.STEPS_TAKEN  # type: ignore[misc]
    extra_rows: ClassVar[int] = 0

    def __post_init__(self) -> None:
        check_count(self.T, "T", least=0)
        check_positive(self.eta, "eta")
        check_count(self.K, "K", least=0)
        if self.rho is not None:
            check_positive(self.rho, "rho")
        if self.alpha0 is not None:  # inner steps do not lead back to the simplex from outside
            alpha = as_numbers(self.alpha0, "alpha0")
            off_one = abs(alpha.sum() - 1.0)
            if alpha.ndim != 1 or not (alpha >= 0.0).all() or not off_one <= SUM_OF_WEIGHTS:
                raise refuse("alpha0", self.alpha0, "numbers of at least 0 that sum to 1, one per objective")
        check_flag(self.warm_alpha, "warm_alpha")
        check_choice(self.inner, "inner", get_args(Inner))
        check_choice(self.gradients, "gradients", get_args(Gradients))
        check_positive(self.start_scale, "start_scale")
        check_flag(self.visited, "visited")

    @property
    def max_iter(self) -> int:
        return self.T  # line 1: for t = 0, ..., T - 1

    def working(self, problem: LinearProblem) -> LinearProblem:
        """Return the problem as it is: neither scaled columns nor a rounded kink."""
        return problem

    def beginning(
        self, problem: Any, start: Array | None, target: Target | None, rng: np.random.Generator
    ) -> Beginning:
        """Take the start as given, or random weights; no metric."""
        W = self.starts(problem, start, rng)
        runs = max(len(W), 0 if target is None else len(target.pi))
        return Beginning(problem, np.broadcast_to(W, (runs, *W.shape[1:])).copy())

    def begin(self, algebra: Algebra, point: Point, target: Target | None) -> PaperState:
        """Return the inner start of every run."""
        runs, rows = point.runs, algebra.m + self.extra_rows
        alpha = np.full(rows, 1.0 / rows) if self.alpha0 is None else np.asarray(self.alpha0, dtype=np.float64)
        if len(alpha) != rows:
            raise refuse("alpha0", self.alpha0, f"{rows} numbers, one per row of gradients")
        pi = np.ones((1, algebra.m)) if target is None else target.pi
        pi = np.broadcast_to(pi, (runs, algebra.m)).copy()
        return PaperState(np.tile(alpha, (runs, 1)), pi, np.zeros(runs, dtype=bool))

    def plan(self, algebra: Algebra, point: Point, state: PaperState) -> Plan:
        """Take the inner steps, and move by eta along their direction (Algorithm 1)."""
        A = algebra.jacobian(point.L)  # g_i = A_i G
        found = self.descent_direction(A, point.Q, state.alpha)  # lines 2 to 5
        status = _statuses(algebra, point, found.beta, state)
        norm = lengths(found.beta, point.Q)
        # line 6: w <- w - eta grad Psi
        return Plan(self.eta * found.beta, status, found.alpha, norm, PaperForecast(found.alpha))

    def descent_direction(self, A: Array, Q: Array, alpha: Array) -> Direction:
        """Return the inner weights, and the gradient of Psi with them (lines D1 to D4).

        Parameters
        ----------
        A : array of shape (R, rows, k), gradients in cell coordinates
        Q : array of shape (R, k, k)
        alpha : array of shape (R, rows), where inner steps begin
        """
        if self.gradients == "normalised":
            A = _with_unit_rows(A, Q)
        if self.inner == "exact":
            alpha = min_norm(A @ factor(Q))
        else:
            gram = np.einsum("rik,rkl,rjl->rij", A, Q, A)  # grad Phi = 2 gram alpha
            alpha = projected_gradient(gram, alpha, self.rho, self.K)  # D1 to D3
        return Direction(alpha, _combined(alpha, A))  # D4

    def judge(self, algebra: Algebra, old: Point, new: Point, plan: Plan, state: PaperState) -> Judgement:
        """Take every step that stays where the objectives are defined."""
        defined = np.asarray(np.isfinite(new.L).all(axis=1))
        alpha = plan.forecast.alpha if self.warm_alpha else state.alpha
        return Judgement(defined, replace(state, alpha=alpha, diverged=~defined))

    def traced_status(self, problem: LinearProblem, ends: Outcome) -> tuple[Status, ...]:
        """Mark ends far above the loss of a model without weights, and say so."""
        loss = problem.algebra.loss
        without_weights = loss(problem.values(np.zeros_like(ends.W[:1])))[0]
        diverged = ~(loss(ends.L) <= FAR_ABOVE * without_weights)
        if diverged.any():
            warnings.warn(
                f"{int(diverged.sum())} of {len(diverged)} runs of {self.name!r} ended above the loss of a "
                f"model without weights: eta={self.eta:g} is too long a step for them; use a smaller eta or "
                "smaller preferences. Their points are marked as diverged.",
                FairfrontWarning,
                stacklevel=2,
            )
        return tuple(Status.DIVERGED if above else status for above, status in zip(diverged, ends.status, strict=True))


@dataclass(frozen=True)
class PaperPBPDO(PaperPDO):
    """Algorithm 2, Preference-Based Pareto Descent Optimization, as printed.

    Parameters
    ----------
    T, eta, K, rho, alpha0, warm_alpha, inner, gradients, start_scale, visited : as in `PaperPDO`
    epsilon_1, epsilon_2 : float, thresholds of cases I and II
    balance : {"softmax", "ratio"}, the imbalance: the paper's softmax, or the scale-free ratio
    """

    epsilon_1: float = 1e-2
    epsilon_2: float = 1e-2
    balance: Balance = "softmax"
    name: ClassVar[str] = "paper_pb_pdo"
    accepts: ClassVar[frozenset[Accepted]] = frozenset({"preferences", "uneven gaps"})
    extra_rows: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.epsilon_1, "epsilon_1", zero=True)
        check_positive(self.epsilon_2, "epsilon_2", zero=True)
        check_choice(self.balance, "balance", get_args(Balance))

    def course(self, problem: LinearProblem, request: Request, plain: Array) -> Course:
        """Return random starts and preferences; where none are given, through even gaps."""
        count, pi = request.targets(problem.algebra.names)
        if pi is None:
            pi = automatic_preferences(problem, plain, count or TARGETS, SMALLEST_GAP)
        rng = np.random.default_rng(request.random_state)
        return Course(self.random_weights(problem, len(pi), rng), Target.from_preferences(pi))

    def plan(self, algebra: Algebra, point: Point, state: PaperState) -> Plan:
        """Choose between h, h_PB and the KL gradient alone (Algorithm 2)."""
        h, A, Q = algebra.objectives(point.L), algebra.jacobian(point.L), point.Q
        kl_weights = kl_gradient_weights(state.pi, h, self.balance)  # line 2
        g_kl = _combined(kl_weights, A)
        kl_length = lengths(g_kl, Q)
        near_line = kl_length <= self.epsilon_1  # line 3: case (I)
        with_h = self.descent_direction(A, Q, _without_last(state.alpha))  # line 4
        h_pb = np.concatenate([A, g_kl[:, None]], axis=1)  # h_PB = [h, h_KL]
        with_kl = self.descent_direction(h_pb, Q, state.alpha)  # line 6
        d = np.where(near_line[:, None], with_h.beta, with_kl.beta)
        on_front = lengths(d, Q) <= self.epsilon_2 * kl_length  # line 7: case (II)
        d = np.where(on_front[:, None], g_kl, d)  # line 8
        padded = np.column_stack([with_h.alpha, np.zeros(point.runs)])
        alpha = np.where(near_line[:, None], padded, with_kl.alpha)
        status = _statuses(algebra, point, d, state)
        forecast = PaperForecast(alpha)
        # line 9: w <- w - eta d
        return Plan(self.eta * d, status, alpha[:, : algebra.m], lengths(d, Q), forecast)


def kl_divergence(pi: Array, h: Array, balance: Balance = "softmax") -> Array:
    """Return h_KL (R,), the divergence of sigma from the uniform distribution (paper, eq. 13)."""
    sigma = distribution(pi, h, balance)
    logarithm = np.log(np.maximum(h.shape[1] * sigma, TINY))
    return np.asarray((sigma * logarithm).sum(axis=1))


def kl_gradient_weights(pi: Array, h: Array, balance: Balance = "softmax") -> Array:
    """Return lambda (R, m) of Proposition 1: g_KL = sum_i lambda_i g_i.

    lambda_i = pi_i sigma_i (log(m sigma_i) - h_KL) for the softmax; the ratio has pi_i / sum(pi h)
    in place of pi_i sigma_i. Differs from the paper: the printed derivative of the softmax in its
    appendix has a wrong sign off the diagonal; Proposition 1 is right.
    """
    sigma = distribution(pi, h, balance)
    logarithm = np.log(np.maximum(h.shape[1] * sigma, TINY))
    outer = pi * sigma if balance == "softmax" else pi / _total(pi * h)
    return np.asarray(outer * (logarithm - kl_divergence(pi, h, balance)[:, None]))


def distribution(pi: Array, h: Array, balance: Balance) -> Array:
    """Return sigma (R, m), uniform on the preference line (paper, eq. 11 for the softmax)."""
    if balance == "softmax":
        return np.asarray(softmax(pi * h, axis=1))
    return np.asarray(pi * h / _total(pi * h))


def _total(values: Array) -> Array:
    """Return sums (R, 1), infinite where all objectives are 0, which is on the line."""
    total = values.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, total, np.inf)


def _combined(weights: Array, A: Array) -> Array:
    """Return sum_i weights_i A_i, (R, k): a combination of gradients in cell coordinates."""
    return np.asarray(np.einsum("ri,rik->rk", weights, A))


def _with_unit_rows(A: Array, Q: Array) -> Array:
    """Divide the rows of A (R, rows, k) by the lengths of the gradients A_i G."""
    norms = np.sqrt(np.maximum(np.einsum("rik,rkl,ril->ri", A, Q, A), 0.0))
    return np.asarray(A / np.where(norms > SHORTEST, norms, 1.0)[:, :, None])


def _without_last(alpha: Array) -> Array:
    """Drop the weight of the KL term; the others sum to 1 again."""
    rest = alpha[:, :-1]
    return np.asarray(rest / np.maximum(rest.sum(axis=1, keepdims=True), TINY))


def _statuses(algebra: Algebra, point: Point, direction: Array, state: PaperState) -> Statuses:
    """Tell runs apart whose direction vanishes: efficient, weakly so, or stuck."""
    status = all_running(point.runs)
    for r in np.flatnonzero(~(lengths(direction, point.Q) > ZERO_DIRECTION)):
        status[r] = _status_without_direction(algebra, point.take(np.array([r])))
    mark(status, state.diverged, Status.DIVERGED)
    return status


def _status_without_direction(algebra: Algebra, point: Point) -> Status:
    F = factor(point.Q)[0]
    J = algebra.jacobian(point.L)[0] @ F
    norms = np.linalg.norm(J, axis=1)
    if norms.min() > VANISHED * norms.max() and np.linalg.norm(steepest(J)) > STATIONARY:
        return Status.STUCK  # unit gradients do have a common direction
    # Gaps of zero have no gradient left; the loss may still fall along them.
    loss_gradient, C = J[0], algebra.B @ F
    prices = np.linalg.lstsq(C.T, loss_gradient, rcond=TOLERANCES.dependent)[0]
    left = np.linalg.norm(loss_gradient - prices @ C)
    return Status.WEAK if left > STATIONARY * np.linalg.norm(loss_gradient) else Status.EFFICIENT
