"""A frontier as a picture: any two of its columns, plain and chosen point marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import require

if TYPE_CHECKING:
    from ..frontier import Frontier

SOLVED, VISITED, PLAIN, CHOSEN = "#0072b2", "#999999", "#000000", "#d55e00"
"""Colours that stay apart for colour-blind readers (Okabe and Ito)."""


def plot_frontier(
    front: Frontier,
    *,
    ax: Any = None,
    x: str | None = None,
    y: str = "loss",
    on: str | None = None,
    chosen: int | None = None,
) -> Any:
    """Draw one column against another and return the matplotlib axes.

    Parameters
    ----------
    front : Frontier
    ax : matplotlib axes, optional
    x, y : str
        ``loss`` and the training gap (default across) or figures of an evaluation such as ``error`` and ``tpr_gap``.
    on : str, optional
        The evaluation to take rates from.
    chosen : int, optional
        The id of a point to mark.
    """
    pyplot = require("matplotlib.pyplot", "plot", "plot_frontier")
    axes = pyplot.subplots(figsize=(5.2, 4.0))[1] if ax is None else ax
    x = front.facts.gap_column if x is None else x
    across, up = front.column(x, on), front.column(y, on)
    solved = np.array([status.solved for status in front.status])
    if (~solved).any():
        axes.scatter(across[~solved], up[~solved], s=10, color=VISITED, label="seen on the way")
    axes.scatter(across[solved], up[solved], s=26, color=SOLVED, label="solved", zorder=3)
    plain = int(np.argmin(front.loss))
    axes.scatter(across[plain], up[plain], marker="s", s=60, color=PLAIN, label="plain model", zorder=4)
    if chosen is not None:
        at = front.place(chosen)
        axes.scatter(
            across[at],
            up[at],
            marker="D",
            s=60,
            color=CHOSEN,
            label=f"chosen (id {chosen})",
            zorder=5,
        )
    axes.set_xlabel(_label(front, x, on))
    axes.set_ylabel(_label(front, y, on))
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _label(front: Frontier, name: str, on: str | None) -> str:
    if name == "loss":
        return "loss (training, with ridge)"
    if name == front.facts.gap_column:
        return f"worst {front.facts.unit} (training)"
    where = on or ("validation" if "validation" in front.evaluations else next(iter(front.evaluations)))
    return f"{name.replace('_', ' ')} ({where})"


def plot_overview(front: Frontier, *, on: str | None = None, gap: str = "tpr_gap", chosen: int | None = None) -> Any:
    """Draw two panels, loss against loss gap and error against a rate gap, and return the figure."""
    pyplot = require("matplotlib.pyplot", "plot", "plot_overview")
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10.0, 4.2), layout="constrained")
    plot_frontier(front, ax=left, chosen=chosen)
    plot_frontier(front, ax=right, x=gap, y="error", on=on, chosen=chosen)
    left.set_title("what training sees")
    right.set_title("what people see")
    return figure
