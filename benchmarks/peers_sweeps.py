"""Cost against size on synthetic data: rows, columns, groups, preferences; a JSON record, a table and a plot of each.

python -m benchmarks.peers_sweeps
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fairfront as ff

from .peers import PEERS
from .peers.base import Fitting, Rows
from .peers_fit import RESULTS
from .report import DOCS, table

LIMIT = {"full": 45.0, "quick": 5.0}
POINTS = 12
SIZES: dict[str, dict[str, tuple[int, ...]]] = {
    "rows": {"full": (1_000, 10_000, 100_000, 1_000_000, 2_000_000), "quick": (1_000, 10_000)},
    "columns": {"full": (10, 50, 200, 1_000, 2_000), "quick": (10, 50)},
    "groups": {"full": (2, 3, 5, 10, 20), "quick": (2, 5)},
    "preferences": {"full": (1, 4, 16, 64), "quick": (1, 4)},
}
SETTINGS = {
    "rows": {"columns": 20, "groups": 2},
    "columns": {"rows": 10_000, "groups": 2},
    "groups": {"rows": 50_000, "columns": 20},
    "preferences": {"rows": 50_000, "columns": 20, "groups": 2},
}
MOST_GRID_GROUPS = 5


def synthetic(rows: int, columns: int, groups: int, seed: int = 0) -> Rows:
    """Draw rows whose labels depend on the features and on the group, as features do."""
    random = np.random.default_rng(seed)
    g = random.integers(0, groups, rows)
    X = random.normal(size=(rows, columns))
    X[:, 0] += g / groups
    margin = X[:, : min(columns, 10)].sum(axis=1) / 2.0 + (g / groups - 0.5) + random.logistic(size=rows)
    return Rows(X, (margin > 0).astype(np.intp), g)


def newton(rows: Rows, size: int) -> None:
    ff.trace(rows.X, rows.y, sensitive_features=rows.groups, n_points=POINTS, progress=False)


def grid_search(rows: Rows, size: int) -> None:
    dimensions = int(rows.groups.max())
    points = max(POINTS, 2 ** (dimensions + 1))
    columns = tuple(map(str, range(rows.X.shape[1])))
    PEERS["fairlearn_grid_search"].fit(Fitting(rows, rows, columns, points))


def plain(rows: Rows, size: int) -> None:
    PEERS["plain"].fit(Fitting(rows, rows, (), POINTS))


def pb_pdo(rows: Rows, size: int) -> None:
    pi = np.column_stack([np.ones(size), np.geomspace(30.0, 3000.0, size)])
    ff.trace(rows.X, rows.y, sensitive_features=rows.groups, solver="pb_pdo", preferences=pi, progress=False)


def newton_preferences(rows: Rows, size: int) -> None:
    pi = np.column_stack([np.ones(size), np.geomspace(30.0, 3000.0, size)])
    ff.trace(rows.X, rows.y, sensitive_features=rows.groups, preferences=pi, progress=False)


TRACERS: dict[str, Callable[[Rows, int], None]] = {
    "fairfront Newton, 12 points": newton,
    "fairlearn GridSearch": grid_search,
    "one plain fit": plain,
}
PREFERENCES: dict[str, Callable[[Rows, int], None]] = {
    "fairfront PB-PDO, one batch": pb_pdo,
    "fairfront Newton, one by one": newton_preferences,
}


def run(variant: str) -> None:
    """Time what is missing; a method that took longer than the limit is not tried on larger sizes."""
    path = RESULTS / variant / "sweeps.json"
    record: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    for axis, sizes in SIZES.items():
        for size in sizes[variant]:
            rows = synthetic(**{"rows": 1, "columns": 1, "groups": 2, **SETTINGS[axis], **_own(axis, size)})
            for name, fit in (PREFERENCES if axis == "preferences" else TRACERS).items():
                done = record.setdefault(axis, {}).setdefault(name, {})
                small = [seconds for known, seconds in done.items() if int(known) < size]
                too_long = max(small, default=0.0) > LIMIT[variant]
                refused = axis == "groups" and fit is grid_search and size > MOST_GRID_GROUPS
                if str(size) in done or too_long or refused or (fit is grid_search and _no_fairlearn()):
                    continue
                done[str(size)] = _seconds(fit, rows, size)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(record))


def _own(axis: str, size: int) -> dict[str, int]:
    return {} if axis == "preferences" else {axis: size}


def _no_fairlearn() -> bool:
    return PEERS["fairlearn_grid_search"].missing() is not None


def _seconds(fit: Callable[[Rows, int], None], rows: Rows, size: int) -> float:
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(rows, size)
    return time.process_time() - start


def sections(variant: str) -> list[tuple[str, str]]:
    """Return the section with tables and plots, or nothing where nothing was run."""
    path = RESULTS / variant / "sweeps.json"
    if not path.exists():
        return []
    record = json.loads(path.read_text())
    folder = DOCS / "benchmarks" if variant == "full" else RESULTS / variant
    parts = [
        "Synthetic data, CPU seconds of one thread. Rows: 20 columns, two groups. Columns: 10 000 rows. Groups: 50 000 rows, 20 columns; "
        "GridSearch has at least two points per dimension of its grid and is not tried beyond five groups. Preferences: "
        "50 000 rows, 20 columns, two groups. A method that took longer than "
        f"{LIMIT[variant]:.0f} s is not tried on larger sizes."
    ]
    for axis, methods in record.items():
        sizes = sorted({int(size) for found in methods.values() for size in found})
        rows = [[name, *[_cell(found, size) for size in sizes]] for name, found in methods.items()]
        _draw(axis, methods, folder)
        parts += [table([axis, *[f"{size:,}".replace(",", " ") for size in sizes]], rows)]
        parts += [f"![Cost against {axis}]({axis}.png)"]
    return [("Peers: cost against size", "\n\n".join(parts))]


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
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{axis}.png", dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    run("full")
