"""Notions of predicted values, as insurers compare them: on the scale of the link, and actual over expected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..exceptions import InputError, setting
from .comparisons import Comparison, Notion, Part, Surrogate
from .curves import LogQuotient
from .losses import Task
from .surrogates import Quantity


@dataclass(frozen=True)
class LinkScaleParity(Notion):
    """The mean of scores is the same in every group: of a log link the mean logarithm of predictions.

    It is linear in the weights, so that points are certified; mean predictions (`DemographicParity`) are not. A
    difference d means that geometric means of predictions differ by the factor exp(d).
    """

    name = "link_scale_parity"
    means = ("prediction",)
    words: ClassVar[Mapping[str, str]] = {
        "regression": "mean scores: mean predictions on the scale of the link, such as their logarithms"
    }
    caveat = "It does not look at what happened: it says nothing about errors in any group."
    unit = "score gap"
    kinds = ("regression",)

    def comparisons(self, task: Task, surrogate: Surrogate) -> tuple[Comparison, ...]:
        return (Comparison(Quantity("score"), None, "score"),)


@dataclass(frozen=True)
class ActualOverExpected(Notion):
    """The sum of values over the sum of predictions is the same in every group: nobody pays for another group."""

    name = "actual_over_expected"
    means = ("actual_over_expected",)
    words: ClassVar[Mapping[str, str]] = {"regression": "the sum of values divided by the sum of predictions"}
    caveat = "It does not compare how well it ranks people inside a group: one prediction for all may pass."
    unit = "log ratio gap"
    kinds = ("regression",)

    def check_values(self, values: Any) -> None:
        """Sums that may be 0 or negative have no ratio to speak of."""
        if values.min(initial=0.0) < 0.0:
            raise InputError(
                f"notion {self.name!r} divides sums, expected values of at least 0, found {values.min():g}; use "
                f"{setting('notion', 'demographic_parity')}."
            )

    def comparisons(self, task: Task, surrogate: Surrogate) -> tuple[Comparison, ...]:
        parts = (Part(Quantity("target"), None), Part(Quantity("prediction"), None))
        return (Comparison(parts[1].quantity, None, "", curve=LogQuotient(), parts=parts),)
