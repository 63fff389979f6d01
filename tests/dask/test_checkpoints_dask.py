"""Checkpoints of rows on Dask: wherever they are kept, from either side, and after all workers are lost."""

from __future__ import annotations

import gc
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairfront as ff
from fairfront.exceptions import FairfrontError
from fairfront.problems import LinearProblem
from fairfront.storage.checkpoints import read_checkpoint
from tests.support.killed_runs import collect_states, digest_of, rows
from tests.support.waiting import PATIENCE

dask = pytest.importorskip("dask", reason="the extra dask is not installed")
da = pytest.importorskip("dask.array")


def far_rows(chunk: int = 200) -> dict[str, Any]:
    X, y, group = rows(600, 5)
    parts = {"X": X, "y": y, "sensitive_features": (group == "b").astype(int)}
    return {name: da.from_array(part, chunks=(chunk, *part.shape[1:])) for name, part in parts.items()}


SOLVERS: dict[str, dict[str, Any]] = {"newton": {"n_points": 5}, "pb_pdo": {"preferences": 3, "solver": "pb_pdo"}}


@pytest.mark.slow
@pytest.mark.parametrize("keep", ["memory", "disk", "source"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_dask_runs_go_on(solver: str, keep: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every state leads to the same end, and the same data in memory go on from it too."""
    states = collect_states(monkeypatch)
    path, X = tmp_path / "run.checkpoint", rows(600, 5)[0]
    settings: dict[str, Any] = {**SOLVERS[solver], "checkpoint": path, "progress": False}
    known = {"fairfront.small_bytes": 0, "fairfront.keep": keep, "scheduler": "sync"}
    with dask.config.set({**known, "temporary_directory": str(tmp_path)}):
        whole = ff.trace(**far_rows(), **settings)
        made = list(dict.fromkeys(states))
        for state in made[:: max(1, len(made) // 3)]:
            path.write_bytes(state)
            assert digest_of(ff.trace(**far_rows(), resume=True, **settings), X) == digest_of(whole, X)
    path.write_bytes(made[len(made) // 2])
    near = {name: part.compute(scheduler="sync") for name, part in far_rows().items()}
    front = ff.trace(**near, resume=True, **settings)
    np.testing.assert_allclose(front.objectives, whole.objectives, rtol=1e-6, atol=1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # sockets and processes of workers that were killed
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_losing_all_workers_leaves_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    from test_dask_faults import worker

    settings: dict[str, Any] = {"n_points": 4, "progress": False}
    kept: dict[str, Any] = {**settings, "checkpoint": tmp_path / "run.checkpoint", "resume": True}
    X, calls, cells, workers = rows(600, 5)[0], [0], LinearProblem.cells, []
    quiet = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": logging.CRITICAL}

    def started() -> None:
        workers.append(worker(cluster.scheduler_address, tmp_path))
        client.wait_for_workers(1, timeout=PATIENCE)

    def loses(self: LinearProblem, W: np.ndarray) -> Any:
        calls[0] += 1
        if calls[0] == 8:
            workers[0].kill()
            workers[0].wait()
        return cells(self, W)

    with (
        dask.config.set({"fairfront.small_bytes": 0, "fairfront.patience": 1.0}),
        distributed.LocalCluster(n_workers=0, **quiet) as cluster,
        distributed.Client(cluster) as client,
    ):
        try:
            started()
            whole = ff.trace(**far_rows(), **settings)
            with monkeypatch.context() as patch:
                patch.setattr(LinearProblem, "cells", loses)
                with pytest.raises(FairfrontError, match="workers"):
                    ff.trace(**far_rows(), **kept)
            assert read_checkpoint(kept["checkpoint"])[1]
            started()
            assert digest_of(ff.trace(**far_rows(), **kept), X) == digest_of(whole, X)
        finally:
            for process in workers:
                process.kill()
                process.wait()
    gc.collect()  # what the dead left unclosed is complained of here, not in another test
