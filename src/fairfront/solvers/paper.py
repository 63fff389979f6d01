"""PDO and PB-PDO as printed (Algorithms 1 and 2), every open choice a named parameter.

Two readings are offered. ``raw``: g_i is the gradient of h_i, as the algorithms show. ``normalised``: g_i has unit
length, as the text below equation (5) says ("the normalized gradient vector"). In the normalised reading the KL
gradient is built from raw gradients (Proposition 1) and then scaled to unit length as one more row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..objectives import Algebra, Array
from ..problems import LinearProblem, Point
from ..validation import check_choice, check_count, check_flag, check_positive, refuse
from ..validation.data import as_numbers
from .base import TINY, Accepted, Path, Request, State, Status, Target
from .journal import Journal
from .loop import Descent, Plan
from .pb_pdo import PBPDO
from .quadratic import certificate, factor, min_norm, projected_gradient

Gradients = Literal["raw", "normalised"]
Inner = Literal["projected_gradient", "exact"]
Balance = Literal["softmax", "ratio"]
STILL = 1e-12
"""Length of a direction that is none."""
BALANCED = 1e-4
"""Share of the loss gradient that may be left where the gaps' gradients balance it."""
SHORTEST = 1e-150
"""Length of a gradient that is not scaled to unit length: its square is 0."""
SMALL_CAP = 1e-3
"""Smallest cap that is turned into a preference, as a share of the largest: a cap of 0 has none."""


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
    T, eta : int, float
        Outer steps and their constant length.
    K, rho : int, float or None
        Inner steps and their length; None takes 1 / L_Phi, which Lemma 2 allows.
    alpha0 : array of shape (m,), optional
        Inner start, uniform by default.
    warm_alpha : bool
        Start inner steps from the last step's weights instead.
    inner : {"projected_gradient", "exact"}
    gradients : {"raw", "normalised"}
        The two readings of the paper.
    start_scale : float
        Spread of the random start.
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
            if alpha.ndim != 1 or not (alpha >= 0.0).all() or not abs(alpha.sum() - 1.0) <= 1e-9:
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
        alpha, d, found = self._direction(A, point.Q, state.alpha)
        return self._planned(algebra, point, d, found), self._remember(state, alpha)

    def _planned(self, algebra: Algebra, point: Point, d: Array, found: Array) -> Plan:
        """Stop when the direction vanishes; say weakly efficient when only the gaps' gradients made it vanish."""
        status = [Status.RUNNING] * point.runs
        for r in np.flatnonzero(~(np.einsum("rk,rkl,rl->r", d, point.Q, d) > STILL**2)):
            F = factor(point.Q[r : r + 1])[0]
            g, C = algebra.p @ F, algebra.B @ F
            left = (
                g - np.linalg.lstsq(C.T, g, rcond=1e-10)[0] @ C
            )  # of the loss gradient, which the gaps' cannot balance
            weak = np.linalg.norm(left) > BALANCED * np.linalg.norm(g)
            status[r] = Status.WEAK if weak else Status.EFFICIENT
        return Plan(self.eta * d, status, certificate=found)

    def _remember(self, state: PaperState, alpha: Array) -> PaperState:
        return PaperState(alpha, state.pi) if self.warm_alpha else state

    def _direction(self, A: Array, Q: Array, alpha0: Array) -> tuple[Array, Array, Array]:
        """Return inner weights, direction in cell coordinates (DescentDirection of Algorithm 2), and certificate."""
        if self.gradients == "normalised":
            norms = np.sqrt(np.maximum(np.einsum("rik,rkl,ril->ri", A, Q, A), 0.0))
            A = A / np.where(norms > SHORTEST, norms, 1.0)[:, :, None]
        M = np.einsum("rik,rkl,rjl->rij", A, Q, A)
        exact = self.inner == "exact"
        alpha = min_norm(A @ factor(Q)) if exact else projected_gradient(M, alpha0, self.rho, self.K)
        largest = np.maximum(np.einsum("rii->ri", M).max(axis=1), TINY)
        return alpha, np.einsum("ri,rik->rk", alpha, A), certificate(M, alpha) / largest

    def judge(
        self, algebra: Algebra, old: Point, new: Point, plan: Plan, state: PaperState
    ) -> tuple[NDArray[np.bool_], PaperState]:
        return np.ones(old.runs, dtype=bool), state


@dataclass(frozen=True)
class PaperPBPDO(PaperPDO):
    """Algorithm 2 as printed.

    Parameters
    ----------
    T, eta, K, rho, alpha0, warm_alpha, inner, gradients, start_scale
        As in `PaperPDO`.
    epsilon_1, epsilon_2 : float
        Thresholds of cases I and II.
    balance : {"softmax", "ratio"}
        The imbalance: the paper's softmax, or the scale-free ratio.
    path : {"worst_gap", "proportional"}
        How automatic caps shrink, as in `Newton`.
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

    def aim(self, problem: LinearProblem, request: Request, journal: Journal) -> tuple[Array, Target]:
        """Return random starts, and preferences, or those whose lines pass through even caps at the plain loss."""
        plain, target = PBPDO(path=self.path).aim(problem, request, journal)
        if not target.by_preference.all():
            loss = problem.algebra.loss(problem.values(plain[None]))[0]
            small = max(SMALL_CAP * float(target.caps.max()), 1e-9)
            fair = loss / problem.algebra.gap.value(np.maximum(target.caps, small))
            target = Target.from_preferences(np.column_stack([np.ones(len(fair)), fair]))
        rng = np.random.default_rng(request.random_state)
        return self._random_weights(problem, len(target.pi), rng), target

    def plan(self, algebra: Algebra, point: Point, state: PaperState) -> tuple[Plan, PaperState]:
        """Choose between h, h_PB and the KL gradient alone (Algorithm 2, lines 4 to 11)."""
        A, Q = algebra.jacobian(point.L), point.Q
        _, weights = imbalance(state.pi, algebra.objectives(point.L), self.balance)
        kl = np.einsum("rm,rmk->rk", weights, A)
        kl_norm = _length(kl, Q)
        near_line = kl_norm <= self.epsilon_1
        first = state.alpha[:, :-1] / np.maximum(state.alpha[:, :-1].sum(axis=1, keepdims=True), TINY)
        alpha_h, d_h, _ = self._direction(A, Q, first)
        alpha_pb, d_pb, found = self._direction(np.concatenate([A, kl[:, None]], axis=1), Q, state.alpha)
        d = np.where(near_line[:, None], d_h, d_pb)
        stopped_short = _length(d, Q) <= self.epsilon_2 * kl_norm
        d = np.where(stopped_short[:, None], kl, d)
        alpha = np.where(near_line[:, None], np.column_stack([alpha_h, np.zeros(len(alpha_h))]), alpha_pb)
        found = np.where(stopped_short | near_line, np.nan, found)
        return self._planned(algebra, point, d, found), self._remember(state, alpha)


def imbalance(pi: Array, h: Array, balance: Balance) -> tuple[Array, Array]:
    """Return KL(sigma || uniform), (R,), and its derivatives lambda with respect to h, (R, m).

    ``softmax`` is the paper's: sigma = softmax(pi h), lambda as in Proposition 1.
    ``ratio`` differs from the paper: sigma = pi h / sum(pi h), which has the same zeros and is scale free.
    """
    y = pi * h
    m = h.shape[1]
    if balance == "softmax":
        sigma = np.exp(y - y.max(axis=1, keepdims=True))
        sigma /= sigma.sum(axis=1, keepdims=True)
        outer = pi * sigma
    else:
        total = y.sum(axis=1, keepdims=True)
        total = np.where(total > 0, total, np.inf)  # all objectives 0: on the line
        sigma = y / total
        outer = pi / total
    logs = np.log(np.maximum(m * sigma, TINY))
    kl = (sigma * logs).sum(axis=1)
    return kl, outer * (logs - kl[:, None])


def _length(beta: Array, Q: Array) -> Array:
    """Of directions given in cell coordinates, (R,)."""
    return np.asarray(np.sqrt(np.maximum(np.einsum("rk,rkl,rl->r", beta, Q, beta), 0.0)))
