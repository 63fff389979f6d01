"""Paths of rules of decisions: from the plain rule to a gap of zero between rates, optimal for their posteriors.

Two groups, one comparison: the rule decides m(x) - t c(x) > 0, so every row changes side at most once, at t = m / c,
and one sort of these flip points is the whole path; the expected gap falls at every flip.

Several groups, families or notions, several classes, or a fixed approval rate: for caps e, with delta = measured minus
expected gaps,

    min over lambda    max_rule [gain - lambda.z]  -  lambda.delta  +  e.|lambda|

is the dual of the best mixture of rules within the caps. Every rule found is a cutting plane (gain, z) that holds for
all caps and deltas, so one pool serves the path; its linear program bounds the dual from below, and the duality gap is
what is left between the two.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linprog

from ..objectives import Array
from ..problems.decision_rules import Rules
from ..problems.fit_rows import Ints

POINTS, LEVELS = 50, 20
"""Points of a sorted path, and caps of a path by its dual, where no number was asked for."""
PAST = (0.5, 2.0)
"""How far past zero a sorted path goes on, measured: half of the plain gap, or two standard errors if that is more."""
ROUNDS, DAMPING = 3, 0.5
"""Times that caps are corrected by what was measured, and the share of the difference that is taken over."""
CORRECTIONS = (1.0, 0.5, 0.25, 0.0)
"""Shares of a correction that are tried, in turn, until some rule is within the caps."""
GAP, PASSES = 1e-6, 400
"""Duality gap at which a cap is solved, and most rules that are tried for one."""
INWARD = 0.5  # how far from the best multipliers to those of the linear program the next rule is tried
SMALLEST = 1e-8  # cost of multipliers where a cap is 0: pairs of groups may cancel, and the smallest are taken
FARTHEST = 1e4  # bound on multipliers, in units of gain per unit of gap: beyond, the caps cannot be met


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule: multipliers (q,), weights (pairs, K) of posteriors, and its duality gap in units of the loss."""

    multipliers: Array
    weights: Array
    duality_gap: float = 0.0


def rule_path(rules: Rules, tops: Array, n_points: int | None) -> list[Rule]:
    """Return rules from the plain one to the smallest gap; ``tops`` (q,) are the caps that the plain one just meets."""
    single = rules.signs.shape[1] == 1 and rules.two_sided[0] and not rules.offset[0]
    if single and rules.K == 2 and rules.approval is None:
        return sorted_path(rules, n_points or POINTS)
    return dual_path(rules, tops, n_points or LEVELS)


def sorted_path(rules: Rules, n_points: int) -> list[Rule]:
    """One gap of two groups and two classes: the exact path, at points that are even in the expected gap."""
    t, fall, place, side = flips(rules)
    if not len(t):
        return [Rule(np.zeros(1), rules.weights(np.zeros(1)))]
    last = min(int(place), len(t) - 1)
    goals = np.linspace(0.0, fall[last], n_points)[1:]
    found = np.unique(np.minimum(np.searchsorted(fall, goals, side="left"), last))
    after = np.append(t[1:], t[-1] + max(t[-1], 1.0))
    times = [0.0, *(0.5 * (t[found] + after[found])).tolist()]
    return [Rule(np.array([side * each]), rules.weights(np.array([side * each]))) for each in times]


def flips(rules: Rules) -> tuple[Array, Array, int, float]:
    """Return the flip points in order, how far the expected gap has fallen there, the last one, and the side.

    Rows with one flip point flip together. The path ends where the measured gap is past zero by half of the plain gap
    or by two standard errors, whichever is more, else at the last flip: expected gaps may be too small.
    """
    m, c = (rules.P @ (W[:, 1] - W[:, 0]) for W in (rules.gain, rules.contrasts[0]))
    decided = (m > 0.0).astype(np.intp)
    plain = float(rules.gaps(rules.measured(decided))[0])
    side = 1.0 if plain >= 0.0 else -1.0
    t = np.divide(m, side * c, out=np.full(len(m), -1.0), where=c != 0.0)
    movers = np.flatnonzero((t > 0.0) | ((t == 0.0) & (c * side < 0.0)))  # at zero: undecided rows, decided for 0
    order = movers[np.argsort(t[movers], kind="stable")]
    change = 1.0 - 2.0 * decided[order]  # of the decision for the second label
    steps = rules.signs[:, 0] / np.maximum(rules.asked.inside @ rules.known, 1e-300)
    own = np.einsum("a,ap->p", steps, rules.asked.events[:, :, 1] - rules.asked.events[:, :, 0])
    moved = np.where(rules.own[order] >= 0, own[np.maximum(rules.own[order], 0)], 0.0)
    measured = side * plain + np.cumsum(side * change * moved * rules.share[order])
    fall = np.cumsum(np.abs(c[order]) * rules.share[order])
    ends = np.flatnonzero(np.append(np.diff(t[order]) > 0.0, True)) if len(order) else np.zeros(0, dtype=np.intp)
    beyond = max(PAST[0] * abs(plain), PAST[1] * float(np.sqrt((rules.errors() ** 2).sum())))
    past = np.flatnonzero(measured[ends] <= -beyond)
    return t[order][ends], fall[ends], int(past[0]) if len(past) else len(ends) - 1, side


@dataclass(eq=False)
class Pool:
    """Rules found so far as cutting planes: theta >= gain_k - lambda.z_k for every cap and delta."""

    rules: Rules
    gains: list[float] = field(default_factory=list)
    gaps: list[Array] = field(default_factory=list)

    def add(self, decided: Ints) -> tuple[float, Array]:
        table = self.rules.expected(decided)
        self.gains.append(self.rules.utility(table))
        self.gaps.append(self.rules.gaps(table))
        return self.gains[-1], self.gaps[-1]

    def seed(self) -> None:
        """Start with the rules that decide everyone alike; not for a fixed approval rate."""
        if self.rules.approval is None:
            for j in range(self.rules.K):
                self.add(np.full(len(self.rules.P), j, dtype=np.intp))

    def floor(self, caps: Array) -> float:
        """Return what can surely be gained within caps: by deciding everyone alike, else by nothing but mistakes."""
        alike = self.rules.K if self.rules.approval is None else 0
        within = [k for k in range(alike) if (_over(self.rules, self.gaps[k], caps) <= 0.0).all()]
        return max((self.gains[k] for k in within), default=-float(self.rules.cost.max())) - GAP

    def value(self, at: Array, decided: Ints, caps: Array, delta: Array) -> float:
        """Return the dual at multipliers with the decisions that are best there: no rule within caps gains more."""
        table = self.rules.expected(decided)
        lost = float(at @ (self.rules.gaps(table) + delta))
        return self.rules.utility(table) - lost + float(caps @ np.abs(at))

    def solve(self, caps: Array, delta: Array) -> tuple[Array, float]:
        """Return the multipliers of the linear program of all planes, and its value, a lower bound of the dual."""
        z, q = np.stack(self.gaps), len(caps)
        objective = np.concatenate([[1.0], caps - delta + SMALLEST, caps + delta + SMALLEST])
        A = np.column_stack([-np.ones(len(z)), -z, z])
        high = np.concatenate([np.full(q, FARTHEST), np.where(self.rules.two_sided, FARTHEST, 0.0)])
        bounds = [(None, None), *((0.0, float(most)) for most in high)]
        found = linprog(objective, A_ub=A, b_ub=-np.array(self.gains), bounds=bounds, method="highs-ds")
        return np.asarray(found.x[1 : 1 + q] - found.x[1 + q :]), float(found.fun)


def solve_caps(pool: Pool, caps: Array, delta: Array, start: Array) -> tuple[Array, Ints, float]:
    """Return the multipliers at which the rule is best within the caps, its decisions and the duality gap."""
    rules, best, least = pool.rules, start, np.inf
    at, decided, low = start, np.zeros(0, dtype=np.intp), -np.inf
    for _ in range(PASSES):
        found = rules.decide(rules.weights(at))
        gain, z = pool.add(found)
        value = gain - float(at @ (z + delta)) + float(caps @ np.abs(at))
        if value < least:
            best, least, decided = at, value, found
        target, low = pool.solve(caps, delta)
        if least - low <= GAP:
            break
        inward = best + INWARD * (target - best)
        at = target if np.array_equal(at, inward) or np.allclose(inward, at, rtol=0.0, atol=1e-14) else inward
    return best, decided, max(least - low, 0.0)


def dual_path(rules: Rules, tops: Array, n_points: int) -> list[Rule]:
    """Any number of gaps: caps fall evenly to zero, each corrected until it means measured rates.

    A correction is that of one rule; where it leaves less to be gained within the caps than deciding everyone alike
    does, or nothing, less of it is taken. Caps that no rule meets without any end the path.
    """
    none = np.zeros(len(tops))
    found = [Rule(none, rules.weights(none))]
    pool, delta, at = Pool(rules), none, none
    pool.seed()
    for share in np.linspace(1.0, 0.0, n_points)[1:]:
        caps, tried = share * tops, []
        for _ in range(ROUNDS):
            for less in CORRECTIONS:
                now = less * delta
                to, decided, left = solve_caps(pool, caps, now, at)
                if pool.value(to, decided, caps, now) >= pool.floor(caps):
                    break
            else:
                break
            at, delta, z = to, now, rules.gaps(rules.measured(decided))
            over = float(np.maximum(_over(rules, z, caps), 0.0).max())
            tried.append((over, Rule(at, rules.weights(at), left)))
            delta = delta + DAMPING * (z - rules.gaps(rules.expected(decided)) - delta)
        if not tried:
            break
        found.append(min(tried, key=lambda each: each[0])[1])
    return found


def _over(rules: Rules, z: Array, caps: Array) -> Array:
    return np.asarray(np.where(rules.two_sided, np.abs(z), z) - caps)
