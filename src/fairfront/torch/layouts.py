"""Objectives of a module: the cells and the algebra of its labels and groups, without any data of its own."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import InputError, ProxyWarning
from ..objectives import Algebra, Array, Gap, Groups, Loss, Notion, warn_of_proxies
from ..objectives.notions import Surrogate
from ..problems import LinearProblem, Setup, linear_problem
from ..validation import as_numbers, check_instance, check_positive, refuse, refuse_masked, shape_of
from .blocks import Block


@dataclass(frozen=True, eq=False)
class TorchObjectives:
    """What a module is trained for: loss and gaps as functions of its scores on known rows.

    ``laid`` are the layouts, one for each label of a sample (one in all but the multi-label case); ``n_scores`` is
    how many scores a module has to give per sample.
    """

    algebra: Algebra
    blocks: tuple[Block, ...]
    n: int
    n_scores: int
    laid: tuple[Setup, ...] = ()

    @classmethod
    def of(cls, problem: LinearProblem) -> TorchObjectives:
        """Take the cells of a linear problem, for any model instead of the linear one."""
        block = Block.of(problem, slice(0, problem.K), 0)
        return cls(problem.algebra, (block,), problem.layout.cells.n, problem.K)

    @property
    def k(self) -> int:
        """Return the number of cells, the penalty included."""
        return len(self.algebra.p)

    @property
    def names(self) -> tuple[str, ...]:
        """Name the objectives: the loss, then every gap."""
        return self.algebra.names

    @property
    def overlapping(self) -> bool:
        """Tell whether a row may be in several cells: several labels per sample, or groups as probabilities."""
        return len(self.blocks) > 1 or any(block.cell is None for block in self.blocks)


def check_objectives(given: Any) -> TorchObjectives:
    """Return what `objectives` laid out, and nothing else."""
    return check_instance(given, TorchObjectives, "objectives", "what fairfront.torch.objectives returned")


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
    wide = len(shape) == 2 and shape[1] > 1
    columns = [np.asarray(labels)[:, j] for j in range(shape[1])] if wide else [labels]
    laid = tuple(
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
    if not wide:
        return replace(TorchObjectives.of(laid[0].problem), laid=laid)
    return _joined(laid)


def on_other_rows(known: TorchObjectives, y: Any, sensitive_features: Any) -> TorchObjectives:
    """Lay out the same objectives on held-out rows, or say what these rows lack."""
    kept = ("favourable", "notion", "surrogate", "loss", "gap", "ridge", "groups")
    recipe = {name: known.laid[0].recipe[name] for name in kept}
    recipe["groups"] = replace(recipe["groups"], min_size=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProxyWarning)  # it was said of the training rows
        found = objectives(y, sensitive_features=sensitive_features, **recipe)
    classes = [[setup.task.classes for setup in each.laid] for each in (known, found)]
    if found.names != known.names or classes[0] != classes[1]:
        raise InputError(
            f"the held-out rows have the objectives {', '.join(found.names)}, expected those of training: "
            f"{', '.join(known.names)}; draw them so that every group and label is there."
        )
    return found


def _joined(laid: tuple[Setup, ...]) -> TorchObjectives:
    """Put the cells of several labels side by side; the loss is the mean over labels."""
    blocks, first = [], 0
    for place, setup in enumerate(laid):
        if setup.problem.K != 1:
            raise InputError(
                f"column {place} of y has {len(setup.task.classes)} values, expected yes-or-no labels when y has "
                "several columns; give one column of class labels instead."
            )
        blocks.append(Block.of(setup.problem, slice(place, place + 1), first))
        first += blocks[-1].count
    n = laid[0].problem.layout.cells.n
    return TorchObjectives(_stacked([s.problem.algebra for s in laid]), tuple(blocks), n, len(laid), laid)


def label_tag(place: int) -> str:
    """Return what the names of a label's gaps begin with."""
    return f"label {place}: "


def _stacked(parts: list[Algebra]) -> Algebra:
    """Return the algebra on all labels' cells, with one penalty cell at the end."""
    p = np.concatenate([part.p[:-1] / len(parts) for part in parts] + [parts[0].p[-1:]])
    tags = [label_tag(place) for place in range(len(parts))]
    notions = len(parts[0].notions)
    ids = [np.asarray(part.notion_of) + notions * place for place, part in enumerate(parts)]
    return replace(
        parts[0],
        p=p,
        B=_diagonal([part.B for part in parts]),
        b=np.concatenate([part.b for part in parts]),
        two_sided=np.concatenate([part.two_sided for part in parts]),
        names=("loss", *(tag + name for tag, part in zip(tags, parts, strict=True) for name in part.names[1:])),
        notions=tuple(tag + name for tag, part in zip(tags, parts, strict=True) for name in part.notions),
        notion_of=np.concatenate(ids).astype(np.intp),
        means=None,
        signs=None,
        mean_names=(),
    )


def _diagonal(parts: list[Array]) -> Array:
    """Return matrices (q, k) along the diagonal; their last columns, the penalty, share one."""
    rows, columns = sum(len(B) for B in parts), sum(B.shape[1] - 1 for B in parts) + 1
    joined = np.zeros((rows, columns))
    row = column = 0
    for B in parts:
        joined[row : row + len(B), column : column + B.shape[1] - 1] = B[:, :-1]
        joined[row : row + len(B), -1] = B[:, -1]
        row, column = row + len(B), column + B.shape[1] - 1
    return joined
