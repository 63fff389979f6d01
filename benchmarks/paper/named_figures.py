"""Figures of experiment 6: small panels, one per method, the front behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .figures import GREY, VERMILLION, canvas, save


def draw(fronts: dict[str, Any], path: Path) -> None:
    """Draw rows of problems and columns of methods."""
    names = list(next(iter(fronts.values()))["methods"])
    figure, axes = canvas(len(fronts), len(names), 1.75 * len(names), 2.0 * len(fronts))
    for line, found in zip(axes, fronts.values(), strict=True):
        curve = np.array(found["front"])
        for ax, name in zip(line, names, strict=True):
            _panel(ax, curve, np.array(found["methods"][name]["h"]))
        line[0].set_ylabel(found["title"], fontsize=8)
    for ax, name in zip(axes[0], names, strict=True):
        ax.set_title(name.replace(" (", "\n(").replace(", ", ",\n"), fontsize=7.5)
    figure.tight_layout(pad=0.4)
    save(figure, path)


def _panel(ax: Any, curve: np.ndarray, points: np.ndarray) -> None:
    ax.plot(curve[:, 0], curve[:, 1], color=GREY, lw=2.0)
    low, high = curve.min(axis=0), curve.max(axis=0)
    room = 0.12 * (high - low)
    shown = np.clip(points, low - room, high + room)  # far points sit on the rim
    ax.scatter(shown[:, 0], shown[:, 1], s=16, color=VERMILLION, zorder=3)
    ax.set_xlim(low[0] - 1.5 * room[0], high[0] + 1.5 * room[0])
    ax.set_ylim(low[1] - 1.5 * room[1], high[1] + 1.5 * room[1])
    ax.tick_params(labelsize=6)
    ax.locator_params(nbins=3)
