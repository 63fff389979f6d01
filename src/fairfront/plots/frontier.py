"""A frontier as a picture: any two of its columns, plain and chosen point marked, bands where they are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..frontier.refinement import Stability
from ..frontier.selection import plain_place
from ..measures.intervals import error_interval
from ..objectives import Array
from ..validation import check_confidence, check_flag, check_instance
from .style import CHOSEN, PLAIN, SOLVED, VISITED, axes_of, evaluation_name, label_of, tidy

if TYPE_CHECKING:
    from ..frontier import Frontier


def plot_points(
    front: Frontier,
    *,
    ax: Any = None,
    x: str | None = None,
    y: str = "loss",
    on: str | None = None,
    chosen: int | None = None,
    bands: bool = True,
    confidence: float = 0.95,
    stability: Stability | None = None,
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
    bands : bool
        Whether to draw the interval of the error, and from each gap to its upper end for the marked points.
    confidence : float
        Of those intervals; a gap's upper end holds for all pairs of groups at once.
    stability : Stability, optional
        What `Frontier.stability` returned: its band of the training loss or gap is drawn.
    """
    check_flag(bands, "bands")
    check_confidence(confidence)
    if stability is not None:
        check_instance(stability, Stability, "stability", "what Frontier.stability returned")
    axes = axes_of(ax, "plot_points")
    x = front.facts.gap_column if x is None else x
    across, up = front.column(x, on), front.column(y, on)
    band = _band(front, y, on, confidence, stability) if bands else None
    solved = np.array([status.solved for status in front.status])
    if band is not None:
        order = np.argsort(across[solved], kind="stable")
        low, high = (end[solved][order] for end in band)
        axes.fill_between(across[solved][order], low, high, color=SOLVED, alpha=0.15, linewidth=0)
    if (~solved).any():
        axes.scatter(across[~solved], up[~solved], s=10, color=VISITED, label="seen on the way")
    axes.scatter(across[solved], up[solved], s=26, color=SOLVED, label=_word(front), zorder=3)
    marked = [(plain_place(front), "s", PLAIN, "plain model")]
    if chosen is not None:
        marked.append((front.place(chosen), "D", CHOSEN, f"chosen (id {chosen})"))
    ends = _upper(front, x, on, confidence) if bands else None
    for place, marker, colour, label in marked:
        axes.scatter(across[place], up[place], marker=marker, s=60, color=colour, label=label, zorder=5)
        if ends is not None:
            axes.hlines(up[place], across[place], ends[place], color=colour, linewidth=1.2, zorder=4)
    axes.set_xlabel(label_of(front, x, on))
    axes.set_ylabel(label_of(front, y, on))
    return tidy(axes)


def _word(front: Frontier) -> str:
    """Return what points are: solved to a tolerance that is known, or fitted."""
    return "fitted" if np.isnan(front.kkt).all() else "solved"


def _band(
    front: Frontier, name: str, on: str | None, confidence: float, stability: Stability | None
) -> tuple[Array, Array] | None:
    """Return the ends of a column's interval at every point, or None where there is none."""
    if stability is not None and name in ("loss", front.facts.gap_column):
        ends = stability.loss if name == "loss" else stability.gap
        return ends[:, 0], ends[:, 1]
    if name != "error":
        return None
    record = front.evaluations[evaluation_name(front, on)]
    n = np.full(len(front), record.effective_n or record.n)
    return error_interval(record["error"], n, confidence)


def _upper(front: Frontier, name: str, on: str | None, confidence: float) -> Array | None:
    """Return the upper ends of a rate gap, or None for other columns."""
    training = (front.facts.gap_column, *front.facts.gap_columns)
    return front.column(name, on, confidence) if name.endswith("_gap") and name not in training else None
