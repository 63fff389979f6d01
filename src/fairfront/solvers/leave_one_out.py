"""Leave-one-out: scores that training rows would get from points solved without them, in closed form.

At a solved point (w, multipliers lambda) the point without a person's rows, at the same caps, is a
Newton step away on the Hessian bordered by the gradients A of the constraints that bind. A row x has
the share c of the loss; in an average a that constraints compare (weight w_a, value M_a, gradient m_a,
multiplier kappa = S lambda) it has the measure f_a and the weight q, of which the person holds q_p:

    t_a = q / (w_a - q_p)                                                                        (1)

Without the person the average is M_a + sum t_a (M_a - f_a). With kappa' = kappa + S dlambda the step
(dw, dlambda) solves, sums being over the person's rows,

    [ H   A^T ] [ dw      ]   [ sum (r + v s) x - sum_a kappa'_a t_a m_a ]        s = x.dw
    [ A    0  ] [ dlambda ] = [ -dz                                      ]                       (2)

    r  = c f' + sum_a kappa'_a t_a f_a'          v = c f'' + sum_a kappa_a t_a f_a''             (3)
    dz = S^T sum t (M + dM - f - f' s)           dM = m dw                                       (4)

With the blocks P, Q, R of the inverse of that matrix and the leverage h = x^T P x, the scores of the
rows, the multipliers and the averages move by

    s       = (1 - h v)^-1 (h r - sum_a kappa'_a t_a x^T P m_a - x^T Q dz)                       (5)
    dlambda = Q^T sum x (r + v s) - sum_a kappa'_a t_a Q^T m_a - R dz                            (6)
    dM      = m P sum x (r + v s) - sum_a kappa'_a t_a m P m_a - m Q dz                          (7)

(3) to (7) are repeated from s, dlambda, dM = 0: twice, which is as good as one Newton step can be, or
until nothing moves where the step is exact: gaps that are linear in w under a squared loss. What the
ridge counts against one row is kept. P, Q and R are smooth along a branch of the path, so they are
taken at a few *stations* of it, and what they do to a row is interpolated to the other points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..objectives import Algebra, Array, Quantity
from ..objectives.losses import Squared
from ..problems import LinearProblem
from ..problems.factorisation import BorderedInverse
from ..problems.threads import in_threads, one_blas_thread
from .interpolation import lagrange_weights
from .left_out_people import PeopleBlock, people_blocks

Ints = NDArray[np.intp]

N_STATIONS = 4
# Largest leverage h v of one person: beyond, a step without them says nothing. A squared loss allows
# any, unless the person alone tells a weight.
CLIP, EXACT_CLIP = 0.95, 1.0 - 1e-9
ROUNDS, EXACT_ROUNDS = 2, 40
SETTLED = 1e-13  # change of the moves that ends an exact repetition, as a share of the largest
ACTIVE = 1e-9  # size of a multiplier, as a share of the largest, that is not rounding
ALONE = 1e-9  # share left of an average without its only person, who is taken to change no gap
NANOSECONDS_PER_ENTRY = 0.1  # per row and pair of weights
LEAST_STEP = 1e-9  # between neighbours, as a share of the way along a branch
THREAD_NANOSECONDS = 1e6  # work that is worth a thread


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Scores (N, K, n) of all rows by points without their person, in the order of the data.

    clipped (N,)   how many rows had their leverage clipped
    rough (N,)     which points are no minima along their caps, so that a Newton step is a rough answer
    """

    scores: Array
    clipped: Ints
    rough: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SolvedPoint:
    """A solved point, and what binds there.

    omega (k,), A (a, K d)     weights of cells in the Lagrangian; gradients of the binding constraints
    binding (q,)               which constraints bind
    averages (e,)              the averages that they compare, with signs S (e, a), multipliers kappa,
                               values M and gradients m (e, K d)
    """

    W: Array
    omega: Array
    A: Array
    binding: NDArray[np.bool_]
    averages: Ints
    S: Array
    kappa: Array
    M: Array
    m: Array

    @classmethod
    def of(cls, constraints: Algebra, n_averages: int, W: Array, multipliers: Array, L: Array, G: Array) -> SolvedPoint:
        """Signs of weights are constraints on no average: only the first ``n_averages`` have rows."""
        assert constraints.signs is not None
        assert constraints.means is not None
        size = np.abs(multipliers)
        binding = size > ACTIVE * size.max(initial=0.0)
        averages = np.flatnonzero(constraints.signs[:n_averages, binding].any(axis=1))
        S = constraints.signs[averages][:, binding]
        means = constraints.means[averages]
        return cls(
            W=W,
            omega=constraints.p + multipliers @ constraints.B,
            A=constraints.B[binding] @ G,
            binding=binding,
            averages=averages,
            S=S,
            kappa=S @ multipliers[binding],
            M=means @ L,
            m=means @ G,
        )


@dataclass(frozen=True, eq=False)
class Station:
    """The blocks of the bordered inverse at a point, of the averages and constraints that matter.

    root (K, d, r)   P = root root^T
    Pm (e, K, d)     P m
    Q (a, K, d), R (a, a)
    m_pm (e, e), m_q (e, a)
    """

    root: NDArray[np.floating]
    Pm: Array
    Q: Array
    R: Array
    m_pm: Array
    m_q: Array
    concave: bool

    @classmethod
    def of(cls, H: Array, point: SolvedPoint, single: bool) -> Station:
        """Invert the bordered Hessian; ``single`` precision is enough for leverages."""
        inverse = BorderedInverse.of(H, point.A)
        Pm = (point.m @ inverse.root) @ inverse.root.T
        dtype = np.float32 if single else np.float64
        shape = point.W.shape
        return cls(
            root=inverse.root.reshape(*shape, -1).astype(dtype),
            Pm=Pm.reshape(-1, *shape),
            Q=inverse.Q.T.reshape(-1, *shape),
            R=inverse.R,
            m_pm=point.m @ Pm.T,
            m_q=point.m @ inverse.Q,
            concave=inverse.concave,
        )


@dataclass(frozen=True, eq=False)
class Moves:
    """What a step does to the rows of a block.

    h                        leverages, as `PeopleBlock.squares` returns them
    Pm (e, K, rows)          x^T P m
    Q (a, K, rows)           x^T Q
    R, m_pm, m_q               of the averages and constraints that the rows are in
    """

    h: Array
    Pm: Array
    Q: Array
    R: Array
    m_pm: Array
    m_q: Array

    @classmethod
    def of(cls, station: Station, rows: BlockRows, kept: Kept) -> Moves:
        e, a = kept.averages, kept.constraints
        columns = rows.X.astype(station.root.dtype, copy=False)
        return cls(
            h=rows.block.squares(columns @ station.root),
            Pm=station.Pm[e] @ rows.X.T,
            Q=station.Q[a] @ rows.X.T,
            R=station.R[np.ix_(a, a)],
            m_pm=station.m_pm[np.ix_(e, e)],
            m_q=station.m_q[np.ix_(e, a)],
        )

    @classmethod
    def blend(cls, coefficients: Array, moves: Sequence[Moves]) -> Moves:
        """Return the polynomial through the moves at several stations."""
        if len(moves) == 1:
            return moves[0]
        blended = {}
        for field in fields(cls):
            values = [getattr(each, field.name) for each in moves]
            blended[field.name] = sum(c * v for c, v in zip(coefficients, values, strict=True))
        return cls(**blended)


@dataclass(frozen=True, eq=False)
class Kept:
    """Places of the averages at a point that rows of a block are in, and of the constraints on these."""

    averages: Ints
    constraints: Ints

    @classmethod
    def of(cls, point: SolvedPoint, inside: Ints) -> Kept:
        averages = np.flatnonzero(np.isin(point.averages, inside))
        return cls(averages, np.flatnonzero(point.S[averages].any(axis=0)))


@dataclass(frozen=True, eq=False)
class BlockRows:
    """Rows of some people: columns X (rows, d), targets, and weights in averages (e, rows) and loss."""

    block: PeopleBlock
    X: Array
    target: Array
    in_averages: Array
    in_loss: Array

    @property
    def inside(self) -> Ints:
        """Return the averages that any of the rows is in."""
        return np.flatnonzero((self.in_averages != 0.0).any(axis=1))


@dataclass(frozen=True)
class Stencil:
    """The stations (numbers of points) that a point is interpolated from, and what each counts."""

    nodes: tuple[int, ...]
    coefficients: Array


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Leaves people out of points of a problem on framed columns, in memory.

    constraints   the algebra of all constraints, guards and signs included
    person (n,)   codes of who each row is, in the order of the data; None: each is another person
    """

    problem: LinearProblem
    constraints: Algebra
    person: Ints | None = None

    @property
    def is_squared(self) -> bool:
        return isinstance(self.problem.loss, Squared)

    @property
    def is_exact(self) -> bool:
        """Tell whether the step is exact: a squared loss with gaps that are linear in the weights."""
        linear = ("score", "prediction")
        return self.is_squared and all(average.quantity.kind in linear for average in self.problem.layout.averages)

    @cached_property
    def in_averages(self) -> Array:
        """Return the weight of every sorted row in every average, (e, n)."""
        cells = self.problem.layout.cells
        inside = [np.isin(np.arange(cells.count), each.cells) for each in self.problem.layout.averages]
        of_rows = np.repeat(np.array(inside, dtype=np.float64), np.diff(cells.offsets), axis=1)
        return of_rows if cells.row_weight is None else of_rows * cells.row_weight

    @cached_property
    def in_loss(self) -> Array:
        """Return the share of every sorted row in the loss, (n,)."""
        cells = self.problem.layout.cells
        weight = np.ones(cells.n) if cells.row_weight is None else cells.row_weight
        return np.asarray(weight / cells.weight.sum())

    @cached_property
    def part_of_row(self) -> Array:
        """Return the part of a row of the data that every sorted row is: less than 1 for copies."""
        cells, copy_of = self.problem.layout.cells, self.problem.objectives.copy_of
        if copy_of is None:
            return np.ones(cells.n)
        return np.asarray((1.0 / np.bincount(copy_of)[copy_of])[cells.order])

    @one_blas_thread()
    def scores(self, W: Array, multipliers: Array) -> LeftOut:
        """Leave every person out of points with weights (N, K, d) and multipliers (N, q)."""
        problem, cells = self.problem, self.problem.layout.cells
        points = self.solved_points(W, multipliers)
        stencils = place_stations(points, len(points) if self.is_squared else N_STATIONS)
        used = sorted({node for stencil in stencils for node in stencil.nodes})
        stations = {i: self._station(points[i]) for i in used}
        blocks = self._blocks()

        def of_block(block: PeopleBlock) -> tuple[Array, Ints]:
            return self._left_out(block, points, stencils, stations)

        work = cells.n * (problem.K * problem.d) ** 2 * NANOSECONDS_PER_ENTRY
        parts = in_threads(of_block, blocks, int(work / THREAD_NANOSECONDS))
        scores = np.empty((len(W), problem.K, cells.n))
        clipped = np.zeros(len(W), dtype=np.intp)
        for block, (of_rows, n_clipped) in zip(blocks, parts, strict=True):
            scores[:, :, cells.order[block.rows]] = of_rows
            clipped += n_clipped
        rough = [any(stations[node].concave for node in stencil.nodes) for stencil in stencils]
        return LeftOut(problem.objectives.of_data(scores), clipped, np.array(rough))

    def _station(self, point: SolvedPoint) -> Station:
        """Invert the bordered Hessian of a point.

        Single precision is enough for the Hessian of one score: that of several has directions without
        curvature, which shift all classes alike.
        """
        single = not self.is_squared
        float32 = single and self.problem.K == 1
        hessian = self.problem.hessian(point.W, point.omega, float32=float32)
        return Station.of(hessian, point, single)

    def solved_points(self, W: Array, multipliers: Array) -> list[SolvedPoint]:
        """Return what is known at points with these weights and multipliers."""
        L, G = self.problem.evaluate(W)
        n_averages = len(self.problem.layout.averages)
        return [
            SolvedPoint.of(self.constraints, n_averages, *fields) for fields in zip(W, multipliers, L, G, strict=True)
        ]

    def _blocks(self) -> list[PeopleBlock]:
        """Cut the rows into blocks of whole people that stay in the cache with what is known of them."""
        problem, cells = self.problem, self.problem.layout.cells
        person = problem.objectives.people(self.person)
        of_sorted = None if person is None else person[cells.order]
        size = problem.piece.design.rows_per_chunk(problem.K**2 * problem.d)
        return people_blocks(of_sorted, cells.offsets[1:], size)

    def _left_out(
        self,
        block: PeopleBlock,
        points: Sequence[SolvedPoint],
        stencils: Sequence[Stencil],
        stations: Mapping[int, Station],
    ) -> tuple[Array, Ints]:
        """Return the scores (N, K, rows) of a block without its people, and how many were clipped."""
        piece, where = self.problem.piece, block.rows
        rows = BlockRows(
            block,
            piece.design.X[where],
            piece.targets[where],
            self.in_averages[:, where],
            self.in_loss[where],
        )
        kept = {i: Kept.of(points[i], rows.inside) for i in stations}
        moves = {i: Moves.of(station, rows, kept[i]) for i, station in stations.items()}
        all_weights = np.concatenate([point.W for point in points])
        scores = (all_weights @ rows.X.T).reshape(len(points), self.problem.K, -1)
        row_parts = block.total(self.part_of_row[where])
        n_clipped = np.zeros(len(points), dtype=np.intp)
        for j, (point, stencil) in enumerate(zip(points, stencils, strict=True)):
            step = LeftOutStep.of(self, point, kept[stencil.nodes[0]], rows, scores[j])
            blend = Moves.blend(stencil.coefficients, [moves[i] for i in stencil.nodes])
            shift, clipped = step.take(blend)
            scores[j] += shift
            n_clipped[j] = round(float(row_parts[clipped].sum()))
        return scores, n_clipped

    def shares_left(self, rows: BlockRows, averages: Ints) -> Array:
        """Return t (e, rows) of (1)."""
        layout, weight = self.problem.layout, rows.in_averages[averages]
        total = np.array([layout.cells.weight[layout.averages[a].cells].sum() for a in averages])
        left = rows.block.spread(total[:, None] - rows.block.total(weight))
        return np.divide(weight, left, out=np.zeros_like(weight), where=left > ALONE * total[:, None])


@dataclass(frozen=True, eq=False)
class LeftOutStep:
    """What (3) to (7) read of the rows of a block at a point.

    S (e, a), kappa (e,), M (e,)       signs, multipliers and values of the averages they are in
    t (e, rows)                        see (1)
    value (e, rows), gradient          f_a and f_a' (e, K, rows)
    loss_gradient (K, rows)            c f'
    curvature (K, K, rows)             v of (3)
    """

    block: PeopleBlock
    S: Array
    kappa: Array
    M: Array
    t: Array
    value: Array
    gradient: Array
    loss_gradient: Array
    curvature: Array
    clip: float
    n_rounds: int

    @classmethod
    def of(cls, owner: LeaveOneOut, point: SolvedPoint, kept: Kept, rows: BlockRows, scores: Array) -> LeftOutStep:
        layout = owner.problem.layout
        averages = point.averages[kept.averages]
        quantities = [layout.averages[a].quantity for a in averages]
        measures = [measure for measure, _ in owner.problem.measures]
        by_quantity = dict(zip(dict(layout.quantities), measures, strict=True))
        needed = {Quantity("loss"), *quantities}
        values = {each: by_quantity[each].value_slope(scores, rows.target) for each in needed}
        curvatures = {each: by_quantity[each].curvature(scores, rows.target) for each in needed}
        kappa, t = point.kappa[kept.averages], owner.shares_left(rows, averages)
        curvature = rows.in_loss * curvatures[Quantity("loss")]
        for price, share, quantity in zip(kappa, t, quantities, strict=True):
            curvature = curvature + price * share * curvatures[quantity]
        several_rounds = EXACT_ROUNDS if owner.is_exact else ROUNDS
        return cls(
            block=rows.block,
            S=point.S[np.ix_(kept.averages, kept.constraints)],
            kappa=kappa,
            M=point.M[kept.averages],
            t=t,
            value=np.array([values[each][0] for each in quantities]).reshape(t.shape),
            gradient=np.array([values[each][1] for each in quantities]).reshape(len(t), *scores.shape),
            loss_gradient=rows.in_loss * values[Quantity("loss")][1],
            curvature=curvature,
            clip=EXACT_CLIP if owner.is_squared else CLIP,
            n_rounds=several_rounds if len(t) else 1,
        )

    def take(self, moves: Moves) -> tuple[Array, NDArray[np.bool_]]:
        """Return how far scores (K, rows) move without each person, and which people were clipped."""
        block, t = self.block, self.t
        solve, clipped = block.solver(moves.h, self.curvature, self.clip)
        person_share = block.total(t)
        s = np.zeros_like(self.loss_gradient)
        d_lambda, dM = np.zeros((self.S.shape[1], block.people)), np.zeros_like(person_share)
        for _ in range(self.n_rounds):
            before = s
            kappa = self.kappa[:, None] + self.S @ d_lambda
            r = self.loss_gradient + ((block.spread(kappa) * t)[:, None] * self.gradient).sum(axis=0)  # (3)
            moved = self.value + (self.gradient * s).sum(axis=1)
            dz = self.S.T @ block.total(t * (block.spread(self.M[:, None] + dM) - moved))  # (4)
            pulled = (block.spread(kappa * person_share)[:, None] * moves.Pm).sum(axis=0)
            s = solve(r, -pulled - (block.spread(dz)[:, None] * moves.Q).sum(axis=0))  # (5)
            if np.abs(s - before).max(initial=0.0) <= SETTLED * np.abs(s).max(initial=0.0):
                break
            exerted = r + (self.curvature * s).sum(axis=1)
            priced = kappa * person_share
            d_lambda = block.total((moves.Q * exerted).sum(axis=1)) - moves.m_q.T @ priced - moves.R @ dz  # (6)
            dM = block.total((moves.Pm * exerted).sum(axis=1)) - moves.m_pm @ priced - moves.m_q @ dz  # (7)
        return s, clipped


def place_stations(points: Sequence[SolvedPoint], most: int) -> list[Stencil]:
    """Spread at most so many stations over every run of points at which the same constraints bind."""
    stencils: list[Stencil] = []
    while len(stencils) < len(points):
        first = last = len(stencils)
        while last + 1 < len(points) and np.array_equal(points[last + 1].binding, points[first].binding):
            last += 1
        places = np.linspace(first, last, min(most, last - first + 1))
        nodes = tuple(dict.fromkeys(np.rint(places).astype(int).tolist()))
        position = _arc_lengths(points[first : last + 1])
        at_nodes = position[[node - first for node in nodes]]
        for where in position:
            stencils.append(Stencil(nodes, lagrange_weights(at_nodes, where)))
    return stencils


def _arc_lengths(points: Sequence[SolvedPoint]) -> Array:
    """Return how far along the path every point is, by the distance of weights."""
    W = np.stack([point.W for point in points])
    steps = np.linalg.norm(np.diff(W, axis=0).reshape(len(W) - 1, W[0].size), axis=1)
    apart = np.maximum(steps, LEAST_STEP * max(float(steps.sum()), LEAST_STEP))  # equal points lie apart too
    return np.concatenate([[0.0], np.cumsum(apart)])
