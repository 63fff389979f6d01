"""The question: what is asked of a model, without any data, and the objectives that it becomes on labels and groups."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..exceptions import FairfrontWarning, InputError
from ..records import Record
from ..validation import check_choice, check_favourable, check_flag, check_positive
from ..validation.inputs import LARGEST, SMALLEST, find_classes
from .comparisons import Notion, Surrogate, compared_rows
from .gaps import GAPS, Algebra, Gap, SquaredGap
from .groups import Attribute, Copies, Groups, check_groups
from .layout import Layout, build
from .losses import LOSSES, Array, Logistic, Loss, Measure, Softmax, Task
from .notions import NOTIONS
from .proxies import proxy_sentences
from .strata import Within
from .surrogates import BinaryRate, ClassRate, Prediction, Quantity, Relabelled, Score

Notions = str | Notion | tuple[str | Notion, ...] | list[str | Notion]
TaskName = Literal["classification", "regression"]
Signs = tuple[tuple[int, str], ...]
"""Places of columns, and "+" or "-" for each."""
USUAL_WEIGHTS = (0.1, 10.0)
"""Mean weights at which the default ridge needs no word."""
TARGET_SPREAD = 1e-8
"""Smallest spread of a regression's targets, as a share of their size: residuals are differences of such numbers."""


@dataclass(frozen=True, repr=False)
class Question(Record):
    """What is asked of a model: frozen settings that can be asked of any rows.

    notions         what is compared between groups
    surrogate       whether a notion compares losses or smooth rates of decisions
    gap             how a signed gap becomes an objective
    ridge           penalty on the squared weights; None: 1 / (sum of weights), scikit-learn's C = 1
    fit_intercept   whether linear models have an intercept, which is not penalised
    favourable      the label that is good for the person; None: the second of the classes
    groups          how sensitive columns become groups
    signs           columns of X, by their places, whose coefficients may have one sign only
    """

    notions: tuple[Notion, ...]
    surrogate: Surrogate = "loss"
    loss: Loss = field(default_factory=Logistic)
    gap: Gap = field(default_factory=SquaredGap)
    ridge: float | None = None
    fit_intercept: bool = True
    favourable: Any = None
    groups: Groups = field(default_factory=Groups)
    task: TaskName = "classification"
    signs: Signs = ()

    @classmethod
    def of(
        cls,
        *,
        notion: Notions = "equal_opportunity",
        loss: str | Loss = "logistic",
        gap: str | Gap = "squared",
        ridge: float | None = None,
        groups: Groups | None = None,
        task: TaskName | None = None,
        **settings: Any,
    ) -> Question:
        """Return the question of names and settings as people give them, checked.

        ``task`` is regression for the squared loss and classification for all others, unless given. The surrogate is
        "rate" for notions that know no other.
        """
        given = notion if isinstance(notion, (tuple, list)) else (notion,)
        if not given:
            raise InputError("notion is empty, expected at least one notion.")
        chosen, asked = LOSSES.made(loss, Loss), tuple(NOTIONS.made(each, Notion) for each in given)
        named = settings.get("surrogate")
        if isinstance(named, str) and named == "loss" and all(each.no_losses for each in asked):
            settings["surrogate"] = "rate"
        usual: TaskName = "regression" if chosen.kinds[0] == "regression" else "classification"
        return cls(
            notions=asked,
            loss=chosen,
            gap=GAPS.made(gap, Gap),
            ridge=None if ridge is None else check_positive(ridge, "ridge", zero=True),
            groups=check_groups(groups) or Groups(),
            task=usual if task is None else task,
            **settings,
        )

    def __post_init__(self) -> None:
        check_choice(self.surrogate, "surrogate", get_args(Surrogate))
        check_flag(self.fit_intercept, "fit_intercept")
        check_choice(self.task, "task", get_args(TaskName))


@dataclass(frozen=True, eq=False)
class Objectives:
    """A question asked of labels, groups and weights: cells and the algebra on them, for models of any kind.

    question        with the loss, ridge, favourable label and reference groups that the data gave
    attributes      the sensitive attributes, without rows
    targets (n,)    what the loss reads, in the order of the data; empty where rows are elsewhere
    copy_of (n,)    the row of the data that each row here is a copy of, where groups are probabilities; None: itself
    notes           what else there is to know, in sentences
    """

    question: Question
    task: Task
    attributes: tuple[Attribute, ...]
    layout: Layout
    algebra: Algebra
    targets: Array
    copy_of: NDArray[np.intp] | None = None
    favourable_was_given: bool = True
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        question: Question,
        labels: NDArray[Any],
        sensitive_features: Any,
        weight: Array | None = None,
        counts: Array | None = None,
    ) -> Objectives:
        """Ask a question of labels (n,), groups and weights (n,), which were checked; weights are above 0.

        ``counts`` (n,) says how many rows each entry stands for, where entries are the combinations of label and
        groups that occur. A row whose group is given by probabilities becomes one copy for each group, with the row's
        weight times the probability.
        """
        regression = question.task == "regression"
        task, codes = _values(labels) if regression else read_classes(labels, question.favourable, counts)
        loss = _loss_for(question.loss, task).of_values(codes.astype(np.float64, copy=False))
        among = compared_rows(question.notions, task, question.surrogate, codes)
        attributes = question.groups.resolve(sensitive_features, len(codes), counts, among)
        ridge = question.ridge
        notes: tuple[str, ...] = ()
        if ridge is None:
            rows = float(len(codes) if counts is None else counts.sum())
            ridge, notes = default_ridge(rows if weight is None else float(weight.sum()), rows)
        groups = replace(question.groups, reference={each.name: each.reference for each in attributes})
        asked = replace(question, loss=loss, ridge=ridge, favourable=task.favourable_label, groups=groups)
        strata = sensitive_features.strata(len(codes)) if isinstance(sensitive_features, Within) else None
        described = tuple(attribute.take(np.arange(0)) for attribute in attributes)
        copy_of = None
        if attributes[0].is_proxy:
            copies = Copies.of(attributes[0])
            copy_of, codes, attributes = copies.row, codes[copies.row], (copies.attribute,)
            weight = copies.probability if weight is None else weight[copy_of] * copies.probability
            strata = strata and replace(strata, codes=strata.codes[copy_of])
        cell_labels = np.zeros(len(codes), dtype=np.intp) if regression else codes.astype(np.intp)
        layout, algebra = build(asked, task, cell_labels, attributes, weight, strata)
        targets, given, notes = task.targets(codes), question.favourable is not None, (*layout.notes, *notes)
        return cls(asked, task, described, layout, algebra, targets, copy_of, given, notes)

    @property
    def loss(self) -> Loss:
        return self.question.loss

    @property
    def n_scores(self) -> int:
        return self.loss.n_scores(self.task)

    @cached_property
    def measures(self) -> list[tuple[Measure, NDArray[np.intp]]]:
        """Return what is averaged over cells, each with the index in L of every cell (-1: not needed)."""
        return [(measure(quantity, self.loss, self.task), where) for quantity, where in self.layout.quantities]

    @cached_property
    def weights(self) -> Array:
        """Return the weight of the rows behind every entry of L, (k,); the penalty counts once."""
        found = np.ones(self.layout.k)
        for _, where in self.layout.quantities:
            found[where[where >= 0]] = self.layout.cells.weight[where >= 0]
        return found

    def people(self, person: NDArray[np.intp] | None) -> NDArray[np.intp] | None:
        """Return who every row here is, from codes of the rows of the data, where some belong together.

        Copies of a row are those of its person, or of the row where everyone has one row.
        """
        if self.copy_of is None or person is None:
            return person if self.copy_of is None else self.copy_of
        return person[self.copy_of]

    def of_data(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values (..., rows of the data) of those of the rows here, which are the same in all copies."""
        return values if self.copy_of is None else values[..., np.unique(self.copy_of, return_index=True)[1]]

    def with_loss(self, loss: Loss) -> Objectives:
        return replace(self, question=replace(self.question, loss=loss))

    @property
    def proxies(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.attributes if attribute.is_proxy)

    def sentences(self) -> tuple[str, ...]:
        """Say in words what each notion compares, what gaps are between probable groups, and what else to know."""
        compared = (notion.sentence(self.task) for notion in self.question.notions)
        return (*compared, *proxy_sentences(self.proxies), *self.notes)


def measure(quantity: Quantity, loss: Loss, task: Task) -> Measure:
    if quantity.kind == "prediction":
        return Prediction(loss) if loss.link else Score()
    if quantity.kind == "score":
        return Score()
    if quantity.kind == "rate" and task.kind == "multiclass":
        return ClassRate(quantity.label)
    label = None if quantity.label is None else float(task.targets(quantity.label))
    if quantity.kind == "rate":
        return BinaryRate(label)
    return loss if label is None else Relabelled(loss, label)


def _values(labels: NDArray[Any]) -> tuple[Task, Array]:
    if labels.dtype.kind not in "biuf":
        raise InputError(f"y has values of type {labels.dtype}, expected numbers for regression.")
    values = labels.astype(np.float64)
    low, high = float(values.min(initial=np.inf)), float(values.max(initial=-np.inf))
    check_targets(max(abs(low), abs(high)), high - low)
    return Task("regression"), values


def check_targets(size: float, spread: float) -> None:
    """Refuse targets of a regression whose powers are not numbers, or whose residuals would lose their digits.

    ``size`` is that of the largest, ``spread`` the difference between the largest and the smallest.
    """
    if not size <= LARGEST or 0.0 < size < SMALLEST:
        raise InputError(
            f"y has values up to {size:g} in size, expected {SMALLEST:g} to {LARGEST:g}, whose powers are numbers "
            "too; give them in another unit."
        )
    if 0.0 < spread < TARGET_SPREAD * size:
        raise InputError(
            f"y has values near {size:g} that differ by about {spread:.3g} at most, expected at least "
            f"{TARGET_SPREAD:g} of their size, or residuals lose their digits; subtract a constant from them."
        )


def read_classes(labels: NDArray[Any], favourable: Any, counts: Array | None = None) -> tuple[Task, NDArray[np.intp]]:
    # a table of combinations may have as many classes as entries, which would look like a regression's values
    classes, codes = find_classes(labels if counts is None else np.tile(labels, 3))
    good = check_favourable(favourable, classes)
    return Task("binary" if len(classes) == 2 else "multiclass", tuple(classes), good), codes[: len(labels)]


def _loss_for(loss: Loss, task: Task) -> Loss:
    """Return the loss for the task; the logistic loss of more than two classes is the softmax."""
    if task.kind == "multiclass" and loss.name == "logistic":
        return Softmax()
    if task.kind not in loss.kinds:
        fits = [name for name in LOSSES if task.kind in LOSSES[name].kinds]
        found = f"{len(task.classes)} classes" if task.classes else "regression"
        raise InputError(
            f"loss {loss.name!r} is for {' or '.join(loss.kinds)} labels, found {found}; use {' or '.join(fits)}."
        )
    return loss


def default_ridge(total: float, rows: float) -> tuple[float, tuple[str, ...]]:
    """Return 1 / (sum of weights), scikit-learn's C = 1, with a sentence where the mean weight is far from 1.

    A weight of 2 is then the same as a row that is there twice, and the unit of the weights counts.
    """
    ridge, mean, usual = 1.0 / total, total / rows, f"{1.0 / rows:.3g}"
    if USUAL_WEIGHTS[0] <= mean <= USUAL_WEIGHTS[1]:
        return ridge, ()
    said = (
        f"The default ridge is 1 / (sum of weights) = {ridge:.3g}, because the mean weight is {mean:.3g}; to choose "
        f"another, give a ridge, such as that of weights of mean 1 (ridge={usual}, or --ridge {usual} in a shell)."
    )
    warnings.warn(said, FairfrontWarning, stacklevel=6)
    return ridge, (said,)
