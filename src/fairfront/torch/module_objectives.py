"""Objectives of a module: the cells and the algebra of its labels and groups, for scores instead of features.

Rows of a batch count in the cells by their shares of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..exceptions import InputError
from ..objectives import Algebra, Array, Gap, Groups, Loss, Measure, Notion, Objectives, Question, warn_of_proxies
from ..objectives.comparisons import Surrogate
from ..objectives.strata import Within, without_strata
from ..validation import check_instance, check_positive, refuse, refuse_masked
from ..validation.inputs import as_columns, as_numbers, check_labels, check_weights, shape_of
from .modules import Inputs, take

Ints = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Membership:
    """Where rows of a batch count: the class ``cell`` (n,) of each, and weights (n,) that sum to 1 in every class."""

    cell: Ints
    share: Array
    classes: int

    def means(self, values: Array) -> Array:
        """Turn values (R, n) into (R, c)."""
        place = self.cell + self.classes * np.arange(len(values))[:, None]
        found = np.bincount(place.ravel(), (values * self.share).ravel(), len(values) * self.classes)
        return np.asarray(found, dtype=np.float64).reshape(len(values), self.classes)

    def back(self, weights: Array) -> Array:
        """Turn weights (R, c) of classes into those of rows, (R, n); of the identity they are every class's shares."""
        return np.asarray(weights[:, self.cell] * self.share)


@dataclass(frozen=True, eq=False)
class Block:
    """Cells of the rows, and what is measured on them.

    targets (n,)     what the losses read, in the order of the data
    cell (n,)        the class of rows of each row
    weight (n,)      row weights, None when all are 1
    measures         (measure, index in L of each class of rows, -1: not needed)
    names (c,)       what each class of rows is, for sentences
    """

    targets: Array
    cell: Ints
    weight: Array | None
    measures: tuple[tuple[Measure, Ints], ...]
    names: tuple[str, ...]

    @property
    def classes(self) -> int:
        return len(self.names)

    def membership(self, rows: Ints) -> Membership:
        cell, share = self.cell[rows], np.ones(len(rows)) if self.weight is None else self.weight[rows]
        total = np.bincount(cell, share, self.classes)
        if total.min() <= 0:
            missing = ", ".join(self.names[i] for i in np.flatnonzero(total <= 0))
            raise InputError(
                f"the batch has no rows of {missing}, expected at least one row of each of {self.classes} cells; "
                "draw batches with fairfront.torch.CellSampler, or larger ones."
            )
        return Membership(cell, share / total[cell], self.classes)

    def order(self, rows: Ints) -> Ints | None:
        """Return None if the batch is sorted."""
        cell = self.cell[rows]
        return np.argsort(cell, kind="stable") if (cell[1:] < cell[:-1]).any() else None


@dataclass(frozen=True, eq=False)
class TorchObjectives:
    """What a module is trained for: loss and gaps as functions of its scores on known rows; made by `objectives`.

    Attributes
    ----------
    algebra : Algebra
        From cell values to loss and gaps.
    block : Block
        The cells of the rows.
    n : int
        Rows; more than labels where groups are probabilities, of which each row has a copy for every group.
    n_scores : int
        Scores that a module has to give per row.
    asked : Objectives
        Of labels and groups.
    """

    algebra: Algebra
    block: Block
    n: int
    n_scores: int
    asked: Objectives

    @property
    def k(self) -> int:
        """The penalty counts as a cell."""
        return len(self.algebra.p)

    @property
    def names(self) -> tuple[str, ...]:
        """The loss, then every gap."""
        return self.algebra.names

    @property
    def copy_of(self) -> Ints | None:
        """The row of the labels that each row here is a copy of, (n,), where groups are probabilities; None: itself."""
        return self.asked.copy_of

    @property
    def n_given(self) -> int:
        """Rows of the labels."""
        return self.n if self.copy_of is None else int(self.copy_of[-1]) + 1

    @property
    def penalised(self) -> bool:
        """Whether the penalty, the last cell, counts."""
        return bool(self.algebra.p[-1] != 0.0)


def copies_of(objectives: TorchObjectives, inputs: Inputs) -> Inputs:
    """Return inputs with the rows of the objectives, from one row for each label."""
    return inputs if objectives.copy_of is None else take(inputs, objectives.copy_of)


def check_objectives(given: Any) -> TorchObjectives:
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
    """Return the objectives of labels and groups, for a module that gives one score per sample (or per class).

    Parameters
    ----------
    y : array or tensor of shape (n,)
        Labels; numbers with ``loss="squared"`` for regression.
    sensitive_features, favourable, notion, surrogate, loss, gap, groups
        As in `fairfront.trace`.
    ridge : float
        Penalty on the squared weights of matrices and filters (biases are left free); most users leave it at 0 and
        set the optimiser's ``weight_decay``.
    sample_weight : array of shape (n,), optional
        Above 0; by default all rows count alike.
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
    if question.loss.link:
        raise InputError(
            f"loss {question.loss.name!r} predicts behind a link, which modules do not, expected another loss; use "
            "loss='squared', or ff.trace for linear models."
        )
    given = y.detach().cpu().numpy() if hasattr(y, "detach") else y
    refuse_masked(given, "y")
    shape = shape_of(given, "y")
    if not shape or sparse.issparse(given) or (len(shape) == 2 and shape[1] > 1):
        raise refuse("y", given, "one label per row")
    weight = check_weights(sample_weight, shape[0])
    return objectives_of(Objectives.of(question, check_labels(given, shape[0]), sensitive_features, weight))


def objectives_of(known: Objectives) -> TorchObjectives:
    cells = known.layout.cells
    inside: list[dict[str, None]] = [{} for _ in range(cells.count)]  # a class is named by the averages it enters
    for average in known.layout.averages:
        for cell in average.cells:
            inside[cell][average.name] = None
    block = Block(
        targets=known.targets,
        cell=cells.of_rows,
        weight=None if cells.row_weight is None else cells.row_weight[np.argsort(cells.order)],
        measures=tuple(known.measures),
        names=tuple(repr(" and ".join([*names][:3])) if names else "'all other rows'" for names in inside),
    )
    return TorchObjectives(known.algebra, block, cells.n, known.n_scores, known)


def on_other_rows(known: TorchObjectives, y: Any, sensitive_features: Any, weight: Any = None) -> TorchObjectives:
    """Return the objectives on other rows, however few; groups that training left out are in no gap here either."""
    asked, groups = known.asked.question, replace(known.asked.question.groups, min_size=1)
    if any(each.left_out for each in known.asked.attributes):
        sensitive_features = _compared(known, groups, sensitive_features)
        groups = replace(groups, cross=False)
    found = _asked(replace(asked, groups=groups), y, sensitive_features, weight)
    classes = [each.asked.task.classes for each in (known, found)]
    if found.names != known.names or classes[0] != classes[1]:
        raise InputError(
            f"the held-out rows have the objectives {', '.join(found.names)}, expected those of training: "
            f"{', '.join(known.names)}; draw them so that every group and label is there."
        )
    return found


def _compared(known: TorchObjectives, groups: Groups, given: Any) -> Any:
    """Return the columns of groups as they are compared, missing where training left a group out."""
    columns, every = {}, groups.resolve(given, len(next(iter(as_columns(without_strata(given), "groups").values()))))
    for own, each in zip(known.asked.attributes, every, strict=True):
        levels = [level if level in own.levels else None for level in each.levels]
        columns[each.name] = np.array([*levels, None], dtype=object)[each.codes]
    return Within(columns, given.control) if isinstance(given, Within) else columns
