"""Linear models on Dask: rows stay with the workers, each pass sends weights out and brings sums back."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import numpy as np

from ...exceptions import InputError
from ...objectives import Array, Cells, GroupProbabilities, Objectives, Question
from ...objectives.question import check_targets
from ...validation import is_dask
from ...validation.inputs import as_columns, check_labels
from ..design import Frame
from ..linear import LinearProblem
from ..pieces import feature_names
from .partition import DaskRows, Plan, prepared, side
from .passes import DaskSettings, aligned_blocks, computed_over, require_dask
from .scan import Scan, scan

LOG = logging.getLogger("fairfront")
KEPT_BYTES = 4e9
"""Prepared rows, as double precision, up to which this machine keeps them in memory between passes."""
SIDE_BYTES = 17
"""Most bytes of a row without its features: a key, a target and a weight."""


class DaskProblem(LinearProblem):
    """Cells of a linear model on Dask collections; the same interface and numbers as in memory."""

    rows: DaskRows

    @property
    def passes(self) -> int:
        return self.rows.passes


def refuse_collections(shell: Any, *given: Any) -> None:
    """Refuse rows that scikit-learn's checks would bring to memory without a word."""
    if any(map(is_dask, given)):
        raise InputError(
            f"{type(shell).__name__} fits to data in memory, found Dask collections; use ff.trace, which leaves rows "
            "where they are, or give it X.compute()."
        )


def _laid_rows(keep: str, blocks: Sequence[tuple[Any, ...]], plan: Plan, seen: Scan, squares: Array) -> DaskRows:
    """Let Dask persist the prepared rows, or read them where they come from at every pass."""
    dask = require_dask()
    call, known = dask.delayed(side, pure=False), dask.delayed(plan, traverse=False)
    parts = [(block[0], call(*block[1:], known), known) for block in blocks]
    if keep == "memory" or (keep == "auto" and (seen.nbytes <= KEPT_BYTES or _on_cluster())):
        kept = dask.persist(*(dask.delayed(prepared, pure=False)(*part) for part in parts))
        return DaskRows([(piece,) for piece in kept], seen.rows, squares, eager=False)
    if SIDE_BYTES * seen.rows <= KEPT_BYTES:
        sides = dask.persist(*(each for _, each, _ in parts))
        parts = [(x, each, known) for (x, _, _), each in zip(parts, sides, strict=True)]
    return DaskRows(parts, seen.rows, squares, eager=True)


def _on_cluster() -> bool:
    """Tell whether Dask computes with the workers of a client, which spill what they persist."""
    distributed, scheduler = sys.modules.get("distributed"), require_dask().config.get("scheduler", None)
    if distributed is None or scheduler not in (None, "distributed", "dask.distributed"):
        return False
    try:
        distributed.default_client()
    except ValueError:  # there is none
        return False
    return True


def dask_problem(question: Question, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> DaskProblem | None:
    """Ask a question of Dask collections, of which all partitions are looked at once.

    It is asked of a table of keys, the combinations of label and groups, instead of rows; the labels of a regression
    are zeros there: values stay with the workers. None where the data are so small that they are better read to memory.
    """
    _check_kinds(X, y, sensitive_features, sample_weight)
    settings, regression = DaskSettings.current(), question.task == "regression"
    blocks = aligned_blocks(X, y, sensitive_features, sample_weight)
    scans = ((i, *block, regression) for i, block in enumerate(blocks))
    seen: Scan = computed_over(scans, scan, partial(reduce, Scan.joined))
    if seen.fault:
        raise InputError(seen.fault)
    if seen.moments is None:
        raise InputError("X has 0 rows that count, expected at least one sample with a weight above 0.")
    if seen.target is not None:
        check_targets(float(seen.target.size[0]), float(seen.target.high[0] - seen.target.low[0]))
    size = 8.0 * seen.rows * seen.columns
    if size <= settings.small_bytes:
        LOG.info("%d rows x %d columns (%.0f MB): brought to memory", seen.rows, seen.columns, size / 1e6)
        return None
    tally, keys = seen.tally, seen.tally.keys
    labels = np.zeros(len(keys))
    if not regression:
        labels = check_labels(np.array([key[0] for key in keys], dtype=object), len(keys))
    objectives = Objectives.of(question, labels, tally.groups, tally.weight, tally.counts)
    near = objectives.layout.cells  # of keys, which become cells of rows
    cell, nowhere = near.of_rows, np.empty(0, dtype=np.intp)
    sizes = np.bincount(cell, tally.counts, minlength=near.count)
    far = Cells(nowhere, np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp), near.weight, None)
    frame = Frame.of(seen.moments, question.fit_intercept)
    keyed = {key: i for i, key in enumerate(keys)}
    plan = Plan(keyed, np.append(cell, near.count), objectives.targets, near.weight, regression, not seen.unit, frame)
    rows = _laid_rows(settings.keep, blocks, plan, seen, frame.squares(seen.moments))
    elsewhere = replace(objectives, layout=replace(objectives.layout, cells=far), targets=np.empty(0))
    if seen.target is not None:
        rows.target_mean = float(seen.target.mean[0])
        rows.target_variance = float(seen.target.squared[0]) / seen.rows
    return DaskProblem(rows, elsewhere, frame, feature_names(X))


def brought(*collections: Any) -> tuple[Any, ...]:
    far = [each for each in collections if is_dask(each)]
    found = iter(require_dask().compute(far)[0])
    return tuple(next(found) if is_dask(each) else each for each in collections)


def _check_kinds(X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> None:
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
