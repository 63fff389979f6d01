"""Figures of Example 1 in the objective plane."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .figures import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILLION, canvas, legend, save

COLOUR = {
    "PDO": GREEN,
    "EPO": PURPLE,
    "h_PB only": ORANGE,
    "PB-PDO as printed": VERMILLION,
    "PB-PDO (fairfront)": BLUE,
}


def _ground(ax: Any, front: np.ndarray, aim: np.ndarray, pi: np.ndarray) -> None:
    ax.plot(front[:, 0], front[:, 1], color=BLACK, lw=1.5, label="front")
    reach = np.array([0.0, 1.05])
    ax.plot(reach, reach * pi[0] / pi[1], color=GREY, lw=1.0, ls="--", label="preference line")
    ax.scatter(*aim, marker="*", s=110, color=BLACK, zorder=6, label="desired point")
    ax.set_xlim(-0.03, 1.05)
    ax.set_ylim(-0.03, 1.05)
    ax.set_xlabel("h_1")
    ax.set_ylabel("h_2")


def _path(ax: Any, found: dict[str, Any], **look: Any) -> None:
    path = np.array(found["path"])
    ax.plot(path[:, 0], path[:, 1], color=COLOUR[found["name"]], **look)
    ax.scatter(*path[0], marker="o", s=24, color=BLACK, zorder=5)
    ax.scatter(*path[-1], marker="X", s=46, color=COLOUR[found["name"]], zorder=7, edgecolors="white", linewidths=0.6)


def draw_cases(results: dict[str, Any], front: np.ndarray, aim: np.ndarray, pi: np.ndarray, path: Path) -> None:
    """Left: h_PB only stops short in both cases. Right: what PB-PDO does instead."""
    figure, axes = canvas(1, 2, 9.4, 4.2)
    for ax, names in zip(axes[0], (("h_PB only",), ("PB-PDO as printed", "PB-PDO (fairfront)")), strict=True):
        _ground(ax, front, aim, pi)
        for name in names:
            for start, style in (("case I", "-"), ("case II", "-.")):
                if f"{name}, {start}" in results:
                    _path(ax, results[f"{name}, {start}"], lw=1.6, ls=style, label=f"{name}, {start}")
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncol=2, fontsize=8)
    axes[0, 0].set_title("(a) h_PB as the only objective", fontsize=10)
    axes[0, 1].set_title("(b) objectives chosen adaptively", fontsize=10)
    figure.tight_layout()
    save(figure, path)


def draw_trajectories(results: dict[str, Any], front: np.ndarray, aim: np.ndarray, pi: np.ndarray, path: Path) -> None:
    """Draw one panel per algorithm, all from the start of case II."""
    names = ("PDO", "EPO", "PB-PDO as printed", "PB-PDO (fairfront)")
    figure, axes = canvas(1, 4, 12.4, 3.3)
    for ax, name in zip(axes[0], names, strict=True):
        _ground(ax, front, aim, pi)
        if f"{name}, case II" in results:
            _path(ax, results[f"{name}, case II"], lw=1.8)
        ax.set_title(name, fontsize=10)
    legend(figure, axes[0, 0], 3)
    figure.tight_layout()
    save(figure, path)
