"""Pictures for papers, with matplotlib (extra ``plot``): the frontier, rates by group, and panels of both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from .exceptions import InputError, require
from .frontier import Frontier
from .frontier.selection import plain_place
from .measures import GroupRates
from .measures.intervals import rows_behind, share_interval
from .measures.rates import DENOMINATORS
from .validation import check_choice, check_confidence, check_flag, check_instance

# Okabe and Ito: colours that stay apart for colour-blind readers.
SOLVED, VISITED, PLAIN, CHOSEN = "#0072b2", "#999999", "#000000", "#d55e00"
WORDS = {
    "tpr": "true positive rate",
    "fpr": "false positive rate",
    "selection": "selection rate",
    "error": "error rate",
}


def _axes(ax: Any, purpose: str) -> Any:
    pyplot = require("matplotlib.pyplot", "plot", purpose)
    if ax is None:
        return pyplot.subplots(figsize=(5.2, 4.0), layout="constrained")[1]
    return check_instance(ax, require("matplotlib.axes", "plot", purpose).Axes, "ax", "axes of matplotlib")


def _tidy(ax: Any) -> Any:
    ax.legend(frameon=False, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def label_of(front: Frontier, name: str, on: str | None) -> str:
    """The figure, its unit where it is a loss gap, and its rows."""
    where = front.facts.measured_on
    if name == "loss":
        return f"{front.facts.loss_name} ({where}{', with ridge' if front.facts.ridge else ''})"
    if name == front.facts.gap_column:
        return f"worst {front.facts.unit} ({where})"
    if name in front.facts.gap_columns:
        return f"{name.replace('_', ' ')} ({where})"
    record = front.record(on)
    weighted = ", groups by probability" if name.endswith("_gap") and record.proxies else ""
    return f"{name.replace('_', ' ')} ({record.name}{weighted})"


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
) -> Any:
    """Draw one column against another and return the matplotlib axes.

    Parameters
    ----------
    front : Frontier
    ax : matplotlib axes, optional
    x, y : ``loss`` and the training gap (default across) or figures of an evaluation such as ``error`` and ``tpr_gap``
    on : the evaluation to take rates from
    chosen : the id of a point to mark
    bands : whether to draw the interval of the error, and from each gap to its upper bound for the marked points
    confidence : of those intervals; a gap's upper bound holds for all pairs of groups at once
    """
    check_flag(bands, "bands")
    check_confidence(confidence)
    axes = _axes(ax, "plot_points")
    x = front.facts.gap_column if x is None else x
    across, up = front.column(x, on), front.column(y, on)
    band = share_interval(front.record(on).sample("", "error"), confidence) if bands and y == "error" else None
    solved = np.array([status.solved for status in front.status])
    if band is not None:
        order = np.argsort(across[solved], kind="stable")
        low, high = (end[solved][order] for end in band)
        axes.fill_between(across[solved][order], low, high, color=SOLVED, alpha=0.15, linewidth=0)
    if (~solved).any():
        axes.scatter(across[~solved], up[~solved], s=10, color=VISITED, label="seen on the way")
    word = "fitted" if np.isnan(front.kkt).all() else "solved"  # to a tolerance that is known
    axes.scatter(across[solved], up[solved], s=26, color=SOLVED, label=word, zorder=3)
    marked = [(plain_place(front), "s", PLAIN, "unconstrained model")]
    if chosen is not None:
        marked.append((front.place(chosen), "D", CHOSEN, f"chosen (id {chosen})"))
    rate_gap = x.endswith("_gap") and x not in (front.facts.gap_column, *front.facts.gap_columns)
    ends = front.column(x, on, confidence) if bands and rate_gap else None
    for place, marker, colour, label in marked:
        axes.scatter(across[place], up[place], marker=marker, s=60, color=colour, label=label, zorder=5)
        if ends is not None:
            axes.hlines(up[place], across[place], ends[place], color=colour, linewidth=1.2, zorder=4)
    axes.set_xlabel(label_of(front, x, on))
    axes.set_ylabel(label_of(front, y, on))
    return _tidy(axes)


def plot_groups(
    front: Frontier,
    *,
    chosen: int,
    rate: str = "tpr",
    ax: Any = None,
    on: str | None = None,
    attribute: str | None = None,
    confidence: float = 0.95,
) -> Any:
    """Draw a rate in every group, unconstrained model and chosen one, with Wilson intervals and the rows behind it.

    Parameters
    ----------
    front : Frontier
    chosen : the id of the point to compare with the unconstrained model
    rate : ``tpr``, ``fpr``, ``selection`` or ``error``
    ax : matplotlib axes, optional
    on : the evaluation to take rates from
    attribute : the sensitive attribute; by default the first
    confidence : of each interval on its own
    """
    check_choice(rate, "rate", WORDS)
    check_confidence(confidence)
    record = front.record(on)
    attribute = next(iter(record.groups)) if attribute is None else attribute
    rates = record.groups[check_choice(attribute, "attribute", record.groups)]
    if not isinstance(rates, GroupRates):
        raise InputError("bars are for shares of decisions, expected a classifier's frontier, found regression.")
    sizes = rows_behind(rates, rate, record.sizes.get(attribute) if rate in DENOMINATORS else None)
    axes = _axes(ax, "plot_groups")
    at = np.arange(len(rates.levels))
    models = [
        (plain_place(front), VISITED, "unconstrained model"),
        (front.place(chosen), CHOSEN, f"chosen (id {chosen})"),
    ]
    for k, (place, colour, label) in enumerate(models):
        values = rates.rate(rate)[place]
        known = np.flatnonzero(np.isfinite(values) & (sizes > 0))
        low, high = (end[known] for end in share_interval(record.sample(attribute, rate).take(place), confidence))
        spread = np.abs(np.stack([values[known] - low, high - values[known]]))
        axes.bar(at[known] + 0.38 * (k - 0.5), values[known], 0.36, color=colour, label=label, yerr=spread, capsize=3)
    axes.set_xticks(at, [f"{level}\nn = {n:.0f}" for level, n in zip(rates.levels, sizes, strict=True)])
    axes.set_ylabel(f"{WORDS[rate]} ({record.name})")
    return _tidy(axes)


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
    plot_points(front, ax=left, chosen=chosen, bands=bands)
    error, usual = ("mse", "mse_gap") if front.facts.task.kind == "regression" else ("error", "tpr_gap")
    plot_points(front, ax=right, x=gap or usual, y=error, on=on, chosen=chosen, bands=bands)
    left.set_title("what training sees")
    right.set_title("what people see")
    return ax


def plot_overview(front: Frontier, **options: Any) -> Any:
    """Draw `plot_panels` and return the figure."""
    return plot_panels(front, **options)[0].figure
