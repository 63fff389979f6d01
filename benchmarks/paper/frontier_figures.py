"""The paper's two 3 x 3 figures: rows are data sets, columns are planes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .data import Spec
from .figures import BLUE, GREY, ORANGE, SKY, VERMILLION, canvas, legend, save

LOOK: dict[str, dict[str, Any]] = {
    "Minimax reduction: GridSearch": {"color": GREY, "marker": "s", "s": 16},
    "PB-PDO as printed, raw gradients": {"color": ORANGE, "marker": "^", "s": 14},
    "PB-PDO as printed, normalised gradients": {"color": VERMILLION, "marker": "v", "s": 14},
    "PB-PDO (fairfront)": {"color": SKY, "marker": "o", "s": 16},
    "Newton (fairfront)": {"color": BLUE, "marker": ".", "s": 22},
}
PLANES = (
    ("loss", "loss", "fairness loss"),
    ("train", "error, train", "|DEO|, train"),
    ("test", "error, test", "|DEO|, test"),
)


def title_of(key: str) -> str:
    """Return the setting's name from a task's key."""
    _, data, attribute = key.split(" ")
    return Spec(data, attribute).title


def draw(rows: dict[str, Any], path: Path) -> None:
    """Draw three planes per data set."""
    figure, axes = canvas(len(rows), 3, 10.2, 2.9 * len(rows))
    for line, (title, found) in zip(axes, rows.items(), strict=True):
        for ax, (plane, across, up) in zip(line, PLANES, strict=True):
            for name, look in LOOK.items():
                points = np.array(found["fronts"][name][plane]).reshape(-1, 2)
                ax.scatter(points[:, 0], points[:, 1], label=name, linewidths=0, alpha=0.85, **look)
            _window(ax, found, plane)
            ax.set_xlabel(across)
            ax.set_ylabel(up)
        line[1].set_title(title, fontsize=10)
    legend(figure, axes[0, 0], 3)
    figure.tight_layout()
    save(figure, path)


def _window(ax: Any, found: dict[str, Any], plane: str) -> None:
    """Show the range of the default solvers' points, and the reduction's near them; points far off are outside."""
    points = {name: np.array(front[plane]).reshape(-1, 2) for name, front in found["fronts"].items()}
    exact = np.concatenate([points["Newton (fairfront)"], points["PB-PDO (fairfront)"]])
    room = np.maximum(np.ptp(exact, axis=0), 0.004)
    shown = exact
    if plane != "loss":
        others = np.concatenate(list(points.values()))
        near = (others <= exact.max(axis=0) + room).all(axis=1) & (others[:, 0] >= exact[:, 0].min() - 2 * room[0])
        shown = np.concatenate([exact, others[near]])
    low, high = shown.min(axis=0), shown.max(axis=0)
    right = 0.8 if plane == "loss" else 0.1
    ax.set_xlim(low[0] - 0.1 * room[0], high[0] + right * room[0])
    ax.set_ylim(-0.05 * high[1], 1.1 * high[1] + 1e-9)
