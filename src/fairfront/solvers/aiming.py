"""Aiming: which problem to iterate on, where to start, and where each run should end."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..objectives import Algebra, Array
from ..problems import LinearProblem
from ..validation import MOST_POINTS, check_count, check_positive, check_preferences, shown
from .base import Path, Target, tops
from .journal import Journal
from .loop import run
from .newton import Newton
from .paper import PaperPBPDO, PaperPDO
from .pb_pdo import PBPDO

SMOOTHING = 0.2
"""Width over which default solvers round a loss with a kink; the values reported are those of the loss itself."""
TARGETS = 12
"""Targets that are placed between plain training and the smallest gap when nothing is asked for."""


def working_problem(problem: LinearProblem, solver: Any) -> LinearProblem:
    """Return the problem to iterate on: as it is in paper mode, with framed columns and a rounded kink otherwise."""
    if isinstance(solver, PaperPDO):
        return problem
    problem = problem.framed()
    return problem if problem.loss.smooth else problem.with_loss(problem.loss.smoothed(SMOOTHING))


def sided(problem: LinearProblem, solver: Any) -> LinearProblem:
    """Return the problem with one-sided gaps, group minus reference, where the solver asks for them."""
    if not getattr(solver, "one_sided", False):
        return problem
    algebra = problem.algebra
    assert algebra.signs is not None
    assert algebra.notion_of is not None
    inner = np.asarray((algebra.signs > 0).any(axis=1))  # averages that some contrast starts from; references never are
    kept = np.asarray(~((algebra.signs < 0) & inner[:, None]).any(axis=0))
    rows = replace(
        algebra,
        B=algebra.B[kept],
        b=algebra.b[kept],
        two_sided=np.zeros(int(kept.sum()), dtype=bool),
        names=("loss", *(name for name, keep in zip(algebra.names[1:], kept, strict=True) if keep)),
        notion_of=algebra.notion_of[kept],
        signs=algebra.signs[:, kept],
    )
    return problem.with_algebra(rows)


def single_target(algebra: Algebra, solver: Any, preference: Any, max_gap: float | None) -> Target | None:
    """Return the target of one run: a preference, a cap on every gap, or the smallest gap."""
    if not isinstance(solver, (Newton, PBPDO, PaperPBPDO)):
        if preference is not None or max_gap is not None:
            raise InputError(f"solver {solver.name!r} takes no preference and no cap; use solver='pb_pdo'.")
        return None
    if preference is not None and max_gap is not None:
        raise InputError("a preference and a cap on the gap were given, expected at most one of them.")
    if preference is not None:
        return Target.from_preferences(check_preferences(preference, algebra.names))
    if isinstance(solver, PaperPBPDO):
        raise InputError(f"solver {solver.name!r} needs a preference, found None.")
    cap = 0.0 if max_gap is None else check_positive(max_gap, "the largest gap", zero=True)
    return Target.from_caps(np.full((1, len(algebra.b)), cap))


def aim(
    problem: LinearProblem,
    solver: Any,
    path: Path,
    preferences: Any,
    random_state: int | None,
    journal: Journal | None = None,
) -> tuple[LinearProblem, Array, Target]:
    """Return the working problem, starting weights (1 or R, K, d) and the target of every run."""
    journal = journal or Journal()
    work = working_problem(problem, solver)
    if isinstance(solver, (PBPDO, PaperPBPDO)):
        start = journal.weights(lambda: work.fit(work.algebra.p))
        target = _targets(work, start, path, preferences, journal)
        if isinstance(solver, PaperPBPDO):
            target = _as_preferences(work, start, target)
            start = _random(work, len(target.pi), solver.start_scale, random_state)
        return work, start, target
    runs = _count(1 if preferences is None else preferences)
    start = _random(work, runs, solver.start_scale, random_state)
    return work, start, Target.from_preferences(np.ones((runs, work.algebra.m)))


def _count(preferences: Any) -> int:
    if isinstance(preferences, Integral):
        return check_count(preferences, "preferences", most=MOST_POINTS)
    raise InputError(
        f"preferences is {shown(preferences)}, expected a number of starts for a solver without preferences; "
        "use solver='pb_pdo' for preference vectors."
    )


def _random(problem: LinearProblem, runs: int, scale: float, random_state: int | None) -> Array:
    rng = np.random.default_rng(random_state)
    return rng.normal(scale=scale / np.sqrt(problem.d), size=(runs, problem.K, problem.d))


def _targets(problem: LinearProblem, start: Array, path: Path, preferences: Any, journal: Journal) -> Target:
    if preferences is None or isinstance(preferences, (int, np.integer)):
        count = TARGETS if preferences is None else _count(preferences)
        return Target.from_caps(path_caps(problem, start, path, count, journal))
    return Target.from_preferences(check_preferences(preferences, problem.algebra.names))


def path_caps(problem: LinearProblem, start: Array, path: Path, count: int, journal: Journal | None = None) -> Array:
    """Return caps (count, q) evenly spaced from the gaps of plain training down to the smallest reachable."""
    algebra = problem.algebra
    z = algebra.violation(algebra.gaps(problem.values(start[None])))[0]
    shares = np.linspace(1.0, 0.0, count) if count > 1 else np.zeros(1)
    top = tops(algebra, z, path)
    bottom = np.zeros_like(top) if algebra.two_sided.all() else _floor(problem, start, path, journal)
    return bottom + shares[:, None] * (top - bottom)


def _floor(problem: LinearProblem, start: Array, path: Path, journal: Journal | None) -> Array:
    """Return the smallest caps that can be reached, by aiming at zero and seeing where that ends.

    The last target stays a hundredth of the way above: at the floor itself multipliers have no bound.
    """
    algebra = problem.algebra
    aimed = Target.from_caps(np.zeros((1, len(algebra.b))))
    ended = run(problem, PBPDO(max_iter=200), start, aimed, journal=journal)
    lowest = tops(algebra, algebra.violation(algebra.gaps(ended.L))[0], path)
    top = tops(algebra, algebra.violation(algebra.gaps(problem.values(start[None])))[0], path)
    return lowest + 0.01 * np.maximum(top - lowest, 0.0)


def _as_preferences(problem: LinearProblem, plain: Array, target: Target) -> Target:
    """Turn caps into the preferences whose lines pass through them at the plain loss."""
    if target.by_preference.all():
        return target
    loss = problem.algebra.loss(problem.values(plain[None]))[0]
    small = 1e-3 * float(target.caps.max())
    fair = loss / problem.algebra.gap.value(np.maximum(target.caps, max(small, 1e-9)))
    return Target.from_preferences(np.column_stack([np.ones(len(fair)), fair]))
