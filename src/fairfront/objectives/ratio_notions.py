"""Notions of ratios: the smallest rate of any group is at least a share of the largest, as in the four-fifths rule.

    log(rate_g / rate_h) <= -log(at_least) + cap        for all pairs of groups, in both orders

A gap is how far the logarithm of the worst ratio is below what was asked for; at a gap of 0 the ratio of smooth rates
is what was asked for, and smaller gaps are not looked for. A ratio of decisions is another figure: judge that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log
from typing import ClassVar

from ..validation import refuse
from .comparisons import Comparison, Notion, Part, Surrogate
from .curves import Log
from .losses import Task
from .rate_notions import OF_RATES
from .surrogates import Quantity


@dataclass(frozen=True)
class SelectionRatio(Notion):
    """P(decided favourable | group) is at least ``at_least`` times that of any other group."""

    name = "selection_ratio"
    rates = ("selection",)
    words: ClassVar[Mapping[str, str]] = {
        "binary": "selection rates: the share of people predicted {good!r} in one group over that in another"
    }
    caveat = "It does not look at the labels: it says nothing about errors in any group, and nothing about law."
    no_losses = OF_RATES
    unit = "log ratio gap"
    kinds = ("binary",)
    two_sided = False
    at_least: float = 0.8
    floor: float = field(init=False, repr=False, default=0.0)

    def __post_init__(self) -> None:
        given = self.at_least
        if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0.0 < given < 1.0:
            raise refuse("at_least", given, "a number above 0 and below 1, such as 0.8")
        object.__setattr__(self, "floor", -log(given))

    def _labels(self, task: Task) -> tuple[int, ...] | None:
        return None

    def comparisons(self, task: Task, surrogate: Surrogate) -> tuple[Comparison, ...]:
        rate, labels = Quantity("rate", task.favourable), self._labels(task)
        words = "" if labels is None else f"y={task.favourable_label}"
        return (Comparison(rate, labels, words, "both orders", Log(), (Part(rate, labels),)),)


@dataclass(frozen=True)
class TprRatio(SelectionRatio):
    """P(decided favourable | group, favourable label) is at least ``at_least`` times that of any other group."""

    name = "tpr_ratio"
    rates = ("tpr",)
    words: ClassVar[Mapping[str, str]] = {
        "binary": "true positive rates: among people labelled {good!r}, the share predicted so in one group over that "
        "in another"
    }
    caveat = "It does not compare people whose label is another, nor how many of a group receive {good}."

    def _labels(self, task: Task) -> tuple[int, ...] | None:
        return (task.favourable,)
