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
from ..validation import as_numbers, check_choice, check_count, check_flag, check_positive, refuse
from .base import Accepted, Path, Request, State, Status, Target
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
        Inner start, uniform by default; ``warm_alpha`` continues from the last step's weights instead.
    inner : {"projected_gradient", "exact"}
    gradients : {"raw", "normalised"}
        The two readings of the paper.
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
    name: ClassVar[str] = "paper_pdo"
    accepts: ClassVar[frozenset[Accepted]] = frozenset({"uneven gaps"})

    def __post_init__(self) -> None:
        check_count(self.T, "T", least=0)
        check_positive(self.eta, "eta")
        check_count(self.K, "K", least=0)
        if self.rho is not None:
            check_positive(self.rho, "rho")
        self._check_alpha0()
        check_flag(self.warm_alpha, "warm_alpha")
        check_choice(self.inner, "inner", get_args(Inner))
        check_choice(self.gradients, "gradients", get_args(Gradients))
        check_positive(self.start_scale, "start_scale")

    def _check_alpha0(self) -> None:
        """Refuse a start outside the simplex, from which inner steps do not lead back."""
        if self.alpha0 is None:
            return
        alpha = as_numbers(self.alpha0, "alpha0")
        if alpha.ndim != 1 or not (alpha >= 0.0).all() or not abs(alpha.sum() - 1.0) <= 1e-9:
            raise refuse("alpha0", self.alpha0, "numbers of at least 0 that sum to 1, one per objective")

    @property
    def max_iter(self) -> int:
        """Return T."""
        return self.T

    def working(self, problem: LinearProblem) -> LinearProblem:
        """Return the problem as it is."""
        return problem

    def prepare(
        self, problem: Any, start: Array | None, target: Target | None, rng: np.random.Generator
    ) -> tuple[Any, Array, PaperState]:
        """Take the start as given, or random weights; no metric, no data-dependent choice."""
        m = problem.algebra.m
        pi = np.ones((1, m)) if target is None else target.pi
        W = self._random_weights(problem, 1, rng) if start is None else np.array(start, dtype=np.float64)
        W = W[None] if W.ndim == 2 else W
        runs = max(len(W), len(pi))
        W = np.broadcast_to(W, (runs, *W.shape[1:])).copy()
        return problem, W, PaperState(self._alpha(runs, self._rows(m)), np.broadcast_to(pi, (runs, m)).copy())

    def _rows(self, m: int) -> int:
        return m

    def _alpha(self, runs: int, rows: int) -> Array:
        first = np.full(rows, 1.0 / rows) if self.alpha0 is None else np.asarray(self.alpha0, dtype=np.float64)
        if len(first) != rows:
            raise refuse("alpha0", self.alpha0, f"{rows} numbers, one per row of gradients")
        return np.broadcast_to(first[:rows], (runs, rows)).copy()

    def plan(self, algebra: Algebra, point: Point, state: PaperState) -> tuple[Plan, PaperState]:
        """Take K inner steps and move by eta along their direction (Algorithm 1, lines 3 to 9)."""
        A = algebra.jacobian(point.L)
        alpha, d = self.direction(A, point.Q, state.alpha)
        status = [self._status(algebra, point, r, d[r]) for r in range(point.runs)]
        return Plan(self.eta * d, status, certificate=self._certificate(A, point.Q, alpha)), self._remember(
            state, alpha
        )

    def _certificate(self, A: Array, Q: Array, alpha: Array) -> Array:
        """Return the certificate of a direction, relative to the largest gradient."""
        rows = unit_rows(A, Q) if self.gradients == "normalised" else A
        M = np.einsum("rik,rkl,rjl->rij", rows, Q, rows)
        largest = np.maximum(np.einsum("rii->ri", M).max(axis=1), 1e-300)
        return np.asarray(certificate(M, alpha) / largest)

    def _remember(self, state: PaperState, alpha: Array) -> PaperState:
        return PaperState(alpha, state.pi) if self.warm_alpha else state

    def direction(self, A: Array, Q: Array, alpha0: Array) -> tuple[Array, Array]:
        """Return the inner weights and the direction in cell coordinates (DescentDirection of Algorithm 2)."""
        if self.gradients == "normalised":
            A = unit_rows(A, Q)
        if self.inner == "exact":
            alpha = min_norm(A @ factor(Q))
        else:
            M = np.einsum("rik,rkl,rjl->rij", A, Q, A)
            alpha = projected_gradient(M, alpha0, self.rho, self.K)
        return alpha, np.einsum("ri,rik->rk", alpha, A)

    def _status(self, algebra: Algebra, point: Point, r: int, d: Array) -> Status:
        """Stop when the direction vanishes; say weakly efficient when only the gaps' gradients made it vanish."""
        if float(d @ point.Q[r] @ d) > STILL**2:
            return Status.RUNNING
        left = loss_left(algebra, point, r)
        return Status.WEAK if left > BALANCED else Status.EFFICIENT

    def judge(
        self, algebra: Algebra, old: Point, new: Point, plan: Plan, state: PaperState
    ) -> tuple[NDArray[np.bool_], PaperState]:
        """Take every step, as printed."""
        return np.ones(old.runs, dtype=bool), state


@dataclass(frozen=True)
class PaperPBPDO(PaperPDO):
    """Algorithm 2 as printed.

    Parameters
    ----------
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

    def _rows(self, m: int) -> int:
        return m + 1

    def plan(self, algebra: Algebra, point: Point, state: PaperState) -> tuple[Plan, PaperState]:
        """Choose between h, h_PB and the KL gradient alone (Algorithm 2, lines 4 to 11)."""
        A, Q = algebra.jacobian(point.L), point.Q
        _, weights = imbalance(state.pi, algebra.objectives(point.L), self.balance)
        kl = np.einsum("rm,rmk->rk", weights, A)
        kl_norm = length(kl, Q)
        near_line = kl_norm <= self.epsilon_1
        m = A.shape[1]
        first = state.alpha[:, :m] / np.maximum(state.alpha[:, :m].sum(axis=1, keepdims=True), 1e-300)
        alpha_h, d_h = self.direction(A, Q, first)
        alpha_pb, d_pb = self.direction(np.concatenate([A, kl[:, None]], axis=1), Q, state.alpha)
        d = np.where(near_line[:, None], d_h, d_pb)
        stopped_short = length(d, Q) <= self.epsilon_2 * kl_norm
        d = np.where(stopped_short[:, None], kl, d)
        padded = np.column_stack([alpha_h, np.zeros(len(alpha_h))])
        alpha = np.where(near_line[:, None], padded, alpha_pb)
        status = [self._status(algebra, point, r, d[r]) for r in range(point.runs)]
        found = self._certificate(np.concatenate([A, kl[:, None]], axis=1), Q, alpha)
        found = np.where(stopped_short | near_line, np.nan, found)
        return Plan(self.eta * d, status, certificate=found), self._remember(state, alpha)


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
    logs = np.log(np.maximum(m * sigma, 1e-300))
    kl = (sigma * logs).sum(axis=1)
    return kl, outer * (logs - kl[:, None])


def length(beta: Array, Q: Array) -> Array:
    """Return the length of directions given in cell coordinates, (R,)."""
    return np.asarray(np.sqrt(np.maximum(np.einsum("rk,rkl,rl->r", beta, Q, beta), 0.0)))


def unit_rows(A: Array, Q: Array) -> Array:
    """Scale objectives' gradients to unit length; a gradient of length 0 stays 0."""
    norms = np.sqrt(np.maximum(np.einsum("rik,rkl,ril->ri", A, Q, A), 0.0))
    return A / np.where(norms > 1e-150, norms, 1.0)[:, :, None]


def loss_left(algebra: Algebra, point: Point, r: int) -> float:
    """Return the share of the loss gradient that the gaps' gradients cannot balance: 0 at an efficient point."""
    F = factor(point.Q[r : r + 1])[0]
    g, C = algebra.p @ F, algebra.B @ F
    fitted = np.linalg.lstsq(C.T, g, rcond=1e-10)[0] @ C
    return float(np.linalg.norm(g - fitted) / max(float(np.linalg.norm(g)), 1e-300)) if np.any(g) else 0.0
