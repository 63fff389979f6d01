"""What all solvers share: targets, statuses, results, tolerances, and how a solver is chosen.

A solver is a frozen record of settings. It takes a problem (`problems.base`) and says where runs
should end (`Target`); it hands back points of a frontier (`Solved`) or the ends of single runs
(`Outcome`). It holds no data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Algebra, Array
from ..problems import FirstOrder, LinearProblem, Point
from ..validation import MOST_POINTS, Registry, check_count, check_positive
from ..validation.inputs import check_preferences
from .status import Status as Status

Mask = NDArray[np.bool_]
Ids = NDArray[np.intp]
Accepted = Literal["preferences", "caps", "uneven gaps", "estimators"]
OnPoint = Callable[[int, str, int], None]
"""Is told how many points are done, a note, and how many there are to be."""
OnIterate = Callable[[int, Ids, Point], None]
"""Is told the step, the runs that took it, and where they are; step 0 is the start."""
TARGETS = 12
"""Targets placed between unconstrained training and the smallest gap when no number is given."""
TINY = 1e-300
"""The smallest number that is divided by, where a quotient of zeros is to be zero."""
SMOOTHING = 0.2
"""Width over which default solvers round a loss with a kink; values reported are the loss's own."""


@dataclass(frozen=True)
class Tolerances:
    """Numbers of the first-order solvers. None was tuned on one data set; all are free of units.

    armijo              share of a promised decrease that an accepted step has to keep
    rounding            relative change of a level or an objective that is rounding
    measurable          share of the loss that a step has to promise before the curvature measured
                        along it has digits (cube of the rounding unit, to the power 0.9)
    rank                eigenvalues of a matrix with unit diagonal below this are rounding; their
                        roots would look like directions to move in
    dependent           share of the largest eigenvalue below which gap gradients depend on others
    zero_gradient       a gap gradient shorter than this share of the two means that it is the
                        difference of is rounding
    zero_row            a gradient shorter than this share of the longest is rounding
    contradiction       squared distance at which linear constraints contradict each other
                        (Lawson and Hanson 1995, chapter 23)
    violation           share of the largest right-hand side by which a constraint may be missed
    balanced            length of a convex combination of unit gradients that counts as zero
    smallest_cap        smallest cap whose slope is taken: that of a gap function is 0 at 0
    unbounded           an objective below minus this has no lower bound: no loss gets there
    """

    armijo: float = 1e-4
    rounding: float = 1e-13
    measurable: float = 1e-14
    rank: float = 1e-13
    dependent: float = 1e-10
    zero_gradient: float = 1e-9
    zero_row: float = 1e-14
    contradiction: float = 1e-12
    violation: float = 1e-6
    balanced: float = 1e-9
    smallest_cap: float = 1e-12
    unbounded: float = 1e15


TOLERANCES = Tolerances()


@dataclass(frozen=True)
class Target:
    """Where each run should end: on its preference line, or at fixed caps on the gaps.

    pi (R, m)    preferences; rows of NaN for runs with fixed caps
    caps (R, q)  fixed caps; rows of NaN for runs with a preference
    """

    pi: Array
    caps: Array

    @classmethod
    def from_preferences(cls, pi: Array) -> Target:
        """Return the target of R preferences (R, m)."""
        return cls(pi, np.full((len(pi), pi.shape[1] - 1), np.nan))

    @classmethod
    def from_caps(cls, caps: Array) -> Target:
        """Return the target of R rows of caps (R, q)."""
        return cls(np.full((len(caps), caps.shape[1] + 1), np.nan), caps)

    @property
    def by_preference(self) -> Mask:
        """Tell which runs have a preference."""
        return ~np.isnan(self.pi[:, 0])

    def take(self, runs: Mask) -> Target:
        """Return the target of some runs."""
        return Target(self.pi[runs], self.caps[runs])

    def caps_at(self, algebra: Algebra, level: Array) -> Array:
        """Return the caps phi^-1(level / pi_j) of the preference runs, the fixed ones of others."""
        per_gap = np.maximum(level, TINY)[:, None] / self.pi[:, 1:]
        return np.where(self.by_preference[:, None], algebra.gap.inverse(per_gap), self.caps)

    def next_level(self, algebra: Algebra, level: Array, loss: Array, caps: Array, price: Array) -> Array:
        """Take a Newton step on pi_1 loss(level) = level.

        The loss falls by ``price`` (R, q) per unit of cap.
        """
        steepness = algebra.gap.slope(np.maximum(caps, TOLERANCES.smallest_cap))
        per_level = np.abs(price) / np.maximum(self.pi[:, 1:] * steepness, TINY)
        rate = self.pi[:, 0] * per_level.sum(axis=1)
        moved = level + (self.pi[:, 0] * loss - level) / (1.0 + rate)
        return np.where(self.by_preference, moved, level)


def tops(algebra: Algebra, sizes: Array) -> Array:
    """Return the caps (q,) that unconstrained training just meets, with gaps of these sizes."""
    assert algebra.notion_of is not None
    return np.array([sizes[algebra.notion_of == notion].max() for notion in algebra.notion_of])


@dataclass(frozen=True)
class Request:
    """What a frontier is asked for.

    preferences   None, how many targets, or preference vectors (R, m)
    n_points      how many points an exact solver places
    random_state  seed of random starts
    on_iterate    is told all accepted steps of a first-order solver, weights in the user's units
    """

    preferences: Any = None
    n_points: int | None = None
    random_state: int | None = None
    on_iterate: OnIterate | None = None

    def __post_init__(self) -> None:
        if self.n_points is not None:
            check_count(self.n_points, "n_points", least=2, most=MOST_POINTS)

    def targets(self, names: tuple[str, ...], least: int = 1) -> tuple[int | None, Array | None]:
        """Return how many targets are asked for, None where that is open, and preference vectors."""
        if self.preferences is None:
            return None, None
        if isinstance(self.preferences, (int, np.integer)):
            return check_count(self.preferences, "preferences", least=least, most=MOST_POINTS), None
        pi = check_preferences(self.preferences, names)
        return len(pi), pi


@dataclass(frozen=True)
class Solved:
    """A point of a frontier as a solver hands it over.

    W (K, d)          weights in the problem's own units
    status            why the solver stopped there
    pi (m,)           its preference, NaN where it was solved for caps
    L (k,)            cells that were solved for, on framed columns; None if the solver is not exact
    multipliers (q,)  of the gaps, and after them of the guards; None if the solver is not exact
    """

    W: Array
    status: Status
    pi: Array
    L: Array | None = None
    multipliers: Array | None = None
    kkt: float = np.nan
    certified: bool = False


@dataclass(frozen=True, eq=False)
class Aim:
    """What single runs are asked for.

    target       where each run should end; None for solvers that go anywhere
    start        weights (K, d) or (R, K, d) to begin at
    exact        the problem with the loss itself, where the one to iterate on has a rounded kink
    """

    target: Target | None = None
    start: Array | None = None
    exact: LinearProblem | None = None
    on_iterate: OnIterate | None = None
    random_state: int | None = None


@dataclass(frozen=True, eq=False)
class History:
    """What a run passed: its start, every accepted step, and its end.

    objectives (T + 1, m)     h(w_t)
    alpha (T + 1, m)          weights of the objectives in the direction at w_t (paper, eq. 6); NaN
                              where a solver has none
    direction_norm (T + 1,)   |d_t|, the length of sum_i alpha_i g_i at w_t; 0 at an efficient point
    """

    objectives: Array
    alpha: Array
    direction_norm: Array

    @classmethod
    def of_objectives(cls, objectives: Array) -> History:
        """Return the history of a solver that has neither alpha nor d_t."""
        return cls(objectives, np.full_like(objectives, np.nan), np.full(len(objectives), np.nan))

    def __len__(self) -> int:
        return len(self.objectives)


@dataclass(frozen=True, eq=False)
class Outcome:
    """Where R runs ended.

    W (R, K, d), L (R, k), objectives (R, m)   the ends
    status, n_iter (R,)                        why each run ended, and after how many steps
    history                                    one `History` per run
    passes                                     passes over the data of all runs together
    """

    W: Array
    L: Array
    objectives: Array
    status: tuple[Status, ...]
    n_iter: Ids
    history: tuple[History, ...]
    passes: int

    @property
    def alpha(self) -> Array:
        """Return the weights alpha* (R, m) at the ends."""
        return np.stack([history.alpha[-1] for history in self.history])

    @property
    def direction_norm(self) -> Array:
        """Return the lengths |d_t| (R,) at the ends."""
        return np.array([history.direction_norm[-1] for history in self.history])


class Solver:
    """Frozen settings and pure functions that find points of a frontier.

    A solver is a frozen dataclass with a ``name`` that has `trace`, and `solve` where it can find
    single points. One that goes step by step is a `descent.Descent`.

    needs     the capabilities that the problem must have
    accepts   what may be asked of it beside a number of points, or that it is for estimators
    visited   whether a frontier keeps the points that runs pass
    """

    name: ClassVar[str]
    needs: ClassVar[tuple[type, ...]] = (FirstOrder,)
    accepts: ClassVar[frozenset[Accepted]] = frozenset()
    visited: bool = False

    def stated(self, problem: LinearProblem) -> LinearProblem:
        """Return the problem that points are stated for, with the gaps that the solver counts.

        Parameters
        ----------
        problem : LinearProblem
        """
        return problem

    def working(self, problem: LinearProblem) -> LinearProblem:
        """Return the problem to iterate on: framed columns, and a kink of the loss rounded.

        Parameters
        ----------
        problem : LinearProblem
        """
        problem, loss = problem.framed(), problem.loss.smoothed(SMOOTHING)
        return problem if loss == problem.loss else problem.with_loss(loss)

    def trace(self, problem: LinearProblem, request: Request, on_point: OnPoint) -> list[Solved]:
        """Return points from plain training to the smallest gap, or those of the preferences asked for.

        Parameters
        ----------
        problem : LinearProblem
        request : Request
        on_point : OnPoint
        """
        raise InputError(f"solver {self.name!r} traces no frontier of linear models; use solver='newton'.")

    def solve(self, problem: Any, aim: Aim) -> Outcome:
        """Return where single runs end, on a problem as `working` gives it.

        Parameters
        ----------
        problem : any problem that has what the solver needs
        aim : Aim
        """
        raise InputError(f"solver {self.name!r} solves no single points; use solver='newton'.")

    def target(self, algebra: Algebra, preference: Any, max_gap: float | None = None) -> Target | None:
        """Return the target of a run: a preference, a cap on every gap, or the smallest gap.

        Parameters
        ----------
        algebra : Algebra
        preference : array of shape (m,) or (R, m), or None
        max_gap : float, optional
        """
        if "preferences" not in self.accepts:
            if preference is not None or max_gap is not None:
                raise InputError(f"solver {self.name!r} takes no preference and no cap; use solver='pb_pdo'.")
            return None
        if preference is not None and max_gap is not None:
            raise InputError("a preference and a cap on the gap were given, expected at most one of them.")
        if preference is not None:
            return Target.from_preferences(check_preferences(preference, algebra.names))
        if "caps" not in self.accepts:
            given = "None" if max_gap is None else "a cap on the gap; use solver='newton' for caps"
            raise InputError(f"solver {self.name!r} needs a preference, found {given}.")
        cap = 0.0 if max_gap is None else check_positive(max_gap, "the largest gap", zero=True)
        return Target.from_caps(np.full((1, len(algebra.b)), cap))


SOLVERS: Registry[type[Solver]] = Registry("solver")


def as_solver(solver: str | Solver, algebra: Algebra | None = None) -> Solver:
    """Return the solver by name or as given; one that accepts the gaps of ``algebra``."""
    chosen: Solver = SOLVERS.made(solver, Solver, "a name or an instance such as ff.Newton()")
    if "estimators" in chosen.accepts:
        raise InputError("a Weighting searches the weights of an estimator, found none; give estimator=.")
    if algebra is not None and not algebra.gap.even and "uneven gaps" not in chosen.accepts:
        raise InputError(
            f"gap {algebra.gap.name!r} rewards gaps of one sign and exists in paper mode only, found solver "
            f"{chosen.name!r}; use gap='exponential', or solver='paper_pdo' or 'paper_pb_pdo'."
        )
    return chosen


def check_needs(solver: Solver, problem: object) -> None:
    """Refuse a problem that lacks what the solver needs, naming it."""
    missing = [need.__name__ for need in solver.needs if not isinstance(problem, need)]
    if missing:
        needs = ", ".join(need.__name__ for need in solver.needs)
        raise InputError(
            f"{type(solver).__name__} needs {needs}, {type(problem).__name__} lacks {', '.join(missing)}; "
            "use another solver."
        )
