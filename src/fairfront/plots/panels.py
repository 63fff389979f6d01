"""Pictures of a whole frontier by kind, and the two panels side by side: what training sees, what people see."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from ..exceptions import InputError, require
from ..validation import check_choice
from .frontier import plot_points
from .groups import plot_groups

if TYPE_CHECKING:
    from ..frontier import Frontier
    from ..frontier.refinement import Stability


def plot_frontier(front: Frontier, *, kind: Literal["points", "panels", "groups"] = "points", **options: Any) -> Any:
    """Draw a frontier and return the axes; options are those of `plot_points`, `plot_panels` or `plot_groups`."""
    kinds: dict[str, Callable[..., Any]] = {"points": plot_points, "panels": plot_panels, "groups": plot_groups}
    return kinds[check_choice(kind, "kind", kinds)](front, **options)


def plot_panels(
    front: Frontier,
    *,
    ax: Any = None,
    on: str | None = None,
    gap: str | None = None,
    chosen: int | None = None,
    bands: bool = True,
    stability: Stability | None = None,
) -> Any:
    """Draw loss against loss gap and error against a rate gap; ``ax`` is a pair of axes, and a pair is returned.

    The gap is ``tpr_gap`` by default, and ``mse_gap`` for regression.
    """
    if ax is None:
        pyplot = require("matplotlib.pyplot", "plot", "plot_panels")
        ax = pyplot.subplots(1, 2, figsize=(10.0, 4.2), layout="constrained")[1]
    if len(ax) != 2:
        raise InputError(f"ax has {len(ax)} axes, expected 2: training figures left, rates right.")
    left, right = ax
    plot_points(front, ax=left, chosen=chosen, bands=bands, stability=stability)
    error, usual = ("mse", "mse_gap") if front.facts.task.kind == "regression" else ("error", "tpr_gap")
    plot_points(front, ax=right, x=gap or usual, y=error, on=on, chosen=chosen, bands=bands)
    left.set_title("what training sees")
    right.set_title("what people see")
    return ax


def plot_overview(front: Frontier, **options: Any) -> Any:
    """Draw `plot_panels` and return the figure."""
    return plot_panels(front, **options)[0].figure
