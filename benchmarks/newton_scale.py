"""The Newton tracer on many rows: time per row and peak memory, each size in a fresh process.

python -m benchmarks.newton_scale
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import numpy as np

from .report import table, write_section


def measure(n: int, d: int = 50, points: int = 12) -> tuple[float, float, float]:
    """Return seconds, peak memory as a multiple of X, and the largest KKT residual."""
    import fairfront as ff

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    group = np.where(rng.random(n) < 0.3, "B", "A")
    y = (X[:, 0] + 0.5 * (group == "B") + rng.logistic(size=n) > 0).astype(int)
    codes = (group == "B").astype(int)
    del group
    start = time.perf_counter()
    front = ff.trace(X, y, sensitive_features=codes, n_points=points)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return seconds, peak / X.nbytes, float(np.nanmax(front.kkt))


def main() -> None:
    """Measure every size in a process of its own and write the section."""
    rows, first = [], None
    for n in (200_000, 2_000_000):
        command = [sys.executable, "-c", f"from benchmarks.newton_scale import measure; print(*measure({n}))"]
        seconds, peak, kkt = map(
            float, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        )
        per_row = seconds / n
        first = first or per_row
        rows.append([f"{n:,}".replace(",", " "), f"{seconds:.1f} s", f"{1e6 * per_row:.2f} us", f"{per_row / first:.2f}",
                     f"{peak:.2f}", f"{kkt:.1e}"])  # fmt: skip
    body = "Synthetic, 50 columns, 12 solved points, two groups. Peak memory is the whole process's.\n\n" + table(
        ["rows", "time", "time per row", "ratio to the smallest", "peak memory / X", "largest KKT residual"], rows
    )
    write_section("studies", "Newton tracer: many rows", "python -m benchmarks.newton_scale", body)


if __name__ == "__main__":
    main()
