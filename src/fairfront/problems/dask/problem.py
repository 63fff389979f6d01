"""Linear models on Dask: rows stay with the workers, each pass sends weights out and brings sums back."""

from __future__ import annotations

import logging
import shutil
import tempfile
import time
import warnings
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from ...exceptions import FairfrontWarning, InputError
from ...objectives import Array, Objectives
from ...validation import is_dask
from ..frame import Frame
from ..linear import LinearProblem
from ..memory import GIGABYTE
from .looking import Seen
from .parts import Plan, prepared, side
from .rows import DaskRows
from .running import Runner
from .spooling import SpoolError, spooled, temporary_folder

LOG = logging.getLogger("fairfront")
DISK_SHARE = 0.8
"""Share of the free space of a disk that prepared rows may take."""
TRIES, PAUSE = 200, 0.01
"""How often a folder is removed in which files still appear, and the seconds between."""


class DaskProblem(LinearProblem):
    """Cells of a linear model on Dask collections; the same interface and numbers as in memory.

    ``passes`` counts the passes over the data so far.
    """

    rows: DaskRows

    def __init__(
        self,
        rows: DaskRows,
        variance: float,
        objectives: Objectives,
        frame: Frame | None = None,
        feature_names: tuple[str, ...] | None = None,
    ) -> None:
        self.variance = variance
        self._put_on(rows, objectives, frame, feature_names)

    @property
    def passes(self) -> int:
        """Return how often all rows were gone through."""
        return self.rows.passes

    def target_variance(self) -> float:
        """Return the variance of the targets of all rows, found when these were first read."""
        return self.variance

    @property
    def targets(self) -> NoReturn:
        """Refuse to give targets, which stay with the workers."""
        refuse_rows()

    @property
    def design(self) -> NoReturn:
        """Refuse to give rows, which stay with the workers."""
        refuse_rows()

    def with_row_weights(self, weight: Array) -> NoReturn:
        """Refuse other weights of rows, which stay with the workers."""
        refuse_rows()


def refuse_rows() -> NoReturn:
    """Say that rows stay with the workers."""
    raise InputError(
        "this needs all rows in memory, expected arrays or data frames, found Dask collections; "
        "give it a sample of the rows, X.compute(), traced in memory."
    )


def refuse_collections(shell: Any, *given: Any) -> None:
    """Refuse rows that scikit-learn's checks would bring to memory without a word."""
    if any(map(is_dask, given)):
        raise InputError(
            f"{type(shell).__name__} fits to data in memory, found Dask collections; use ff.trace, which leaves rows "
            "where they are, or give it X.compute()."
        )


def laid_rows(runner: Runner, blocks: Sequence[tuple[Any, ...]], plan: Plan, seen: Seen, squares: Array) -> DaskRows:
    """Keep the rows where the settings say and they fit: in memory, on this machine's disk, or where they come from."""
    known, n, place = runner.shared(plan), seen.rows, _place(runner, seen)
    call = runner.delayed(side)
    sides = [call(*block[1:], known, mark) for block, mark in zip(blocks, seen.digests, strict=True)]
    parts = [(block[0], each, known) for block, each in zip(blocks, sides, strict=True)]
    if place == "disk":
        try:
            return _on_disk(runner, parts, n, squares)
        except SpoolError as error:
            if runner.settings.keep == "disk":
                raise
            _tell_source(runner, str(error))
    if place == "memory":
        kept = runner.kept([runner.delayed(prepared)(*part) for part in parts])
        return DaskRows(runner, [(piece,) for piece in kept], n, squares, eager=False)
    if 17 * n <= runner.settings.memory_share * runner.memory():  # at most a key, a target and a weight per row
        parts = [(x, each, known) for (x, _, _), each in zip(parts, runner.kept(sides), strict=True)]
    return DaskRows(runner, parts, n, squares, eager=True)


def _on_disk(runner: Runner, parts: Sequence[tuple[Any, ...]], n: int, squares: Array) -> DaskRows:
    """Write the rows to a folder that goes when they go, or with what keeps them from being written."""
    folder = tempfile.mkdtemp(prefix="fairfront-", dir=temporary_folder(runner.dask.config))
    call = runner.delayed(spooled)
    try:
        kept = runner.kept([call(*part, str(Path(folder) / str(i))) for i, part in enumerate(parts)])
    except BaseException:
        _remove(folder)
        raise
    rows = DaskRows(runner, [(piece,) for piece in kept], n, squares, eager=False)
    weakref.finalize(rows, shutil.rmtree, folder, ignore_errors=True)
    return rows


def _remove(folder: str) -> None:
    """Remove a folder into which threads may still be writing; once it is gone, they cannot open files in it."""
    for _ in range(TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not Path(folder).exists():
            return
        time.sleep(PAUSE)


def _place(runner: Runner, seen: Seen) -> str:
    """Return where the settings want the rows, or else the first place that has room for them."""
    wanted = runner.settings.keep
    if wanted in ("memory", "source"):
        return wanted
    if wanted == "auto" and seen.nbytes <= runner.settings.memory_share * runner.memory():
        return "memory"
    why = _no_files(runner, seen)
    if not why:
        return "disk"
    _tell_source(runner, why)
    return "source"


def _no_files(runner: Runner, seen: Seen) -> str:
    """Return why rows cannot go to files of this machine and what helps, "" where they can."""
    if runner.client is not None:
        return "files are for one machine, found a cluster; set fairfront.keep to 'auto', or close the client."
    if seen.sparse:
        return "files are for arrays, found sparse matrices; set fairfront.keep to 'auto', or make them arrays."
    folder = temporary_folder(runner.dask.config)
    free = shutil.disk_usage(folder).free
    if seen.nbytes <= DISK_SHARE * free:
        return ""
    return (
        f"they take up to {seen.nbytes / GIGABYTE:.3g} GB, expected at most {DISK_SHARE:.0%} of the disk's free space, "
        f"found {free / GIGABYTE:.3g} GB free in {folder}; free some, or set another temporary_directory of Dask."
    )


def _tell_source(runner: Runner, why: str) -> None:
    """Say that every pass reads the source: aloud where files were asked for, else to the log."""
    said = f"rows are read from where they come from at every pass, because {why}"
    if runner.settings.keep == "disk":
        warnings.warn(f"fairfront.keep is 'disk', but {said}", FairfrontWarning, stacklevel=2)
    else:
        LOG.info(said)
