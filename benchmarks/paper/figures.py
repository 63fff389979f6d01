"""The figures of all experiments: colours of Okabe and Ito, small files, readable labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
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
