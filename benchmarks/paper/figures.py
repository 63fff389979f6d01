"""The figures of all experiments: colours of Okabe and Ito, small files, readable labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from PIL import Image

matplotlib.use("Agg")
import matplotlib.pyplot as plt

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILLION, PURPLE, GREY = (
    "#000000",
    "#e69f00",
    "#56b4e9",
    "#009e73",
    "#f0e442",
    "#0072b2",
    "#d55e00",
    "#cc79a7",
    "#999999",
)
STYLE: dict[str, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e5e5e5",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "savefig.dpi": 110,
}


def canvas(rows: int, columns: int, width: float, height: float) -> tuple[Any, Any]:
    """Return a figure and its axes, (rows, columns)."""
    with plt.rc_context(STYLE):
        return plt.subplots(rows, columns, figsize=(width, height), squeeze=False)


def save(figure: Any, path: Path) -> None:
    """Write a PNG of few colours, without a date or a program's name in it, and close the figure."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(STYLE):
        figure.savefig(path, bbox_inches="tight", metadata={"Software": None})
    plt.close(figure)
    with Image.open(path) as full:
        few = full.convert("RGB").quantize(128, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def legend(figure: Any, axes: Any, columns: int) -> None:
    """Put one legend above all panels."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=columns, frameon=False)


def picture(name: str, words: str) -> str:
    """Return the Markdown of a figure."""
    return f"![{words}]({name})"


PATHS = {
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
    ax.plot(path[:, 0], path[:, 1], color=PATHS[found["name"]], **look)
    ax.scatter(*path[0], marker="o", s=24, color=BLACK, zorder=5)
    ax.scatter(*path[-1], marker="X", s=46, color=PATHS[found["name"]], zorder=7, edgecolors="white", linewidths=0.6)


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


def draw_points(fronts: dict[str, Any], path: Path) -> None:
    """Draw rows of problems and columns of methods."""
    names = list(next(iter(fronts.values()))["methods"])
    figure, axes = canvas(len(fronts), len(names), 1.75 * len(names), 2.0 * len(fronts))
    for line, found in zip(axes, fronts.values(), strict=True):
        curve = np.array(found["front"])
        for ax, name in zip(line, names, strict=True):
            _points(ax, curve, np.array(found["methods"][name]["h"]))
        line[0].set_ylabel(found["title"], fontsize=8)
    for ax, name in zip(axes[0], names, strict=True):
        ax.set_title(name.replace(" (", "\n(").replace(", ", ",\n"), fontsize=7.5)
    figure.tight_layout(pad=0.4)
    save(figure, path)


def _points(ax: Any, curve: np.ndarray, points: np.ndarray) -> None:
    ax.plot(curve[:, 0], curve[:, 1], color=GREY, lw=2.0)
    low, high = curve.min(axis=0), curve.max(axis=0)
    room = 0.12 * (high - low)
    shown = np.clip(points, low - room, high + room)  # far points sit on the rim
    ax.scatter(shown[:, 0], shown[:, 1], s=16, color=VERMILLION, zorder=3)
    ax.set_xlim(low[0] - 1.5 * room[0], high[0] + 1.5 * room[0])
    ax.set_ylim(low[1] - 1.5 * room[1], high[1] + 1.5 * room[1])
    ax.tick_params(labelsize=6)
    ax.locator_params(nbins=3)
