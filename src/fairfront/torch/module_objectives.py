"""Objectives of a module: the cells and the algebra of its labels and groups, for scores instead of features."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import block_diag

from ..exceptions import InputError
from ..objectives import Algebra, Array, Gap, Groups, Layout, Loss, Notion, Objectives, Question, warn_of_proxies
from ..objectives.notions import Surrogate
from ..validation import as_numbers, check_labels, check_positive, check_weights, refuse, refuse_masked, shape_of
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
    """Return the objectives of labels and groups, for a module that gives one score per sample (or per class).

    Parameters
    ----------
    y : array or tensor of shape (n,), or (n, labels)
        Labels; numbers with ``loss="squared"`` for regression; a matrix for several binary labels per sample, whose
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
    question = Question.of(
        favourable=favourable,
        notion=notion,
        surrogate=surrogate,
        loss=loss,
        gap=gap,
        ridge=ridge,
        fit_intercept=False,
        groups=groups,
    )
    return _asked(question, y, sensitive_features, sample_weight)


def _asked(question: Question, y: Any, sensitive_features: Any, sample_weight: Any = None) -> TorchObjectives:
    """Ask a question of the labels of every row, one column for each label of a sample."""
    given = y.detach().cpu().numpy() if hasattr(y, "detach") else y
    refuse_masked(given, "y")
    shape = shape_of(given, "y")
    if not shape or sparse.issparse(given):
        raise refuse("y", given, "one label per row, or one column per label")
    several = len(shape) == 2 and shape[1] > 1
    columns = [np.asarray(given)[:, j] for j in range(shape[1])] if several else [given]
    weight = check_weights(sample_weight, shape[0])
    labels = tuple(
        Objectives.of(question, check_labels(column, shape[0]), sensitive_features, weight) for column in columns
    )
    return _side_by_side(labels) if several else objectives_of(labels[0])


def objectives_of(known: Objectives) -> TorchObjectives:
    """Return the objectives of one label per sample, for the scores of a module."""
    block = _block(known, slice(0, known.n_scores), 0)
    return TorchObjectives(known.algebra, (block,), known.layout.cells.n, known.n_scores, (known,))


def on_other_rows(known: TorchObjectives, y: Any, sensitive_features: Any) -> TorchObjectives:
    """Ask the same question of held-out rows, or say what these rows lack."""
    asked = known.labels[0].question
    found = _asked(replace(asked, groups=replace(asked.groups, min_size=1)), y, sensitive_features)
    classes = [[label.task.classes for label in each.labels] for each in (known, found)]
    if found.names != known.names or classes[0] != classes[1]:
        raise InputError(
            f"the held-out rows have the objectives {', '.join(found.names)}, expected those of training: "
            f"{', '.join(known.names)}; draw them so that every group and label is there."
        )
    return found


def _block(known: Objectives, columns: slice, first: int) -> Block:
    """Return the cells of objectives, back in the order of the data; their indices in L begin at ``first``."""
    cells = known.layout.cells
    weight = cells.row_weight
    return Block(
        columns=columns,
        targets=known.targets,
        cell=None if cells.shares is not None else cells.of_rows,
        shares=cells.shares,
        weight=None if weight is None else weight[np.argsort(cells.order)],
        measures=tuple((bound, np.where(at < 0, -1, at + first)) for bound, at in known.measures),
        names=_names(known.layout),
    )


def _names(layout: Layout) -> tuple[str, ...]:
    """Name every class of rows by the averages that it enters."""
    inside: list[list[str]] = [[] for _ in range(layout.cells.count)]
    for average in layout.averages:
        for place in average.cells:
            if average.name not in inside[place]:
                inside[place].append(average.name)
    return tuple(repr(" and ".join(names[:3])) if names else "'all other rows'" for names in inside)


def _side_by_side(labels: tuple[Objectives, ...]) -> TorchObjectives:
    """Put the cells of several labels side by side; the loss is the mean over labels."""
    blocks, first = [], 0
    for place, label in enumerate(labels):
        if label.n_scores != 1:
            raise InputError(
                f"column {place} of y has {len(label.task.classes)} values, expected binary labels when y has "
                "several columns; give one column of class labels instead."
            )
        blocks.append(_block(label, slice(place, place + 1), first))
        first += label.layout.k - 1
    n = labels[0].layout.cells.n
    return TorchObjectives(_stacked([label.algebra for label in labels]), tuple(blocks), n, len(labels), labels)


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
