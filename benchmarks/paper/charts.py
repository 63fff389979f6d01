"""The figures of the experiments on data: methods joined by staircases, numbers of points in legends, intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..report import thousands
from .choices import FERM, GRID, NEAREST, NORMAL
from .figures import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION, canvas, legend, save

COLOURS = {
    NORMAL: GREY,
    FERM: PURPLE,
    GRID: BLACK,
    "Minimax reduction: ExponentiatedGradient": GREEN,
    NEAREST.method: VERMILLION,
    "PB-PDO (fairfront)": SKY,
    "Newton (fairfront)": BLUE,
    "Newton, rate surrogate (fairfront)": BLUE,
    "PB-PDO as printed, raw gradients": ORANGE,
    "PB-PDO as printed, normalised gradients": VERMILLION,
}
SHORT = {
    "Amer-Indian-Eskimo": "AIE",
    "Asian-Pac-Islander": "API",
    "African-American": "Afr.-Am.",
}
KINDS = ("accuracy", "true positive rate", "false positive rate")


Bar = tuple[str, list[dict[str, Any]]]
"""A method and the trials whose chosen models a bar is the mean of."""


def draw_bars(panels: dict[str, dict[str, Bar]], path: Path) -> None:
    """Draw one row of three panels (accuracy, TPR, FPR) per setting, bars by their label."""
    figure, axes = canvas(len(panels), 3, 9.6, 2.2 * len(panels) + 0.2)
    for row, (title, bars) in zip(axes, panels.items(), strict=True):
        first = next(iter(bars.values()))[1][0]
        names = [SHORT.get(level, level) for level in first["levels"]] + ["total"]
        for k, (ax, words) in enumerate(zip(row, KINDS, strict=True)):
            _bars(ax, bars, k)
            ax.set_xticks(np.arange(len(names)), names)
            ax.set_ylabel(words)
            ax.set_ylim(0.0, _top(ax))
        row[1].set_title(title, fontsize=10)
    legend(figure, axes[0, 0], 2)
    figure.tight_layout()
    save(figure, path)


def _bars(ax: Any, bars: dict[str, Bar], k: int) -> None:
    width = 0.8 / len(bars)
    for i, (label, (name, trials)) in enumerate(bars.items()):
        mean = np.mean([t["methods"][name]["chosen"] for t in trials], axis=0)[k]
        wide = np.sqrt(np.maximum(mean * (1.0 - mean), 0.0) / _sizes(trials[0], k))
        across = np.arange(len(mean)) + (i - (len(bars) - 1) / 2) * width
        colour = (GREY, VERMILLION, ORANGE, BLUE)[i]
        ax.bar(across, mean, width, yerr=wide, color=colour, label=label, error_kw={"lw": 0.8, "alpha": 0.7})
    ax.grid(axis="x", visible=False)


def _top(ax: Any) -> float:
    """Return where an axis of rates ends: at 1, or just above its bars where they would be lost on that scale."""
    highest = max(bar.get_height() for bar in ax.patches)
    return 1.0 if highest > 0.2 else 1.3 * highest


def _sizes(found: dict[str, Any], k: int) -> np.ndarray:
    """Return the test rows that a rate of each group, and of all, rests on."""
    good, bad = np.array(found["positives"]), np.array(found["negatives"])
    counts = (good + bad, good, bad)[k]
    return np.append(counts, counts.sum())


def draw_rates(groups: list[str], lines: dict[str, dict[str, np.ndarray]], path: Path) -> None:
    """Draw true positive rates per group, on training and on test rows, with intervals, one mark per method.

    ``lines`` has, per method, ``train`` (groups,) and ``test`` (groups, 3): rate and both ends of its interval.
    """
    figure, axes = canvas(1, 2, 9.6, 3.4)
    for ax, rows in zip(axes[0], ("train", "test"), strict=True):
        for i, (name, found) in enumerate(lines.items()):
            at = np.arange(len(groups)) + 0.14 * (i - (len(lines) - 1) / 2)
            values = found[rows].reshape(len(groups), -1)
            wide = np.abs(values[:, 1:] - values[:, :1]).T if values.shape[1] == 3 else None
            ax.errorbar(
                at, values[:, 0], yerr=wide, fmt="osD^v"[i % 5], ms=4.5, lw=1.1, color=COLOURS[name], label=name
            )
        ax.set_xticks(np.arange(len(groups)), [SHORT.get(group, group) for group in groups])
        ax.set_ylabel(f"true positive rate, {rows}ing rows" if rows == "train" else "true positive rate, test rows")
        ax.set_ylim(0.0, 1.1 * max(float(found["test"].max()) for found in lines.values()))
    legend(figure, axes[0, 0], 2)
    figure.tight_layout()
    save(figure, path)


def stairs(points: np.ndarray) -> np.ndarray:
    """Return the corners of the staircase through points (N, 2), from the smallest first figure to the largest."""
    ordered = points[np.lexsort((points[:, 1], points[:, 0]))]
    low = ordered[np.minimum.accumulate(ordered[:, 1]) >= ordered[:, 1]]
    corners = np.repeat(low, 2, axis=0)
    return np.column_stack([corners[1:, 0], corners[:-1, 1]])


PLANES = (
    ("loss", "loss, training rows", "loss gap, training rows"),
    ("train", "error, training rows", "|DEO|, training rows"),
    ("test", "error, test rows", "|DEO|, test rows"),
)
FEW = 4
"""Methods with fewer points in a plane have rings around them."""
LOOKS = (("-", "o"), ("-", "s"), ("--", "^"), ("--", "v"), ("-", "x"))


def draw_frontiers(rows: dict[str, Any], methods: tuple[str, ...], path: Path) -> None:
    """Draw three planes per data set, each method a staircase, with the number of its points."""
    figure, axes = canvas(len(rows), 3, 10.6, 3.0 * len(rows))
    for line, (title, found) in zip(axes, rows.items(), strict=True):
        for ax, (plane, across, up) in zip(line, PLANES, strict=True):
            points = {name: _in_plane(found["drawn"][name][plane], plane) for name in methods}
            for name, (style, mark) in zip(methods, LOOKS, strict=True):
                known = found["methods"][name]
                count = known["kept"] if plane == "loss" else known["all"][plane]["points"]
                corners, colour = stairs(points[name]), COLOURS[name]
                ax.plot(corners[:, 0], corners[:, 1], ls=style, lw=1.0, color=colour)
                few = points[name][:: max(1, len(points[name]) // 25)]
                ax.plot(few[:, 0], few[:, 1], mark, ms=3.2, color=colour, label=thousands(count))
                if len(few) < FEW:  # rings, because other methods' points may lie on them
                    ax.plot(few[:, 0], few[:, 1], "o", ms=5.0 + 3.0 * (mark == "s"), mfc="none", color=colour)
            _window(ax, points, plane)
            ax.locator_params(axis="x", nbins=5)
            ax.set_xlabel(across)
            ax.set_ylabel(up)
            ax.legend(fontsize=6.5, title="points", title_fontsize=6.5, handletextpad=0.1, loc="upper right")
        line[1].set_title(title, fontsize=10)
    handles = [
        axes[0, 0].plot([], [], ls=style, marker=mark, ms=4, color=COLOURS[name], label=name)[0]
        for name, (style, mark) in zip(methods, LOOKS, strict=True)
    ]
    figure.tight_layout()
    figure.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=3, frameon=False)
    save(figure, path)


def _in_plane(points: Any, plane: str) -> np.ndarray:
    """Return points with the gap itself instead of z^2 / 2 in the plane of losses."""
    found = np.array(points, dtype=np.float64).reshape(-1, 2)
    return np.column_stack([found[:, 0], np.sqrt(2.0 * found[:, 1])]) if plane == "loss" else found


def _window(ax: Any, points: dict[str, np.ndarray], plane: str) -> None:
    """Show the range of fairfront's and the reduction's points; what lies far to the right is outside."""
    known = np.concatenate([found for name, found in points.items() if "printed" not in name])
    low, high = known.min(axis=0), np.quantile(known, 0.95, axis=0)
    room = np.maximum(high - low, 0.01 if plane != "loss" else 1e-4)
    every = np.concatenate(list(points.values()))
    left = min(low[0], every[every[:, 0] >= low[0] - 2 * room[0], 0].min())
    ax.set_xlim(left - 0.05 * room[0], high[0] + 0.5 * room[0])
    ax.set_ylim(-0.04 * high[1], 1.15 * max(high[1], 0.02))


def draw_extraction(results: dict[str, Any], shown: dict[str, tuple[str, str]], path: Path) -> None:
    """Draw the extracted front of each shown run beside the exact one, and where its ten runs end."""
    figure, axes = canvas(1, len(shown), 4.9 * len(shown), 3.9)
    for ax, (title, (key, step)) in zip(axes[0], shown.items(), strict=True):
        found = results[key]
        front, one = np.array(found["front"]), found["steps"][step]
        points, ends = (_in_plane(one[name], "loss") for name in ("points", "ends"))
        exact = f"exact front (Newton, {len(front)} points)"
        ax.plot(
            points[:, 0],
            points[:, 1],
            ".",
            ms=5,
            color=SKY,
            label=f"passed and non-dominated: {thousands(one['kept'])}",
        )
        ax.plot(front[:, 1], front[:, 0], color=BLACK, lw=1.0, label=exact)
        ax.plot(ends[:, 0], ends[:, 1], "X", ms=7, color=VERMILLION, mec="white", label="where the ten runs end")
        ax.set_xlim(front[:, 1].min() - 0.05 * np.ptp(front[:, 1]), front[:, 1].max() + 0.5 * np.ptp(front[:, 1]))
        ax.set_ylim(-0.04 * front[:, 0].max(), 1.08 * front[:, 0].max())
        outside = int((ends[:, 0] > ax.get_xlim()[1]).sum() + (ends[:, 1] > ax.get_ylim()[1]).sum())
        note = f"\n({outside} end{'s' * (outside > 1)} outside)" if outside else ""
        ax.set_title(f"{title}{note}", fontsize=9.5)
        ax.set_xlabel("empirical risk (logistic loss and its penalty)")
        ax.set_ylabel("fairness loss: gap of mean losses, |z|")
        ax.legend(fontsize=7.5)
    figure.tight_layout()
    save(figure, path)


def draw_plane(panels: dict[str, dict[str, Any]], path: Path) -> None:
    """Draw accuracy against |DEO| per data set: the paper's figures (hollow) joined to those here (filled) per method.

    ``panels`` has, per title and row, a pair of (accuracy, DEO) here with their standard deviations, and the paper's.
    """
    figure, axes = canvas(1, len(panels), 3.6 * len(panels), 3.5)
    for ax, (title, rows) in zip(axes[0], panels.items(), strict=True):
        for name, (here, paper) in rows.items():
            colour = COLOURS[name]
            ax.errorbar(here[1], here[0], xerr=here[3], yerr=here[2], fmt="o", ms=5, color=colour, lw=0.8, label=name)
            if paper is not None:
                ax.plot([paper[1], here[1]], [paper[0], here[0]], color=colour, lw=0.8, ls=":")
                ax.plot(paper[1], paper[0], "o", ms=6, mfc="none", color=colour)
        ax.set_xlim(left=0.0)
        ax.set_title(title, fontsize=10)
        ax.set_xlabel("|DEO|, test rows")
        ax.set_ylabel("accuracy, test rows")
    legend(figure, axes[0, 0], 2)
    figure.tight_layout()
    save(figure, path)


def draw_choices(distances: dict[str, np.ndarray], path: Path) -> None:
    """Draw each combination's distance from the paper, cut into its share of every row of Table 1."""
    figure, axes = canvas(1, 1, 8.2, 3.2)
    ax, left = axes[0, 0], np.zeros(len(distances))
    for i, (name, colour) in enumerate(
        zip((NORMAL, FERM, "GridSearch", "PDO"), (GREY, PURPLE, BLACK, VERMILLION), strict=True)
    ):
        share = np.array([found[i] for found in distances.values()])
        ax.barh(np.arange(len(left)), share, left=left, color=colour, label=name, height=0.7)
        left = left + share
    ax.set_yticks(np.arange(len(left)), list(distances), fontsize=8)
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.set_xlabel("mean absolute difference from the printed figures of Table 1")
    legend(figure, ax, 4)
    save(figure, path)
