"""Held-out figures of training rows: all points judged on scores by models that were solved without the row.

Two mechanisms: leave-one-out in closed form (`solvers.leave_one_out`), and folds that are refitted (`solvers.refits`)
where rows are sparse, weights many, losses rounded, or a point is no minimum along its caps. Scores of rows live as
long as it takes to judge them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..measures import Evaluation
from ..measures.evaluation import judgement_of
from ..objectives import Array, Attribute, Task, predictions_of
from ..objectives.groups import FEWEST
from ..problems import EstimatorProblem, LinearProblem, Reading
from ..problems.design import DenseDesign
from ..problems.fit_rows import person_codes
from ..problems.pieces import Piece
from ..problems.resources import check_memory
from ..solvers import Newton, Solver
from ..solvers.base import Solved
from ..solvers.hard_points import NARROWEST
from ..solvers.knots import MOST, knot_solver
from ..solvers.leave_one_out import LeaveOneOut
from ..solvers.refits import FOLDS, dealt, fold_scores
from ..validation import check_text, counted, is_dask
from ..validation.inputs import check_labels, check_weights, shape_of, weighted_rows
from .judgement import HeldRows, encode_labels, is_test, resolve_attributes, with_notions
from .models import responses_of

if TYPE_CHECKING:
    from .frontier import Frontier
    from .frontier_columns import FrontierColumns

HELD_OUT = "held_out"
WEIGHTS, TOGETHER = 500, 200
"""Most weights of a model, and most scores of one person, that are left out in closed form."""
SCORES = 1 << 25
"""Scores of all rows by the points of a path up to which held-out figures are made unasked."""
Ints = NDArray[np.intp]
Judge = Callable[["Frontier", Sequence[Reading]], "Frontier"]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Training rows to be judged: labels, groups and weights as they were given, and who each row is, as codes.

    ``closed`` says that the closed form applies, ``asked`` that it is made whatever it costs.
    """

    rows: tuple[Any, Any, Any]
    person: Ints | None
    solver: Newton
    closed: bool
    asked: bool

    @classmethod
    def of(
        cls,
        problem: LinearProblem,
        solver: Solver,
        rows: tuple[Any, Any, Any],
        person: Any = None,
        asked: bool | None = None,
    ) -> HeldOut | None:
        """Return what is to be judged, or None where that was not asked for, or costs more than a little and was not.

        ``rows`` are labels, groups and weights. What cannot be done is refused where it was asked for.
        """
        far = not isinstance(problem.rows, Piece) or any(map(is_dask, rows))  # small collections are brought to memory
        codes = None
        if person is not None and not far:
            n = shape_of(rows[0], "y")[0]
            codes = person_codes(person, n, weighted_rows(check_weights(rows[2], n)))
        if asked is False:
            return None
        largest = problem.K * (1 if codes is None else int(np.bincount(codes).max()))
        size, n = problem.K * problem.d, problem.rows.n
        dense = not far and isinstance(problem.piece.design, DenseDesign)
        closed = dense and problem.loss.smooth and size <= WEIGHTS and largest <= TOGETHER
        closed = closed and problem.algebra.psi is None
        if asked is None and not (closed and isinstance(solver, Newton) and MOST * problem.K * n <= SCORES):
            return None
        if far:
            raise InputError(
                "held_out=True needs all rows in memory, found Dask collections; leave it out and evaluate on "
                "validation rows, or trace a sample of the rows, X.compute()."
            )
        if not isinstance(solver, Newton):
            raise InputError(
                f"held_out=True needs points that are solved to tolerance, found solver {solver.name!r}; use "
                "solver='newton', or leave it out and evaluate on validation rows."
            )
        check_memory(8.0 * MOST * problem.K * n, f"held-out scores of {n} rows")
        found = cls(rows, codes, solver, closed, bool(asked))
        if not closed and (why := found.no_folds(problem)):
            raise InputError(f"held_out=True refits folds of these rows, {why}; leave it out.")
        return found

    def no_folds(self, problem: LinearProblem) -> str:
        """Say why folds cannot be refitted; empty where they can."""
        if problem.layout.cells.shares is not None:
            return "which needs the group of every row, found probabilities"
        if self.solver.overshoot > 0.0:
            return "which needs points with caps, found overshoot, which goes on past zero"
        offsets = problem.layout.cells.offsets
        fold = dealt(offsets, None if self.person is None else self.person[problem.layout.cells.order])
        if min(len(np.unique(fold[start:stop])) for start, stop in pairwise(offsets)) < 2:
            return "expected two people or more of every group and label that are compared"
        return ""

    def judged(self, front: Frontier, problem: LinearProblem, solved: list[Solved]) -> Frontier:
        """Add the evaluation; ``solved`` are the frontier's points in its order."""
        if not self.asked and len(solved) * problem.K * problem.rows.n > SCORES:  # as many points were asked for
            return front
        scores, made = self._scores(front, problem, solved)
        return _judged(front, self.rows, predictions_of(scores, problem.loss.name), made)

    def _scores(self, front: Frontier, problem: LinearProblem, solved: list[Solved]) -> tuple[Array, str]:
        """Return scores (N, K, n) and how they were made."""
        plain = int(np.argmin(front.loss))
        if self.closed:
            work = problem.framed()
            W = work.from_user(np.stack([point.W for point in solved]))
            multipliers = np.stack([_known(point.multipliers) for point in solved])
            rows = knot_solver(self.solver, work, W[plain]).rows
            scores, clipped, bent = LeaveOneOut(work, rows, self.person).scores(W, multipliers)
            rough = bent & np.array([point.status.solved for point in solved])
            if not rough.any() or self.no_folds(problem):
                return scores, f"leave-one-out in closed form{_counted(int(clipped.max(initial=0)))}"
        twin = problem.framed().with_loss(problem.loss.smoothed(NARROWEST))
        sizes = problem.algebra.violation(front.signed_gaps)
        W = twin.from_user(front.models.weights)
        return fold_scores(twin, self.solver, W, sizes, plain, self.person), f"{FOLDS} folds, refitted"


def _known(multipliers: Array | None) -> Array:
    assert multipliers is not None
    return multipliers


def _counted(clipped: int) -> str:
    """Say how many rows were clipped; files never tell fewer than ten of them."""
    if not clipped:
        return ""
    few = f"fewer than {FEWEST} rows" if clipped < FEWEST else counted(clipped, "row")
    return f"; {few} that alone tell a weight were clipped"


def readings_judge(problem: EstimatorProblem, rows: tuple[Any, Any, Any]) -> Judge:
    """Return what judges a learner's points on the predictions that their weighted fits were measured on.

    ``rows`` are labels, groups and weights. Fits that a checkpoint recalled are made again.
    """
    if problem.folds.same:
        raise InputError("held_out=True needs rows that fits have not seen, found cv='train'; use a number of folds.")
    parts = len(problem.folds.pairs)
    made = "one held-out part" if parts == 1 else f"predictions of {parts} folds"

    def judge(front: Frontier, fits: Sequence[Reading]) -> Frontier:
        held, kept = problem.folds.held, (fit.scores for fit in fits)
        again = (
            problem.read(fit.multipliers).scores if scores is None else scores
            for fit, scores in zip(fits, kept, strict=True)
        )
        scores = np.stack([_known(each)[:, held] for each in again])
        return _judged(front, rows, scores, made, held)

    return judge


def _judged(
    front: Frontier, given: tuple[Any, Any, Any], scores: Array, made: str, held: Ints | None = None
) -> Frontier:
    """Add the evaluation of scores (N, K, rows) of all rows with weight, or of those held."""
    task, (y, groups, weight) = front.facts.task, given
    n = shape_of(y, "y")[0]
    labels, resolve = encode_labels(check_labels(y, n), task), partial(resolve_attributes, front.facts)
    rows = HeldRows.of(np.empty((n, 0)), labels, groups, weight, resolve)
    if held is not None:
        attributes, some = tuple(each.take(held) for each in rows.attributes), rows.weight
        rows = HeldRows(rows.X[held], rows.labels[held], attributes, None if some is None else some[held])
    record = with_notions(replace(rows.judge(task, HELD_OUT, scores), made=made), front.facts)
    known = (front.facts.notions, task, lambda: responses_of(scores[:, 0], task, front.models.probable))
    record = rows.with_scores(record, *known)
    return replace(front, evaluations={**front.evaluations, HELD_OUT: record})


def pool_evaluations(front: FrontierColumns, names: tuple[str, ...], name: str) -> Evaluation:
    """Judge the rows of several evaluations as one; the AUC is over pairs of rows of the same evaluation."""
    records = [front.record(check_text(each, "name", "the name of an evaluation")) for each in names]
    if len(set(names)) < 2:
        raise InputError(f"pool got {counted(len(set(names)), 'evaluation')}, expected two or more different names.")
    for record in records:
        if is_test(record.name):
            raise InputError(f"{record.name!r} has rows for testing, expected rows to choose on; leave it out.")
        if record.sums is None:
            raise InputError(
                f"evaluation {record.name!r} was read from a file, which has no exact counts, expected one that was "
                "made in this process; trace and evaluate again."
            )
    first, *others = records
    for other in others:
        levels = [{key: rates.levels for key, rates in each.groups.items()} for each in (first, other)]
        if levels[0] != levels[1]:
            raise InputError(
                f"evaluations {first.name!r} and {other.name!r} have different groups, expected the same ones."
            )
        if not _alike(first.cutoffs, other.cutoffs):
            raise InputError(
                f"evaluations {first.name!r} and {other.name!r} decide at different cut-offs ({first.rule}; "
                f"{other.rule}), expected the same ones; evaluate without cutoff=, approval_rate= and costs=."
            )
    return with_notions(_pooled(records, front.facts.task, name), front.facts)


def _alike(one: Array | None, two: Array | None) -> bool:
    return one is two or (one is not None and two is not None and np.array_equal(one, two))


def _pooled(records: list[Evaluation], task: Task, name: str) -> Evaluation:
    sums, first, area = [record.sums for record in records if record.sums is not None], records[0], None
    whole = sums[0]
    for each in sums[1:]:
        whole = whole + replace(each, bins=None)
    if "auc" in first.columns:
        pairs = np.array([np.prod(each.overall.labels) for each in sums])
        area = pairs @ np.stack([record.columns["auc"] for record in records]) / pairs.sum()
    none, shares = np.zeros(0, dtype=np.intp), np.zeros((0, 0))
    attributes = [
        Attribute(key, rates.levels, none, shares if key in first.proxies else None)
        for key, rates in first.groups.items()
    ]
    made = "; ".join(f"{record.name}: {record.made}" for record in records if record.made)
    return replace(judgement_of(whole, task, attributes, name, area), operating=first.operating, made=made)
