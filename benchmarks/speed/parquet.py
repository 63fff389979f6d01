"""A Parquet file larger than memory: peak memory and time of a run in parts and in memory."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from ..report import Section, Table, thousands
from .process import apart, peak

ROWS = 10_000_000
STEP = 500_000
REGIONS = np.array([f"region {i}" for i in range(12)])
JOBS = np.array([f"job {i}" for i in range(20)])


def write_file(path: Path, rows: int) -> None:
    """Write made-up people: ten numbers, three categories, two groups, a label; half a million rows per row group."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, writer = np.random.default_rng(0), None
    for start in range(0, rows, STEP):
        n = min(STEP, rows - start)
        numbers = rng.normal(size=(10, n))
        group = np.where(rng.random(n) < 0.3, "B", "A")
        latent = numbers[0] - 0.5 * numbers[1] + 0.5 * (group == "B") + rng.logistic(size=n)
        columns = {f"x{j}": numbers[j] for j in range(10)}
        columns |= {"region": rng.choice(REGIONS, n), "job": rng.choice(JOBS, n), "flag": rng.random(n) < 0.2}
        columns |= {"group": group, "sex": rng.choice(["f", "m"], n), "label": np.where(latent > 0, "yes", "no")}
        batch = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, batch.schema)
        writer.write_table(batch)
    assert writer is not None
    writer.close()


def measure(path: str, in_memory: float) -> dict[str, float]:
    """Return seconds of preparing and in all, peak memory, and the smallest loss; larger tables are read in parts."""
    from fairfront.runs import preparation
    from fairfront.runs.pipeline import run_of
    from fairfront.runs.settings import Settings

    preparation.IN_MEMORY = in_memory
    settings = Settings(target="label", favourable="yes", groups=("group", "sex"), n_points=6, min_size=30)
    read: list[float] = []
    start = time.perf_counter()
    run = run_of(path, settings, False, on_read=lambda _: read.append(time.perf_counter() - start))
    seconds = time.perf_counter() - start
    return {"prepared": read[0], "seconds": seconds, "peak": peak(), "loss": float(run.frontier.loss.min())}


def sections(quick: bool) -> list[Section]:
    """Measure both ways in processes of their own."""
    rows, lines = 20_000 if quick else ROWS, []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        write_file(path, rows)
        for name, in_memory in (("in parts", 0.0), ("in memory", 1e15)):
            found = apart(measure, str(path), in_memory)
            lines.append([name, f"{found['prepared']:.1f} s", f"{found['seconds']:.1f} s",
                          f"{1e6 * found['seconds'] / rows:.2f} us", f"{found['peak'] / 1e9:.2f} GB",
                          f"{found['loss']:.9f}"])  # fmt: skip
        size = path.stat().st_size / 1e9
    text = (
        f"Synthetic people, {thousands(rows)} rows and 16 columns ({size:.2f} GB of Parquet), two group columns, 6 solved "
        "points; validation and test are judged. Peak memory is the whole process's."
    )
    head = ["", "preparing", "in all", "time per row", "peak memory", "smallest loss"]
    return [Section("scale", "Larger than memory", [text, Table(head, lines)])]
