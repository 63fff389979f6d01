"""Sums of weights as they are published beside rounded counts: in units of what one row adds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..objectives import Array
from .disclosure import in_units, publish_weights
from .rates import ClassSums
from .sums import ratio
from .values import MeanSums

PARTS = {"hit": "positives", "false_alarm": "negatives", "hits": "of_class"}
"""Sums of decisions, and of the rows that they are parts of."""


def scaled_sums(weight: Any, exact: Any, shown: Any, unit: float) -> Any:
    """Return the weights of groups with published rows, in units of a row's mean weight.

    ``exact`` and ``shown`` are people, with those without a group last.
    """
    c = len(weight.n)
    found = {"n": shown.n[:c]}
    for part, whole in PARTS.items():
        if not hasattr(weight, part):
            continue
        rows = [np.asarray(getattr(each, whole))[:c] for each in (weight, exact, shown)]
        inner = [np.asarray(getattr(each, part))[:, :c] for each in (weight, exact, shown)]
        found[whole] = publish_weights(rows[0], rows[1], rows[2], unit)
        inside = publish_weights(inner[0], inner[1], inner[2], unit)
        outside = publish_weights(rows[0] - inner[0], rows[1] - inner[1], rows[2] - inner[2], unit)
        found[part] = np.nan_to_num(ratio(inside, inside + outside)) * found[whole]
    return replace(weight, **found)


def scaled_squares(weight: Any, twice: Any, scaled: Any, exact: Any, shown: Any) -> Any:
    """Return squared weights beside ``scaled`` ones: effective sizes go with the published rows, in whole rows."""
    found = {}
    for name in ("positives", "negatives", *(["of_class"] if isinstance(twice, ClassSums) else [])):
        size = np.nan_to_num(ratio(getattr(weight, name) ** 2, getattr(twice, name)))
        rows, told = (np.asarray(getattr(each, name))[: len(size)] for each in (exact, shown))
        found[name] = np.nan_to_num(ratio(getattr(scaled, name) ** 2, publish_weights(size, rows, told, 1.0)))
    return replace(twice, **found)


def means_in_units(sums: MeanSums, exact: MeanSums, shown: MeanSums, unit: float) -> MeanSums:
    """Return sums whose means are in units of what one of the published rows adds to them."""
    c = len(sums.n)
    n = shown.n[:c]
    weight = publish_weights(sums.weight, exact.n[:c], n, unit)
    squared = _mean(sums.squared, sums.weight)
    one = np.sqrt(squared) / np.where(n > 0, n, 1.0)
    return replace(
        sums,
        n=n,
        weight=weight,
        prediction=in_units(_mean(sums.prediction, sums.weight), one) * weight,
        residual=in_units(_mean(sums.residual, sums.weight), one) * weight,
        squared=in_units(squared, one * np.sqrt(squared)) * weight,
    )


def _mean(total: Array, weight: Array) -> Array:
    return np.nan_to_num(ratio(total, weight))
