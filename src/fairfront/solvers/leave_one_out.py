"""Leave-one-out: the scores that training rows would get from points solved without them, in closed form.

At a solved point w with multipliers lambda, the model without a row (or without all rows of a person) and with the
same caps is one Newton step away, on the Hessian bordered by the gradients A of the gaps that bind:

    [ H - V    (A + C)^T ] [ dw      ]   [ r   ]     H      Hessian of loss + lambda.z, the ridge included
    [ A + C        0     ] [ dlambda ] = [ -dz ]     V, r   curvature and gradient of what the row counts in it
                                                     C, dz  what leaving it out does to A and to the gaps

With P and Q, the first blocks of the inverse of [[H, A^T], [A, 0]], the score of the row itself moves by

    s = (1 - h v)^-1 (h r - sum_a kappa_a t_a x^T P m_a - x^T Q dz),     h = x^T P x

where an average a that gaps compare (weight w_a, value M_a, gradient m_a, multiplier kappa_a) has the row with weight
q_a and the measure mu: t_a = q_a / (w_a - q_a), dz sums t_a (M_a - mu), r and v sum its slope and curvature times what
it weighs, q / sum of weights in the loss and kappa_a t_a in an average. Without the border multipliers would be kept
and caps would not. What the ridge counts against one row is kept. C, a share t_a of A, is put in by repetition: with it
the step is exact where gaps are linear in w under a squared loss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..objectives import Algebra, Array, Quantity
from ..objectives.losses import Squared
from ..problems import LinearProblem
from ..problems.point import Bordered
from ..problems.threads import in_threads
from .base import TINY
from .left_out_people import Block, people_blocks

Ints = NDArray[np.intp]
Place = tuple[int, int, float]  # two points, and the share of the way from the first to the second
CLIP, EXACT_CLIP = 0.95, 1.0 - 1e-9
"""Largest share h v of the curvature along a row that may be its own: beyond, a step without it says nothing. Under a
squared loss it is exact, unless the row alone tells a weight."""
ACTIVE = 1e-9  # size of a multiplier, as a share of the largest, that is not rounding
STATIONS = 5
"""About so many of the points where the same gaps bind take P and Q; what these do to rows is interpolated between."""
ROUNDS, MOST, STILL = 2, 40, 1e-13
"""Times that a step is taken, most times where C makes it exact, and the share of the moves whose change ends it."""
ALONE = 1e-9  # share of an average that is left without the only person in it, who is then taken to change no gap
PER_ENTRY, THREAD = 0.1, 1e6  # nanoseconds per row and pair of weights, and those that are worth a thread


class Moves(NamedTuple):
    """What a step does to rows of one block: h as `Block.squares`, x^T P m_a (e, K, rows) and x^T Q (q, K, rows)."""

    h: Array
    Pm: Array
    Q: Array

    def towards(self, other: Moves, share: float) -> Moves:
        return Moves(*(a if share == 0.0 else a + share * (b - a) for a, b in zip(self, other, strict=True)))


@dataclass(frozen=True, eq=False)
class At:
    """A solved point: its weights, what binds, and signs S (e, q), multipliers kappa and values M of averages."""

    W: Array
    omega: Array
    A: Array
    binds: NDArray[np.bool_]
    averages: Ints
    S: Array
    kappa: Array
    M: Array
    m: Array

    @classmethod
    def of(cls, rows: Algebra, count: int, W: Array, multipliers: Array, L: Array, G: Array) -> At:
        assert rows.signs is not None
        assert rows.means is not None
        binds = np.abs(multipliers) > ACTIVE * np.abs(multipliers).max(initial=0.0)
        averages = np.flatnonzero(rows.signs[:count, binds].any(axis=1))
        S, means = rows.signs[averages][:, binds], rows.means[averages]
        omega, A = rows.p + multipliers @ rows.B, rows.B[binds] @ G
        return cls(W, omega, A, binds, averages, S, S @ multipliers[binds], means @ L, means @ G)


@dataclass(frozen=True, eq=False)
class Station:
    """Where P = T T^T (T of shape (K, d, r)), P m (e, K, d), Q (q, K, d), R, m^T P m and m^T Q are taken.

    ``kept`` are those of the averages at the point, with their signs S (e, q), that rows of a block count in.
    """

    bent: bool
    T: NDArray[Any]
    Pm: Array
    Q: Array
    R: Array
    mm: Array
    mq: Array
    S: Array
    kept: Ints

    @classmethod
    def of(cls, problem: LinearProblem, at: At, single: bool) -> Station:
        """``single`` says that single precision is enough for h."""
        inverse = Bordered.of(problem.hessian(at.W, at.omega), at.A)
        Pm = (at.m @ inverse.T) @ inverse.T.T
        T = inverse.T.reshape(*at.W.shape, -1).astype(np.float32 if single else np.float64)
        rows, across = (each.reshape(-1, *at.W.shape) for each in (Pm, inverse.Q.T))
        products = at.m @ Pm.T, at.m @ inverse.Q
        return cls(inverse.bent, T, rows, across, inverse.R, *products, at.S, np.arange(len(at.averages)))

    def within(self, inside: NDArray[np.bool_]) -> Station:
        """Leave averages (e,) out that no row counts in, and gaps that compare none of the others."""
        e = np.flatnonzero(inside)
        q = np.flatnonzero(self.S[e].any(axis=0))
        products = self.R[np.ix_(q, q)], self.mm[np.ix_(e, e)], self.mq[np.ix_(e, q)]
        return Station(self.bent, self.T, self.Pm[e], self.Q[q], *products, self.S[np.ix_(e, q)], e)

    def moves(self, block: Block, X: Array) -> Moves:
        """Of rows X (rows, d)."""
        return Moves(block.squares(X.astype(self.T.dtype, copy=False) @ self.T), self.Pm @ X.T, self.Q @ X.T)


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Leaves rows out of points of a problem on framed columns, in memory.

    ``rows`` is the algebra of all constraints, guards included; ``person`` (n,) are codes in the order of the data.
    """

    problem: LinearProblem
    rows: Algebra
    person: Ints | None = None

    @cached_property
    def members(self) -> Array:
        """Return the weight of every sorted row in every average, (e, n), and its share in the loss as the last."""
        cells, every = self.problem.layout.cells, np.arange(self.problem.layout.cells.count)
        averages = [np.isin(every, average.cells) for average in self.problem.layout.averages]
        inside = np.array([*averages, np.full(cells.count, 1.0 / cells.weight.sum())])
        found = np.repeat(inside, np.diff(cells.offsets), axis=1)
        return found if cells.row_weight is None else found * cells.row_weight

    @cached_property
    def part(self) -> Array:
        """Return the part of a row of the data that every sorted row is, (n,): less than 1 where it has copies."""
        cells, copy_of = self.problem.layout.cells, self.problem.objectives.copy_of
        return np.ones(cells.n) if copy_of is None else (1.0 / np.bincount(copy_of)[copy_of])[cells.order]

    @cached_property
    def squared(self) -> bool:
        return isinstance(self.problem.loss, Squared)

    @cached_property
    def exact(self) -> bool:
        return self.squared and all(a.quantity.kind in ("score", "prediction") for a in self.problem.layout.averages)

    def points(self, W: Array, x: Array) -> list[At]:
        point = self.problem.cells(W)
        known = self.rows, len(self.problem.layout.averages)  # without those of signed weights, which have no rows
        return [At.of(*known, *each) for each in zip(W, x, point.L, point.D, strict=True)]

    def scores(self, W: Array, multipliers: Array) -> tuple[Array, Ints, NDArray[np.bool_]]:
        """Return scores (N, K, n), in the order of the data, of rows by points W (N, K, d) without them.

        And of how many rows the curvature was clipped, (N,), and which points are no minima along their caps, (N,).
        """
        problem, cells = self.problem, self.problem.layout.cells
        points, size = self.points(W, multipliers), problem.K * problem.d
        places = stations(points, len(points) if self.squared else STATIONS)
        used = sorted({j for a, b, _ in places for j in (a, b)})
        taken = {j: Station.of(problem, points[j], not self.squared) for j in used}
        person, some = problem.objectives.people(self.person), problem.K * size
        people = None if person is None else person[cells.order]
        blocks = people_blocks(people, cells.offsets[1:], problem.piece.design.rows_per_chunk(some))
        found, clipped = np.empty((len(W), problem.K, cells.n)), np.zeros(len(W), dtype=np.intp)
        want = int(cells.n * size**2 * PER_ENTRY / THREAD)
        parts = in_threads(lambda block: self._left_out(block, points, places, taken), blocks, want)
        for block, (scores, rough) in zip(blocks, parts, strict=True):
            found[:, :, cells.order[block.rows]] = scores
            clipped += rough
        bent = np.array([taken[a].bent or taken[b].bent for a, b, _ in places])
        return problem.objectives.of_data(found), clipped, bent

    def _left_out(
        self, block: Block, points: Sequence[At], places: Sequence[Place], taken: Mapping[int, Station]
    ) -> tuple[Array, Ints]:
        """Return scores (N, K, rows) of a block without each of its people, and how many of its rows were clipped."""
        piece, K = self.problem.piece, self.problem.K
        X, weight = piece.design.X[block.rows], self.members[:, block.rows]
        counts = np.flatnonzero((weight != 0.0).any(axis=1))
        near = {j: station.within(np.isin(points[j].averages, counts)) for j, station in taken.items()}
        moves = {j: station.moves(block, X) for j, station in near.items()}
        shares = {j: self._shares(block, points[j].averages[station.kept], weight) for j, station in near.items()}
        scores = (np.concatenate([at.W for at in points]) @ X.T).reshape(len(points), K, -1)
        rows, clipped = (piece.targets[block.rows], weight[-1]), np.zeros(len(points), dtype=np.intp)
        whole = block.total(self.part[block.rows])
        for j, (at, (a, b, share)) in enumerate(zip(points, places, strict=True)):
            between = moves[a].towards(moves[b], share)
            s, rough = self._moved(block, at, between, near[a], scores[j], *rows, shares[a])
            clipped[j] = round(float(whole[rough].sum()))
            scores[j] += s
        return scores, clipped

    def _shares(self, block: Block, averages: Ints, weight: Array) -> Array:
        """Return t (e, rows): the weight of a row in an average, as a share of what is left without its person."""
        layout, inside = self.problem.layout, weight[averages]
        total = np.array([layout.cells.weight[layout.averages[a].cells].sum() for a in averages])
        left = block.spread(total[:, None] - block.total(inside))
        return np.divide(inside, left, out=np.zeros_like(inside), where=left > ALONE * total[:, None])

    def _moved(
        self,
        block: Block,
        at: At,
        moves: Moves,
        station: Station,
        scores: Array,
        target: Array,
        weight: Array,
        t: Array,
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Return how far scores (K, rows) of a block move without each of its people, and who was clipped."""
        layout, S, kappa, M = self.problem.layout, station.S, at.kappa[station.kept], at.M[station.kept]
        quantities = [layout.averages[a].quantity for a in at.averages[station.kept]]
        bound = dict(zip(dict(layout.quantities), (m for m, _ in self.problem.measures), strict=True))
        used = {Quantity("loss"), *quantities}
        seen = {each: bound[each].value_slope(scores, target) for each in used}
        bend = {each: bound[each].curvature(scores, target) for each in used}
        v, own = bend[Quantity("loss")] * weight, seen[Quantity("loss")][1] * weight
        for share, part, each in zip(kappa, t, quantities, strict=True):
            v = v + share * part * bend[each]
        value = np.array([seen[each][0] for each in quantities]).reshape(t.shape)
        slope = np.array([seen[each][1] for each in quantities]).reshape(len(t), *scores.shape)
        solve, clipped = block.solver(moves.h, v, EXACT_CLIP if self.squared else CLIP)
        whole, s = block.total(t), np.zeros_like(scores)
        eta, y = np.zeros((S.shape[1], block.people)), np.zeros(whole.shape)
        for more in reversed(range(MOST if self.exact else ROUNDS if len(t) else 1)):
            before, kappas = s, kappa[:, None] + S @ eta
            r = own + ((block.spread(kappas) * t)[:, None] * slope).sum(axis=0)
            dz = S.T @ block.total(t * (block.spread(M[:, None] + y) - value - (slope * s).sum(axis=1)))
            pulled = (block.spread(kappas * whole)[:, None] * moves.Pm).sum(axis=0)
            s = solve(r, -pulled - (block.spread(dz)[:, None] * moves.Q).sum(axis=0))
            if not more or np.abs(s - before).max(initial=0.0) <= STILL * np.abs(s).max(initial=0.0):
                break
            felt = r + (v * s).sum(axis=1)
            eta = block.total((moves.Q * felt).sum(axis=1)) - station.mq.T @ (kappas * whole) - station.R @ dz
            y = block.total((moves.Pm * felt).sum(axis=1)) - station.mm @ (kappas * whole) - station.mq @ dz
        return s, clipped


def stations(points: Sequence[At], count: int) -> list[Place]:
    """Return for every point the two at which P and Q are taken that it lies between, and how far, by weights."""
    steps = [float(np.linalg.norm(two.W - one.W)) for one, two in pairwise(points)]
    far, found = np.concatenate([[0.0], np.cumsum(steps)]), list[Place]()
    while len(found) < len(points):
        start = stop = len(found)
        while stop + 1 < len(points) and (points[stop + 1].binds == points[start].binds).all():
            stop += 1
        ends = [*range(start, stop, max(1, (stop - start) // count)), stop]
        for j in range(start, stop + 1):
            place = max(0, int(np.searchsorted(ends, j)) - 1)
            a, b = ends[place], ends[min(place + 1, len(ends) - 1)]
            found.append((b, b, 0.0) if j == b else (a, b, float((far[j] - far[a]) / max(far[b] - far[a], TINY))))
    return found
