"""One point of the linear support vector machine: convex programs until their lines are right.

Caps on differences of mean hinges are not convex. In the programs that `interior_point` solves they
are, and every part (see `hinge_problem`) is one of two kinds in them:

- *convex*: its hinges are exact, but it may claim a larger loss than it has. Where nothing is
  claimed that changes
  nothing. If all parts are of this kind, the program is a relaxation: its optimum is a bound below
  the loss of every model within the caps, and where nothing is claimed the point is the global
  optimum.
- *lined*: it would claim, because a larger loss there would help (omega < 0). Its hinges are
  replaced by the lines
  that its rows are on. Lines lie below the hinges and such parts count against the caps with a
  minus sign, so that a program with lines is a restriction. They are drawn anew at its solution
  until no row changes sides (the convex-concave procedure; Yuille and Rangarajan 2003), and the
  loss never rises.

Rows of convex parts that are far from the kink are lines too, until they cross it: programs have
few rows. Columns are expected at about unit scale.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import qr

from ..objectives import Algebra, Array
from .base import Mask
from .hinge_problem import HingeProblem
from .hinge_program import HingeProgram, Ints, first_iterate
from .interior_point import ProgramSolution, solve_program


@dataclass(frozen=True)
class LineTolerances:
    """What counts as solved, and which rows have exact hinges; losses are in units of the first.

    gap             duality gap at which a program is solved
    claim           loss that a part may claim without having it
    side            shortfall beyond the kink that is rounding; the margin is 1, as for all others
    omega           negative weight of a part that is rounding; all rows together weigh 1
    zero_cap        cap that is 0, so that the row is an equation
    near, plain     largest shortfall of rows that begin with exact hinges: near a point that was
                    solved for other caps, and near one that was solved on a part of the rows
    crossed         share of ``near`` within which rows become exact with those that crossed
    rare            rows whose norm is above the mean by this factor always have exact hinges: a
                    column that is 0 in almost all rows is held by a few such rows, and runs away
                    if they are lines
    rank            pivots of B below this share of the largest are rounding
    max_programs    most programs per point
    max_turns       times that lines of rows at the kink are turned for a smaller loss
    """

    gap: float = 1e-11
    claim: float = 1e-7
    side: float = 1e-7
    omega: float = 1e-9
    zero_cap: float = 1e-8
    near: float = 0.3
    plain: float = 1.0
    crossed: float = 0.25
    rare: float = 2.0
    rank: float = 1e-12
    max_programs: int = 60
    max_turns: int = 20


TOLERANCES = LineTolerances()
THINNED, LEAST_PER_COLUMN = 8, 10  # one term in 8 leads near a solution, if 10 per column remain
FROM_NOWHERE, FROM_ANOTHER_POINT, FROM_THE_SAME_POINT = 1.0, 0.3, 0.05
"""Widths, in units of the margin, over which kinks are round where a program begins: wide if its
solution may be far away."""


@dataclass(frozen=True, eq=False)
class Start:
    """Weights (d,), multipliers (q,) and lined parts (k,) that a solution is thought to be near."""

    w: Array
    multipliers: Array
    lined: Mask

    @classmethod
    def nowhere(cls, problem: HingeProblem) -> Start:
        """Return weights of 0; parts that the loss does not count are lines."""
        w, multipliers = np.zeros(len(problem.penalised)), np.zeros(len(problem.algebra.b))
        return cls(w, multipliers, problem.p == 0.0)


@dataclass(frozen=True, eq=False)
class LinedSolution:
    """Where the programs of a point ended.

    w (d,), multipliers (q,)     the model, and the prices of all rows of the algebra
    slopes (T,), lined (k,)      s_t of `hinge_problem` (4), and the parts of the second kind
    gap                          duality gap of the last program, in units of the loss
    value                        its objective, in which claims count
    solved                       the last program is solved, and its lines are right
    n_programs, n_iter           programs, and steps of the interior point method in all of them
    """

    w: Array
    multipliers: Array
    slopes: Array
    lined: Mask
    gap: float
    value: float
    solved: bool
    n_programs: int
    n_iter: int

    @property
    def start(self) -> Start:
        return Start(self.w, self.multipliers, self.lined)


@dataclass(frozen=True, eq=False)
class Limits:
    """Bounds of the rows B C of an algebra, infinite where there are none."""

    lower: Array
    upper: Array

    @classmethod
    def of_caps(cls, algebra: Algebra, caps: Array, unit: float) -> Limits:
        """Return the bounds of rows within caps (q,), which may be infinite; next to 0 is 0."""
        caps = np.where(caps <= TOLERANCES.zero_cap * unit, 0.0, caps)
        return cls(np.where(algebra.two_sided, algebra.b - caps, -np.inf), algebra.b + caps)

    def bounding(self, B: Array) -> Ints:
        """Return the rows that bound something; of equations those that others follow from.

        Equations that follow from others would have prices without bounds.
        """
        is_equation = self.lower == self.upper
        bounded = (np.isfinite(self.lower) | np.isfinite(self.upper)) & ~is_equation
        equations = np.flatnonzero(is_equation)
        if len(equations):
            bounded[equations[_independent(B[equations])]] = True
        return np.flatnonzero(bounded)


def _independent(B: Array) -> Ints:
    """Return rows of B of which all others are combinations."""
    _, triangle, order = qr(B.T, mode="economic", pivoting=True)
    pivots = np.abs(np.diag(triangle))
    return np.sort(order[: int((pivots > TOLERANCES.rank * pivots[0]).sum())])


@dataclass(frozen=True, eq=False)
class Lines:
    """Which hinges of a program are exact, and on which side of the kink the other lines are.

    lined (k,)        parts that are lines as a whole
    is_exact (T,)     terms whose hinge is exact, none of them in a lined part
    is_steep (T,)     side of the others: True where the shortfall counts
    """

    lined: Mask
    is_exact: Mask
    is_steep: Mask

    @classmethod
    def everywhere_exact(cls, problem: HingeProblem, lined: Mask) -> Lines:
        """Return exact hinges wherever possible, and steep lines, which can meet every cap."""
        return cls(lined, ~lined[problem.cell], np.ones(len(problem.cell), dtype=bool))

    @classmethod
    def around(cls, problem: HingeProblem, start: Start, near: float) -> Lines:
        """Return exact hinges for rows of convex parts that are near the kink, or rare."""
        v = problem.shortfall(start.w)
        is_near = (np.abs(v) <= near * problem.mobility) | (problem.mobility > TOLERANCES.rare)
        return cls(start.lined, is_near & ~start.lined[problem.cell], v > 0.0)

    def program(self, problem: HingeProblem, limits: Limits, rows: Ints) -> HingeProgram:
        """Return the convex program with these lines and some rows of the algebra."""
        steep_share = np.where(self.is_steep & ~self.is_exact, problem.share, 0.0)
        return HingeProgram(
            terms=problem.terms[self.is_exact],
            share=problem.share[self.is_exact],
            cell=problem.cell[self.is_exact],
            line_value=problem.part_sums(steep_share),
            line_slope=problem.slope + problem.line_sums(steep_share),
            may_claim=problem.is_compared & problem.has_terms & ~self.lined,
            p=problem.p,
            B=problem.B[rows],
            lower=limits.lower[rows],
            upper=limits.upper[rows],
            penalty=problem.penalty,
        )

    def redrawn(self, problem: HingeProblem, solution: LinedSolution, claimed: Mask) -> Lines | None:
        """Return better lines if rows have crossed the kink or parts (k,) claim, else None."""
        v = problem.shortfall(solution.w)
        counts = ((problem.p != 0.0) | problem.is_compared)[problem.cell]
        crossed = (np.abs(v) > TOLERANCES.side) & ((v > 0.0) != self.is_steep) & ~self.is_exact & counts
        has_crossed = problem.part_sums(crossed.astype(np.float64)) > 0.0
        if not (has_crossed.any() or claimed.any()):
            return None
        turned = self.lined & has_crossed & (problem.omega(solution.multipliers) > TOLERANCES.omega)
        lined = (self.lined | claimed) & ~turned
        near = np.where(
            turned,
            TOLERANCES.near,
            np.where(has_crossed, TOLERANCES.crossed * TOLERANCES.near, 0.0),
        )
        is_near = np.abs(v) <= near[problem.cell] * problem.mobility
        return Lines(lined, (self.is_exact | crossed | is_near) & ~lined[problem.cell], v > 0.0)

    def slopes(self, problem: HingeProblem, multipliers: Array, alpha: Array) -> Array:
        """Return s_t (T,): alpha's share of what an exact hinge weighs, or the side of a line."""
        slopes = self.is_steep.astype(np.float64)
        weight = (problem.share * problem.omega(multipliers)[problem.cell])[self.is_exact]
        shares = np.divide(alpha, weight, out=slopes[self.is_exact], where=weight != 0.0)
        slopes[self.is_exact] = np.clip(shares, 0.0, 1.0)
        return slopes


def solve_lined(
    problem: HingeProblem,
    limits: Limits,
    start: Start,
    lines: Lines,
    rounding: float,
    relaxed: bool = False,
) -> LinedSolution:
    """Solve program after program until the lines are right.

    Parameters
    ----------
    rounding : width over which kinks are round where the first program begins
    relaxed : whether parts may claim without becoming lines, so that the value is a bound
    """
    unit, rows = max(abs(problem.loss(start.w)), np.finfo(float).tiny), limits.bounding(problem.B)
    first, n_iter, restarted = start, 0, False
    for n_programs in range(1, TOLERANCES.max_programs + 1):
        program = lines.program(problem, limits, rows)
        begun = first_iterate(program, first.w, _prices(problem, rows, first.multipliers), rounding)
        ended = solve_program(program, begun, TOLERANCES.gap * unit)
        n_iter += ended.n_iter
        solution = _solution(problem, lines, rows, ended)
        if not ended.solved and not restarted:  # lines may leave no solution, or one that is far from the start
            lines, first, rounding, restarted = (
                Lines.everywhere_exact(problem, lines.lined),
                start,
                FROM_NOWHERE,
                True,
            )
            continue
        claimed = _claiming(problem, lines, solution.w, ended, unit) & (not relaxed)
        redrawn = lines.redrawn(problem, solution, claimed) if ended.solved else None
        if redrawn is None:
            return replace(solution, n_programs=n_programs, n_iter=n_iter)
        lines, first, rounding = redrawn, solution.start, FROM_THE_SAME_POINT
    return replace(solution, solved=False, n_programs=n_programs, n_iter=n_iter)


def _prices(problem: HingeProblem, rows: Ints, multipliers: Array) -> Array:
    """Return prices of some rows that give the parts the same omega as all multipliers (q,)."""
    found = np.linalg.lstsq(problem.B[rows].T, multipliers @ problem.B, rcond=None)[0]
    return np.asarray(found, dtype=np.float64)


def _solution(problem: HingeProblem, lines: Lines, rows: Ints, ended: ProgramSolution) -> LinedSolution:
    multipliers = np.zeros(len(problem.algebra.b))
    multipliers[rows] = ended.prices
    slopes = lines.slopes(problem, multipliers, ended.alpha)
    value = float(problem.p @ ended.cells + 0.5 * problem.penalty @ ended.w**2)
    return LinedSolution(ended.w, multipliers, slopes, lines.lined, ended.gap, value, ended.solved, 1, ended.n_iter)


def _claiming(problem: HingeProblem, lines: Lines, w: Array, ended: ProgramSolution, unit: float) -> Mask:
    """Return the parts (k,) whose value in the program is above what their rows have."""
    excess = ended.cells - problem.parts(w)
    return np.asarray(problem.is_compared & ~lines.lined & (excess > TOLERANCES.claim * unit))


def turned(problem: HingeProblem, limits: Limits, solution: LinedSolution, least_gain: float) -> LinedSolution:
    """Return a solution that stays one when lines of rows at the kink are turned.

    Rows of lined parts are at the kink where equal rows of convex parts are. Lines on both sides
    are right for them, and a local optimum is one for either.
    """
    for _ in range(TOLERANCES.max_turns):
        at_kink = np.abs(problem.shortfall(solution.w)) <= TOLERANCES.side
        at_kink &= solution.lined[problem.cell]
        if not (solution.solved and at_kink.any()):
            break
        lines = Lines.around(problem, solution.start, TOLERANCES.near)
        best = solution
        for is_steep in (True, False):
            other = replace(lines, is_steep=np.where(at_kink, is_steep, lines.is_steep))
            found = solve_lined(problem, limits, solution.start, other, FROM_THE_SAME_POINT)
            best = found if found.solved and found.value < best.value else best
        if best.value >= solution.value - least_gain:
            break
        solution = best
    return solution


def solve_anew(problem: HingeProblem, limits: Limits, start: Start) -> LinedSolution:
    """Solve from a start that may be far away; of very many rows some lead near the solution."""
    few = thinned(problem)
    if few is None:
        lines = Lines.everywhere_exact(problem, start.lined)
        return solve_lined(problem, limits, start, lines, FROM_NOWHERE)
    lines = Lines.everywhere_exact(few, start.lined)
    near = solve_lined(few, limits, start, lines, FROM_NOWHERE).start
    lines = Lines.around(problem, near, TOLERANCES.plain)
    return solve_lined(problem, limits, near, lines, FROM_NOWHERE)


def thinned(problem: HingeProblem) -> HingeProblem | None:
    """Return the problem on some terms of each part, None if that leaves too few."""
    T, d = problem.terms.shape
    if THINNED * LEAST_PER_COLUMN * d > T:
        return None
    starts = np.searchsorted(problem.cell, problem.cell)  # where the part of each term begins
    rows = np.flatnonzero((np.arange(T) - starts) % THINNED == 0)
    part = replace(problem, terms=problem.terms[rows], share=problem.share[rows], cell=problem.cell[rows])
    return replace(part, share=part.share / part.part_sums(part.share)[part.cell])
