"""Held-out figures of training rows: all points judged on scores by models that were solved without the row.

Two mechanisms: leave-one-out in closed form (`solvers.leave_one_out`), and folds (`folds`) where rows are sparse,
weights many, losses with a kink, or a point is no minimum along its caps. Scores live as long as judging them takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from ..measures.cutoffs import Operating
from ..measures.promises import less_sure
from ..objectives import Array, Task, predictions_of, rates_of
from ..objectives.losses import Hinge, Squared
from ..problems import LinearProblem, Reading
from ..problems.design import DenseDesign
from ..problems.fit_rows import Folds, person_codes
from ..problems.pieces import Piece
from ..solvers import Newton, Solver, Status
from ..solvers.base import OnPoint, Request, Solved
from ..solvers.hinge import HingePoint
from ..solvers.leave_one_out import LeaveOneOut
from ..solvers.refinement import MOST_POINTS
from ..solvers.training import with_constraints
from ..validation import check_choice, counted, is_dask
from ..validation.inputs import check_labels, check_weights, shape_of, weighted_rows
from .folds import FOLDS, HINGE_FOLDS, HingeAgain, PathAgain, SolveAgain, fold_scores, folds_of, too_few_people
from .judgement import HeldRows, encode_labels, resolve_attributes, with_notions
from .models import responses_of

if TYPE_CHECKING:
    from .frontier import Frontier

HELD_OUT = "held_out"
WEIGHTS, TOGETHER = 500, 200
"""Most weights of a model, and most scores of one person, that are left out in closed form."""
SCORES = 1 << 25
"""Scores of all rows by the points of a path up to which held-out figures are made unasked."""
FARTHER = 0.5  # how far past zero a path goes on by itself, as a share of the plain gap
ZERO = 1e-6  # worst gap at the end of a path, as a share of the largest, that is none
ASKED = "held_out=True"
ROUGH = "points that are no minima along their caps are rough"
NEAR_ROWS = (
    "{} needs all rows in memory, found Dask collections; leave it out and evaluate on validation rows, or "
    "trace a sample of the rows, X.compute()."
)
Ints = NDArray[np.intp]
Judge = Callable[["Frontier", Sequence[Reading]], "Frontier"]
Asked = bool | Mapping[str, Any] | None
"""Whether held-out figures are made, None where they are cheap; or the operating point that they are made at."""
BEYOND = 2.0
"""How far a left-out score may be beyond the largest score of any row: a factor of 7 in the odds, or behind a log."""


def no_listener(done: int, note: str, total: int) -> None:
    """Listen to no progress."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Training rows to be judged: labels, groups and weights as they were given, and who each row is.

    People are codes in memory. ``closed`` says that the closed form applies, ``asked`` that it is made whatever it
    costs; ``rule`` places cut-offs; ``on_fold`` is told how many folds are done.
    """

    rows: tuple[Any, Any, Any]
    person: Any
    solver: Newton
    closed: bool
    asked: bool
    rule: Operating | None = None
    on_fold: OnPoint = no_listener

    @classmethod
    def of(
        cls,
        problem: LinearProblem,
        solver: Solver,
        rows: tuple[Any, Any, Any],
        person: Any = None,
        asked: Asked = None,
    ) -> HeldOut | None:
        """Return what is to be judged, or None where that was not asked for, or costs more than a little and was not.

        ``rows`` are labels, groups and weights. What cannot be done is refused where it was asked for.
        """
        near, codes = isinstance(problem.rows, Piece), None
        if not near and asked:
            raise InputError(NEAR_ROWS.format(spelled(ASKED)))
        if not near or (asked is None and any(map(is_dask, rows))):
            return None
        if any(map(is_dask, rows)):  # small collections are brought to memory
            from ..problems.dask.problem import brought

            y, groups, weight, person = brought(*rows, person)
            rows = (y, groups, weight)
        if person is not None:
            n = shape_of(rows[0], "y")[0]
            codes = person_codes(person, n, weighted_rows(check_weights(rows[2], n)))
        if asked is False:
            return None
        refuse_operating(asked, problem.objectives.task)
        together = problem.objectives.people(codes)
        largest = problem.K * (1 if together is None else int(np.bincount(together).max()))
        size, n = problem.K * problem.d, problem.rows.n
        dense = isinstance(problem.piece.design, DenseDesign)
        closed = dense and problem.loss.smooth and size <= WEIGHTS and largest <= TOGETHER
        closed = closed and len(problem.layout.averages) * n <= SCORES
        if asked is None and not (closed and isinstance(solver, Newton) and MOST_POINTS * problem.K * n <= SCORES):
            return None
        if not isinstance(solver, Newton):
            raise InputError(
                f"{spelled(ASKED)} needs points that are solved to tolerance, found solver {solver.name!r}; use "
                "solver='newton', or leave it out and evaluate on validation rows."
            )
        found = cls(rows, codes, solver, closed, bool(asked), operating_of(asked))
        if not closed and (why := found.no_folds(problem)):
            raise InputError(f"{spelled(ASKED)} leaves out folds of these rows, {why}; leave it out.")
        return found

    def no_folds(self, problem: LinearProblem) -> str:
        """Say why folds cannot be left out; empty where they can."""
        if self.solver.overshoot > 0.0:
            return "which needs points with caps, found overshoot, which goes on past zero"
        return too_few_people(problem.layout.cells, folds_of(problem.objectives, self.person, _n_folds(problem)))

    def judged(self, front: Frontier, problem: LinearProblem, solved: list[Solved]) -> Frontier:
        """Add the evaluation; ``solved`` are the frontier's points in its order."""
        if not self.asked and len(solved) * problem.K * problem.rows.n > SCORES:  # as many points were asked for
            return front
        scores, made, few = self._scores(front, problem, solved)
        if not isinstance(problem.loss, Squared):
            scores, n_far = within_reach(scores, problem.reach(np.stack([each.W for each in solved])))
            made += f"; {counted(n_far, 'row')} with scores far beyond all others were clipped" if n_far else ""
        scores = predictions_of(scores, problem.loss.name)
        return judged_scores(front, self.rows, scores, made, self.rule, person=self.person, refitted=few)

    def beyond(self, front: Frontier, problem: LinearProblem, solved: list[Solved], request: Request) -> list[Solved]:
        """Return points past zero where a path to a zero gap has its smallest held-out gap of rates there.

        It may fall on: rates and losses do not vanish together. Nothing is added where someone said how many points,
        nor where folds are solved again for caps, which no point past zero has.
        """
        if request.preferences is not None or request.n_points is not None or not self.closed:
            return []
        if HELD_OUT not in front.evaluations or front.facts.task.kind == "regression" or self.solver.overshoot > 0.0:
            return []
        record, last, task = front.evaluations[HELD_OUT], len(front) - 1, front.facts.task
        gaps = [f"{rate}_gap" for rate in rates_of(front.facts.notions, task)]
        known = [record.figure(name) for name in gaps if record.parts(name)]
        if float(front.gaps[last].max()) > ZERO * float(front.gaps.max()):
            return []
        early = any(int(np.nanargmin(each)) == last for each in known if not np.isnan(each).all())
        return self.solver.beyond(problem, solved, FARTHER) if early else []

    def _scores(self, front: Frontier, problem: LinearProblem, solved: list[Solved]) -> tuple[Array, str, int]:
        """Return scores (N, K, n), how they were made, and in how many folds where these are fewer than ten."""
        plain = front.plain
        if self.closed:
            work = problem.framed()
            W = work.from_user(np.stack([point.W for point in solved]))
            multipliers = np.stack([_known(point.multipliers) for point in solved])
            cells = work.values(W[plain][None])[0]
            constraints = with_constraints(work, cells, self.solver.no_group_worse)
            left_out = LeaveOneOut(work, constraints, self.person).scores(W, multipliers)
            scores, clipped = left_out.scores, left_out.clipped
            rough = left_out.rough & np.array([point.status.solved for point in solved])
            past = any(point.status is Status.PAST for point in solved)
            if not rough.any() or past or self.no_folds(problem):
                said = f"; {ROUGH}" if rough.any() else ""
                return scores, f"leave-one-out in closed form{_counted(int(clipped.max(initial=0)))}{said}", 0
        work, wanted = problem.framed(), _n_folds(problem)
        found = fold_scores(work, self._solve_again(front, work, solved), self.person, wanted, self.on_fold)
        return found.scores, f"{found.n_folds} folds", found.n_folds if found.n_folds < wanted else 0

    def _solve_again(self, front: Frontier, work: LinearProblem, solved: list[Solved]) -> SolveAgain:
        """Return what solves the points of a frontier again on other rows."""
        W = work.from_user(front.models.weights)
        if isinstance(work.loss, Hinge):
            points = [point for point in solved if isinstance(point, HingePoint)]
            inside = tuple(replace(point, W=w) for point, w in zip(points, W, strict=True))
            return HingeAgain(self.solver, inside, front.plain)
        return PathAgain(self.solver, W[front.plain], work.algebra.violation(front.signed_gaps), front.plain)


def _n_folds(problem: LinearProblem) -> int:
    return HINGE_FOLDS if isinstance(problem.loss, Hinge) else FOLDS


def _known(multipliers: Array | None) -> Array:
    assert multipliers is not None
    return multipliers


def within_reach(scores: Array, reach: Array) -> tuple[Array, int]:
    """Return left-out scores (N, K, n) clipped near the largest score of any row (N,), and how many rows that changed.

    In groups of few people, and at floors, the model without a row is no small step away, and one Newton step can lead
    far beyond where any row is. Under a squared loss the step is exact, however long.
    """
    most = (reach + BEYOND)[:, None, None]
    far = np.abs(scores) > most
    return np.clip(scores, -most, most), int(far.any(axis=1).sum(axis=1).max(initial=0))


def _counted(clipped: int) -> str:
    """Say how many rows were clipped."""
    return f"; {counted(clipped, 'row')} that alone tell a weight were clipped" if clipped else ""


def readings_judge(
    folds: Folds,
    rows: tuple[Any, Any, Any],
    person: Any = None,
    asked: Asked = True,
) -> Judge:
    """Return what judges a learner's points on the predictions that their fits were measured on.

    ``rows`` are labels, groups and weights.
    """
    if folds.same:
        raise InputError("held_out=True needs rows that fits have not seen, found cv='train'; use a number of folds.")
    n, codes = shape_of(rows[0], "y")[0], None
    if person is not None:
        codes = person_codes(person, n, weighted_rows(check_weights(rows[2], n)))
    parts = len(folds.pairs)
    made = "one held-out part" if parts == 1 else f"predictions of {parts} folds"

    def judge(front: Frontier, fits: Sequence[Reading]) -> Frontier:
        held = folds.held
        scores = np.stack([_known(fit.scores)[:, held] for fit in fits])
        return judged_scores(front, rows, scores, made, operating_of(asked), held, codes, parts)

    return judge


def judged_scores(
    front: Frontier,
    given: tuple[Any, Any, Any],
    scores: Array,
    made: str,
    rule: Operating | None = None,
    held: Ints | None = None,
    person: Ints | None = None,
    refitted: int = 0,
) -> Frontier:
    """Add the evaluation of scores (N, K, rows) of all rows with weight, or of those held, at cut-offs of a rule.

    ``person`` are the codes of all rows with weight, ``refitted`` the folds that a learner was fitted again without.
    """
    task, (y, groups, weight) = front.facts.task, given
    n = shape_of(y, "y")[0]
    labels, resolve = encode_labels(check_labels(y, n), task), partial(resolve_attributes, front.facts)
    rows = replace(HeldRows.of(np.empty((n, 0)), labels, groups, weight, resolve), person=person)
    rows = rows if held is None else rows.take(held)
    if rule is None:
        record = rows.judge(task, HELD_OUT, scores)
    else:
        responses = responses_of(scores[:, 0], task, front.models.probable)
        record = rows.judge_at(task, HELD_OUT, scores, responses, rule, front.models.probable, apart=True)
        people = len(rows.labels) if rows.person is None else len(np.unique(rows.person))
        made += "" if rule.asked == "cutoff" else f"; cut-offs placed without each of {min(FOLDS, people)} folds"
    record = with_notions(replace(record, made=made), front.facts)
    known = (front.facts.notions, task, lambda: responses_of(scores[:, 0], task, front.models.probable))
    record = less_sure(rows.with_scores(record, *known), refitted)
    return replace(front, evaluations={**front.evaluations, HELD_OUT: record})


def refuse_operating(asked: Asked, task: Task) -> None:
    """Refuse to place cut-offs where nothing is decided by one."""
    if task.kind != "binary" and (rule := operating_of(asked)) is not None:
        rule.refuse(
            "values to be predicted (regression)" if task.kind == "regression" else f"{len(task.classes)} classes"
        )


def operating_of(asked: Asked) -> Operating | None:
    """Return the rule that places cut-offs on held-out scores, None for 0.5."""
    if not isinstance(asked, Mapping):
        return None
    for name in asked:
        check_choice(name, "held_out", ["cutoff", "approval_rate", "costs"])
    return Operating(**asked).check()
