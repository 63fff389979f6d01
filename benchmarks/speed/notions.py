"""What notions cost, as ratios in one run: strata and many crossed groups."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..report import Section, Table, thousands
from .process import apart

POINTS, COLUMNS, TIMED = 12, 30, 3
BARS = {
    "10 strata": 1.25,
    "128 crossed groups, each with everyone": 5.0,
}
"""Largest ratio to two groups under equal opportunity that is aimed at."""


def measure(n: int) -> dict[str, list[float]]:
    """Return processor seconds of each case, one per run; cases are timed in turn."""
    import fairfront as ff

    rng = np.random.default_rng(0)
    seven, level = rng.integers(0, 2, size=(n, 7)), rng.integers(0, 10, n)
    X = rng.normal(size=(n, COLUMNS))
    X[:, :7] += 0.3 * seven
    score = 0.5 * X @ np.linspace(-0.5, 0.5, COLUMNS) + 0.3 * seven[:, 0] + 0.1 * level - 0.5
    y = (score + rng.logistic(size=n) > 0).astype(int)
    columns, two = {f"s{j}": seven[:, j] for j in range(7)}, {"sensitive_features": seven[:, 0]}
    cases: dict[str, dict[str, Any]] = {
        "two groups": two,
        "10 strata": {**two, "control_features": level},
        "128 crossed groups, each with everyone": {
            "sensitive_features": columns,
            "groups": ff.Groups(cross=True, compare="overall"),
        },
    }
    found: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(TIMED):
        for name, asked in cases.items():
            start = time.process_time()
            ff.trace(X, y, n_points=POINTS, held_out=False, progress=False, **asked)
            found[name].append(time.process_time() - start)
    return found


def sections(quick: bool) -> list[Section]:
    """Measure one size."""
    n = 10_000 if quick else 200_000
    found = {name: float(np.median(times)) for name, times in apart(measure, n).items()}
    plain = found["two groups"]
    rows = [
        [name, f"{seconds:.2f} s", f"{seconds / plain:.2f}", f"{BARS[name]:g}" if name in BARS else ""]
        for name, seconds in found.items()
    ]
    said = (
        f"Frontiers of {POINTS} points on {thousands(n)} rows of {COLUMNS} columns, equal opportunity unless another "
        f"notion is named, without held-out figures; median processor time of {TIMED} runs in which cases take turns, "
        "one BLAS thread."
    )
    told = ", ".join(f"{name} {found[name] / plain:.2f}" for name in BARS)
    summary = f"As multiples of two groups: {told}."
    heads = ["compared", "trace", "of two groups", "aim"]
    return [Section("solvers", "What notions cost", [said, Table(heads, rows)], summary)]
