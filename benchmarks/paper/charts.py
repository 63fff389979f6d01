"""Bar charts of rates per group, as the paper draws them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .figures import BLUE, GREEN, GREY, ORANGE, SKY, VERMILLION, canvas, legend, save

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
