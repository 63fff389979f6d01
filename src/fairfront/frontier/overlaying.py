"""One frontier laid over another: traced points and a person's own candidates, judged on the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import InputError
from ..measures.figures import larger_is_better
from ..objectives import Array
from ..pareto import nondominated
from ..validation import check_text

if TYPE_CHECKING:
    from .frontier import Frontier


def overlaid(front: Frontier, other: Frontier, axes: tuple[str, ...], on: str | None) -> dict[str, Any]:
    """Return columns: source (0 for the first frontier, 1 for the other), id, name, the axes, and ``dominated``.

    Both must have been evaluated on the same rows under the same name; a point without a figure is dominated.
    """
    on = "validation" if on is None else check_text(on, "on", "the name of an evaluation")
    _check_same_rows(front, other, on)
    columns = {axis: np.concatenate([front.column(axis, on), other.column(axis, on)]) for axis in axes}
    costs = np.column_stack([_cost(values, axis) for axis, values in columns.items()])
    return {
        "source": np.repeat([0, 1], [len(front), len(other)]),
        "id": np.concatenate([front.ids, other.ids]),
        "name": np.array([*_names(front), *_names(other)], dtype=object),
        **columns,
        "dominated": ~nondominated(costs),
    }


def _cost(values: Array, axis: str) -> Array:
    sign = -1.0 if larger_is_better(axis) else 1.0
    return np.where(np.isnan(values), np.inf, sign * values)


def _names(front: Frontier) -> list[str]:
    return [str(name) for name in getattr(front.points, "names", front.ids)]


def _check_same_rows(front: Frontier, other: Frontier, on: str) -> None:
    first, second = (f.evaluations.get(on) for f in (front, other))
    if first is None or second is None:
        raise InputError(f"both frontiers need the evaluation {on!r}; call evaluate on the same rows.")
    if first.rule != second.rule:
        raise InputError(
            f"decisions are made by different rules ({first.rule}; {second.rule}), expected one for both; evaluate "
            "both with the same cutoff=, approval_rate= or costs=."
        )
    same = first.groups.keys() == second.groups.keys() and first.n == second.n
    if not same or any(not np.array_equal(first.groups[g].n, second.groups[g].n, equal_nan=True) for g in first.groups):
        raise InputError(
            f"the evaluations rest on different rows ({first.n} and {second.n}, or other groups), expected the same."
        )
