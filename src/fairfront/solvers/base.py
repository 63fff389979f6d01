"""What all solvers share: why runs stop, where they should end, what may be asked of them, and how they are chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Algebra, Array
from ..problems import FirstOrder, LinearProblem
from ..validation import MOST_POINTS, Registry, check_count, check_positive
from ..validation.inputs import check_preferences

if TYPE_CHECKING:
    from .loop import Aim, Outcome

Mask = NDArray[np.bool_]
Path = Literal["worst_gap", "proportional"]
Accepted = Literal["preferences", "caps", "uneven gaps", "estimators"]
OnPoint = Callable[[int, str, int], None]
"""Is told how many points are done, a note, and how many there are to be."""
TARGETS = 12  # targets that are placed between plain training and the smallest gap when nothing is asked for
TINY = 1e-300  # the smallest number that is divided by, where a quotient of zeros is to be zero
CLOSED = 1e-12  # smallest cap whose slope is taken: that of a gap function is 0 at 0
SMOOTHING = 0.2
"""Width over which default solvers round a loss with a kink; the values reported are those of the loss itself."""
UNFINISHED = ("RUNNING", "OUT_OF_REACH", "WEAK", "STALLED", "STUCK", "UNATTAINED", "LIMIT", "VISITED")


class Status(StrEnum):
    """Reasons to stop; the value says what was reached and, where it helps, what to do."""

    RUNNING = "running"
    EFFICIENT = "efficient: no direction lowers one objective without raising another"
    LINE = "efficient and on the preference line"
    CHEBYSHEV = (
        "efficient: weighted Chebyshev point, the smallest largest pi_i h_i "
        "(the preference line does not meet the frontier)"
    )
    NEAREST = "preference not reachable: nearest point (the unconstrained gaps are below what the preference asks)"
    OUT_OF_REACH = "not reachable: nearest point (the gaps cannot be made as small as asked)"
    FLOOR = "efficient: the smallest gap that these models can reach on these data"
    PAST = "solved with the gaps past zero, on the other side of those of the unconstrained model"
    WEAK = (
        "weakly efficient: some objectives are at their smallest but another could still fall; "
        "use normalised gradients or another start"
    )
    STALLED = "stalled: no step lowers the objectives any more, although the point is not known to be efficient"
    STUCK = "stuck: the printed direction vanishes here, although all objectives could still fall together"
    UNATTAINED = (
        "no efficient point: objectives go on falling however far the point moves, and their infimum is not attained; "
        "add a penalty or bounds"
    )
    LIMIT = "stopped at the iteration limit before it converged; raise max_iter"
    ROUNDED = "solved with the kinks of the loss rounded over a narrow width, not for the loss itself"
    WEIGHTED = "weighted fit, not certified: a learner of any kind, fitted with row weights of the frontier"
    POSTERIOR = (
        "optimal for its posteriors, not certified: by a learner's probabilities of label and group, no rule has a "
        "smaller expected error at these gaps"
    )
    GIVEN = "given: no other candidate is at least as good on every axis and better on one"
    DOMINATED = "given: another candidate is at least as good on every axis and better on one"
    VISITED = "visited on the way: not dominated by any other point, not solved to tolerance"

    @property
    def solved(self) -> bool:
        """Tell whether the point is finished, so that rules may choose it: solved to tolerance, fitted, or given."""
        return self.name not in UNFINISHED


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
        return cls(pi, np.full((len(pi), pi.shape[1] - 1), np.nan))

    @classmethod
    def from_caps(cls, caps: Array) -> Target:
        return cls(np.full((len(caps), caps.shape[1] + 1), np.nan), caps)

    @property
    def by_preference(self) -> Mask:
        return ~np.isnan(self.pi[:, 0])

    def take(self, runs: Mask) -> Target:
        return Target(self.pi[runs], self.caps[runs])

    def caps_at(self, algebra: Algebra, level: Array) -> Array:
        """Return the caps phi^-1(level / pi_j) of the preference runs, the fixed caps of the others."""
        wanted = algebra.gap.inverse(np.maximum(level, TINY)[:, None] / self.pi[:, 1:])
        return np.where(self.by_preference[:, None], wanted, self.caps)

    def next_level(self, algebra: Algebra, level: Array, loss: Array, caps: Array, price: Array) -> Array:
        """Take a Newton step on pi_1 loss(level) = level, where the loss falls by ``price`` per unit of cap."""
        slope = self.pi[:, 1:] * algebra.gap.slope(np.maximum(caps, CLOSED))
        rate = self.pi[:, 0] * (np.abs(price) / np.maximum(slope, TINY)).sum(axis=1)
        moved = level + (self.pi[:, 0] * loss - level) / (1.0 + rate)
        return np.where(self.by_preference, moved, level)


def tops(algebra: Algebra, z: Array, path: Path) -> Array:
    """Return the caps that plain training just meets."""
    if path == "proportional":
        return z
    assert algebra.notion_of is not None
    return np.array([z[algebra.notion_of == i].max() for i in algebra.notion_of])


@dataclass(frozen=True)
class Request:
    """What a frontier is asked for.

    preferences   None, how many targets, or preference vectors (R, m)
    n_points      how many points to solve or, for first-order solvers, to keep
    random_state  seed of random starts
    """

    preferences: Any = None
    n_points: int | None = None
    random_state: int | None = None

    def __post_init__(self) -> None:
        if self.n_points is not None:
            check_count(self.n_points, "n_points", least=2, most=MOST_POINTS)

    def targets(self, names: tuple[str, ...], least: int = 1) -> tuple[int | None, Array | None]:
        """Return how many targets are asked for, None where that is open, and the preference vectors, if any."""
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
    status            VISITED for a point that a run passed on its way
    pi (m,)           its preference, NaN where it was solved for caps
    L (k,)            cells that were solved for, on framed columns; None where the solver is not exact
    multipliers (q,)  of the gaps, and after them of the guards; None where the solver is not exact
    """

    W: Array
    status: Status
    pi: Array
    L: Array | None = None
    multipliers: Array | None = None
    kkt: float = np.nan
    certified: bool = False


class Solver:
    """Frozen hyper-parameters and pure functions that find points of a frontier.

    A solver is a frozen dataclass with a ``name`` that has `trace`, and `solve` where it can find single points. One
    that goes step by step is a `loop.Descent` and has `prepare`, `plan` and `judge` instead.

    needs     the capabilities that the problem must have
    accepts   what may be asked of it beside a number of points, or that it is for estimators
    path      how automatic caps shrink: one cap on the worst gap of each notion, or all gaps in proportion
    """

    name: ClassVar[str]
    needs: ClassVar[tuple[type, ...]] = (FirstOrder,)
    accepts: ClassVar[frozenset[Accepted]] = frozenset()
    path: Path = "worst_gap"

    def stated(self, problem: LinearProblem) -> LinearProblem:
        """Return the problem that points are stated for, with the gaps that the solver was set to count.

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
            raise InputError(f"solver {self.name!r} needs a preference, found None.")
        cap = 0.0 if max_gap is None else check_positive(max_gap, "the largest gap", zero=True)
        return Target.from_caps(np.full((1, len(algebra.b)), cap))


SOLVERS: Registry[type[Solver]] = Registry("solver")


def as_solver(solver: str | Solver, algebra: Algebra | None = None) -> Solver:
    """Return the solver by name or as given, for gaps of one sign (of ``algebra``) only one that accepts them."""
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
        raise InputError(
            f"{type(solver).__name__} needs {', '.join(n.__name__ for n in solver.needs)}, "
            f"{type(problem).__name__} lacks {', '.join(missing)}; use another solver."
        )
