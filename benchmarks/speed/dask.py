"""Dask: strong scaling, data larger than memory, and the model of passes x bytes x workers.

It takes about 30 minutes. Every measurement has a process of its own.
"""

from __future__ import annotations

import tempfile
from typing import Any

from ..report import Section, Table, thousands
from . import dask_parts
from .process import apart

REPEATS = 2
"""Whatever is compared is measured this often, in turn; the shortest time is the least disturbed one."""


def measured(function: str, *arguments: Any, threads: int = 1, blas: int = 1) -> dict[str, Any]:
    """Call a function of `dask_parts` in a fresh process, partitions in so many threads."""
    limits = {"OPENBLAS_NUM_THREADS": str(blas), "OMP_NUM_THREADS": str(blas), "DASK_NUM_WORKERS": str(threads)}
    return dict(apart(getattr(dask_parts, function), *arguments, **limits))


def shortest(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the measurement of the shortest time."""
    return min(found, key=lambda each: float(each["seconds"]))


def scaling(rows: int) -> Section:
    """One and two workers of one thread each, rows kept in their memory."""
    turns = [{n: (measured("on_cluster", rows, n), measured("alone", n)) for n in (1, 2)} for _ in range(REPEATS)]
    found = {workers: shortest([turn[workers][0] for turn in turns]) for workers in (1, 2)}
    ratio = found[1]["seconds"] / found[2]["seconds"]
    alone = {n: shortest([turn[n][1] for turn in turns])["seconds"] for n in (1, 2)}
    lines = [
        [
            workers,
            f"{f['seconds']:.1f} s",
            f["passes"],
            f"{1e3 * f['seconds'] / f['passes']:.0f} ms",
            f["loss"] == found[1]["loss"],
        ]
        for workers, f in found.items()
    ]
    text = (
        f"{thousands(rows)} rows x 50, 12 points, 40 partitions, processes of one thread, data kept in the workers' memory: two workers "
        f"are **{ratio:.2f} times** as fast as one (bar: 1.5). Shortest of {REPEATS} turns. Two processes that share nothing, each "
        f"with the same products of its own rows, did {2 * alone[1] / alone[2]:.2f} times the work of one in the same minutes."
    )
    made = Table(["workers", "time", "passes", "per pass", "same bytes as one worker"], lines)
    return Section(
        "scale", "Dask: one and two workers", [text, made], f"Two workers are {ratio:.2f} times as fast as one."
    )


def beyond_memory(rows: int, folder: str) -> Section:
    """Parquet on one machine without a cluster, read at every pass, against the in-memory path."""
    written = measured("written", rows, folder)
    turns = []
    for _ in range(REPEATS):
        inside = shortest([measured("in_memory", rows, folder, threads=n, blas=n) for n in (1, 2)])
        turns.append((inside, measured("out_of_core", rows, folder, "source", threads=2)))
    near, far = (shortest(list(each)) for each in zip(*turns, strict=True))
    ratio = far["seconds"] / near["seconds"]
    lines = [
        [what, thousands(rows), f"{f['seconds']:.0f} s", f["passes"] or "", f"{1e6 * f['seconds'] / rows:.2f} us",
         f"{f['seconds'] / near['seconds']:.2f}", f"{f['peak'] / 1e9:.2f} GB"]
        for what, f in (("in memory", near), ("Parquet at every pass", far))
    ]  # fmt: skip
    text = (
        f"{thousands(rows)} rows x 50 in Parquet ({written['bytes'] / 1e9:.1f} GB, float32, {written['files']} files; "
        f"{8 * 51 * rows / 1e9:.1f} GB as double precision), 12 points, Dask's local scheduler with 2 threads: "
        f"**{ratio:.2f} times** the time per row of the in-memory path with 1 or 2 BLAS threads, whichever is faster, peak memory of the "
        f"process **{far['peak'] / 1e9:.2f} GB** (bar: 2). Times hold everything from opening the files to the frontier; shortest "
        f"of {REPEATS} turns."
    )
    made = Table(["path", "rows", "time", "passes", "per row", "ratio", "peak memory"], lines)
    summary = (
        f"{thousands(rows)} rows read from Parquet at every pass take {ratio:.2f} times the time of the path in memory, with a peak of "
        f"{far['peak'] / 1e9:.2f} GB."
    )
    return Section("scale", "Dask: data larger than memory", [text, made], summary)


def model(rows: int, folder: str) -> Section:
    """Costs per row and per partition, and what they predict for a size that was not used to find them."""
    few, lines = rows // 4, []
    whole, split = (measured("one_pass", few, folder, "memory", n, threads=2) for n in (1, 16))
    per_part = max(split["seconds"] - whole["seconds"], 0.0) / (split["parts"] - whole["parts"])
    far = measured("one_empty_pass", 400)
    for keep in ("memory", "source"):
        small, large = (measured("one_pass", n, folder, keep, threads=2) for n in (few, rows))
        per_row = (small["seconds"] - per_part * small["parts"]) / few
        said = per_row * rows + per_part * large["parts"]
        lines.append([keep, f"{1e9 * per_row:.0f} ns", f"{said:.2f} s", f"{large['seconds']:.2f} s",
                      f"{large['seconds'] / said:.2f}"])  # fmt: skip
    text = (
        f"Seconds of one pass (values and gradients; Hessians too where rows are read anew) = rows x cost per row + "
        f"partitions x cost per partition. Costs are found on {thousands(few)} rows x 50 with 2 threads and foretell "
        f"{thousands(rows)} rows. A partition costs {1e3 * per_part:.2f} ms on the local scheduler and "
        f"{1e3 * far['seconds'] / far['parts']:.2f} ms on two workers of a `LocalCluster` (400 partitions of 100 rows)."
    )
    made = Table(["rows kept in", "per row", "foretold", "measured", "measured / foretold"], lines)
    return Section("scale", "Dask: what a pass costs", [text, made])


def sections(quick: bool) -> list[Section]:
    """Measure all; a quick try has a hundredth of the rows."""
    rows, wide = (100_000, 50_000) if quick else (1_000_000, 4_000_000)
    with tempfile.TemporaryDirectory(prefix="fairfront-scale-") as folder:
        return [beyond_memory(rows, folder), scaling(wide), model(rows, folder)]
