"""PB-PDO: slide along the frontier to the point that a preference asks for.

A preference pi (m,) asks for pi_1 h_1 = ... = pi_m h_m on the frontier (paper, eq. 8). Where the
frontier meets that line, the meeting point is the one with the smallest *level*

    M(w) = max_i pi_i h_i(w),                                                            (1)

and where it does not, the smallest M is the point nearest to it: the weighted Chebyshev point.
M is the merit of the whole run.

There are two gaits. A run *slides*: its step aims at a level t < M, every gap gets the cap
c_j(t) = phi^-1(t / pi_j), and the capped step (`capped_step`) goes down the loss and along it to
those caps. The level is the lowest that the step can keep,

    pi_1 (loss + change of the loss in the step to c(t)) = t,                            (2)

but lowers the worst gap by no more than a slide. A run that begins at the unconstrained model
thereby follows the frontier, which is case II of Algorithm 2 as the main gait. Where the gaps
cannot be made as small as asked, sliding comes to rest above the smallest level; from there on
the run *descends*: its steps go down M itself (`level_step`), in which the loss has no part of its
own. Either gait ends where a convex combination of the gradients of the largest pi_i h_i vanishes.

Why runs cannot go in circles: M is one function for the whole run, with no weight that changes;
both gaits predict that it falls unless the point is stationary; and an accepted step keeps a share
of that, counted from the highest of the last `WINDOW` levels (Grippo, Lampariello and Lucidi
1986), or from the last level while a step slides. The highest of the window can only fall. The
window is for the preference line, where the second-order change of a gap exceeds what a step gains
(the Maratos effect): with the last level alone ten preferences on Adult take ten times the passes.

M says nothing about the loss while gaps are its larger part, so steps that slide obey Armijo's rule
for the loss as well; that keeps them on the frontier.

Differs from Algorithm 2, which is in `paper`: demanding that every step lowers all objectives and
the KL term freezes a run on the preference line far from the frontier.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..exceptions import InputError
from ..objectives import Algebra, Array
from ..problems import LinearProblem, Point, SecondOrder, WeightedFit
from ..validation import check_count, check_flag, check_positive
from .base import TARGETS, TINY, TOLERANCES, Accepted, Mask, Outcome, Request, Status, Target, tops
from .descent import (
    Beginning,
    Course,
    Descent,
    Judgement,
    Plan,
    descend,
)
from .forecasts import Forecast, WeightedPoint, descent_forecast, slide_forecast
from .polish import polished
from .preferences import even_gaps, largest_gaps, preferences_through
from .run_log import Statuses, all_running, mark

WINDOW = 5
"""Accepted points of which the highest level counts in Armijo's rule."""
LONGER, SHORTER = 2.0, 0.25
"""Factors on step size and slide after an accepted and after a refused step."""
SHORTEST_SLIDE = 1e-2
"""Slide, as a share of the first, at which sliding has come to rest and descending begins."""
SHORTEST_STEP = 1e-20
"""Step size, as a share of the first, at which a run is stalled."""
SETTLED = 0.1
"""Share of ``line_tol`` by which the last step may still change the level."""
ALONE = 1e-6
"""Weight of all objectives but one below which that one alone is at its minimum."""
GONE = 1e-30
"""Level, as a share of the first, that is 0: objectives that vanish together are on every line."""
FAR = 1e25
"""Growth of h / |g|^2, the step size that would take an objective to 0, at which objectives that
are gone have no minimum there: it stays what it was for quadratic ones, and grows with 1 / h where
h falls for ever."""
SMALLEST_GAP = 1e-3
"""Gap that the last automatic preference aims at, as a share of the unconstrained model's."""


@dataclass(frozen=True, eq=False)
class PBPDOState:
    """Per run.

    pi (m,)                      preference, scaled: its smallest and largest are as far from 1
    recent (WINDOW,)             the levels (1) of the last accepted points
    eta, slide                   step size, and longest fall of the worst gap
    first_eta, first_slide       both at the start of the gait
    first_level, first_natural   level, and step size by the size of objectives and gradients
    accepted                     the last step was: a step size that is being cut tells no slopes
    descends                     the gait
    """

    pi: Array
    recent: Array
    eta: Array
    slide: Array
    first_eta: Array
    first_slide: Array
    first_level: Array
    first_natural: Array
    accepted: Mask
    descends: Mask


@dataclass(frozen=True)
class PBPDO(Descent):
    """Preference-based Pareto descent that slides along the frontier.

    Parameters
    ----------
    max_iter : int, most steps of a run; each is one pass over the data for all runs together
    tol : float
        A run ends when the decrease of the level that a step can still promise is below this share
        of it.
    slide : float
        Longest fall of the worst gap in one step, as a share of the gap at the start; short slides
        leave many points on the way.
    line_tol : float, the preference is met when all pi_i h_i agree to this share
    polish : bool, whether to solve the end of every run to Newton's precision (linear models)
    visited : bool, whether a frontier keeps the non-dominated points that runs pass
    """

    max_iter: int = 400
    tol: float = 1e-12
    slide: float = 0.05
    line_tol: float = 5e-3
    polish: bool = False
    visited: bool = False
    name: ClassVar[str] = "pb_pdo"
    accepts: ClassVar[frozenset[Accepted]] = frozenset({"preferences"})

    def __post_init__(self) -> None:
        check_count(self.max_iter, "max_iter", least=0)
        check_positive(self.tol, "tol", zero=True)
        check_positive(self.slide, "slide")
        check_positive(self.line_tol, "line_tol", zero=True)
        check_flag(self.polish, "polish")
        check_flag(self.visited, "visited")

    def course(self, problem: LinearProblem, request: Request, plain: Array) -> Course:
        """Return the unconstrained model, where all runs begin, and preferences.

        Where none are given, their lines pass through even gaps at the loss of that model.
        """
        count, pi = request.targets(problem.algebra.names)
        if pi is None:
            pi = automatic_preferences(problem, plain, count or TARGETS, SMALLEST_GAP)
        return Course(plain, Target.from_preferences(pi))

    def finished(self, problem: Any, exact: Any, ends: Outcome, target: Target | None) -> Outcome:
        """Solve ends to Newton's precision if that is asked for, or for the loss itself."""
        if self.polish and target is not None and isinstance(problem, LinearProblem):
            return polished(problem, exact, ends, target, every=True)
        return super().finished(problem, exact, ends, target)

    def beginning(
        self, problem: Any, start: Array | None, target: Target | None, rng: np.random.Generator
    ) -> Beginning:
        """Begin at the unconstrained model, with the Hessian of the loss there as the metric."""
        assert target is not None
        if isinstance(problem, WeightedFit) and isinstance(problem, SecondOrder):
            linear: Any = problem
            start = linear.fit(linear.algebra.p) if start is None else start
            first = start.reshape(-1, *start.shape[-2:])[0]
            problem = linear.with_metric(linear.metric(first))
        elif start is None:
            start = _own_start(problem)
        W = np.broadcast_to(start, (len(target.pi), *start.shape[-2:]))
        return Beginning(problem, W.copy())

    def begin(self, algebra: Algebra, point: Point, target: Target | None) -> PBPDOState:
        """Measure first slides and step sizes in units of the levels at the start."""
        assert target is not None
        middle = np.sqrt(target.pi.min(axis=1) * target.pi.max(axis=1))
        at = WeightedPoint(algebra, point, target.pi / middle[:, None])
        slide = self.slide * algebra.gap.inverse(np.abs(at.values).max(axis=1))
        eta = at.natural_steps()
        every = np.ones(point.runs, dtype=bool)
        return PBPDOState(
            pi=at.pi,
            recent=np.repeat(at.level[:, None], WINDOW, axis=1),
            eta=eta,
            slide=slide,
            first_eta=eta,
            first_slide=slide,
            first_level=at.level,
            first_natural=eta,
            accepted=every,
            descends=~every,
        )

    def plan(self, algebra: Algebra, point: Point, state: PBPDOState) -> Plan:
        """Slide, or descend where sliding has come to rest above the smallest level."""
        at = WeightedPoint(algebra, point, state.pi)
        forecast = slide_forecast(at, state.eta, state.slide)
        descends = self._descends(at, forecast, state)
        if descends.any():
            eta = np.where(state.descends, state.eta, _first_descents(at))[descends]
            forecast = forecast.replaced(descends, descent_forecast(at.take(descends), eta))
        weights = forecast.objective_weights(at)
        total = weights.sum(axis=1)
        norm = np.sqrt(np.maximum(forecast.length2, 0.0)) / (forecast.eta * total)
        status = self._statuses(at, forecast, weights, state)
        return Plan(forecast.beta(algebra), status, weights / total[:, None], norm, forecast)

    def _descends(self, at: WeightedPoint, slide: Forecast, state: PBPDOState) -> Mask:
        """Tell which runs go down the level itself: gaps cannot be made as small as asked."""
        gaps_are_highest = at.values[:, 0] < (1.0 - self.line_tol) * at.level
        is_short = state.slide < SHORTEST_SLIDE * state.first_slide
        rests = gaps_are_highest & (self._is_flat(at, slide, state) | is_short)
        begins = rests | (is_short & slide.relaxed)
        return np.asarray((state.descends | begins) & (at.level > TINY))

    def _is_flat(self, at: WeightedPoint, forecast: Forecast, state: PBPDOState) -> Mask:
        """Tell where the next step promises nothing, and would not change the level either."""
        level = np.maximum(at.level, TINY)
        price = np.where(forecast.descends, 1.0, at.pi[:, 0])
        promises_little = price * forecast.length2 <= self.tol * forecast.eta * level
        settled = np.abs(forecast.level - level) <= SETTLED * self.line_tol * level
        return np.asarray(promises_little & settled & state.accepted & ~forecast.relaxed)

    def _statuses(self, at: WeightedPoint, forecast: Forecast, weights: Array, state: PBPDOState) -> Statuses:
        """Tell which runs end, and what they have reached."""
        status = all_running(len(weights))
        stalled = (forecast.eta < SHORTEST_STEP * state.first_eta) & ~forecast.along
        mark(status, stalled, Status.STALLED)
        is_gone = at.level <= GONE * state.first_level
        ended = self._is_flat(at, forecast, state) | is_gone
        is_alone = weights.max(axis=1) >= (1.0 - ALONE) * weights.sum(axis=1)
        mark(status, ended, Status.CHEBYSHEV)
        mark(status, ended & is_alone, Status.NEAREST)
        on_line = at.values.min(axis=1) >= (1.0 - self.line_tol) * at.level
        mark(status, ended & on_line, Status.LINE)
        if is_gone.any():
            falls_for_ever = at.natural_steps() > FAR * state.first_natural
            mark(status, is_gone & falls_for_ever, Status.UNATTAINED)
        return status

    def judge(self, algebra: Algebra, old: Point, new: Point, plan: Plan, state: PBPDOState) -> Judgement:
        """Accept a step that lowers the level, with the loss as predicted."""
        forecast: Forecast = plan.forecast
        level_new = WeightedPoint(algebra, new, state.pi).level
        is_lower = _lowers_level(level_new, forecast, state)
        accepted = is_lower & (_keeps_loss(algebra, new, forecast, state) | forecast.descends)
        # A step that failed did so because of its slide, or else because of its size.
        too_far = forecast.relaxed | (forecast.along & ~is_lower)
        recent = np.column_stack([state.recent[:, 1:], level_new])
        factor = np.where(accepted, LONGER, np.where(too_far, 1.0, SHORTER))
        eta = np.minimum(factor * forecast.eta, forecast.longest_steps(algebra, new))
        slide = np.where(too_far, SHORTER, np.where(accepted, LONGER, 1.0)) * state.slide
        begins_descent = forecast.descends & ~state.descends
        return Judgement(
            accepted,
            replace(
                state,
                recent=np.where(accepted[:, None], recent, state.recent),
                eta=eta,
                slide=np.minimum(slide, state.first_slide),
                first_eta=np.where(begins_descent, forecast.eta, state.first_eta),
                accepted=accepted,
                descends=forecast.descends,
            ),
        )


def _lowers_level(level_new: Array, forecast: Forecast, state: PBPDOState) -> Mask:
    """Tell which steps lower the level, counted from the highest of the window (Armijo's rule)."""
    before = forecast.level_before
    promised = np.minimum(forecast.level - before, 0.0)
    highest = np.where(forecast.along, before, state.recent.max(axis=1))
    slack = TOLERANCES.rounding * np.abs(before)
    return np.asarray(level_new <= highest + TOLERANCES.armijo * promised + slack)


def _keeps_loss(algebra: Algebra, new: Point, forecast: Forecast, state: PBPDOState) -> Mask:
    """Tell which steps change the loss about as predicted.

    Without active gaps the step is -eta g, and this is Armijo's rule for the loss:
    loss_new <= loss - armijo eta |g|^2.
    """
    surplus = algebra.loss(new.L) - forecast.loss
    allowed = (1.0 - TOLERANCES.armijo) * forecast.length2 / forecast.eta
    slack = TOLERANCES.rounding * np.abs(forecast.level_before) / state.pi[:, 0]
    return np.asarray(surplus <= allowed + slack)


def automatic_preferences(problem: LinearProblem, plain: Array, count: int, smallest: float) -> Array:
    """Return preferences (count, m) through even gaps, from those of the unconstrained model down."""
    algebra = problem.algebra
    top = largest_gaps(problem, plain)
    lowest = np.zeros_like(top)
    if not algebra.two_sided.all():  # differences can be 0, losses of groups cannot
        smallest_gaps = preferences_through(problem, plain, SMALLEST_GAP * top[None])
        end = descend(problem, PBPDO(), plain, Target.from_preferences(smallest_gaps))
        lowest = tops(algebra, algebra.violation(algebra.gaps(end.L))[0])
    return preferences_through(problem, plain, even_gaps(top, lowest, count, smallest))


def _own_start(problem: Any) -> Array:
    """Return the weights that a problem such as a module comes with."""
    start = getattr(problem, "start", None)
    if start is None:
        raise InputError("start is None, expected weights to begin at for a problem that cannot be fitted.")
    return np.asarray(start)


def _first_descents(at: WeightedPoint) -> Array:
    """Return step sizes (R,) with which the steepest pi_i h_i promises to fall by the level."""
    A = at.pi[:, :, None] * at.algebra.jacobian(at.point.L)
    slope2 = np.einsum("rik,rkl,ril->ri", A, at.point.Q, A).max(axis=1)
    return np.asarray(at.level / np.maximum(slope2, TINY))
