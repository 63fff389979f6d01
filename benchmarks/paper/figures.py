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


COLOURS = {
    "Normal": GREY,
    "PDO as printed, raw gradients": ORANGE,
    "PDO as printed, normalised gradients": VERMILLION,
    "PB-PDO (fairfront)": SKY,
    "Newton (fairfront)": BLUE,
    "Newton, rate surrogate (fairfront)": GREEN,
}
SHORT = {
    "Amer-Indian-Eskimo": "AIE",
    "Asian-Pac-Islander": "API",
    "African-American": "Afr.-Am.",
}


def draw_bars(panels: dict[str, list[dict[str, Any]]], methods: tuple[str, ...], path: Path) -> None:
    """Draw one row of three panels (accuracy, TPR, FPR) per setting."""
    figure, axes = canvas(len(panels), 3, 9.6, 2.2 * len(panels) + 0.2)
    for row, (title, trials) in zip(axes, panels.items(), strict=True):
        names = [SHORT.get(level, level) for level in trials[0]["levels"]] + ["total"]
        for k, (ax, words) in enumerate(
            zip(row, ("accuracy", "true positive rate", "false positive rate"), strict=True)
        ):
            _panel(ax, trials, methods, k)
            ax.set_xticks(np.arange(len(names)), names)
            ax.set_ylabel(words)
            ax.set_ylim(0.0, 1.0)
        row[1].set_title(title, fontsize=10)
    legend(figure, axes[0, 0], 2)
    figure.tight_layout()
    save(figure, path)


def _panel(ax: Any, trials: list[dict[str, Any]], methods: tuple[str, ...], k: int) -> None:
    sizes = _sizes(trials[0], k)
    width = 0.8 / len(methods)
    for i, name in enumerate(methods):
        mean = np.mean([t["methods"][name]["chosen"] for t in trials], axis=0)[k]
        wide = np.sqrt(np.maximum(mean * (1.0 - mean), 0.0) / sizes)
        across = np.arange(len(mean)) + (i - (len(methods) - 1) / 2) * width
        ax.bar(across, mean, width, yerr=wide, color=COLOURS[name], label=name, error_kw={"lw": 0.8, "alpha": 0.7})
    ax.grid(axis="x", visible=False)


def _sizes(found: dict[str, Any], k: int) -> np.ndarray:
    """Return the test rows that a rate of each group, and of all, rests on."""
    good, bad = np.array(found["positives"]), np.array(found["negatives"])
    counts = (good + bad, good, bad)[k]
    return np.append(counts, counts.sum())


MARKS: dict[str, dict[str, Any]] = {
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


def draw_frontiers(rows: dict[str, Any], path: Path) -> None:
    """Draw three planes per data set."""
    figure, axes = canvas(len(rows), 3, 10.2, 2.9 * len(rows))
    for line, (title, found) in zip(axes, rows.items(), strict=True):
        for ax, (plane, across, up) in zip(line, PLANES, strict=True):
            for name, look in MARKS.items():
                points = np.array(found["fronts"][name][plane]).reshape(-1, 2)
                ax.scatter(points[:, 0], points[:, 1], label=name, linewidths=0, alpha=0.85, **look)
            _near_exact(ax, found, plane)
            ax.set_xlabel(across)
            ax.set_ylabel(up)
        line[1].set_title(title, fontsize=10)
    legend(figure, axes[0, 0], 3)
    figure.tight_layout()
    save(figure, path)


def _near_exact(ax: Any, found: dict[str, Any], plane: str) -> None:
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
