"""Rates by group as bars with intervals, the plain model beside the chosen one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import InputError
from ..frontier.selection import plain_place
from ..measures import GroupRates, wilson
from ..measures.intervals import DENOMINATORS, rows_behind
from ..validation import check_choice, check_confidence
from .style import CHOSEN, VISITED, axes_of, evaluation_name, tidy

if TYPE_CHECKING:
    from ..frontier import Frontier

WORDS = {
    "tpr": "share decided favourably, of those labelled so",
    "fpr": "share decided favourably, of the others",
    "selection": "share decided favourably",
    "error": "share decided wrongly",
}


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
    """Draw a rate in every group, plain model and chosen one, with Wilson intervals and the rows behind it.

    Parameters
    ----------
    front : Frontier
    chosen : int
        The id of the point to compare with the plain model.
    rate : str
        ``tpr``, ``fpr``, ``selection`` or ``error``.
    ax : matplotlib axes, optional
    on : str, optional
        The evaluation to take rates from.
    attribute : str, optional
        The sensitive attribute; by default the first.
    confidence : float
        Of each interval on its own.
    """
    check_choice(rate, "rate", WORDS)
    check_confidence(confidence)
    name = evaluation_name(front, on)
    rates, sizes = _rates(front, name, attribute, rate)
    axes = axes_of(ax, "plot_groups")
    at = np.arange(len(rates.levels))
    models = [(plain_place(front), VISITED, "plain model"), (front.place(chosen), CHOSEN, f"chosen (id {chosen})")]
    for k, (place, colour, label) in enumerate(models):
        values = rates.rate(rate)[place]
        known = np.flatnonzero(np.isfinite(values) & (sizes > 0))
        low, high = wilson(values[known] * sizes[known], sizes[known], confidence)
        spread = np.abs(np.stack([values[known] - low, high - values[known]]))
        axes.bar(at[known] + 0.38 * (k - 0.5), values[known], 0.36, color=colour, label=label, yerr=spread, capsize=3)
    axes.set_xticks(at, [f"{level}\n{_count(n)}" for level, n in zip(rates.levels, sizes, strict=True)])
    axes.set_ylabel(f"{WORDS[rate]} ({name})")
    return tidy(axes)


def _count(n: float) -> str:
    """Return the rows behind a bar; a frontier that was saved lacks those of small groups."""
    return f"n = {n:.0f}" if np.isfinite(n) else "hidden"


def _rates(front: Frontier, on: str, attribute: str | None, rate: str) -> tuple[GroupRates, Any]:
    groups = front.evaluations[on].groups
    name = next(iter(groups)) if attribute is None else attribute
    found = groups[check_choice(name, "attribute", groups)]
    if not isinstance(found, GroupRates):
        raise InputError("bars are for shares of decisions, expected a classifier's frontier, found regression.")
    sizes = front.evaluations[on].sizes.get(name) if rate in DENOMINATORS else None
    return found, rows_behind(found, rate, sizes)
