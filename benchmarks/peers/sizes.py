"""Cost against size on synthetic data: rows, columns, groups, preferences; a JSON record, a table and a plot of each."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fairfront as ff

from .. import report
from ..cases import Rows, synthetic
from ..report import Section, Table, thousands
from . import PEERS
from .base import Fitting

LIMIT = 45.0
"""A method that took longer, in seconds, is not tried on larger sizes."""
POINTS = 12
MOST_GRID_GROUPS = 5
SIZES: dict[str, tuple[int, ...]] = {
    "rows": (1_000, 10_000, 100_000, 1_000_000, 2_000_000),
    "columns": (10, 50, 200, 1_000, 2_000),
    "groups": (2, 3, 5, 10, 20),
    "preferences": (1, 4, 16, 64),
}
SETTINGS = {
    "rows": {"columns": 20, "groups": 2},
    "columns": {"rows": 10_000, "groups": 2},
    "groups": {"rows": 50_000, "columns": 20},
    "preferences": {"rows": 50_000, "columns": 20, "groups": 2},
}
INTRODUCTION = (
    "Synthetic data, CPU seconds of one thread. Rows: 20 columns, two groups. Columns: 10 000 rows. Groups: 50 000 rows, "
    "20 columns; GridSearch has at least two points per dimension of its grid and is not tried beyond five groups. "
    f"Preferences: 50 000 rows, 20 columns, two groups. A method that took longer than {LIMIT:.0f} s is not tried on "
    "larger sizes."
)
Fit = Callable[[Rows, int], object]


def newton(rows: Rows, size: int) -> object:
    return ff.trace(rows.X, rows.y, sensitive_features=rows.groups, n_points=POINTS, held_out=False, progress=False)


def grid_search(rows: Rows, size: int) -> object:
    points = max(POINTS, 2 ** (int(rows.groups.max()) + 1))
    return PEERS["fairlearn_grid_search"].fit(Fitting(rows, rows, (), points))


def plain(rows: Rows, size: int) -> object:
    return PEERS["plain"].fit(Fitting(rows, rows, (), POINTS))


def preferred(solver: str) -> Fit:
    """Return a trace of as many preferences as the size says."""

    def fit(rows: Rows, size: int) -> object:
        pi = np.column_stack([np.ones(size), np.geomspace(30.0, 3000.0, size)])
        return ff.trace(
            rows.X,
            rows.y,
            sensitive_features=rows.groups,
            solver=solver,
            preferences=pi,
            held_out=False,
            progress=False,
        )

    return fit


TRACERS: dict[str, Fit] = {
    "fairfront Newton, 12 points": newton,
    "fairlearn GridSearch": grid_search,
    "one plain fit": plain,
}
PREFERENCES: dict[str, Fit] = {
    "fairfront PB-PDO, one batch": preferred("pb_pdo"),
    "fairfront Newton, one by one": preferred("newton"),
}


def measured(quick: bool) -> dict[str, Any]:
    """Time what the record does not hold yet."""
    path = (report.ROOT / "build" / "benchmarks-quick" if quick else report.RESULTS) / "peers" / "sizes.json"
    record: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    for axis, sizes in SIZES.items():
        for size in sizes[: 2 if quick else None]:
            own = {} if axis == "preferences" else {axis: size}
            rows = synthetic(**{**SETTINGS[axis], **own})
            for name, fit in (PREFERENCES if axis == "preferences" else TRACERS).items():
                done = record.setdefault(axis, {}).setdefault(name, {})
                too_long = max((done[known] for known in done if int(known) < size), default=0.0) > LIMIT
                if str(size) not in done and not too_long and not (fit is grid_search and _cannot(axis, size)):
                    done[str(size)] = _seconds(fit, rows, size)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(json.dumps(record))
    return record


def _cannot(axis: str, size: int) -> bool:
    """Tell whether a grid over groups would be too large, or fairlearn is missing."""
    return (axis == "groups" and size > MOST_GRID_GROUPS) or PEERS["fairlearn_grid_search"].missing() is not None


def _seconds(fit: Fit, rows: Rows, size: int) -> float:
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(rows, size)
    return time.process_time() - start


def sections(quick: bool) -> list[Section]:
    """Measure, and return the section with tables and plots."""
    parts: list[str | Table] = [INTRODUCTION]
    record = measured(quick)
    for axis, methods in record.items():
        sizes = sorted({int(size) for found in methods.values() for size in found})
        rows = [[name, *[_cell(found, size) for size in sizes]] for name, found in methods.items()]
        parts += [Table([axis, *map(thousands, sizes)], rows), f"![Cost against {axis}]({axis}.png)"]
        if not quick:
            _draw(axis, methods, report.DOCS / "benchmarks")
    ours, theirs = (record["rows"][name] for name in ("fairfront Newton, 12 points", "fairlearn GridSearch"))
    most = max((size for size in ours if size in theirs), key=int)
    summary = f"{thousands(int(most))} rows, 12 points: {ours[most]:.0f} s against {theirs[most]:.0f} s of GridSearch."
    return [Section("peers", "Peers: cost against size", parts, summary)]


def _cell(found: dict[str, float], size: int) -> str:
    return f"{found[str(size)]:.2f}" if str(size) in found else ""


def _draw(axis: str, methods: dict[str, dict[str, float]], folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots(figsize=(4.5, 3.2), layout="constrained")
    for (name, found), marker in zip(methods.items(), "os^", strict=False):
        sizes = sorted(map(int, found))
        ax.loglog(sizes, [found[str(size)] for size in sizes], marker=marker, label=name)
    ax.set(xlabel=axis, ylabel="CPU seconds")
    ax.legend(fontsize=7)
    ax.grid(alpha=0.3)
    figure.savefig(folder / f"{axis}.png", dpi=120)
    plt.close(figure)
