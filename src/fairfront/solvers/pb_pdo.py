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
from .base import (
    TARGETS,
    TINY,
    TOLERANCES,
    Accepted,
    Mask,
    Outcome,
    Request,
    Status,
    Target,
    tops,
)
from .capped_step import CappedStep, LinearModel, share_along, signed_sizes, multipliers_within, step_within
from .descent import Beginning, Course, Descent, Judgement, Plan, Statuses, all_running, descend
from .hard_points import polished
from .level_step import level_step
from .roots import falling_root
from .simplex import factor

WINDOW = 5
"""Accepted points of which the highest level counts in Armijo's rule."""
LONGER, SHORTER = 2.0, 0.25
"""Factors on step size and slide after an accepted and after a refused step."""
SHORTEST_SLIDE = 1e-2
"""Slide, as a share of the first, at which sliding has come to rest and descending begins."""
SHORTEST_STEP = 1e-20
"""Step size, as a share of the first, at which a run is stalled."""
GONE = 1e-30
"""Level, as a share of the first, that is 0: objectives that vanish together are on every line."""
FAR = 1e25
"""Growth of h / |g|^2, the step size that would take an objective to 0, at which objectives that
are gone have no minimum there: it stays what it was for quadratic ones, and grows with 1 / h where
h falls for ever."""
ALONE = 1e-6
"""Weight of all objectives but one below which that one alone is at its minimum."""
LEVEL_ACCURACY = 1e-2
"""Share of the predicted fall of the level to which the root of (2) is found: the equation is
linearised anew in every step."""
SMALLEST_GAP = 1e-3
"""Gap that the last automatic preference aims at, as a share of the unconstrained model's: a gap of
0 has no preference."""
NO_GAP = 1e-6
"""Gap that counts as one, as a share of the largest, where automatic preferences are placed."""


@dataclass(frozen=True, eq=False)
class PBPDOState:
    """Per run.

    pi (m,)             preference, scaled so that its smallest and largest are as far from 1
    first_level         the level (1) at the start
    first_step          step size at the start, by the size of objectives and gradients
    recent (WINDOW,)    the levels (1) of the last accepted points
    eta, slide          step size, and longest fall of the worst gap
    first_eta, first_slide
    accepted            whether the last step was accepted: a step size that is being cut says
                        nothing about slopes
    descends            the gait
    """

    pi: Array
    first_level: Array
    first_step: Array
    recent: Array
    eta: Array
    slide: Array
    first_eta: Array
    first_slide: Array
    accepted: Mask
    descends: Mask


@dataclass(frozen=True, eq=False)
class PBPDOForecast:
    """Per run: what a step is predicted to do, and with which prices.

    level, loss, gaps (q,)      after the step, to first order
    loss_price, prices (q,)     the step is y = -eta (loss_price g + C^T prices)
    eta, length2                its step size, and |y|^2
    along                       it moves the gaps more than it goes down the loss
    relaxed                     its caps contradict each other, and wider ones were used
    descends                    its gait
    """

    level: Array
    loss: Array
    gaps: Array
    loss_price: Array
    prices: Array
    eta: Array
    length2: Array
    along: Mask
    relaxed: Mask
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
            pi = preferences_through_gaps(problem, plain, count or TARGETS, SMALLEST_GAP)
        return Course(plain, Target.from_preferences(pi))

    def finished(self, problem: Any, exact: Any, ends: Outcome, target: Target | None) -> Outcome:
        """Solve ends to Newton's precision if that is asked for, or for the loss itself."""
        if self.polish and target is not None and isinstance(problem, SecondOrder):
            return polished(problem, exact, ends, target, None, every=True)
        return super().finished(problem, exact, ends, target)

    def beginning(
        self, problem: Any, start: Array | None, target: Target | None, rng: np.random.Generator
    ) -> Beginning:
        """Begin at the unconstrained model, with the Hessian of the loss there as the metric."""
        assert target is not None
        if isinstance(problem, WeightedFit) and isinstance(problem, SecondOrder):
            linear: Any = problem
            first = linear.fit(linear.algebra.p) if start is None else start.reshape(-1, *start.shape[-2:])[0]
            problem = linear.with_metric(linear.metric(first))
            start = first if start is None else start
        elif start is None:
            start = _own_start(problem)
        W = np.broadcast_to(start, (len(target.pi), *start.shape[-2:]))
        return Beginning(problem, W.copy())

    def begin(self, algebra: Algebra, point: Point, target: Target | None) -> PBPDOState:
        """Measure first slides and step sizes in units of the levels at the start."""
        assert target is not None
        pi = target.pi / np.sqrt(target.pi.min(axis=1) * target.pi.max(axis=1))[:, None]
        values = pi * algebra.objectives(point.L)
        level = values.max(axis=1)
        slide = self.slide * algebra.gap.inverse(np.abs(values).max(axis=1))
        eta = _first_step_sizes(algebra, point)
        every = np.ones(point.runs, dtype=bool)
        recent = np.repeat(level[:, None], WINDOW, axis=1)
        return PBPDOState(pi, level, eta, recent, eta, slide, eta, slide, every, ~every)

    def plan(self, algebra: Algebra, point: Point, state: PBPDOState) -> Plan:
        """Slide, or descend where sliding has come to rest above the smallest level."""
        values = state.pi * algebra.objectives(point.L)
        forecast = _slide(algebra, point, state, values)
        gaps_are_highest = values[:, 0] < (1.0 - self.line_tol) * values.max(axis=1)
        short = state.slide < SHORTEST_SLIDE * state.first_slide
        rests = gaps_are_highest & (self._is_flat(forecast, values, state) | short)
        descends = state.descends | rests | (short & forecast.relaxed)
        descends &= values.max(axis=1) > TINY
        if descends.any():
            forecast = _with_level_steps(algebra, point, state, forecast, descends)
        weights = _objective_weights(algebra, point, forecast)
        total = weights.sum(axis=1)
        norm = np.sqrt(np.maximum(forecast.length2, 0.0)) / (forecast.eta * total)
        combination = forecast.loss_price[:, None] * algebra.p + forecast.prices @ algebra.B
        status = self._statuses(forecast, values, weights, state)
        lost = (_first_step_sizes(algebra, point) > FAR * state.first_step) & _is_gone(values, state)
        status[lost & (status != Status.RUNNING)] = Status.UNATTAINED
        return Plan(forecast.eta[:, None] * combination, status, weights / total[:, None], norm, forecast)

    def _is_flat(self, forecast: PBPDOForecast, values: Array, state: PBPDOState) -> Mask:
        """Tell where the next step promises nothing, and would not change any pi_i h_i either."""
        level = np.maximum(values.max(axis=1), TINY)
        price = np.where(forecast.descends, 1.0, state.pi[:, 0])
        little = price * forecast.length2 <= self.tol * forecast.eta * level
        settled = np.abs(forecast.level - level) <= 0.1 * self.line_tol * level
        return (little & settled & state.accepted & ~forecast.relaxed) | _is_gone(values, state)

    def _statuses(
        self, forecast: PBPDOForecast, values: Array, weights: Array, state: PBPDOState
    ) -> Statuses:
        """Tell which runs end, and what they have reached."""
        status = all_running(len(values))
        growth = forecast.eta / state.first_eta
        on_line = values.min(axis=1) >= (1.0 - self.line_tol) * values.max(axis=1)
        alone = weights.max(axis=1) >= (1.0 - ALONE) * weights.sum(axis=1)
        for r in np.flatnonzero(self._is_flat(forecast, values, state)):
            if on_line[r]:
                status[r] = Status.LINE
            else:
                status[r] = Status.NEAREST if alone[r] else Status.CHEBYSHEV
        stalled = (growth < SHORTEST_STEP) & (status == Status.RUNNING)
        status[stalled & ~forecast.along] = Status.STALLED
        return status

    def judge(self, algebra: Algebra, old: Point, new: Point, plan: Plan, state: PBPDOState) -> Judgement:
        """Accept a step that lowers the level, with the loss as predicted (Armijo for both)."""
        forecast: PBPDOForecast = plan.forecast
        level_old = (state.pi * algebra.objectives(old.L)).max(axis=1)
        level_new = (state.pi * algebra.objectives(new.L)).max(axis=1)
        slack = TOLERANCES.rounding * np.abs(level_old)
        promised = np.minimum(forecast.level - level_old, 0.0)
        highest = np.where(forecast.along, level_old, state.recent.max(axis=1))
        lower = level_new <= highest + TOLERANCES.armijo * promised + slack
        # Without active gaps the step is -eta g, and this is loss_new <= loss - armijo eta |g|^2.
        surplus = algebra.loss(new.L) - forecast.loss
        allowed = (1.0 - TOLERANCES.armijo) * forecast.length2 / forecast.eta
        as_predicted = surplus <= allowed + slack / state.pi[:, 0]
        accepted = lower & (as_predicted | forecast.descends)
        return Judgement(accepted, self._adapted(algebra, new, accepted, lower, forecast, state))

    def _adapted(
        self,
        algebra: Algebra,
        new: Point,
        accepted: Mask,
        lower: Mask,
        forecast: PBPDOForecast,
        state: PBPDOState,
    ) -> PBPDOState:
        """Return what runs remember: step sizes, slides, levels and gaits."""
        # A step that failed did so because of its slide, or else because of its size.
        too_far = forecast.relaxed | (forecast.along & ~lower)
        factor = np.where(accepted, LONGER, np.where(too_far, 1.0, SHORTER))
        eta = np.minimum(factor * forecast.eta, _longest_steps(algebra, new, forecast))
        slide = np.where(too_far, SHORTER, np.where(accepted, LONGER, 1.0)) * state.slide
        level = (state.pi * algebra.objectives(new.L)).max(axis=1)
        recent = np.column_stack([state.recent[:, 1:], level])
        begins_descent = forecast.descends & ~state.descends
        return replace(
            state,
            recent=np.where(accepted[:, None], recent, state.recent),
            eta=eta,
            first_eta=np.where(begins_descent, forecast.eta, state.first_eta),
            slide=np.minimum(slide, state.first_slide),
            accepted=accepted,
            descends=forecast.descends,
        )


def _is_gone(values: Array, state: PBPDOState) -> Mask:
    """Tell where the level is 0, but for numbers that mean nothing."""
    return np.asarray(values.max(axis=1) <= GONE * state.first_level)


def preferences_through_gaps(
    problem: LinearProblem, plain: Array, count: int, smallest: float
) -> Array:
    """Return preferences (count, m) whose lines pass, at the loss of the unconstrained model,
    through gaps that shrink evenly from its own, to a share ``smallest`` of the way above the
    smallest ones.
    """
    algebra = problem.algebra
    L = problem.values(plain[None])
    top = tops(algebra, algebra.violation(algebra.gaps(L))[0], "worst_gap")
    top = np.maximum(top, NO_GAP * max(float(top.max()), NO_GAP))
    shares = np.linspace(1.0, smallest, count + 1)[1:, None]
    caps = shares * top
    if not algebra.two_sided.all():  # differences can be 0, losses of groups cannot
        lowest = _smallest_gaps(problem, plain, top)
        caps = lowest + shares * np.maximum(top - lowest, 0.0)
    return _preferences_at(problem, float(algebra.loss(L)[0]), caps)


def _preferences_at(problem: LinearProblem, loss: float, caps: Array) -> Array:
    """Return the preferences whose lines pass through a loss and gaps (R, q)."""
    ratios = loss / np.maximum(problem.algebra.gap.value(caps), TINY)
    return np.column_stack([np.ones(len(caps)), ratios])


def _smallest_gaps(problem: LinearProblem, plain: Array, top: Array) -> Array:
    """Return the worst gap of each notion (q,) where a run ends that asks for hardly any."""
    algebra = problem.algebra
    loss = float(algebra.loss(problem.values(plain[None]))[0])
    pi = _preferences_at(problem, loss, SMALLEST_GAP * top[None])
    end = descend(problem, PBPDO(), plain, Target.from_preferences(pi))
    return tops(algebra, algebra.violation(algebra.gaps(end.L))[0], "worst_gap")


def _own_start(problem: Any) -> Array:
    """Return the weights that a problem such as a module comes with."""
    start = getattr(problem, "start", None)
    if start is None:
        raise InputError("start is None, expected weights to begin at for a problem that cannot be fitted.")
    return np.asarray(start)


def _slide(algebra: Algebra, point: Point, state: PBPDOState, values: Array) -> PBPDOForecast:
    """Return the capped step to the root of (2), or to one slide below the worst gap."""
    model = LinearModel(algebra, algebra.gaps(point.L), point.Q)
    loss, level = algebra.loss(point.L), values.max(axis=1)
    target = _lowest_level(algebra, model, loss, level, values, state)
    step = step_within(model, _caps(algebra, target, state.pi), state.eta)
    gaps = model.z + step.gap_changes
    after = np.column_stack([loss + step.loss_change, _penalties(algebra, gaps)])
    return PBPDOForecast(
        level=(state.pi * after).max(axis=1),
        loss=after[:, 0],
        gaps=gaps,
        loss_price=np.ones(point.runs),
        prices=step.x / state.eta[:, None],
        eta=state.eta,
        length2=step.length2,
        along=share_along(model, step) > 0.5,
        relaxed=step.relaxed | _misses_caps(algebra, model, step, target, state.pi),
        descends=np.zeros(point.runs, dtype=bool),
    )


def _lowest_level(
    algebra: Algebra, model: LinearModel, loss: Array, level: Array, values: Array, state: PBPDOState
) -> Array:
    """Return the levels (R,) that steps aim at: the roots of (2), at most one slide down."""
    worst = algebra.gap.inverse(np.maximum(values[:, 1:].max(axis=1), 0.0))
    lowest = algebra.gap.value(np.maximum(worst - state.slide, 0.0))

    def excess(t: Array) -> Array:
        """Return by how much the loss after the step to level t is above it: (2)."""
        found = multipliers_within(model, _caps(algebra, t, state.pi), state.eta)
        return state.pi[:, 0] * (loss + found.loss_change(model, state.eta)) - t

    return falling_root(excess, lowest, level, LEVEL_ACCURACY)


def _caps(algebra: Algebra, level: Array, pi: Array) -> Array:
    """Return c_j(t) = phi^-1(t / pi_j), (R, q)."""
    return algebra.gap.inverse(np.maximum(level, 0.0)[:, None] / pi[:, 1:])


def _misses_caps(
    algebra: Algebra, model: LinearModel, step: CappedStep, level: Array, pi: Array
) -> Mask:
    """Tell which steps leave a gap above its cap, to first order."""
    caps = _caps(algebra, level, pi)
    missed = signed_sizes(algebra, model.z + step.gap_changes) - caps
    beyond = np.maximum(signed_sizes(algebra, model.z) - caps, 0.0).max(axis=1)
    rounding = TOLERANCES.contradiction * np.abs(model.z).max(axis=1)
    return np.asarray(missed.max(axis=1) > TOLERANCES.violation * beyond + rounding)


def _penalties(algebra: Algebra, z: Array) -> Array:
    """Return phi of gaps (R, q)."""
    counted = np.where(algebra.two_sided, z, np.maximum(z, 0.0)) if algebra.gap.even else z
    return algebra.gap.value(counted)


def _with_level_steps(
    algebra: Algebra, point: Point, state: PBPDOState, forecast: PBPDOForecast, descends: Mask
) -> PBPDOForecast:
    """Replace the forecasts of the runs that descend."""
    runs = np.flatnonzero(descends)
    pi, L = state.pi[runs], point.L[runs]
    h = algebra.objectives(L)
    A = algebra.jacobian(L)
    gradients = pi[:, :, None] * (A @ factor(point.Q[runs]))
    begins = ~state.descends[runs]
    steepest2 = np.maximum((gradients**2).sum(axis=2).max(axis=1), TINY)
    eta = np.where(begins, (pi * h).max(axis=1) / steepest2, state.eta[runs])
    slopes = _gap_slopes(algebra, L)
    parts = {name: np.array(part) for name, part in vars(forecast).items()}
    for place, r in enumerate(runs):
        step = level_step(pi[place] * h[place], gradients[place], float(eta[place]))
        weights = step.weights * pi[place]  # of the gradients g_i
        beta = step.eta * weights @ A[place]
        cell_changes = -point.Q[r] @ beta
        parts["level"][r] = step.level
        parts["loss"][r] = algebra.p @ (L[place] + cell_changes)
        parts["gaps"][r] = algebra.B @ (L[place] + cell_changes) - algebra.b
        parts["loss_price"][r] = weights[0]
        parts["prices"][r] = weights[1:] * slopes[place]
        parts["eta"][r] = step.eta
        parts["length2"][r] = -beta @ cell_changes
    parts["along"][runs] = False
    parts["relaxed"][runs] = False
    parts["descends"] = descends
    return PBPDOForecast(**parts)


def _gap_slopes(algebra: Algebra, L: Array) -> Array:
    """Return phi'(z), (R, q)."""
    z = algebra.gaps(L)
    counted = np.where(algebra.two_sided, z, np.maximum(z, 0.0)) if algebra.gap.even else z
    return algebra.gap.slope(counted)


def _objective_weights(algebra: Algebra, point: Point, forecast: PBPDOForecast) -> Array:
    """Return the weights (R, m) of the gradients g_i in the step; a gap of 0 has no gradient."""
    slopes = _gap_slopes(algebra, point.L)
    of_gaps = np.zeros_like(slopes)
    np.divide(forecast.prices, slopes, out=of_gaps, where=np.abs(slopes) > TINY)
    return np.column_stack([forecast.loss_price, np.maximum(of_gaps, 0.0)])


def _longest_steps(algebra: Algebra, new: Point, forecast: PBPDOForecast) -> Array:
    """Return 1 / the curvature of the Lagrangian along the last step, where that is measurable."""
    # Prices of a step that slides are what the slide takes, not multipliers: the loss has to do.
    prices = np.where(forecast.along[:, None], 0.0, forecast.prices)
    bend = forecast.loss_price * (algebra.loss(new.L) - forecast.loss)
    bend += (prices * (algebra.gaps(new.L) - forecast.gaps)).sum(axis=1)
    promise = forecast.length2 / forecast.eta
    unit = np.abs(forecast.loss_price * forecast.loss) + np.abs(prices * forecast.gaps).sum(axis=1)
    measurable = promise > TOLERANCES.measurable * unit
    longest = np.full(len(bend), np.inf)
    np.divide(0.5 * forecast.length2, bend, out=longest, where=measurable & (bend > 0.0))
    return np.where(measurable, longest, forecast.eta)


def _first_step_sizes(algebra: Algebra, point: Point) -> Array:
    """Let the steepest objective promise to fall by the size of the largest: free of units."""
    A = algebra.jacobian(point.L)
    slope2 = np.einsum("rik,rkl,ril->ri", A, point.Q, A).max(axis=1)
    size = np.abs(algebra.objectives(point.L)).max(axis=1)
    return np.divide(size, slope2, out=np.ones_like(size), where=(slope2 > 0.0) & (size > 0.0))
