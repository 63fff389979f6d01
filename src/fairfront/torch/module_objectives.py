"""Objectives of a module: the cells and the algebra of its labels and groups, for scores instead of features.

Rows of a batch count in the cells by their shares of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import block_diag

from ..exceptions import InputError
from ..objectives import Algebra, Array, Gap, Groups, Loss, Measure, Notion, Objectives, Question, warn_of_proxies
from ..objectives.comparisons import Surrogate
from ..objectives.strata import Within, without_strata
from ..validation import check_instance, check_positive, refuse, refuse_masked
from ..validation.inputs import as_columns, as_numbers, check_labels, check_weights, shape_of

Ints = NDArray[np.intp]
LABEL = "label {}: "
"""What the names of a label's gaps begin with, where samples have several labels."""


@dataclass(frozen=True, eq=False)
class Membership:
    """Where rows of a batch count: weights that sum to 1 in every class of rows.

    ``share`` is (n,) where every row is in one class, which ``cell`` (n,) names, and (c, n) where it may be in several.
    """

    cell: Ints | None
    share: Array
    classes: int

    def means(self, values: Array) -> Array:
        """Turn values (R, n) into (R, c)."""
        if self.cell is None:
            return np.asarray(values @ self.share.T)
        place = self.cell + self.classes * np.arange(len(values))[:, None]
        found = np.bincount(place.ravel(), (values * self.share).ravel(), len(values) * self.classes)
        return np.asarray(found, dtype=np.float64).reshape(len(values), self.classes)

    def back(self, weights: Array) -> Array:
        """Turn weights (R, c) of classes into those of rows, (R, n); of the identity they are every class's shares."""
        return np.asarray(weights @ self.share if self.cell is None else weights[:, self.cell] * self.share)


@dataclass(frozen=True, eq=False)
class Block:
    """Cells of one set of scores; modules with several labels per sample have one block per label.

    columns          the module's outputs that are its scores
    targets (n,)     what the losses read, in the order of the data
    cell (n,)        the class of rows of each row; None when groups are probabilities
    shares (c, n)    weights of rows in classes of rows, when groups are probabilities
    weight (n,)      row weights, None when all are 1
    measures         (measure, index in L of each class of rows, -1: not needed)
    names (c,)       what each class of rows is, for sentences
    """

    columns: slice
    targets: Array
    cell: Ints | None
    shares: Array | None
    weight: Array | None
    measures: tuple[tuple[Measure, Ints], ...]
    names: tuple[str, ...]

    @property
    def classes(self) -> int:
        return len(self.names)

    def membership(self, rows: Ints) -> Membership:
        if self.cell is None:
            assert self.shares is not None
            cell, share = None, self.shares[:, rows]
            total = share.sum(axis=1)
        else:
            cell, share = self.cell[rows], np.ones(len(rows)) if self.weight is None else self.weight[rows]
            total = np.bincount(cell, share, self.classes)
        if total.min() <= 0:
            missing = ", ".join(self.names[i] for i in np.flatnonzero(total <= 0))
            raise InputError(
                f"the batch has no rows of {missing}, expected at least one row of each of {self.classes} cells; "
                "draw batches with fairfront.torch.CellSampler, or larger ones."
            )
        return Membership(cell, share / (total[:, None] if cell is None else total[cell]), self.classes)

    def order(self, rows: Ints) -> Ints | None:
        """Return None if the batch is sorted or rows are in several classes."""
        if self.cell is None:
            return None
        cell = self.cell[rows]
        return np.argsort(cell, kind="stable") if (cell[1:] < cell[:-1]).any() else None


@dataclass(frozen=True, eq=False)
class TorchObjectives:
    """What a module is trained for: loss and gaps as functions of its scores on known rows; made by `objectives`.

    Attributes
    ----------
    algebra : Algebra
        From cell values to loss and gaps.
    blocks : tuple of Block
        The cells of each label of a sample.
    n : int
        Rows.
    n_scores : int
        Scores that a module has to give per sample.
    labels : tuple of Objectives
        Of each label of a sample; one in all but the multi-label case.
    """

    algebra: Algebra
    blocks: tuple[Block, ...]
    n: int
    n_scores: int
    labels: tuple[Objectives, ...]

    @property
    def k(self) -> int:
        """The penalty counts as a cell."""
        return len(self.algebra.p)

    @property
    def names(self) -> tuple[str, ...]:
        """The loss, then every gap."""
        return self.algebra.names

    @property
    def overlapping(self) -> bool:
        """Whether a row may be in several cells: several labels per sample, or groups as probabilities."""
        return len(self.blocks) > 1 or any(block.cell is None for block in self.blocks)

    @property
    def penalised(self) -> bool:
        """Whether the penalty, the last cell, counts."""
        return bool(self.algebra.p[-1] != 0.0)


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
    y : array or tensor of shape (n,), or (n, labels)
        Labels; numbers with ``loss="squared"`` for regression; a matrix for several binary labels per sample, whose
        losses are averaged and whose gaps all count. ``favourable`` holds for all of them.
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
    if not shape or sparse.issparse(given):
        raise refuse("y", given, "one label per row, or one column per label")
    several = len(shape) == 2 and shape[1] > 1
    columns = [np.asarray(given)[:, j] for j in range(shape[1])] if several else [given]
    weight = check_weights(sample_weight, shape[0])
    labels = tuple(
        Objectives.of(question, check_labels(column, shape[0]), sensitive_features, weight) for column in columns
    )
    return objectives_of(*labels)


def objectives_of(*labels: Objectives) -> TorchObjectives:
    several, blocks, first = len(labels) > 1, [], 0
    for place, known in enumerate(labels):
        if several and known.n_scores != 1:
            raise InputError(
                f"column {place} of y has {len(known.task.classes)} values, expected binary labels when y has "
                "several columns; give one column of class labels instead."
            )
        cells = known.layout.cells
        inside: list[dict[str, None]] = [{} for _ in range(cells.count)]  # a class is named by the averages it enters
        for average in known.layout.averages:
            for cell in average.cells:
                inside[cell][average.name] = None
        block = Block(
            columns=slice(place, place + known.n_scores),
            targets=known.targets,
            cell=None if cells.shares is not None else cells.of_rows,
            shares=cells.shares,
            weight=None if cells.row_weight is None else cells.row_weight[np.argsort(cells.order)],
            measures=tuple((bound, np.where(at < 0, -1, at + first)) for bound, at in known.measures),
            names=tuple(repr(" and ".join([*names][:3])) if names else "'all other rows'" for names in inside),
        )
        blocks.append(block)
        first += known.layout.k - 1
    if several and any(label.algebra.psi is not None for label in labels):
        raise InputError(
            f"y has several columns, expected one for {', '.join(labels[0].algebra.notions)}, which compares functions "
            "of averages; use notion='equalized_odds', or one column."
        )
    algebra = _stacked([label.algebra for label in labels]) if several else labels[0].algebra
    return TorchObjectives(algebra, tuple(blocks), cells.n, blocks[-1].columns.stop, labels)


def _stacked(parts: list[Algebra]) -> Algebra:
    """Put one penalty cell at the end; the loss is the mean over labels."""
    contrasts = block_diag(*(part.B[:, :-1] for part in parts))
    tagged = [(LABEL.format(place), part) for place, part in enumerate(parts)]
    return replace(
        parts[0],
        p=np.concatenate([part.p[:-1] / len(parts) for part in parts] + [parts[0].p[-1:]]),
        B=np.hstack([contrasts, np.concatenate([part.B[:, -1:] for part in parts])]),
        b=np.concatenate([part.b for part in parts]),
        two_sided=np.concatenate([part.two_sided for part in parts]),
        names=("loss", *(tag + name for tag, part in tagged for name in part.names[1:])),
        notions=tuple(tag + name for tag, part in tagged for name in part.notions),
        notion_of=np.concatenate(
            [np.asarray(part.notion_of) + len(part.notions) * place for place, part in enumerate(parts)]
        ),
        means=None,
        signs=None,
        mean_names=(),
    )


def on_other_rows(known: TorchObjectives, y: Any, sensitive_features: Any, weight: Any = None) -> TorchObjectives:
    """Return the objectives on other rows, however few; groups that training left out are in no gap here either."""
    asked, groups = known.labels[0].question, replace(known.labels[0].question.groups, min_size=1)
    if any(each.left_out for each in known.labels[0].attributes):
        sensitive_features = _compared(known, groups, sensitive_features)
        groups = replace(groups, cross=False)
    found = _asked(replace(asked, groups=groups), y, sensitive_features, weight)
    classes = [[label.task.classes for label in each.labels] for each in (known, found)]
    if found.names != known.names or classes[0] != classes[1]:
        raise InputError(
            f"the held-out rows have the objectives {', '.join(found.names)}, expected those of training: "
            f"{', '.join(known.names)}; draw them so that every group and label is there."
        )
    return found


def _compared(known: TorchObjectives, groups: Groups, given: Any) -> Any:
    """Return the columns of groups as they are compared, missing where training left a group out."""
    columns, every = {}, groups.resolve(given, len(next(iter(as_columns(without_strata(given), "groups").values()))))
    for own, each in zip(known.labels[0].attributes, every, strict=True):
        levels = [level if level in own.levels else None for level in each.levels]
        columns[each.name] = np.array([*levels, None], dtype=object)[each.codes]
    return Within(columns, given.control) if isinstance(given, Within) else columns
