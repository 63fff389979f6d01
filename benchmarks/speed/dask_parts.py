"""What `benchmarks.speed.dask` measures, each function in a process of its own."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from ..cases import synthetic
from .process import peak

COLUMNS = 50
NAMES = [f"x{j}" for j in range(COLUMNS)]
PART = 100_000
"""Rows of one file."""
POINTS = 12


def drawn(seed: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features (float32), labels and groups of which all points of the frontier are certified."""
    rows = synthetic(n, COLUMNS, seed=seed)
    return rows.X.astype(np.float32), rows.y.astype(np.int8), rows.groups.astype(np.int8)


def written(rows: int, folder: str) -> dict[str, Any]:
    """Write the rows to Parquet, one file at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    size = min(PART, rows // 8)
    for i in range(rows // size):
        X, y, group = drawn(i, size)
        columns = {name: X[:, j] for j, name in enumerate(NAMES)}
        path = Path(folder) / f"{i:05d}.parquet"
        pq.write_table(pa.table({**columns, "y": y, "group": group}), path, compression="NONE", use_dictionary=False)
    files = list(Path(folder).glob("*.parquet"))
    return {"files": len(files), "bytes": sum(f.stat().st_size for f in files)}


def opened(rows: int, folder: str, split: int = 1) -> Any:
    """Return the first rows as a Dask data frame, its partitions split further if asked for."""
    import dask.dataframe as dd
    import pyarrow.parquet as pq

    files = sorted(Path(folder).glob("*.parquet"))
    each = pq.ParquetFile(files[0]).metadata.num_rows
    frame = dd.read_parquet([str(path) for path in files[: max(1, rows // each)]])
    return frame if split == 1 else frame.repartition(npartitions=split * frame.npartitions)


def in_memory(rows: int, folder: str) -> dict[str, Any]:
    """Trace the first rows in memory."""
    import fairfront as ff

    start = time.perf_counter()
    frame = opened(rows, folder).compute()
    front = ff.trace(frame[NAMES], frame["y"], sensitive_features=frame["group"], n_points=POINTS, progress=False)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "passes": 0, "peak": peak(), "loss": front.loss.tolist()}


def out_of_core(rows: int, folder: str, keep: str) -> dict[str, Any]:
    """Trace from Parquet with Dask's local scheduler."""
    import dask

    import fairfront as ff
    from fairfront.tracing import trace_problem

    start = time.perf_counter()
    frame = opened(rows, folder)
    with dask.config.set({"fairfront.keep": keep, "fairfront.small_bytes": 0}):
        problem = ff.linear_problem(frame[NAMES], frame["y"], sensitive_features=frame["group"])
        front = trace_problem(problem, "newton", n_points=POINTS, progress=False)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "passes": problem.passes, "peak": peak(), "loss": front.loss.tolist()}


def seconds_of_a_pass(problem: Any) -> float:
    """Return the median seconds of five passes, after one that warms up."""
    rng, seconds = np.random.default_rng(0), []
    for _ in range(6):
        W = rng.normal(scale=0.1, size=(1, 1, problem.d))
        start = time.perf_counter()
        problem.cells(W)
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds[1:]))


def one_pass(rows: int, folder: str, keep: str, split: int = 1) -> dict[str, Any]:
    """Measure one pass over rows from Parquet on the local scheduler."""
    import dask

    import fairfront as ff

    frame = opened(rows, folder, split)
    with dask.config.set({"fairfront.keep": keep, "fairfront.small_bytes": 0}):
        problem = ff.linear_problem(frame[NAMES], frame["y"], sensitive_features=frame["group"])
    return {"seconds": seconds_of_a_pass(problem), "parts": len(problem.rows.parts)}


def one_empty_pass(parts: int) -> dict[str, Any]:
    """Measure one pass over next to nothing on two workers: what tasks cost."""
    import dask
    from distributed import Client, LocalCluster

    import fairfront as ff

    X, y, group = blocks(100 * parts, 100)
    with dask.config.set({"fairfront.small_bytes": 0}), LocalCluster(n_workers=2, **ONE) as cluster, Client(cluster):
        problem = ff.linear_problem(X, y, sensitive_features=group)
        return {"seconds": seconds_of_a_pass(problem), "parts": parts}


ONE: dict[str, Any] = {"threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
"""Workers of one thread on the loopback."""


def _block(block: np.ndarray, which: int, block_id: tuple[int, ...] = (0,)) -> np.ndarray:
    return drawn(block_id[0], len(block))[which]


def blocks(rows: int, size: int) -> tuple[Any, Any, Any]:
    """Return features, labels and groups that workers draw themselves, so many rows at a time."""
    import dask.array as da

    sizes = (size,) * (rows // size)
    X = da.zeros((rows, COLUMNS), chunks=(sizes, COLUMNS), dtype=np.float32).map_blocks(_block, 0, dtype=np.float32)
    y, group = (da.zeros(rows, chunks=(sizes,), dtype=np.int8).map_blocks(_block, i, dtype=np.int8) for i in (1, 2))
    return X, y, group


def on_cluster(rows: int, workers: int) -> dict[str, Any]:
    """Trace with so many workers of one thread, rows kept in their memory."""
    import dask
    from distributed import Client, LocalCluster

    import fairfront as ff
    from fairfront.tracing import trace_problem

    X, y, group = blocks(rows, rows // 40)
    with (
        dask.config.set({"fairfront.small_bytes": 0}),
        LocalCluster(n_workers=workers, **ONE) as cluster,
        Client(cluster),
    ):
        problem = ff.linear_problem(X, y, sensitive_features=group)
        start = time.perf_counter()
        front = trace_problem(problem, "newton", n_points=POINTS, progress=False)
        seconds = time.perf_counter() - start
    return {"seconds": seconds, "passes": problem.passes, "loss": front.loss.tolist()}


def _products(seed: int) -> float:
    """Return the seconds of passes over rows of one's own: scores, logistic function, gradient."""
    X = drawn(seed, PART)[0].astype(np.float64)
    w = np.zeros(COLUMNS)
    start = time.perf_counter()
    for _ in range(400):
        w -= 1e-9 * (X.T @ (1.0 / (1.0 + np.exp(-(X @ w)))))
    return time.perf_counter() - start


def alone(copies: int) -> dict[str, Any]:
    """Return the seconds of so many processes at once that share nothing: what the machine itself can do."""
    from multiprocessing import Pool

    with Pool(copies) as pool:
        return {"seconds": max(pool.map(_products, range(copies)))}
