"""The path of caps: the frontier as a smooth function of the share of the gap that is allowed.

Caps go along a line, from those that unconstrained training just meets (share 1) to those at its end
(share 0), or to the smallest share that can be reached. Between two switches of the binding
constraints weights, multipliers and the Hessian of the Lagrangian are analytic functions of the
share, so that most points need not be solved alone:

1. a few *anchors* are solved in turn, each from the extrapolation of those before it, and keep their
   Hessians;
2. all other points are interpolated, evaluated in one batched pass, and corrected by Newton steps
   with interpolated Hessians in further batches: a point needs no Hessian of its own;
3. where that does not converge, because the binding constraints switch nearby, the middle of the gap
   becomes another anchor.

Nothing is taken on trust: every point is judged by its own KKT residual, and certified as if it had
been solved alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..problems.factorisation import Factor
from .floor import approach_end
from .interpolation import interpolate
from .points import CapLine, PathPoint, constant_models, judged
from .sqp import FixedCaps, Iterate, PointSolver

N_ANCHORS = 5
FIRST_BATCH = 8  # points that are solved together before all others
LARGEST_BLEND = 1000  # most weights of a model whose Hessians anchors keep: 8 MB each
BATCH_ROUNDS = 4
MAX_HALVINGS = 16  # of ways between anchors, in all
BATCH_PROGRESS = 0.1  # share of the residual that a batched step may leave

OnPoint = Callable[[PathPoint], None]


@dataclass(frozen=True, eq=False)
class PathSolver:
    """Solves points along a line of caps, from what the points before tell about them."""

    solver: PointSolver
    line: CapLine
    on_point: OnPoint

    @property
    def blends(self) -> bool:
        """Tell whether models are small enough to keep and interpolate Hessians."""
        return self.solver.problem.K * self.solver.problem.d <= LARGEST_BLEND

    def trace(self, plain: PathPoint, n_points: int) -> tuple[list[PathPoint], list[PathPoint]]:
        """Return anchors, and points with even caps down to the smallest reachable gap."""
        shares = np.linspace(1.0, 0.0, n_points)
        places = anchor_places(n_points) if self.blends else range(n_points)
        anchors = self.follow(plain, [float(shares[place]) for place in places][1:])
        shares = np.linspace(1.0, anchors[-1].share, n_points)
        return self.fill(anchors, shares.tolist())

    def follow(self, plain: PathPoint, shares: Sequence[float]) -> list[PathPoint]:
        """Solve anchors in turn; where a cap cannot be met, end with the floor.

        Where neither the cap nor a floor is found, the way is halved: a loss that is nearly kinked
        needs short ones.
        """
        anchors = [self._with_hessian(plain)]
        pending, halvings = list(reversed(shares)), MAX_HALVINGS
        while pending:
            share, last = pending[-1], anchors[-1]
            point = self.anchor(anchors, share)
            if not point.status.solved:
                floor = approach_end(self.solver, last, self.line)
                if floor.share < last.share:
                    return self._ended(anchors, floor, share)
                if halvings == 0:
                    return [*anchors[:-1], replace(last, status=floor.status)]
                halvings -= 1
                pending.append(0.5 * (last.share + share))
                continue
            self.on_point(point)
            anchors.append(point)
            pending.pop()
        return anchors

    def _ended(self, anchors: Sequence[PathPoint], floor: PathPoint, share: float) -> list[PathPoint]:
        """Return anchors with the end of the path, and with the point that was not solved before it."""
        self.on_point(floor)
        floor = self._with_hessian(floor)
        if floor.share > 0.0:
            return [*anchors, floor]
        again = self.anchor([*anchors, floor], share)
        return [*anchors, again, floor] if again.status.solved and share > 0.0 else [*anchors, floor]

    def anchor(self, known: Sequence[PathPoint], share: float) -> PathPoint:
        """Solve one point from where the others predict it, with a Hessian taken near it."""
        goal = FixedCaps(self.line.caps(share))
        best: PathPoint | None = None
        for start in self._starts(known, share):
            solution = self.solver.solve(start, goal)
            if solution.factor is start.factor:  # it was taken elsewhere
                solution = replace(solution, factor=None)
            point = judged(self.solver, PathPoint(share, solution))
            if best is None or solution.kkt < best.solution.kkt:
                best = point
            if best.status.solved:
                break
        assert best is not None
        return self._with_hessian(best)

    def _starts(self, known: Sequence[PathPoint], share: float) -> Iterator[Iterate]:
        """Yield the prediction, the nearest point, and constant models: first where few others can do."""
        guess = interpolate(known, share)
        nearest, caps = guess.nearest.solution, self.line.caps(share)
        only_constants = self._only_constants(share)
        if only_constants:
            yield from constant_models(self.solver, nearest)
        (predicted,) = self.solver.evaluate(guess.W[None], guess.multipliers[None], caps[None])
        yield replace(predicted, factor=nearest.factor if len(guess.nodes) == 1 else None)
        yield replace(nearest, factor=None)
        if not only_constants:
            yield from constant_models(self.solver, nearest)

    def _only_constants(self, share: float) -> bool:
        """Tell whether more averages have to be equal than a model has weights."""
        rows = self.solver.constraints
        if rows.means is None or self.line.caps(share).any():
            return False
        return min(len(rows.means), len(rows.b)) > self.solver.problem.K * self.solver.problem.d

    def _with_hessian(self, point: PathPoint) -> PathPoint:
        """Return the point with a Hessian taken at it or on the last way to it, to interpolate from."""
        if not self.blends or not self.solver.is_solved(point.solution):
            return replace(point, solution=replace(point.solution, factor=None))
        if point.solution.factor is not None:
            return point
        return replace(point, solution=self.solver.with_factor(point.solution))

    def fill(self, anchors: Sequence[PathPoint], shares: Sequence[float]) -> tuple[list[PathPoint], list[PathPoint]]:
        """Return anchors, with those added where batches fail, and the points at all shares.

        The first batch is small: with its points as nodes, the others are predicted so well that most
        of them need one evaluation.
        """
        known = {point.share: point for point in anchors}
        usable = [point for point in anchors if point.solution.factor is not None or not self.blends]
        usable = usable or list(anchors)
        batch_size = FIRST_BATCH
        while missing := [share for share in shares if share not in known]:
            batch = spread_out(missing, batch_size)
            solved = self.together(list(known.values()), usable, batch)
            for point in solved:
                self.on_point(point)
            known |= {point.share: point for point in solved}
            batch_size = len(shares)
            unsolved = [share for share in batch if share not in known]
            added = [self.anchor(usable, share) for share in middles(unsolved, list(known))]
            for point in added:
                self.on_point(point)
            known |= {point.share: point for point in added}
            usable += [point for point in added if point.solution.factor is not None]
        return usable, [known[share] for share in shares]

    def together(
        self, known: Sequence[PathPoint], anchors: Sequence[PathPoint], shares: Sequence[float]
    ) -> list[PathPoint]:
        """Return those of the points at these shares that a few batched steps solve.

        Weights are predicted from all points that are known, Hessians from the anchors, which keep them.
        """
        if not all(isinstance(anchor.solution.factor, Factor) for anchor in anchors):
            return []
        predicted = self._predicted(known, shares)
        tolerance = self.solver.tolerances.kkt
        solved = [point for point in predicted if point.solution.kkt <= tolerance]
        unsolved = [point for point in predicted if not point.solution.kkt <= tolerance]
        pending = [self._with_interpolated_hessian(anchors, point) for point in unsolved]
        for _ in range(BATCH_ROUNDS):
            if not pending:
                break
            improved = self._corrected(pending)
            solved += [point for point in improved if point.solution.kkt <= tolerance]
            pending = [point for point in improved if point.solution.kkt > tolerance]
        without_factors = [replace(point, solution=replace(point.solution, factor=None)) for point in solved]
        return [judged(self.solver, point) for point in without_factors]

    def _predicted(self, known: Sequence[PathPoint], shares: Sequence[float]) -> list[PathPoint]:
        """Return points interpolated from those that are solved, evaluated in one pass."""
        nodes = [point for point in known if self.solver.is_solved(point.solution)]
        guesses = [interpolate(nodes, share) for share in shares]
        W = np.stack([guess.W for guess in guesses])
        multipliers = np.stack([guess.multipliers for guess in guesses])
        caps = np.stack([self.line.caps(share) for share in shares])
        iterates = self.solver.evaluate(W, multipliers, caps)
        return [PathPoint(share, at) for share, at in zip(shares, iterates, strict=True)]

    def _with_interpolated_hessian(self, anchors: Sequence[PathPoint], point: PathPoint) -> PathPoint:
        """Return the point with the Hessian between those of the anchors around it."""
        hessian = interpolate(anchors, point.share).hessian
        return replace(point, solution=self.solver.with_hessian(point.solution, hessian))

    def _corrected(self, pending: Sequence[PathPoint]) -> list[PathPoint]:
        """Take one Newton step from every point, in one pass; return those whose residual falls fast."""
        after = self.solver.full_steps([point.solution for point in pending])
        return [
            replace(point, solution=new)
            for point, new in zip(pending, after, strict=True)
            if new.kkt <= BATCH_PROGRESS * point.solution.kkt
        ]


def anchor_places(n_points: int) -> list[int]:
    """Return which of evenly spaced points are anchors: denser at both ends, as Chebyshev nodes are."""
    angles = np.linspace(0.0, np.pi, min(N_ANCHORS, n_points))
    places = np.rint(0.5 * (n_points - 1) * (1.0 - np.cos(angles))).astype(int)
    return sorted(set(places.tolist()))


def middles(missing: Sequence[float], known: Sequence[float]) -> list[float]:
    """Return the middle one of every run of missing shares with no known one in between."""
    runs: dict[int, list[float]] = {}
    for share in missing:
        runs.setdefault(sum(other > share for other in known), []).append(share)
    return [run[len(run) // 2] for run in runs.values()]


def spread_out(shares: Sequence[float], most: int) -> list[float]:
    """Return at most so many of some shares, evenly among them."""
    if len(shares) <= most:
        return list(shares)
    places = np.rint(np.linspace(0, len(shares) - 1, most)).astype(int)
    return [shares[place] for place in places]
