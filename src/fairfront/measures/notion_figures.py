"""Figures of decisions that an evaluation has where a notion is about them, added to those that every one has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..objectives import Task, rates_of
from .contrasts import gaps, selection_ratio, worst_gap
from .evaluation import Evaluation
from .figures import MORE, RATIO_OF, Column
from .rates import GroupRates, Margins, derived_share
from .spans import RateRange

ADDED = ("precision", *MORE, "tpr_ratio")


def figures_of(notions: Sequence[str], task: Task) -> tuple[str, ...]:
    """Return the figures that notions are about and that not every evaluation has."""
    named = (*rates_of(notions, task), *notions)
    return tuple(each for each in ADDED if each in named) if task.kind == "binary" else ()


def more_of(record: Evaluation) -> tuple[str, ...]:
    """Return those of them that an evaluation has."""
    kinds = {Column.of(name).kind for name in record.columns}
    return tuple(each for each in ADDED if each in kinds or f"{each}_gap" in kinds)


def with_figures(
    record: Evaluation, names: Sequence[str], good: int, ranges: Mapping[str, Mapping[str, RateRange]] | None = None
) -> Evaluation:
    """Return an evaluation of two classes with more figures of its decisions, those of the label ``good``.

    ``ranges`` by attribute are what exact figures can be, which have to be given where counts are rounded.
    """
    more = [name for name in ADDED if name in names and name not in more_of(record)]
    if not more or not all(type(rates) is GroupRates for rates in record.groups.values()):
        return record
    columns, signed, known = dict(record.columns), dict(record.signed), {k: dict(v) for k, v in record.ranges.items()}
    for place, (attribute, rates) in enumerate(record.groups.items()):
        prefix = f"{attribute}." if len(record.groups) > 1 else ""
        for name in more:
            if of := RATIO_OF.get(name):
                columns[f"{prefix}{name}"] = selection_ratio(rates, of)
                continue
            columns[f"{prefix}{name}_gap"], signed[f"{prefix}{name}_gap"] = worst_gap(rates, name), gaps(rates, name)
            span = None if ranges is None else ranges[attribute][name]
            if span is None:
                assert record.sums is not None
                counts: Any = record.sums.groups[place]
                margins = (Margins.of(each[:, :-1], good) for each in (counts.weight, counts.squared, counts.rows))
                value = rates.rate(name)
                span = RateRange(value, value, derived_share(name, *margins).size)
            known.setdefault(attribute, {})[name] = span
    return replace(record, columns=columns, signed=signed, ranges=known)
