"""Weighting: the frontier of any learner as weighted fits, found by a search in the multipliers.

With omega = p + B^T lambda >= 0, the fit with row weights omega_cell / p_cell minimises the Lagrangian loss + lambda.z,
so its gaps z are the slope of a concave dual and fall along lambda. One gap: secant steps inside a bracket, until gaps
are evenly spaced or the cap is met. Several: `bundle`. Fits are noisy functions of lambda, so the search reads a
monotone regression over all of them, and nothing is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from inspect import signature
from typing import Any, ClassVar, get_args

import numpy as np
from joblib import Memory
from sklearn.isotonic import isotonic_regression

from ..exceptions import InputError
from ..objectives import Algebra, Array
from ..problems import EstimatorProblem, Reading, estimator_problem
from ..problems.weighted_fits import Criterion, check_jobs
from ..validation import (
    check_choice,
    check_count,
    check_flag,
    check_mapping,
    check_path,
    check_positive,
    refuse,
)
from .base import TINY, Accepted, Solver
from .bundle import FLIPPED, Read, bundle_path

LINEAR = ("surrogate", "preferences", "preference", "n_points", "ridge", "fit_intercept")
"""What only linear models have."""
CLOSE, CLOSE_IN_NOISE = 0.3, 0.6
"""Share of an even step within which neighbours differ by noise, and the same where the gaps are noisy themselves."""
FARTHER = (1.25, 4.0)  # how many times the largest multiplier so far the next one is, where no gap is small enough
MARGIN = 0.02  # share of a bracket that a step stays away from its ends
SAME = 1e-9  # share of the plain gap that is no hole between two gaps


class StopSearch(Exception):  # noqa: N818
    """A fit failed: the search ends with the fits that it has."""


@dataclass(frozen=True)
class Weighting(Solver):
    """Search in the multipliers of weighted fits.

    Parameters
    ----------
    max_fits : int, most weightings that are tried; each is fitted once per fold of ``cv`` and once more on all rows
    criterion : {"loss_gap", "rate_gap"}, which gap is lowered: of mean losses, or of rates of decisions
    cv : int, float, splitter, pairs of rows, "auto" or "train"
        Rows that gaps are measured on, because a fit has not seen them: folds, a held-out fraction, "auto" (3 folds, or
        a quarter where every cell has many rows), or "train" (the training rows).
    fit_params : mapping that goes to every fit, optional
    n_jobs : number of processes of joblib, optional
    memory : folder or joblib.Memory, optional
        Where fitted learners are kept: a fit of the same estimator, rows and weights is read from there.
    overshoot : float
        How far past a zero gap to go, as a share of the plain gap: a zero gap on held-out rows is a noisy zero.
    tol : float, how near a cap on the gap counts as met, as a share of the plain gap
    negative : bool
        Go on past weights of zero where they leave a gap open, by flipping labels: a heuristic, and said to be one.
    """

    max_fits: int = 12
    criterion: Criterion = "loss_gap"
    cv: Any = field(default="auto", repr=False)  # may hold rows, and what is shown is saved with a frontier
    fit_params: Mapping[str, Any] | None = field(default=None, repr=False)
    n_jobs: int | None = field(default=None, repr=False)
    memory: Any = field(default=None, repr=False)
    overshoot: float = 0.15
    tol: float = 0.02
    negative: bool = True
    accepts: ClassVar[frozenset[Accepted]] = frozenset({"estimators"})
    name: ClassVar[str] = "weighting"

    def __post_init__(self) -> None:
        check_count(self.max_fits, "max_fits", least=2)
        check_choice(self.criterion, "criterion", get_args(Criterion))
        if self.fit_params is not None:
            check_mapping(self.fit_params, "fit_params", "{'verbose': False}")
        check_jobs(self.n_jobs)
        if self.memory is not None and not isinstance(self.memory, Memory):
            check_path(self.memory, "memory", "a folder or a joblib.Memory")
        check_positive(self.overshoot, "overshoot", zero=True)
        check_positive(self.tol, "tol", zero=True)
        check_flag(self.negative, "negative")

    def problem(self, X: Any, y: Any, **known: Any) -> EstimatorProblem:
        """Return the weighted fits of an estimator.

        Parameters
        ----------
        X, y : rows and labels, as `fairfront.trace` takes them with an estimator
        **known : the other parameters of `estimator_problem`
        """
        names = ("criterion", "cv", "fit_params", "n_jobs", "memory")
        return estimator_problem(X, y, **{name: getattr(self, name) for name in names}, **known)


def as_search(solver: Any, usual: Weighting) -> Weighting:
    """Return the search in an estimator's weights that ``solver`` asks for; "newton" is what nobody asked for."""
    if isinstance(solver, Weighting):
        return solver
    if not isinstance(solver, str) or solver != "newton":
        raise refuse("solver", solver, "none or a Weighting with an estimator")
    return usual


def refuse_linear(owner: Callable[..., Any], given: Mapping[str, Any]) -> None:
    usual = {name: parameter.default for name, parameter in signature(owner).parameters.items()}
    for name in LINEAR:
        value = given.get(name, usual.get(name))
        plain = isinstance(value, (str, int, float)) and value == usual.get(name)
        if value is not usual.get(name) and not plain:
            raise InputError(
                f"{name} is for linear models, found an estimator; use Weighting(max_fits=, criterion='rate_gap') or a "
                "cap, or set it in the estimator."
            )


def search(problem: EstimatorProblem, config: Weighting, read: Read, cap: float | None = None) -> list[Reading]:
    """Return all fits of the path from plain training to a zero gap, or of the way to a cap on every gap."""
    fits = [read(np.zeros(len(problem.algebra.b)))]
    one_gap = len(problem.algebra.b) == 1 and problem.algebra.two_sided[0]
    with suppress(StopSearch):
        (_along_line if one_gap else bundle_path)(problem, config, read, cap, fits)
    return fits


def met(fits: list[Reading], algebra: Algebra, cap: float, tol: float) -> int:
    """Return the place of the fit with the smallest loss that meets the cap, or of the one that comes nearest."""
    worst = np.array([float(algebra.violation(fit.gaps).max()) for fit in fits])
    allowed = worst <= cap + tol * worst[0]
    if not allowed.any():
        return int(np.argmin(worst))
    return int(np.argmin(np.where(allowed, [fit.loss for fit in fits], np.inf)))


def _along_line(
    problem: EstimatorProblem, config: Weighting, read: Read, cap: float | None, fits: list[Reading]
) -> None:
    """Search one multiplier along the sign that lowers the plain gap: to even gaps past zero, or to a cap."""
    plain = float(fits[0].driven[0])
    side = 1.0 if plain >= 0.0 else -1.0
    times, sizes = [0.0], [abs(plain)]
    row = side * problem.algebra.B[0]
    ratio = np.divide(problem.shares, np.abs(row), out=np.full(len(row), np.inf), where=np.abs(row) > 0.0)
    lowest = np.where(problem.own, FLIPPED if config.negative and problem.can_flip else 1.0, FLIPPED)
    unit, reach = float(ratio.min()), float(np.where(row < 0.0, lowest * ratio, np.inf).min())

    def step(t: float) -> None:
        fits.append(read(np.array([side * t])))
        times.append(t)
        sizes.append(side * float(fits[-1].driven[0]))

    if cap is not None:  # secant steps until the gap is the cap
        width = config.tol * sizes[0]
        if sizes[0] > cap:
            step(0.5 * unit)
        while sizes[0] > cap and len(fits) < config.max_fits and not any(abs(size - cap) <= width for size in sizes):
            if max(times) >= reach and min(sizes) > cap:
                return
            step(min(place(times, sizes, max(cap - 0.5 * width, 0.0)), reach))
        return
    end = -config.overshoot * sizes[0]
    step(0.5 * unit)
    while len(fits) < max(4, config.max_fits // 2) and min(sizes) > 0.5 * end and max(times) < reach:
        if len(fits) >= config.max_fits:
            return
        step(min(place(times, sizes, end), reach))
    close = CLOSE_IN_NOISE if problem.noise else CLOSE
    while len(fits) < config.max_fits:
        t = next_even(times, sizes, end, config.max_fits - len(fits), close)
        if t is None:
            return
        step(t)


def monotone(times: list[float], sizes: list[float]) -> tuple[Array, Array]:
    """The falling curve nearest to the gaps at the multipliers in order."""
    order = np.argsort(times, kind="stable")
    return np.asarray(times)[order], np.asarray(isotonic_regression(np.asarray(sizes)[order], increasing=False))


def place(times: list[float], sizes: list[float], goal: float) -> float:
    """Return where the gap should be ``goal``: a secant step from the two nearest fits, kept inside its bracket."""
    t, z = monotone(times, sizes)
    after = int(np.searchsorted(-z, -goal, side="left"))
    if after >= len(t):
        slope = (z[-2] - z[-1]) / (t[-1] - t[-2])
        far = t[-1] + (z[-1] - goal) / slope if slope > 0.0 else np.inf
        return float(np.clip(far, FARTHER[0] * t[-1], FARTHER[1] * t[-1]))
    low, high = t[max(after - 1, 0)], t[after]
    order = np.argsort(np.abs(np.asarray(sizes) - goal), kind="stable")[:2]
    (t0, t1), (z0, z1) = (np.asarray(v)[order] for v in (times, sizes))
    guess = t0 + (goal - z0) * (t1 - t0) / (z1 - z0) if z1 != z0 else np.inf
    if not low < guess < high:
        drop = z[max(after - 1, 0)] - z[after]
        guess = low + (high - low) * ((z[max(after - 1, 0)] - goal) / drop if drop > 0.0 else 0.5)
    return float(np.clip(guess, low + MARGIN * (high - low), high - MARGIN * (high - low)))


def next_even(times: list[float], sizes: list[float], end: float, left: int, close: float = CLOSE) -> float | None:
    """Return where to fit next, so that ``left`` more fits leave gaps evenly spaced; None where all gaps are the same.

    The fits are dealt out to the holes between neighbours, always to the widest part; the hole that gets most is next.
    Neighbours nearer than ``close`` even steps differ by noise and have no hole between them; where those are all that
    is left, the widest step is halved, one past the end counting half.
    """
    t, z = monotone(times, sizes)
    holes = np.maximum(z[:-1] - np.maximum(z[1:], end), 0.0)
    none = SAME * max(abs(z[0]), TINY)
    if holes.max() < none:
        return None
    holes[np.diff(t) < close * t[-1] / (len(t) + left)] = 0.0
    if holes.max() < none:
        widest = int(np.argmax(np.diff(t) * np.where(z[:-1] > end, 1.0, 0.5)))  # a crossing may be noise as well
        return float(0.5 * (t[widest] + t[widest + 1]))
    parts = np.ones(len(holes))
    for _ in range(left):
        parts[np.argmax(holes / parts)] += 1.0
    most = int(np.argmax(parts))
    share = 1.0 / parts[most] if parts[most] > 1.0 else 0.5
    goal = z[most] - share * holes[most]
    if share < 0.5:
        found = place(times, sizes, float(goal))
    else:
        within = (z[most] - goal) / (z[most] - z[most + 1])
        found = float(t[most] + np.clip(within, 0.1, 0.9) * (t[most + 1] - t[most]))
    margin = 0.25 * close * (t[most + 1] - t[most])
    return float(np.clip(found, t[most] + margin, t[most + 1] - margin))
