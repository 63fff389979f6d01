"""A Parquet file larger than memory: peak memory and time of `trace_table` in parts and in memory.

python -m benchmarks.out_of_core [rows] [gigabytes]

Every figure comes from a fresh process. ``gigabytes`` is the memory that the run in parts is told it has.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from .report import table, write_section

ROWS, MEMORY = 10_000_000, 1.0
STEP = 500_000
REGIONS = np.array([f"region {i}" for i in range(12)])
JOBS = np.array([f"job {i}" for i in range(20)])


def write_file(path: Path, rows: int) -> None:
    """Write made-up people: ten numbers, three categories, two groups, a label; half a million rows per group."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    writer = None
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


def measure(path: str) -> tuple[float, float, float, float]:
    """Return seconds of preparing and in all, peak memory in GB, and the smallest loss."""
    from fairfront.runs.preparing import prepare
    from fairfront.runs.settings import Settings
    from fairfront.runs.tracing_tables import run_of
    from fairfront.tables import open_source

    settings = Settings(target="label", favourable="yes", groups=("group", "sex"), n_points=6, stability=0, min_size=30)
    start = time.perf_counter()
    ready = prepare(open_source(path), settings, False)
    prepared = time.perf_counter() - start
    run = run_of(path, settings, False, prepared=ready)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return prepared, time.perf_counter() - start, peak, float(run.frontier.loss.min())


def main(rows: int = ROWS, gigabytes: float = MEMORY) -> None:
    """Measure both ways in processes of their own and write the section."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        write_file(path, rows)
        for name, memory in (("in parts", str(gigabytes)), ("in memory", "1000")):
            code = f"from benchmarks.out_of_core import measure; print(*measure({str(path)!r}))"
            done = subprocess.run(
                [sys.executable, "-c", code],
                env=os.environ | {"FAIRFRONT_MEMORY": memory},
                capture_output=True,
                text=True,
                check=True,
            )
            prepared, seconds, peak, loss = map(float, done.stdout.split())
            lines.append([name, f"{prepared:.1f} s", f"{seconds:.1f} s", f"{1e6 * seconds / rows:.2f} us",
                          f"{peak:.2f} GB", f"{loss:.9f}"])  # fmt: skip
        size = path.stat().st_size / 1e9
    many = f"{rows:,}".replace(",", " ")
    body = (
        f"Synthetic people, {many} rows and 16 columns ({size:.2f} GB of Parquet), two group columns, 6 solved points; "
        "validation and test are judged. Peak memory is the whole process's.\n\n"
    )
    head = ["", "preparing", "in all", "time per row", "peak memory", "smallest loss"]
    command = f"python -m benchmarks.out_of_core {rows} {gigabytes:g}"
    write_section("scale", "Larger than memory", command, body + table(head, lines))


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int(given[0]) if given else ROWS, float(given[1]) if len(given) > 1 else MEMORY)
