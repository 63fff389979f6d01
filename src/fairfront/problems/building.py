"""From a user's data to a linear problem: validated once, then laid out in cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..exceptions import InputError
from ..objectives import (
    GAPS,
    LOSSES,
    NOTIONS,
    Algebra,
    Array,
    Attribute,
    Gap,
    Groups,
    Layout,
    Loss,
    Notion,
    Task,
    build,
    check_groups,
    compared_rows,
    proxy_sentences,
    take_groups,
)
from ..objectives.losses import Softmax, Squared
from ..objectives.notions import Surrogate
from ..validation import (
    check_choice,
    check_favourable,
    check_flag,
    check_labels,
    check_matrix,
    check_positive,
    check_weights,
    find_classes,
    is_dask,
    refuse,
)
from .bounds import check_memory
from .frame import Frame, moments
from .linear import LinearProblem
from .ridge import default_ridge
from .units import check_targets

if TYPE_CHECKING:
    from .dask.reading import FarData


TASKS = ("classification", "regression")


@dataclass(frozen=True)
class Setup:
    """A linear problem and what is known about its data; ``recipe`` lays out the same problem on other rows."""

    problem: LinearProblem
    task: Task
    attributes: tuple[Attribute, ...]
    notions: tuple[Notion, ...]
    surrogate: Surrogate
    ridge: float
    feature_names: tuple[str, ...] | None
    favourable_was_given: bool
    recipe: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    def sentences(self) -> tuple[str, ...]:
        """Say in words what each notion compares, what gaps are between probable groups, and what else to know."""
        compared = (notion.sentence(self.task) for notion in self.notions)
        return (*compared, *proxy_sentences(self.proxies), *self.notes)

    @property
    def proxies(self) -> tuple[str, ...]:
        """Return the attributes whose groups are given as probabilities."""
        return tuple(attribute.name for attribute in self.attributes if attribute.is_proxy)


def linear_problem(
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    favourable: Any = None,
    notion: str | Notion | tuple[str | Notion, ...] | list[str | Notion] = "equal_opportunity",
    surrogate: Surrogate = "loss",
    loss: str | Loss = "logistic",
    gap: str | Gap = "squared",
    ridge: float | None = None,
    fit_intercept: bool = True,
    sample_weight: Any = None,
    groups: Groups | None = None,
    task: Literal["classification", "regression"] | None = None,
) -> Setup:
    """Check the data and lay out a linear model's cells.

    The default ridge is 1 / (sum of weights), scikit-learn's C = 1. ``task`` is regression for the squared loss
    and classification for all others, unless given.
    """
    _check_types(loss, gap, groups)
    check_flag(fit_intercept, "fit_intercept")
    if task is not None:
        check_choice(task, "task", TASKS)
    chosen = _loss(loss)
    regression = isinstance(chosen, Squared) if task is None else task == "regression"
    data = _read(X, y, sensitive_features, sample_weight, regression)
    what, codes = _regression(data.labels) if regression else _classes(data, favourable)
    chosen = _fitting(chosen, what)
    notions = _notions(notion, surrogate)
    among = compared_rows(notions, what, surrogate, codes)
    attributes = (groups or Groups()).resolve(data.groups, len(codes), data.counts, among)
    rows = float(len(codes) if data.counts is None else data.counts.sum())
    total = rows if data.weight is None else float(data.weight.sum())
    size, notes = default_ridge(total, rows) if ridge is None else (check_positive(ridge, "ridge", zero=True), ())
    cell_labels = np.zeros(len(codes), dtype=np.intp) if regression else codes.astype(np.intp)
    phi = GAPS[gap]() if isinstance(gap, str) else gap
    layout, algebra = build(what, cell_labels, attributes, notions, phi, surrogate, size, data.weight)
    problem = data.problem(what, codes, chosen, layout, algebra, fit_intercept)
    reference = {attribute.name: attribute.reference for attribute in attributes}
    recipe = {
        "favourable": what.favourable_label,
        "notion": notions,
        "surrogate": surrogate,
        "loss": chosen,
        "gap": phi,
        "ridge": size,
        "fit_intercept": fit_intercept,
        "groups": replace(groups or Groups(), reference=reference),
        "task": "regression" if regression else "classification",
    }
    described = tuple(attribute.take(np.arange(0)) for attribute in attributes)
    given = favourable is not None
    return Setup(problem, what, described, notions, surrogate, size, feature_names(X), given, recipe, notes)


@dataclass(frozen=True, eq=False)
class NearData:
    """Data in memory, checked, without the rows of weight 0; one entry per row."""

    matrix: Any
    labels: NDArray[Any]
    groups: Any
    weight: Array | None
    counts: None = None

    def classes(self) -> tuple[list[Any], NDArray[np.intp]]:
        """Return the classes and the class of every row."""
        return find_classes(self.labels)

    def problem(
        self, task: Task, codes: NDArray[Any], loss: Loss, layout: Layout, algebra: Algebra, fit_intercept: bool
    ) -> LinearProblem:
        """Lay the model on the rows."""
        n, columns = self.matrix.shape
        if not sparse.issparse(self.matrix):
            check_memory(8.0 * n * (columns + 1), f"a sorted copy of {n} rows and {columns} columns")
        frame = Frame.of(moments(self.matrix), fit_intercept)
        if algebra.p[-1] == 0.0 and not sparse.issparse(self.matrix):
            frame = frame.orthogonal(self.matrix)
        return LinearProblem(self.matrix, task.targets(codes), task, loss, layout, algebra, fit_intercept, frame)


def _read(X: Any, y: Any, sensitive_features: Any, sample_weight: Any, regression: bool) -> NearData | FarData:
    """Check the data where they are; small Dask collections are brought to memory."""
    given = (X, y, sensitive_features, sample_weight)
    if any(is_dask(part) for part in given):
        from .dask.reading import brought, far_data

        far = far_data(*given, regression)
        if far is not None:
            return far
        X, y, sensitive_features, sample_weight = brought(*given)
    matrix = check_matrix(X)
    n = matrix.shape[0]
    return NearData(*_without_idle(matrix, check_labels(y, n), sensitive_features, check_weights(sample_weight, n)))


def _loss(loss: str | Loss) -> Loss:
    return LOSSES[loss]() if isinstance(loss, str) else loss


def _regression(labels: NDArray[Any]) -> tuple[Task, Array]:
    if labels.dtype.kind not in "biuf":
        raise InputError(f"y has values of type {labels.dtype}, expected numbers for regression.")
    values = labels.astype(np.float64)
    low, high = float(values.min(initial=np.inf)), float(values.max(initial=-np.inf))
    check_targets(max(abs(low), abs(high)), high - low)
    return Task("regression"), values


def _classes(data: NearData | FarData, favourable: Any) -> tuple[Task, NDArray[np.intp]]:
    classes, codes = data.classes()
    good = check_favourable(favourable, classes)
    return Task("binary" if len(classes) == 2 else "multiclass", tuple(classes), good), codes


def _fitting(loss: Loss, task: Task) -> Loss:
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


def _notions(notion: Any, surrogate: Surrogate) -> tuple[Notion, ...]:
    check_choice(surrogate, "surrogate", get_args(Surrogate))
    given = notion if isinstance(notion, (tuple, list)) else (notion,)
    if not given:
        raise InputError("notion is empty, expected at least one notion.")
    for item in given:
        if not isinstance(item, (str, Notion)):
            raise refuse("notion", item, "a name or a Notion")
    return tuple(NOTIONS[item]() if isinstance(item, str) else item for item in given)


def _without_idle(
    X: Any, labels: NDArray[Any], sensitive_features: Any, weight: Array | None
) -> tuple[Any, NDArray[Any], Any, Array | None]:
    """Drop rows of weight 0, which are to count as if they were not there."""
    if weight is None or weight.all():
        return X, labels, sensitive_features, weight
    busy = weight > 0
    groups = take_groups(sensitive_features, busy, len(labels))
    return X[busy], labels[busy], groups, weight[busy]


def _check_types(loss: Any, gap: Any, groups: Any) -> None:
    """Refuse settings that are neither a name nor an instance of the right kind."""
    for value, kind, what in ((loss, Loss, "loss"), (gap, Gap, "gap")):
        if not isinstance(value, (str, kind)):
            raise refuse(what, value, f"a name or a {kind.__name__}")
    check_groups(groups)


def feature_names(X: Any) -> tuple[str, ...] | None:
    """Return the column names of a data frame, None for arrays."""
    native = X if is_dask(X) else nw.from_native(X, pass_through=True, eager_only=True)
    columns = list(getattr(native, "columns", ())) if is_dask(X) or isinstance(native, nw.DataFrame) else []
    return tuple(columns) if columns and all(isinstance(name, str) for name in columns) else None
