"""Reading Dask collections: the labels, groups and weights of all rows as a small table, and the problem on them."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...exceptions import InputError
from ...objectives import Array, Cells, GroupProbabilities, Layout, Objectives, Question
from ...objectives.question import check_targets
from ...validation import as_columns, check_labels, is_dask
from ..frame import Frame
from ..linear import feature_names
from .looking import Seen, look, together
from .parts import Plan
from .passes import aligned_blocks
from .problem import DaskProblem, laid_rows
from .running import DaskSettings, Runner

LOG = logging.getLogger("fairfront")


def dask_problem(question: Question, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> DaskProblem | None:
    """Ask a question of Dask collections, of which all partitions are looked at once.

    None where the data are so small that they are better read to memory.
    """
    _check_kinds(X, y, sensitive_features, sample_weight)
    runner, regression = Runner(DaskSettings.current()), question.task == "regression"
    blocks = aligned_blocks(X, y, sensitive_features, sample_weight)
    seen: Seen = runner.over(((i, *block, regression) for i, block in enumerate(blocks)), look, together)
    _check_seen(seen, regression)
    size = 8.0 * seen.rows * seen.columns
    if size <= runner.settings.small_bytes:
        LOG.info("%d rows x %d columns (%.0f MB): brought to memory", seen.rows, seen.columns, size / 1e6)
        return None
    objectives = _of_keys(question, seen)
    far, cell = _of_rows(objectives.layout, seen.tally.counts)
    assert seen.moments is not None
    frame = Frame.of(seen.moments, question.fit_intercept)
    plan = Plan(
        keys={key: i for i, key in enumerate(seen.tally.keys)},
        cell=np.append(cell, far.cells.count),
        target=objectives.targets,
        weight=far.cells.weight,
        regression=regression,
        weighted=not seen.unit,
        fit_intercept=question.fit_intercept,
        frame=frame,
    )
    rows = laid_rows(runner, blocks, plan, seen, frame.squares(seen.moments))
    elsewhere = replace(objectives, layout=far, targets=np.empty(0))
    return DaskProblem(rows, seen.spread / seen.rows, elsewhere, frame, feature_names(X))


def _check_seen(seen: Seen, regression: bool) -> None:
    """Refuse what cannot be used, now that all partitions were looked at."""
    if seen.fault:
        raise InputError(seen.fault)
    if not seen.rows:
        raise InputError("X has 0 rows that count, expected at least one sample with a weight above 0.")
    if regression:
        spread = 4.0 * float(np.sqrt(seen.spread / seen.rows))
        check_targets(abs(seen.mean) + spread, spread)


def _of_keys(question: Question, seen: Seen) -> Objectives:
    """Ask the question of a table of keys, the combinations of label and groups, instead of rows.

    The labels of a regression are zeros there: values stay with the workers.
    """
    tally, n = seen.tally, len(seen.tally.keys)
    labels = np.zeros(n)
    if question.task == "classification":
        labels = check_labels(np.array([key[0] for key in tally.keys], dtype=object), n)
    return Objectives.of(question, labels, tally.groups, tally.weight, tally.counts)


def brought(*collections: Any) -> tuple[Any, ...]:
    """Return collections as they are in memory."""
    far = [each for each in collections if is_dask(each)]
    found = iter(Runner(DaskSettings.current()).brought(far))
    return tuple(next(found) if is_dask(each) else each for each in collections)


def _check_kinds(X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> None:
    """Refuse what has no meaning on Dask before anything is computed."""
    if isinstance(sensitive_features, GroupProbabilities):
        raise InputError(
            "GroupProbabilities are for data in memory, found Dask collections; give each row the group that is most "
            "likely, or trace a sample in memory."
        )
    if sensitive_features is None:
        as_columns(None, "sensitive_features")
    if not is_dask(X):
        others = {"y": y, "sensitive_features": sensitive_features, "sample_weight": sample_weight}
        name = next(name for name, value in others.items() if is_dask(value))
        raise InputError(
            f"{name} is a Dask collection and X is in memory, expected X to be one too; use {name}.compute()."
        )
    dimensions = getattr(X, "ndim", None)  # a Delayed has every attribute, and none that can be compared
    if not isinstance(dimensions, int) or dimensions != 2:
        raise InputError(
            f"X is a {type(X).__name__}, expected a Dask array of shape (n, d) or a Dask data frame; make one with "
            "dask.array.from_delayed, or reshape it."
        )


def _of_rows(layout: Layout, counts: Array) -> tuple[Layout, NDArray[np.intp]]:
    """Return the layout with cells of rows instead of cells of keys, and the cell of every key."""
    cells = layout.cells
    cell = cells.of_rows
    sizes = np.bincount(cell, counts, minlength=cells.count)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    far = Cells(np.empty(0, dtype=np.intp), offsets, cells.weight, None, None)
    return replace(layout, cells=far), cell
