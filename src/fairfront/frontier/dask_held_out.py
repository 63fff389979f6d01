"""Held-out figures of rows on Dask: points left without each of ten folds by one step, and judged where rows are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import InputError
from ..measures import Evaluation
from ..measures.counts import Sums
from ..measures.cutoffs import Operating, OperatingPoint, one_number
from ..measures.notion_figures import scores_of
from ..objectives import Array, Task
from ..problems import LinearProblem
from ..problems.dask.folds import FOLDS, HELD, Source, fold_of
from ..problems.dask.partition import matrix_of
from ..problems.dask.problem import DaskProblem
from ..problems.dask.problem import brought as computed
from ..problems.dask.scan import Tally, group_tally
from ..solvers import Newton, Status
from ..solvers.base import Solved
from ..solvers.fold_steps import fold_weights
from ..solvers.knots import knot_solver
from ..validation.inputs import as_columns, as_weights, check_labels
from .dask_judgement import BINS, GroupBook, Part, ScoreBins, joined, judged_sums, sampled, score_edges, side_by_side
from .dask_judgement import spread_over as some_of
from .judgement import with_notions
from .linear_models import LinearModels
from .models import Models, responses_of

if TYPE_CHECKING:
    from .frontier import Frontier
    from .points import Facts

MOST = 500  # weights of a model whose Hessians of all folds come back from a pass
TOGETHER = max(1, HELD // (32 * FOLDS * BINS))
"""Models whose bins of scores come back of all folds at once."""


def brought(*rows: Any) -> tuple[Any, ...]:
    """Return labels, groups, weights and people in memory, as their features are."""
    return computed(*rows)


def no_steps(problem: LinearProblem, person: Any) -> str:
    """Say why folds of partitions cannot be left out; empty where they can. People have to be those of the rows."""
    assert isinstance(problem, DaskProblem)
    problem.source.of(person)
    if (size := problem.K * problem.d) > MOST:
        return f"expected at most {MOST} weights, found {size}; evaluate on validation rows."
    notions = tuple(notion.name for notion in problem.objectives.question.notions)
    curved = problem.algebra.psi is not None or len(problem.terms) > 0 or bool(scores_of(notions, problem.task))
    if not problem.loss.smooth or curved:
        return "expected a smooth loss and notions that are linear in it, without signs; evaluate on validation rows."
    return ""


def judged_in_folds(
    front: Frontier,
    problem: LinearProblem,
    solver: Newton,
    solved: list[Solved],
    name: str,
    person: Any = None,
    rule: Operating | None = None,
) -> tuple[Evaluation, bool]:
    """Return the evaluation, and whether points past zero are no minima along their caps.

    ``solved`` are the frontier's points in its order.
    """
    work, models = problem.framed(), front.models
    assert isinstance(work, DaskProblem)
    assert isinstance(models, LinearModels)
    W, source = work.from_user(np.stack([point.W for point in solved])), work.source.of(person)
    x = np.stack([point.multipliers for point in solved if point.multipliers is not None])
    folds, bent = fold_weights(work, source, knot_solver(solver, work, W[front.plain]).rows, W, x)
    capped = np.array([point.status.solved and point.status is not Status.PAST for point in solved])
    if (bent & capped).any():
        raise InputError(
            "held_out takes a step from points that are minima along their caps, found one that is not; leave it out "
            "and evaluate on validation rows."
        )
    left = [models.with_weights(work.to_user(each)) for each in folds]
    record = evaluate_folds(left, front.facts, source, name, rule)
    apart = "" if rule is None or rule.asked == "cutoff" else "; cut-offs placed without each of them"
    return with_notions(replace(record, made=f"{FOLDS} folds, one Newton step each{apart}"), front.facts), bool(
        bent.any()
    )


def evaluate_folds(
    models: Sequence[Models], facts: Facts, source: Source, name: str, rule: Operating | None = None
) -> Evaluation:
    """Score every row with the models that its fold was left out of, and add up their counts as `evaluate_parts`.

    Cut-offs of a rule are placed on the other folds; those of all rows are kept.
    """
    X, groups = ([block[i] for block in source.blocks] for i in (0, 2))
    looked = [X[i] for i in some_of(len(X))]
    found: Array = source.runner.over([(each,) for each in looked], partial(sampled, models[0]), side_by_side)
    tally = source.runner.over([(each,) for each in groups], group_tally, partial(reduce, Tally.joined))
    book, task = GroupBook.of_tally(facts, tally), facts.task
    edges = score_edges(found if found.size else np.zeros((len(models[0]), 1))) if task.kind == "binary" else None
    parts = [Part(each, book, edges) for each in models]
    kept = None
    if rule is not None:
        known, fixed = models[0].probable, rule.cutoff
        if fixed is None:
            cuts = [responses_of(at[:, None], task, known)[:, 0] for at in _cutoffs(parts, source, rule, task)]
        else:
            cuts = [np.full(len(known), one_number(fixed))] * (FOLDS + 1)
        *own, kept = (OperatingPoint(rule, at, known, name) for at in cuts)
        parts = [replace(part, operating=each) for part, each in zip(parts, own, strict=True)]
    sums: Sums = source.over(partial(_in_folds, parts), joined)
    return judged_sums(sums, facts, book, name, kept)


def _cutoffs(parts: Sequence[Part], source: Source, rule: Operating, task: Task) -> Array:
    """Return the cut-offs on scores (F + 1, N) that each fold is decided by, and those of all rows as the last."""
    found = []
    for start in range(0, len(parts[0].models), TOGETHER):
        some = [part.take(slice(start, start + TOGETHER)) for part in parts]
        bins: list[ScoreBins] = source.over(partial(_bins, some), _added)
        others = [reduce(add, [each for g, each in enumerate(bins) if g != f]) for f in range(FOLDS)]
        found.append(np.stack([each.place(rule, task.favourable) for each in (*others, reduce(add, bins))]))
    return np.concatenate(found, axis=1)


def _folds(parts: Sequence[Part], place: int, X: Any, y: Any, groups: Any, weight: Any, person: Any) -> list[Any]:
    """Return the sums of each fold of a partition, None where it has no rows that count."""
    n = X.shape[0]
    fold, labels, matrix = fold_of(place, n, person), check_labels(y, n), matrix_of(X)
    columns = as_columns(groups, "sensitive_features", n=n)
    given = None if weight is None else as_weights(weight, n)
    who = None if person is None else check_labels(person, n, "person")
    found = []
    for f, part in enumerate(parts):
        rows = np.flatnonzero(fold == f)
        some = {name: each[rows] for name, each in columns.items()}
        rest = (None if each is None else each[rows] for each in (given, who))
        found.append(part.count(matrix[rows], labels[rows], some, *rest))
    return found


def _in_folds(parts: Sequence[Part], *blocks: Any) -> Sums | None:
    return joined(_folds(parts, *blocks))


def _bins(parts: Sequence[Part], *blocks: Any) -> list[ScoreBins]:
    none = [ScoreBins.none(part.edges) for part in parts if part.edges is not None]
    return [no if sums is None else sums.bins for no, sums in zip(none, _folds(parts, *blocks), strict=True)]


def _added(parts: list[list[ScoreBins]]) -> list[ScoreBins]:
    return [reduce(add, folds) for folds in zip(*parts, strict=True)]
