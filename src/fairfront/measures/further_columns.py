"""Columns that are made of no table of counts, as they are published: bounds under probabilities.

Bounds are wider by up to .01 at either end, as audits write them. They are not given where a count of groups by label
and decision is small: of probabilities near 0 and 1 they are nearly exact rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array, Attribute, Task
from .disclosure import any_small_cell
from .evaluation import Evaluation
from .figures import Column
from .proxy_bounds import outwards, worst_bounds


def further_columns(record: Evaluation) -> dict[str, Array]:
    """Return the columns of an exact evaluation that its published one has beside those of its counts."""
    assert record.sums is not None
    found, unknown = dict[str, Array](), np.full(record.n_models, np.nan)
    for attribute in record.proxies:
        counts: Any = record.sums.groups[list(record.groups).index(attribute)]
        small = any_small_cell(counts.rows)
        for name in (each for each in record.columns if Column.of(each).end):
            if (Column.of(name).attribute or next(iter(record.groups))) == attribute:
                low, high = outwards(record.columns[name], record.columns[name])
                found[name] = unknown if small else low if Column.of(name).end == "least" else high
    return found


def with_bounds(
    record: Evaluation,
    decided: NDArray[Any],
    task: Task,
    labels: NDArray[Any],
    attributes: Sequence[Attribute],
    weight: Array | None,
) -> Evaluation:
    """Add what worst gaps between people can be, of groups given as probabilities."""
    columns = dict(record.columns)
    for attribute in attributes if task.kind == "binary" else ():
        if attribute.shares is not None:
            prefix = f"{attribute.name}." if len(attributes) > 1 else ""
            known = (decided == (task.favourable == 1), labels == task.favourable)
            for name, (least, most) in worst_bounds(*known, attribute.shares, weight).items():
                columns |= {f"{prefix}{name}_gap_least": least, f"{prefix}{name}_gap_most": most}
    return replace(record, columns=columns)
