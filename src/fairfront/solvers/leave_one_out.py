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
from ..problems.resources import in_threads
from .base import TINY

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


@dataclass(frozen=True, eq=False)
class Block:
    """Sorted rows of ``people`` people with m rows each, which are left out together."""

    rows: Ints | slice
    people: int
    m: int = 1

    def total(self, values: Array) -> Array:
        """Return sums (..., people) of values (..., rows)."""
        return values if self.m == 1 else values.reshape(*values.shape[:-1], self.people, self.m).sum(axis=-1)

    def spread(self, values: Array) -> Array:
        """Return values (..., people) at all their rows."""
        return values if self.m == 1 else np.repeat(values, self.m, axis=-1)

    def by_person(self, values: Array) -> Array:
        """Return values (K, rows, ...) as (people, m K, ...)."""
        K, _, *rest = values.shape
        return np.moveaxis(values.reshape(K, self.people, self.m, *rest), 0, 2).reshape(self.people, self.m * K, *rest)

    def by_row(self, values: Array) -> Array:
        """Return values (people, m K) as (K, rows)."""
        return np.moveaxis(values.reshape(self.people, self.m, -1), 2, 0).reshape(-1, self.people * self.m)

    def squares(self, U: Array) -> Array:
        """Return h = U U^T of every person from U (K, rows, r): (rows,), or (people, m K, m K) of several scores."""
        if len(U) * self.m == 1:
            return np.asarray(np.einsum("nr,nr->n", U[0], U[0]), dtype=np.float64)
        each = self.by_person(U)
        return np.asarray(each @ each.swapaxes(1, 2), dtype=np.float64)

    def solver(self, h: Array, v: Array, clip: float) -> tuple[Any, int]:
        """Return what solves s = h (r + v s) + b for r and b (K, rows), and how many rows had their h v clipped."""
        if h.ndim == 1:
            own = h * v[0, 0]
            rest = 1.0 - np.minimum(own, clip)
            return lambda r, b: (h * r + b) / rest, int((own > clip).sum())
        split = h.reshape(*h.shape[:2], self.m, -1)
        blocks = np.moveaxis(v.reshape(*v.shape[:2], -1, self.m), (2, 3), (0, 1))  # (people, m, K, K)
        own = np.einsum("gimb,gmbc->gimc", split, blocks).reshape(h.shape)
        rough = np.flatnonzero(np.sqrt((own * own).sum(axis=(1, 2))) > clip)
        top = np.linalg.eigvals(own[rough]).real.max(axis=1, initial=0.0)
        own[rough] *= np.minimum(1.0, clip / np.maximum(top, TINY))[:, None, None]
        rest = np.eye(own.shape[1]) - own

        def solve(r: Array, b: Array) -> Array:
            known = h @ self.by_person(r)[..., None] + self.by_person(b)[..., None]
            return self.by_row(np.linalg.solve(rest, known)[..., 0])

        return solve, int((top > clip).sum()) * self.m


def people_blocks(person: Ints | None, n: int, size: int) -> list[Block]:
    """Cut n rows into blocks of whole people with about ``size`` rows; None: every row is another person."""
    if person is None:
        return [Block(slice(a, min(a + size, n)), min(size, n - a)) for a in range(0, n, size)]
    order = np.argsort(person, kind="stable")
    _, first, counts = np.unique(person[order], return_index=True, return_counts=True)
    found = []
    for m in np.unique(counts).tolist():
        rows, some = order[first[counts == m][:, None] + np.arange(m)], max(1, size // m)
        parts = (rows[a : a + some] for a in range(0, len(rows), some))
        found += [Block(part.reshape(-1), len(part), m) for part in parts]
    return found


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
    """Where P = T T^T (T of shape (K, d, r)), P m (e, K, d), Q (q, K, d), R, m^T P m and m^T Q are taken."""

    bent: bool
    T: NDArray[Any]
    Pm: Array
    Q: Array
    R: Array
    mm: Array
    mq: Array

    @classmethod
    def of(cls, problem: LinearProblem, at: At, single: bool) -> Station:
        """``single`` says that single precision is enough for h."""
        inverse = Bordered.of(problem.hessian(at.W, at.omega), at.A)
        Pm = (at.m @ inverse.T) @ inverse.T.T
        T = inverse.T.reshape(*at.W.shape, -1).astype(np.float32 if single else np.float64)
        rows, across = (each.reshape(-1, *at.W.shape) for each in (Pm, inverse.Q.T))
        return cls(inverse.bent, T, rows, across, inverse.R, at.m @ Pm.T, at.m @ inverse.Q)

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
        if cells.shares is not None:
            return np.asarray(inside @ cells.shares)
        found = np.repeat(inside, np.diff(cells.offsets), axis=1)
        return found if cells.row_weight is None else found * cells.row_weight

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
        people, some = None if self.person is None else self.person[cells.order], problem.K * size
        blocks = people_blocks(people, cells.n, problem.piece.design.rows_per_chunk(some))
        found, clipped = np.empty((len(W), problem.K, cells.n)), np.zeros(len(W), dtype=np.intp)
        want = int(cells.n * size**2 * PER_ENTRY / THREAD)
        parts = in_threads(lambda block: self._left_out(block, points, places, taken), blocks, want)
        for block, (scores, rough) in zip(blocks, parts, strict=True):
            found[:, :, cells.order[block.rows]] = scores
            clipped += rough
        return found, clipped, np.array([taken[a].bent or taken[b].bent for a, b, _ in places])

    def _left_out(
        self, block: Block, points: Sequence[At], places: Sequence[Place], taken: Mapping[int, Station]
    ) -> tuple[Array, Ints]:
        """Return scores (N, K, rows) of a block without each of its people, and how many of its rows were clipped."""
        piece, K = self.problem.piece, self.problem.K
        X = piece.design.X[block.rows]
        moves = {j: station.moves(block, X) for j, station in taken.items()}
        scores = (np.concatenate([at.W for at in points]) @ X.T).reshape(len(points), K, -1)
        rows, clipped = (piece.targets[block.rows], self.members[:, block.rows]), np.zeros(len(points), dtype=np.intp)
        for j, (at, (a, b, share)) in enumerate(zip(points, places, strict=True)):
            s, clipped[j] = self._moved(block, at, moves[a].towards(moves[b], share), taken[a], scores[j], *rows)
            scores[j] += s
        return scores, clipped

    def _moved(
        self, block: Block, at: At, moves: Moves, station: Station, scores: Array, target: Array, weight: Array
    ) -> tuple[Array, int]:
        """Return how far scores (K, rows) of a block move without each of its people, and how many were clipped."""
        layout = self.problem.layout
        averages = [layout.averages[a] for a in at.averages]
        used = {Quantity("loss"), *(each.quantity for each in averages)}
        bound = dict(zip(dict(layout.quantities), (m for m, _ in self.problem.measures), strict=True))
        seen = {each: bound[each].value_slope(scores, target) for each in used}
        bend = {each: bound[each].curvature(scores, target) for each in used}
        inside = weight[at.averages]
        total = np.array([layout.cells.weight[each.cells].sum() for each in averages])
        left = block.spread(total[:, None] - block.total(inside))
        t = np.divide(inside, left, out=np.zeros_like(inside), where=left > ALONE * total[:, None])
        v, own = bend[Quantity("loss")] * weight[-1], seen[Quantity("loss")][1] * weight[-1]
        for kappa, part, each in zip(at.kappa, t, averages, strict=True):
            v = v + kappa * part * bend[each.quantity]
        value = np.array([seen[each.quantity][0] for each in averages]).reshape(t.shape)
        slope = np.array([seen[each.quantity][1] for each in averages]).reshape(len(t), *scores.shape)
        solve, clipped = block.solver(moves.h, v, EXACT_CLIP if self.squared else CLIP)
        whole, s = block.total(t), np.zeros_like(scores)
        eta, y = np.zeros((at.S.shape[1], block.people)), np.zeros(whole.shape)
        for more in reversed(range(MOST if self.exact else ROUNDS if len(t) else 1)):
            before, kappas = s, at.kappa[:, None] + at.S @ eta
            r = own + np.einsum("en,ekn->kn", block.spread(kappas) * t, slope)
            dz = at.S.T @ block.total(t * (block.spread(at.M[:, None] + y) - value - (slope * s).sum(axis=1)))
            pulled = np.einsum("en,ekn->kn", block.spread(kappas * whole), moves.Pm)
            s = solve(r, -pulled - np.einsum("qn,qkn->kn", block.spread(dz), moves.Q))
            if not more or np.abs(s - before).max(initial=0.0) <= STILL * np.abs(s).max(initial=0.0):
                break
            felt = r + np.einsum("abn,bn->an", v, s)
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
