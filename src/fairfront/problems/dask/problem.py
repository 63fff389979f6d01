"""Linear models on Dask: rows stay with the workers, each pass sends weights out and brings sums back."""

from __future__ import annotations

import logging
import shutil
import tempfile
import time
import warnings
import weakref
from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np

from ...exceptions import FairfrontWarning, InputError
from ...objectives import Array, Cells, GroupProbabilities, Objectives, Question
from ...objectives.question import check_targets
from ...validation import is_dask
from ...validation.inputs import as_columns, check_labels
from ..design import Frame
from ..linear import LinearProblem
from ..pieces import feature_names
from ..resources import GIGABYTE
from .folds import Source
from .partition import DaskRows, Plan, SpoolError, prepared, side, spooled
from .passes import DaskSettings, Runner, aligned_blocks, row_counts
from .scan import Scan, scan

LOG = logging.getLogger("fairfront")
DISK_SHARE = 0.8
"""Share of the free space of a disk that prepared rows may take."""
TRIES, PAUSE = 200, 0.01
"""How often a folder is removed in which files still appear, and the seconds between."""


class DaskProblem(LinearProblem):
    """Cells of a linear model on Dask collections; the same interface and numbers as in memory."""

    rows: DaskRows
    source: Source

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


def _laid_rows(runner: Runner, blocks: Sequence[tuple[Any, ...]], plan: Plan, seen: Scan, squares: Array) -> DaskRows:
    """Keep the rows where the settings say and they fit: in memory, on this machine's disk, or where they come from."""
    settings, call, known = runner.settings, runner.delayed(side), runner.dask.delayed(plan, traverse=False)
    sides = [call(*block[1:], known, mark) for block, mark in zip(blocks, seen.digests, strict=True)]
    parts = [(block[0], each, known) for block, each in zip(blocks, sides, strict=True)]
    room = settings.memory_share * runner.memory()
    if settings.keep == "memory" or (settings.keep == "auto" and seen.nbytes <= room):
        kept = runner.kept([runner.delayed(prepared)(*part) for part in parts])
        return DaskRows(runner, [(piece,) for piece in kept], seen.rows, squares, eager=False)
    if settings.keep != "source":
        why = _no_files(runner, seen)
        try:
            if not why:
                return _on_disk(runner, parts, seen.rows, squares)
        except SpoolError as error:
            if settings.keep == "disk":
                raise
            why = str(error)
        said = f"rows are read from where they come from at every pass, because {why}"
        if settings.keep == "disk":
            warnings.warn(f"fairfront.keep is 'disk', but {said}", FairfrontWarning, stacklevel=2)
        else:
            LOG.info(said)
    if 17 * seen.rows <= room:  # at most a key, a target and a weight per row
        parts = [(x, each, known) for (x, _, _), each in zip(parts, runner.kept(sides), strict=True)]
    return DaskRows(runner, parts, seen.rows, squares, eager=True)


def _on_disk(runner: Runner, parts: Sequence[tuple[Any, ...]], n: int, squares: Array) -> DaskRows:
    """Write the rows to a folder that goes when they go, or with what keeps them from being written."""
    folder = tempfile.mkdtemp(prefix="fairfront-", dir=_temporary_folder(runner.dask.config))
    call = runner.delayed(spooled)
    try:
        kept = runner.kept([call(*part, str(Path(folder) / str(i))) for i, part in enumerate(parts)])
    except BaseException:
        _remove(folder)
        raise
    rows = DaskRows(runner, [(piece,) for piece in kept], n, squares, eager=False)
    weakref.finalize(rows, shutil.rmtree, folder, ignore_errors=True)
    return rows


def _temporary_folder(config: Any) -> str:
    """Return the folder that Dask is told to use for what is temporary, or the system's; refuse one that is not."""
    folder = config.get("temporary_directory", None) or tempfile.gettempdir()
    try:
        with tempfile.TemporaryFile(dir=folder):
            return str(folder)
    except (OSError, TypeError) as error:
        raise InputError(
            f"Dask's temporary_directory is {folder!r}, expected a folder that can be written to ({error}); make "
            "it, or set another."
        ) from error


def _remove(folder: str) -> None:
    """Remove a folder into which threads may still be writing; once it is gone, they cannot open files in it."""
    for _ in range(TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not Path(folder).exists():
            return
        time.sleep(PAUSE)


def _no_files(runner: Runner, seen: Scan) -> str:
    """Return why rows cannot go to files of this machine and what helps, "" where they can."""
    if runner.client is not None:
        return "files are for one machine, found a cluster; set fairfront.keep to 'auto', or close the client."
    if seen.sparse:
        return "files are for arrays, found sparse matrices; set fairfront.keep to 'auto', or make them arrays."
    folder = _temporary_folder(runner.dask.config)
    free = shutil.disk_usage(folder).free
    if seen.nbytes <= DISK_SHARE * free:
        return ""
    return (
        f"they take up to {seen.nbytes / GIGABYTE:.3g} GB, expected at most {DISK_SHARE:.0%} of the disk's free space, "
        f"found {free / GIGABYTE:.3g} GB free in {folder}; free some, or set another temporary_directory of Dask."
    )


def dask_problem(question: Question, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> DaskProblem | None:
    """Ask a question of Dask collections, of which all partitions are looked at once.

    It is asked of a table of keys, the combinations of label and groups, instead of rows; the labels of a regression
    are zeros there: values stay with the workers. None where the data are so small that they are better read to memory.
    """
    _check_kinds(X, y, sensitive_features, sample_weight)
    runner, regression = Runner(DaskSettings.current()), question.task == "regression"
    blocks = aligned_blocks(X, y, sensitive_features, sample_weight)
    scans = ((i, *block, regression) for i, block in enumerate(blocks))
    seen: Scan = runner.over(scans, scan, partial(reduce, Scan.joined))
    if seen.fault:
        raise InputError(seen.fault)
    if seen.moments is None:
        raise InputError("X has 0 rows that count, expected at least one sample with a weight above 0.")
    if seen.target is not None:
        check_targets(float(seen.target.size[0]), float(seen.target.high[0] - seen.target.low[0]))
    size = 8.0 * seen.rows * seen.columns
    if size <= runner.settings.small_bytes:
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
    far = Cells(nowhere, np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp), near.weight, None, None)
    frame = Frame.of(seen.moments, question.fit_intercept)
    keyed = {key: i for i, key in enumerate(keys)}
    plan = Plan(keyed, np.append(cell, near.count), objectives.targets, near.weight, regression, not seen.unit, frame)
    rows = _laid_rows(runner, blocks, plan, seen, frame.squares(seen.moments))
    elsewhere = replace(objectives, layout=replace(objectives.layout, cells=far), targets=np.empty(0))
    if seen.target is not None:
        rows.target_variance = float(seen.target.squared[0]) / seen.rows
    problem = DaskProblem(rows, elsewhere, frame, feature_names(X))
    problem.source = Source(runner, blocks, plan, seen.digests, row_counts(X))
    return problem


def brought(*collections: Any) -> tuple[Any, ...]:
    far = [each for each in collections if is_dask(each)]
    found = iter(Runner(DaskSettings.current()).brought(far))
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
