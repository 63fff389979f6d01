"""Linear models on Dask: rows stay with the workers, each pass sends weights out and brings sums back."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..exceptions import InputError
from ..objectives import Algebra, Array, Layout, Loss, Task
from .dask_looking import Seen
from .dask_parts import Plan, prepared, side, spooled
from .dask_rows import DaskRows
from .dask_running import Runner
from .linear import LinearProblem


class FarTargets:
    """What is known of targets that stay with the workers: their variance, which `numpy.var` asks for."""

    def __init__(self, variance: float) -> None:
        self.variance = variance

    def var(self, **_: Any) -> float:
        """Return the variance of the targets of all rows."""
        return self.variance


class DaskProblem(LinearProblem):
    """Cells of a linear model on Dask collections; the same interface and numbers as in memory.

    ``passes`` counts the passes over the data so far.
    """

    rows: DaskRows

    def __init__(
        self,
        rows: DaskRows,
        variance: float,
        task: Task,
        loss: Loss,
        layout: Layout,
        algebra: Algebra,
        fit_intercept: bool = True,
    ) -> None:
        self.variance = variance
        self._lay(rows, task, loss, layout, algebra, fit_intercept)

    @property
    def passes(self) -> int:
        """Return how often all rows were gone through."""
        return self.rows.passes

    @property
    def targets(self) -> Any:
        """Return what is known of the targets: their variance."""
        return FarTargets(self.variance)

    @property
    def design(self) -> Any:
        """Refuse to give rows, which stay with the workers."""
        raise InputError(
            "this needs all rows in memory, expected arrays or data frames, found Dask collections; "
            "give it a sample of the rows, X.compute(), traced in memory."
        )

    def with_row_weights(self, weight: Array) -> DaskProblem:
        """Refuse other weights of rows, which stay with the workers."""
        return self.design  # type: ignore[no-any-return]


def laid_rows(runner: Runner, blocks: Sequence[tuple[Any, ...]], plan: Plan, seen: Seen, squares: Array) -> DaskRows:
    """Keep the rows where the settings say and they fit: in memory, on this machine's disk, or where they come from."""
    known, n, place = runner.shared(plan), seen.rows, _place(runner, seen)
    sides = [runner.delayed(side)(*block[1:], known) for block in blocks]
    if place == "disk":
        folder = tempfile.mkdtemp(prefix="fairfront-", dir=runner.dask.config.get("temporary_directory", None))
        stems = [str(Path(folder) / str(i)) for i in range(len(blocks))]
        call = runner.delayed(spooled)
        try:
            parts = runner.kept([call(b[0], s, known, stem) for b, s, stem in zip(blocks, sides, stems, strict=True)])
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        rows = DaskRows(runner, [(part,) for part in parts], n, squares, eager=False)
        weakref.finalize(rows, shutil.rmtree, folder, ignore_errors=True)
        return rows
    if place == "memory":
        parts = runner.kept([runner.delayed(prepared)(b[0], s, known) for b, s in zip(blocks, sides, strict=True)])
        return DaskRows(runner, [(part,) for part in parts], n, squares, eager=False)
    if 17 * n <= runner.settings.memory_share * runner.memory():  # at most a key, a target and a weight per row
        sides = runner.kept(sides)
    return DaskRows(runner, [(b[0], s, known) for b, s in zip(blocks, sides, strict=True)], n, squares, eager=True)


def _place(runner: Runner, seen: Seen) -> str:
    """Return where the settings want the rows, or else the first place that has room for them."""
    wanted, far = runner.settings.keep, runner.client is not None or seen.sparse  # files are for arrays and one machine
    if wanted in ("memory", "source"):
        return wanted
    if wanted == "auto" and seen.nbytes <= runner.settings.memory_share * runner.memory():
        return "memory"
    folder = runner.dask.config.get("temporary_directory", None) or tempfile.gettempdir()
    return "source" if far or seen.nbytes > 0.8 * shutil.disk_usage(folder).free else "disk"
