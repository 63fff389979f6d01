"""The limit: how small an error any rule can have that does not see the group, at every gap, with a band.

A rule decides d(x) in [0, 1]; its error and its gap z of two groups' rates are linear in d. So the least error at a gap
of at most g is

    e(g) = max over lambda of  psi(lambda) - g |lambda|,      psi(lambda) = min over rules of  error + lambda z,

and the best rule for a lambda decides by the sign of E[W | x], W = change of error + lambda x change of z by deciding.
With a fixed approval rate it decides for that share of people who gain most. psi is estimated by what the rule of
cross-fitted posteriors *measures* on rows left out: the rule is best, so its own errors move psi in second order only,
and the influence of a row is that of its own error and rates (Liu and Molinari 2024 do inference on this frontier by
its support function too). The band of psi holds for all lambda at once (largest deviation in standard errors, drawn
from the covariance of influences), and so does that of e(g) for all g. Where the posteriors expect of their rules less
than is measured, the lower end goes down to what they expect; the upper one is at most that of deciding at random,
which has no gap. A largest value of noisy ones is too large, so the estimate takes the median of the noise off first
(Chernozhukov, Lee and Rosen 2013), of the differences to lambda = 0.

A learner of another kind corrects the posteriors by what it finds in their residuals, on rows that it has not seen. If
its rules measure less at some lambda, significantly for all lambda at once, then the posteriors miss what the columns
tell, and the limit is lower than was said; the lower end goes down to what these rules measure in any case. Right
posteriors have the best rules, so that this is said of them with a probability below 1 - `DOUBT`. No test can show that
nothing is missed: the limit is that of what these learners see in these columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..objectives import Array
from ..problems.decision_rules import Rules
from .estimates import symmetric_root

NEAR, OTHER, NEAREST, FARTHEST = 120, 40, 1 / 32, 64.0
"""Multipliers on the side of zero that lowers the gap and on the other, the least and the largest they may reach."""
DRAWS, ROWS = 2000, 20_000
"""Draws for the largest deviation, and rows whose influences are in memory at once."""
EXACT = 1e-9  # below it gaps and errors are rounding
DOUBT = 0.99
"""Confidence at which posteriors are said to be poorly calibrated (their rules do otherwise than they expect), or to
miss something (rules of corrected ones do better)."""


@dataclass(frozen=True, eq=False)
class Limit:
    """Support function of error and gap at multipliers (L,), with the ends of its band, and the least error at gaps.

    ``expected`` is what the posteriors expect instead of ``value``, which is measured; ``estimate`` is the value less
    the median of its noise. ``plain`` is the measured gap of the rule of least error, ``most`` the upper end for rules
    that decide at random. ``calibrated`` says whether expected and measured values agree, ``beaten`` whether the rules
    of corrected posteriors do better than those of the limit.
    """

    multipliers: Array
    value: Array
    low: Array
    high: Array
    expected: Array
    estimate: Array
    plain: float
    most: float
    calibrated: bool
    beaten: bool = False

    def error(self, gaps: Array) -> tuple[Array, Array, Array]:
        """Return the least error at gaps (G,) of at most so much: its estimate and the ends of its band."""
        cost = np.abs(self.multipliers)[:, None] * np.asarray(gaps)
        value, low, high = ((each[:, None] - cost).max(axis=0) for each in (self.estimate, self.low, self.high))
        high = np.minimum(high, self.most)
        low = np.minimum(low, high)
        return np.clip(value, low, high), low, high


@dataclass(frozen=True, eq=False)
class _Rows:
    """Of every row: expected (M, C) and measured (m, v) changes of error and gap by deciding for the second label.

    ``cost`` is what the first label costs; ``top`` (n, a) what a row adds to the averages by it, ``change`` by the
    second in its place, ``inside`` whom averages are over; ``signs`` (a,) make a gap of them, each over its ``whole``.
    """

    share: Array
    M: Array
    C: Array
    m: Array
    cost: Array
    top: Array
    change: Array
    inside: Array
    whole: Array
    signs: Array

    @classmethod
    def of(cls, rules: Rules) -> _Rows:
        asked, own = rules.asked, np.maximum(rules.own, 0)
        known = (rules.own >= 0).astype(np.float64)[:, None]
        whole = asked.inside @ rules.known
        change, cost = asked.events[:, :, 1] - asked.events[:, :, 0], rules.cost[rules.pairs[:, 0]]
        return cls(
            rules.share,
            rules.P @ (cost[:, 1] - cost[:, 0]),
            rules.P @ ((rules.signs[:, 0] / whole) @ change),
            rules.cost[rules.label, 1] - rules.cost[rules.label, 0],
            rules.cost[rules.label, 0],
            known * asked.events[:, :, 0].T[own],
            known * change.T[own],
            known * asked.inside.T[own],
            whole,
            rules.signs[:, 0],
        )

    @property
    def v(self) -> Array:
        return np.asarray(self.change @ (self.signs / self.whole))

    def cut(self, multiplier: float, second: float | None) -> tuple[float, float]:
        """Return the value below which rows are decided for the second label, and the share of rows just there."""
        if second is None:
            return 0.0, 0.0
        score = self.M + multiplier * self.C
        order = np.argsort(score, kind="stable")
        upto = np.cumsum(self.share[order])
        at = score[order][min(int(np.searchsorted(upto, second)), len(order) - 1)]
        below, there = float(self.share[score < at].sum()), float(self.share[score == at].sum())
        return float(at), float(np.clip((second - below) / there, 0.0, 1.0))

    def decided(self, some: slice, multipliers: Array, cuts: Array) -> Array:
        """Return decisions (rows, L), from 0 to 1."""
        score = self.M[some, None] + self.C[some, None] * multipliers
        return np.asarray((score < cuts[:, 0]) + cuts[:, 1] * (score == cuts[:, 0]))

    def gap(self, multiplier: float, second: float | None) -> float:
        """Return the measured gap of the best rule of a multiplier."""
        cuts = np.array([self.cut(multiplier, second)])
        D = self.decided(slice(None), np.array([multiplier]), cuts)
        return float((self.share @ (self.top + D * self.change)) @ (self.signs / self.whole))

    def at_random(self, second: float | None, critical: float) -> float:
        """Return the upper end of the least error of deciding at random; infinity where that has a gap."""
        ends = []
        for share in (0.0, 1.0) if second is None else (second,):
            gap = (self.share @ (self.top + share * self.change)) @ (self.signs / self.whole)
            loss = self.cost + share * self.m
            error = float(self.share @ loss)
            spread = np.sqrt(float(self.share**2 @ (loss - error) ** 2))
            ends.append(error + critical * spread if abs(gap) < EXACT else np.inf)
        return float(min(ends))


def residuals(rules: Rules) -> Array:
    """Return (n, 2) by how much rows measure more than is expected of them if decided for: in error and in gap."""
    rows = _Rows.of(rules)
    return np.column_stack([rows.m - rows.M, rows.v - rows.C])


def limit_of(rules: Rules, level: float = 0.95, seed: int = 0, corrections: Array | None = None) -> Limit:
    """Return the limit from posteriors of rows left out; the one gap of ``rules`` is that of two groups.

    With ``rules.approval`` it is that of rules that approve this share. ``corrections`` (n, 2) are what another learner
    expects of the `residuals` of rows that it has not seen.
    """
    rows, second = _Rows.of(rules), rules.approval
    if second is not None and rules.favourable == 0:
        second = 1.0 - second
    grid = _grid(rows, second)
    cuts, L = np.array([rows.cut(each, second) for each in grid]), len(grid)
    error, rates, doubt = np.zeros(L), np.zeros((len(rows.whole), L)), np.zeros(L)
    for some in _blocks(len(rows.share)):
        D, w = rows.decided(some, grid, cuts), rows.share[some, None]
        error += (w * (rows.cost[some, None] + D * rows.m[some, None])).sum(axis=0)
        rates += (w * rows.top[some]).sum(axis=0)[:, None] + (w * rows.change[some]).T @ D
        doubt += (w * _doubts(rows, some, grid, D)).sum(axis=0)
    rates /= rows.whole[:, None]
    value = error + grid * (rows.signs @ rates)
    spread, doubts = np.zeros((L, L)), np.zeros((L, L))
    for some in _blocks(len(rows.share)):
        D, w = rows.decided(some, grid, cuts), rows.share[some, None]
        influence = rows.cost[some, None] + D * rows.m[some, None] - error
        influence -= cuts[:, 0] * (D - (0.0 if second is None else second))
        for a, sign in enumerate(rows.signs / rows.whole):
            own = rows.top[some, a, None] + D * rows.change[some, a, None] - rates[a] * rows.inside[some, a, None]
            influence += grid * sign * own
        spread += (w * influence).T @ (w * influence)
        left = w * (_doubts(rows, some, grid, D) - doubt)
        doubts += left.T @ left
    critical, zero = _critical(spread, level, seed), int(np.flatnonzero(grid == 0.0)[0])
    half = critical * np.sqrt(np.diag(spread))
    sure = np.abs(doubt) <= _critical(doubts, DOUBT, seed) * np.sqrt(np.diag(doubts)) + 1e-12
    apart = spread - spread[zero] - spread[:, [zero]] + spread[zero, zero]
    noise = _critical(apart, 0.5, seed, two_sided=False) * np.sqrt(np.maximum(np.diag(apart), 0.0))
    less, beaten = (0.0, False) if corrections is None else _corrected(rows, second, grid, cuts, corrections, seed)
    low, plain = value + np.minimum(np.minimum(-doubt, less), 0.0) - half, float(rows.signs @ rates[:, zero])
    known = value - doubt, value - noise, plain, rows.at_random(second, critical), bool(sure.all()), beaten
    return Limit(grid, value, low, value + half, *known)


def _corrected(
    rows: _Rows, second: float | None, grid: Array, cuts: Array, corrections: Array, seed: int
) -> tuple[Array, bool]:
    """Return by how much the rules of corrected posteriors change the value, (L,), and whether any surely lowers it."""
    other = replace(rows, M=rows.M + corrections[:, 0], C=rows.C + corrections[:, 1])
    apart = np.array([other.cut(each, second) for each in grid])
    change, spread = np.zeros(len(grid)), np.zeros((len(grid), len(grid)))
    for some in _blocks(len(rows.share)):
        turned = other.decided(some, grid, apart) - rows.decided(some, grid, cuts)
        turned *= rows.share[some, None] * (rows.m[some, None] + grid * rows.v[some, None])
        change += turned.sum(axis=0)
        spread += turned.T @ turned  # around 0, where it is if nothing is missed
    sure = _critical(spread, DOUBT, seed, two_sided=False) * np.sqrt(np.maximum(np.diag(spread), 0.0)) + 1e-12
    return change, bool((change < -sure).any())


def _doubts(rows: _Rows, some: slice, grid: Array, D: Array) -> Array:
    """Return by how much rows that are decided measure more than is expected of them, (rows, L)."""
    apart = (rows.m - rows.M)[some, None] + grid * (rows.v - rows.C)[some, None]
    return np.asarray(D * apart)


def _grid(rows: _Rows, second: float | None) -> Array:
    """Return multipliers on both sides of zero, denser near it, up to where the gap has changed its sign for good."""
    far = NEAREST
    while far < FARTHEST and rows.gap(far, second) * rows.gap(-far, second) > 0.0:
        far *= 1.25
    near, other = (1.5 * far * np.linspace(0.0, 1.0, steps + 1)[1:] ** 1.5 for steps in (NEAR, OTHER))
    sides = (other, near) if rows.gap(0.0, second) >= 0.0 else (near, other)
    return np.concatenate([-sides[0][::-1], [0.0], sides[1]])


def _blocks(n: int) -> Iterator[slice]:
    return (slice(start, start + ROWS) for start in range(0, n, ROWS))


def _critical(covariance: Array, level: float, seed: int, *, two_sided: bool = True) -> float:
    """Return the quantile of the largest (absolute) value of normal draws with this covariance, in their own units."""
    error = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    some = error > EXACT * error.max(initial=0.0)
    if not some.any():
        return 0.0
    alike = covariance[np.ix_(some, some)] / np.outer(error[some], error[some])
    found = np.random.default_rng(seed).normal(size=(DRAWS, len(alike))) @ symmetric_root(alike)
    return float(np.quantile((np.abs(found) if two_sided else found).max(axis=1), level, method="higher"))
