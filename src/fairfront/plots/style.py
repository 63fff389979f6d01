"""What the pictures share: colours that stay apart for colour-blind readers (Okabe and Ito), axes, words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..exceptions import InputError, require
from ..validation import check_instance

if TYPE_CHECKING:
    from ..frontier import Frontier

SOLVED, VISITED, PLAIN, CHOSEN = "#0072b2", "#999999", "#000000", "#d55e00"


def axes_of(ax: Any, purpose: str, size: tuple[float, float] = (5.2, 4.0)) -> Any:
    """Return the axes given, or new ones."""
    pyplot = require("matplotlib.pyplot", "plot", purpose)
    if ax is None:
        return pyplot.subplots(figsize=size, layout="constrained")[1]
    return check_instance(ax, require("matplotlib.axes", "plot", purpose).Axes, "ax", "axes of matplotlib")


def tidy(ax: Any) -> Any:
    """Take the frame off, add the legend, and return the axes."""
    ax.legend(frameon=False, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def evaluation_name(front: Frontier, on: str | None) -> str:
    """Return the evaluation that rates come from."""
    if not front.evaluations:
        raise InputError("rates are not known yet, expected an evaluation; call front = front.evaluate(...) first.")
    return front.record(on).name


def label_of(front: Frontier, name: str, on: str | None) -> str:
    """Return what stands at an axis: the figure, its unit where it is a loss gap, and its rows."""
    where = front.facts.measured_on
    if name == "loss":
        return f"{front.facts.loss_name} ({where}{', with ridge' if front.facts.ridge else ''})"
    if name == front.facts.gap_column:
        return f"worst {front.facts.unit} ({where})"
    if name in front.facts.gap_columns:
        return f"{name.replace('_', ' ')} ({where})"
    where = evaluation_name(front, on)
    weighted = ", groups by probability" if name.endswith("_gap") and front.evaluations[where].proxies else ""
    return f"{name.replace('_', ' ')} ({where}{weighted})"
