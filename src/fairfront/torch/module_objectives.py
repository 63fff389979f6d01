"""Objectives of a module: the cells and the algebra of its labels and groups, for scores instead of features."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import block_diag

from ..exceptions import InputError, ProxyWarning
from ..objectives import Algebra, Array, Gap, Groups, Loss, Notion, warn_of_proxies
from ..objectives.notions import Surrogate
from ..problems import LinearProblem, Setup, linear_problem
from ..validation import as_numbers, check_positive, refuse, refuse_masked, shape_of
from .batches import Block, TorchObjectives


def objectives(
    y: Any,
    *,
    sensitive_features: Any,
    favourable: Any = None,
    notion: str | Notion | tuple[str | Notion, ...] | list[str | Notion] = "equal_opportunity",
    surrogate: Surrogate = "loss",
    loss: str | Loss = "logistic",
    gap: str | Gap = "squared",
    ridge: float = 0.0,
    sample_weight: Any = None,
    groups: Groups | None = None,
) -> TorchObjectives:
    """Lay out the objectives of labels and groups, for a module that gives one score per sample (or per class).

    Parameters
    ----------
    y : array or tensor of shape (n,), or (n, labels)
        Labels; numbers with ``loss="squared"`` for regression; a matrix for several yes-or-no labels per sample, whose
        losses are averaged and whose gaps all count. ``favourable`` holds for all of them.
    ridge : float
        Penalty on the squared weights of matrices and filters (biases are left free); most users leave it at 0 and
        set the optimiser's ``weight_decay``.

    The other parameters are those of `fairfront.trace`.
    """
    if sample_weight is not None and bool(np.any(np.equal(as_numbers(sample_weight, "sample_weight"), 0.0))):
        raise InputError("sample_weight has rows of weight 0, expected positive weights; leave those rows out.")
    check_positive(ridge, "ridge", zero=True)
    warn_of_proxies(sensitive_features, stacklevel=4)
    labels = y.detach().cpu().numpy() if hasattr(y, "detach") else y
    refuse_masked(labels, "y")
    shape = shape_of(labels, "y")
    if not shape or sparse.issparse(labels):
        raise refuse("y", labels, "one label per row, or one column per label")
    several = len(shape) == 2 and shape[1] > 1
    columns = [np.asarray(labels)[:, j] for j in range(shape[1])] if several else [labels]
    setups = tuple(
        linear_problem(
            np.zeros((len(column), 1)),
            column,
            sensitive_features=sensitive_features,
            favourable=favourable,
            notion=notion,
            surrogate=surrogate,
            loss=loss,
            gap=gap,
            ridge=ridge,
            fit_intercept=False,
            sample_weight=sample_weight,
            groups=groups,
        )
        for column in columns
    )
    return _side_by_side(setups) if several else replace(objectives_of(setups[0].problem), setups=setups)


def objectives_of(problem: LinearProblem) -> TorchObjectives:
    """Return the objectives of a linear problem, for any model instead of the linear one."""
    return TorchObjectives(
        problem.algebra, (_block(problem, slice(0, problem.K), 0),), problem.layout.cells.n, problem.K
    )


def on_other_rows(known: TorchObjectives, y: Any, sensitive_features: Any) -> TorchObjectives:
    """Lay out the same objectives on held-out rows, or say what these rows lack."""
    kept = ("favourable", "notion", "surrogate", "loss", "gap", "ridge", "groups")
    recipe = {name: known.setups[0].recipe[name] for name in kept}
    recipe["groups"] = replace(recipe["groups"], min_size=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProxyWarning)  # it was said of the training rows
        found = objectives(y, sensitive_features=sensitive_features, **recipe)
    classes = [[setup.task.classes for setup in each.setups] for each in (known, found)]
    if found.names != known.names or classes[0] != classes[1]:
        raise InputError(
            f"the held-out rows have the objectives {', '.join(found.names)}, expected those of training: "
            f"{', '.join(known.names)}; draw them so that every group and label is there."
        )
    return found


def _block(problem: LinearProblem, columns: slice, first: int) -> Block:
    """Return the cells of a problem, back in the order of the data; their indices in L begin at ``first``."""
    cells = problem.layout.cells
    back = np.argsort(cells.order)
    return Block(
        columns=columns,
        targets=problem.targets[back],
        cell=None if cells.shares is not None else cells.of_rows,
        shares=cells.shares,
        weight=None if cells.row_weight is None else cells.row_weight[back],
        measures=tuple((bound, np.where(at < 0, -1, at + first)) for bound, at in problem.measures),
        names=_names(problem),
    )


def _names(problem: LinearProblem) -> tuple[str, ...]:
    """Name every class of rows by the averages that it enters."""
    inside: list[list[str]] = [[] for _ in range(problem.layout.cells.count)]
    for average in problem.layout.averages:
        for place in average.cells:
            if average.name not in inside[place]:
                inside[place].append(average.name)
    return tuple(repr(" and ".join(names[:3])) if names else "'all other rows'" for names in inside)


def _side_by_side(setups: tuple[Setup, ...]) -> TorchObjectives:
    """Put the cells of several labels side by side; the loss is the mean over labels."""
    blocks, first = [], 0
    for place, setup in enumerate(setups):
        if setup.problem.K != 1:
            raise InputError(
                f"column {place} of y has {len(setup.task.classes)} values, expected yes-or-no labels when y has "
                "several columns; give one column of class labels instead."
            )
        blocks.append(_block(setup.problem, slice(place, place + 1), first))
        first += setup.problem.layout.k - 1
    n = setups[0].problem.layout.cells.n
    return TorchObjectives(_stacked([s.problem.algebra for s in setups]), tuple(blocks), n, len(setups), setups)


def label_tag(place: int) -> str:
    """Return what the names of a label's gaps begin with."""
    return f"label {place}: "


def _stacked(parts: list[Algebra]) -> Algebra:
    """Return the algebra on all labels' cells, with one penalty cell at the end."""
    notions = len(parts[0].notions)
    tagged = [(label_tag(place), part) for place, part in enumerate(parts)]
    return replace(
        parts[0],
        p=np.concatenate([part.p[:-1] / len(parts) for part in parts] + [parts[0].p[-1:]]),
        B=_diagonal([part.B for part in parts]),
        b=np.concatenate([part.b for part in parts]),
        two_sided=np.concatenate([part.two_sided for part in parts]),
        names=("loss", *(tag + name for tag, part in tagged for name in part.names[1:])),
        notions=tuple(tag + name for tag, part in tagged for name in part.notions),
        notion_of=np.concatenate([np.asarray(part.notion_of) + notions * place for place, part in enumerate(parts)]),
        means=None,
        signs=None,
        mean_names=(),
    )


def _diagonal(parts: list[Array]) -> Array:
    """Return matrices (q, k) along the diagonal; their last columns, the penalty, share one."""
    penalty = np.concatenate([B[:, -1:] for B in parts])
    return np.hstack([block_diag(*(B[:, :-1] for B in parts)), penalty])
