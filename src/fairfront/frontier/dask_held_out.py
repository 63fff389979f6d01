"""Held-out figures of rows on Dask: points left without each of ten folds by one step, and judged where rows are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..measures.cutoffs import Operating
from ..measures.notion_figures import scores_of
from ..problems import LinearProblem
from ..problems.dask.folds import FOLDS
from ..problems.dask.problem import DaskProblem
from ..problems.dask.problem import brought as computed
from ..solvers import Newton
from ..solvers.base import Solved
from ..solvers.fold_steps import fold_weights
from ..solvers.knots import knot_solver
from .dask_judgement import evaluate_folds
from .judgement import with_notions
from .linear_models import LinearModels

if TYPE_CHECKING:
    from .frontier import Frontier

MOST = 500  # weights of a model whose Hessians of all folds come back from a pass


def brought(y: Any, groups: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Return labels, groups and weights in memory, as their features are."""
    y, groups, weight = computed(y, groups, weight)
    return y, groups, weight


def no_steps(problem: LinearProblem, person: Any, rule: Operating | None) -> str:
    """Say why folds of partitions cannot be left out; empty where they can."""
    if person is not None:
        return "whose people may have rows in several; leave person out, or trace a sample in memory."
    if rule is not None:
        return "which are judged at a cut-off of 0.5; place others on validation rows."
    if (size := problem.K * problem.d) > MOST:
        return f"expected at most {MOST} weights, found {size}; evaluate on validation rows."
    notions = tuple(notion.name for notion in problem.objectives.question.notions)
    curved = problem.algebra.psi is not None or len(problem.terms) > 0 or bool(scores_of(notions, problem.task))
    if not problem.loss.smooth or curved:
        return "expected a smooth loss and notions that are linear in it, without signs; evaluate on validation rows."
    return ""


def judged_in_folds(
    front: Frontier, problem: LinearProblem, solver: Newton, solved: list[Solved], name: str
) -> Frontier:
    """Add the evaluation; ``solved`` are the frontier's points in its order."""
    work, models = problem.framed(), front.models
    assert isinstance(work, DaskProblem)
    assert isinstance(models, LinearModels)
    W = work.from_user(np.stack([point.W for point in solved]))
    x = np.stack([point.multipliers for point in solved if point.multipliers is not None])
    folds = fold_weights(work, knot_solver(solver, work, W[front.plain]).rows, W, x)
    left = [models.with_weights(work.to_user(each)) for each in folds]
    record = evaluate_folds(left, front.facts, work.source, name)
    record = with_notions(replace(record, made=f"{FOLDS} folds, one Newton step each"), front.facts)
    return replace(front, evaluations={**front.evaluations, name: record})
