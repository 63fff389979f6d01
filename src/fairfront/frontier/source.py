"""Where a frontier that was just traced comes from: its problem and the path that more points lie on."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from ..exceptions import InputError
from ..objectives import Array
from ..problems import LinearProblem
from ..solvers import Newton
from ..solvers.base import Solved
from ..solvers.cap_path import CapPath
from ..solvers.newton import as_solved
from ..solvers.points import PathPoint
from ..validation import counted

LOSS_RTOL = 1e-6  # to which a loss that was asked for is met, as a share of the range of losses


class Source:
    """A linear problem with its rows, and the path of caps that was traced on it."""

    def __init__(self, problem: LinearProblem, newton: Newton, path: CapPath) -> None:
        self.problem, self.newton, self.path = problem, newton, path

    def __repr__(self) -> str:
        return f"Source({counted(len(self.path.points), 'point')} on {counted(self.problem.rows.n, 'row')})"

    @property
    def top(self) -> float:
        """Return the worst gap of unconstrained training."""
        return float(self._gap_caps(1.0).max())

    def solved(self, point: PathPoint) -> Solved:
        """Return a point of the path as solvers hand it over, in the users' units."""
        return as_solved(self.newton.working(self.problem), [point])[0]

    def at_gap(self, gap: float) -> PathPoint:
        """Solve for a cap on the worst gap; caps of several notions shrink together."""
        lowest, highest = self._gap_caps(self._lowest_share).max(), self.top
        if not lowest <= gap <= highest:
            raise InputError(
                f"gap is {gap:g}, expected {lowest:.6g} (the smallest that was reached) to {highest:.6g} "
                "(that of the unconstrained model)."
            )
        lowest_share = self._lowest_share
        share = lowest_share + (1.0 - lowest_share) * (gap - lowest) / max(highest - lowest, 1e-300)
        return self.path.at(float(np.clip(share, lowest_share, 1.0)))

    def at_loss(self, loss: float) -> PathPoint:
        """Solve for the share of the caps at which the training loss is the one asked for."""
        solver = self.path.path_solver.solver
        points = [point for point in self.path.points if point.share >= 0.0]
        losses = np.array([solver.loss(point.solution) for point in points])
        least, most = float(losses.min()), float(losses.max())
        if not least <= loss <= most:
            raise InputError(
                f"loss is {loss:g}, expected {least:.6g} (that of the unconstrained model) to {most:.6g} "
                "(that at the smallest gap)."
            )
        found: dict[float, PathPoint] = {}

        def missing(share: float) -> float:
            found[share] = self.path.at(share)
            return solver.loss(found[share].solution) - loss

        share = brentq(missing, self._lowest_share, 1.0, rtol=LOSS_RTOL)
        return found[share] if share in found else self.path.at(share)

    @property
    def _lowest_share(self) -> float:
        return min(point.share for point in self.path.points if point.share >= 0.0)

    def _gap_caps(self, share: float) -> Array:
        """Return the caps on gaps alone at a share of the way."""
        path_solver = self.path.path_solver
        return path_solver.line.caps(share)[: path_solver.solver.n_gaps]
