"""Columns of a frontier: training figures and those of its evaluations by name, and some of its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..measures import Evaluation, GroupRates
from ..measures.claims import worst_pair
from ..measures.figures import Column, larger_is_better
from ..measures.intervals import Sizes, error_interval, selection_ratio_lower, worst_gap_floor, worst_gap_upper
from ..objectives import Array, Task
from ..validation import check_confidence, check_text, counted, shown

if TYPE_CHECKING:
    from .frontier import Frontier


GAPS = ("tpr_gap", "fpr_gap", "selection_gap", "error_gap", "recall_gap")
"""Gaps of shares, which have intervals."""
End = Callable[[GroupRates, str, float, Sizes | None], Array]


def column_of(front: Frontier, name: str, on: str | None, confidence: float | None) -> Array:
    """Return a training figure, or a figure of an evaluation, (N,)."""
    check_text(name, "name", "the name of a column")
    if confidence is not None:
        check_confidence(confidence)
    if name == "loss":
        return front.loss
    if name == front.facts.gap_column:
        return np.asarray(front.gaps.max(axis=1))
    if name in front.facts.gap_columns:
        return np.asarray(front.gaps[:, front.facts.gap_columns.index(name)])
    return figures(record_of(front, on), name, confidence)


def record_of(front: Frontier, on: str | None) -> Evaluation:
    """Return an evaluation by name, by default "validation", or the first."""
    known = front.evaluations
    if not known:
        raise InputError(
            "rates are not known yet, expected an evaluation; call front = front.evaluate(X, y, "
            "sensitive_features=..., name='validation') first."
        )
    if on is None:
        return known["validation"] if "validation" in known else next(iter(known.values()))
    return known[check_evaluation(on, known)]


def check_evaluation(on: Any, known: Iterable[str]) -> str:
    """Return the name of an evaluation that was made."""
    names = tuple(known)
    if not isinstance(on, str) or on not in names:
        raise InputError(f"no evaluation {shown(on)}, expected one of {', '.join(names)}.")
    return on


def table_of(front: Frontier) -> dict[str, Any]:
    """Return all columns as arrays: id, status, loss, loss gaps, and every evaluation's figures and cut-offs."""
    columns: dict[str, Any] = {"id": front.ids, "status": np.array([s.name.lower() for s in front.status])}
    if front.models.names is not None:
        columns["name"] = np.array(front.models.names, dtype=object)
    if front.facts.loss_name == "loss":  # that of candidates is their error, which their evaluation has
        columns["loss"] = front.loss
    columns.update(zip(front.facts.gap_columns, front.gaps.T, strict=True))
    for name, record in front.evaluations.items():
        columns.update({f"{name}.{key}": values for key, values in record.columns.items()})
        if record.cutoffs is not None:
            columns[f"{name}.cutoff"] = record.cutoffs
    return columns


def ids_in_words(ids: NDArray[np.integer[Any]]) -> str:
    """Return the ids of a frontier for a message: from the first to the last where none is missing between them."""
    known = sorted(ids.tolist())
    every = len(known) == 1 + known[-1] - known[0]
    return f"one of {known[0]} to {known[-1]}" if every else f"one of {', '.join(map(str, known))}"


def summary_of(front: Frontier) -> str:
    """Return a frontier in one line."""
    facts, worst = front.facts, front.gaps.max(axis=1)
    proxies = f"; groups of {', '.join(front.proxies)} are probabilities" if front.proxies else ""
    return (
        f"Frontier({counted(len(front), 'point')}, {' + '.join(facts.notions)}: "
        f"{facts.loss_name} {front.loss.min():.4f} to {front.loss.max():.4f}, "
        f"worst {facts.unit} {worst.max():.4f} to {worst.min():.4f}; "
        + (f"favourable label {facts.task.favourable_label!r}" if facts.task.classes else "regression")
        + f"{proxies})"
    )


def figures(record: Evaluation, name: str, confidence: float | None, end: End = worst_gap_upper) -> Array:
    """Return a column of an evaluation, as the end of its interval that has to hold when a confidence is given.

    That is the upper end of an error and of a gap, the lower end of the selection ratio (of each pair of groups on its
    own, because all have to hold). With several attributes ``tpr_gap`` is the worst of ``sex.tpr_gap``,
    ``race.tpr_gap``..., and its upper end holds for all of them at once. ``end`` takes something else of a gap's
    intervals than their upper end.
    """
    parts = [each for each in record.columns if Column.of(each).kind == name and each != name]
    if name not in record.columns and parts:
        if larger_is_better(name):
            return np.asarray(np.fmin.reduce([figures(record, part, confidence) for part in parts]))
        sure = None if confidence is None else 1.0 - (1.0 - confidence) / len(parts)
        return np.asarray(np.fmax.reduce([figures(record, part, sure, end) for part in parts]))
    values = record[name]
    if confidence is None:
        return values
    column = Column.of(name)
    if name == "error":
        return error_interval(values, np.full(len(values), record.effective_n or record.n), confidence)[1]
    attribute = column.attribute or next(iter(record.groups))
    rates, sizes = record.groups.get(attribute), record.sizes.get(attribute)
    if isinstance(rates, GroupRates) and column.figure == "selection_ratio":
        return selection_ratio_lower(rates, confidence, sizes)
    if isinstance(rates, GroupRates) and column.kind in GAPS:
        return end(rates, column.figure, confidence, sizes)
    return values


def least_claim(record: Evaluation, name: str, confidence: float | None, among: NDArray[np.intp], task: Task) -> str:
    """Say the smallest gap that these rows could demonstrate at the rates of some models; nothing of other columns."""
    if confidence is None or Column.of(name).kind not in GAPS:
        return ""
    parts = [name] if name in record.columns else [each for each in record.columns if Column.of(each).kind == name]
    sure = 1.0 - (1.0 - confidence) / len(parts)
    floors = np.stack([figures(record, part, sure, worst_gap_floor) for part in parts])
    floor = np.fmax.reduce(floors)
    if np.isnan(floor[among]).all():
        return ""
    place = int(among[np.nanargmin(floor[among])])
    pair = worst_pair(record, parts[int(np.nanargmax(floors[:, place]))], place, task)
    assert pair is not None
    few = f"{pair.fewest[0]:.0f} and {pair.fewest[1]:.0f} people{pair.label}"
    return f"with {few} in the smallest groups, no gap below about {_down(floor[place])} can be demonstrated"


def _down(value: float) -> str:
    """Return a number in two digits, rounded towards 0, so that no upper end is below what is told."""
    unit = 10.0 ** (np.floor(np.log10(max(value, 1e-12))) - 1)
    return f"{np.floor(value / unit + 1e-9) * unit:.2g}"


def subset(front: Frontier, ids: Sequence[int]) -> Frontier:
    """Return a frontier of the points with these ids, in their order on the frontier; ids stay."""
    places = sorted({front.place(id) for id in ids})
    return replace(
        front,
        models=front.models.take(places),
        points=front.points.take(places),
        evaluations={name: _taken(record, places) for name, record in front.evaluations.items()},
    )


def _taken(record: Evaluation, places: list[int]) -> Evaluation:
    """Return the judgement of some of the models; what belongs to groups alone stays."""
    return replace(
        record,
        columns={name: values[places] for name, values in record.columns.items()},
        signed={name: values[places] for name, values in record.signed.items()},
        groups={name: _rates(rates, places) for name, rates in record.groups.items()},
        operating=None if record.operating is None else record.operating.take(places),
        alike=None if record.alike is None else record.alike[places],
    )


def _rates(rates: Any, places: list[int]) -> Any:
    stored = {each.name for each in fields(rates)}
    return replace(rates, **{name: getattr(rates, name)[places] for name in rates.names if name in stored})
