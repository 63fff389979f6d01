"""Reading Dask collections: the labels, groups and weights of all rows as a small table, and the problem on them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...exceptions import InputError
from ...objectives import Algebra, Array, Cells, GroupProbabilities, Layout, Loss, Task
from ...validation import as_columns, check_labels, find_classes, is_dask
from ..frame import Frame
from ..units import check_targets
from .looking import Seen, look, together
from .parts import Plan
from .passes import aligned_blocks
from .problem import DaskProblem, laid_rows
from .running import DaskSettings, Runner
from .tallying import Key

LOG = logging.getLogger("fairfront")


@dataclass(frozen=True, eq=False)
class FarData:
    """Data on Dask: a table of keys, the combinations of label and groups, instead of rows.

    ``weight`` (keys,) are sums of sample weights, ``counts`` (keys,) numbers of rows.
    """

    runner: Runner
    blocks: Sequence[tuple[Any, ...]]
    seen: Seen
    keys: tuple[Key, ...]
    regression: bool

    @property
    def labels(self) -> NDArray[Any]:
        """Return the label of every key; zeros for regression, whose values stay with the workers."""
        if self.regression:
            return np.zeros(len(self.keys))
        return check_labels(np.array([key[0] for key in self.keys], dtype=object), len(self.keys))

    @property
    def groups(self) -> dict[str, NDArray[Any]]:
        """Return the columns of groups, one entry per key."""
        return self.seen.tally.groups

    @property
    def weight(self) -> Array:
        """Return the sum of sample weights of every key."""
        return self.seen.tally.weight

    @property
    def counts(self) -> Array:
        """Return the number of rows of every key."""
        return self.seen.tally.counts

    def classes(self) -> tuple[list[Any], NDArray[np.intp]]:
        """Return the classes and the class of every key."""
        labels = self.labels
        repeated = np.tile(labels, 3)  # a table with as many classes as entries would look like a regression's
        classes, codes = find_classes(repeated)
        return classes, codes[: len(labels)]

    def problem(
        self, task: Task, codes: NDArray[Any], loss: Loss, layout: Layout, algebra: Algebra, fit_intercept: bool
    ) -> DaskProblem:
        """Lay the model on the rows; ``layout`` is that of the keys."""
        far, cell = _of_rows(layout, self.counts)
        target = task.targets(codes)
        keys = {key: i for i, key in enumerate(self.keys)}
        assert self.seen.moments is not None
        frame = Frame.of(self.seen.moments, fit_intercept)
        plan = Plan(
            keys, np.append(cell, far.cells.count), target, far.cells.weight, self.regression, not self.seen.unit,
            fit_intercept, frame,
        )  # fmt: skip
        rows = laid_rows(self.runner, self.blocks, plan, self.seen, frame.squares(self.seen.moments))
        variance = self.seen.spread / self.seen.rows
        return DaskProblem(rows, variance, task, loss, far, algebra, fit_intercept, frame)


def far_data(X: Any, y: Any, sensitive_features: Any, sample_weight: Any, regression: bool) -> FarData | None:
    """Look at all partitions once; return None where the data are so small that they are better read to memory."""
    _check_kinds(X, y, sensitive_features, sample_weight)
    settings = DaskSettings.current()
    runner = Runner(settings)
    blocks = aligned_blocks(X, y, sensitive_features, sample_weight)
    seen: Seen = runner.over(((i, *block, regression) for i, block in enumerate(blocks)), look, together)
    if seen.fault:
        raise InputError(seen.fault)
    if not seen.rows:
        raise InputError("X has 0 rows that count, expected at least one sample with a weight above 0.")
    if regression:
        apart = 4.0 * float(np.sqrt(seen.spread / seen.rows))
        check_targets(abs(seen.mean) + apart, apart)
    size = 8.0 * seen.rows * seen.columns
    if size <= settings.small_bytes:
        LOG.info("%d rows x %d columns (%.0f MB): brought to memory", seen.rows, seen.columns, size / 1e6)
        return None
    return FarData(runner, blocks, seen, seen.tally.keys, regression)


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
