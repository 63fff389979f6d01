"""Who gains and who loses: rates of every group before and after, and whom the two models decide differently."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measures.paired import PairedRows
from .estimates import Answers, Sample
from .families import Data
from .split_search import Outcome
from .verdict import class_codes

EVERYONE = "(all rows)"
Line = dict[str, Any]


def gains_and_losses(
    outcome: Outcome, data: Data, alpha: float
) -> tuple[dict[str, list[dict[str, Any]]], dict[str, Any]]:
    """Return a line per group of every attribute, and one of all rows, for the first model of a split.

    A line has ``selection`` and ``tpr`` before and after with the interval of the change, and how many people the model
    alone approves (``enter``) and the incumbent alone approves (``leave``), with the share of them whose label is
    favourable. What needs labels is left out where they are known for some rows only.
    """
    rows, task = data.sample.take(outcome.judge), data.task
    before, after = outcome.incumbent.take(outcome.judge), outcome.candidates[0].answers
    decided = np.stack([class_codes(each.approved, task) for each in (before, after)])
    paired = PairedRows.of(
        decided,
        class_codes(rows.good, task),
        task,
        rows.attributes,
        None if (rows.weight == 1.0).all() else rows.weight,
        plain=0,
        confidence=1.0 - alpha,
    )
    by_group: dict[str, list[Line]] = {}
    for place, attribute in enumerate(rows.attributes):
        rates, changes = paired.record.groups[attribute.name], paired.by_group(place).changes
        lines = []
        for k, level in enumerate(attribute.levels):
            member = np.asarray(attribute.codes) == k
            line: Line = {"group": level, "n": int(member.sum())}
            for rate in ("selection", "tpr") if rows.labelled is None else ("selection",):
                change = changes[rate]
                line[rate] = [_defined(value) for value in rates.rate(rate)[:, k]]
                line[f"{rate}_change"] = [_defined(ends[1, k]) for ends in (change.value, change.lower, change.upper)]
            lines.append(line | _swaps(rows, before, after, member))
        by_group[attribute.name] = lines
    everyone = np.ones(len(rows.good), dtype=bool)
    return by_group, {"group": EVERYONE, **_swaps(rows, before, after, everyone)}


def _swaps(rows: Sample, before: Answers, after: Answers, member: NDArray[np.bool_]) -> Line:
    """Count who enters and who leaves among some rows."""
    found: Line = {}
    for name, one, other in (("enter", after, before), ("leave", before, after)):
        swapped = one.approved & ~other.approved & member
        found[name] = int(swapped.sum())
        if rows.labelled is None:
            found[f"{name}_favourable"] = float(rows.good[swapped].mean()) if swapped.any() else None
    return found


def _defined(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
