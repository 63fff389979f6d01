"""Cautions: what the evaluations of a frontier say against reading its loss gaps as gaps of decisions, or as gains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..exceptions import spelled
from ..measures import Evaluation, GroupMeans, GroupRates
from ..objectives import Array, proxy_sentences, rates_of
from .judgement import is_test

if TYPE_CHECKING:
    from .frontier_figures import FrontierFigures

RATES = "units='rates'"
LEFT = 0.5
"""Share of the plain rate gap that is left, or opened on the other side, where the loss gap is smallest."""
CLOSED = 0.1  # share of the plain loss gap below which it counts as closed
CLEAR = 2.0  # standard errors that the plain rate gap is away from zero


def notes_of(front: FrontierFigures, place: int | None = None) -> tuple[str, ...]:
    """Say what has to be known to read the figures of a frontier, or of one point of it.

    What notions compare is said apart. Cautions are from the evaluation that tables show; there are none of test rows,
    or of probable groups.
    """
    facts = front.facts
    probable = proxy_sentences([name for name in front.proxies if name not in facts.proxies])
    return (*facts.sentences[len(facts.notions) :], *probable, *_cautions(front, place))


def _cautions(front: FrontierFigures, place: int | None) -> tuple[str, ...]:
    if not front.evaluations or not front.facts.trained or len(front) < 2 or front.proxies:
        return ()
    record = front.record()
    return () if is_test(record.name) else (*_disagreement(front, record), *_levelled(front, record, place))


def worst_errors(record: Evaluation) -> Array | None:
    """Return the largest error of any group, (N,): a share of decisions, or the mean squared error."""
    errors = [each for each in map(_errors, record.groups.values()) if each is not None]
    return np.concatenate(errors, axis=1).max(axis=1) if errors else None  # NaN where a group has none


def _errors(rates: object) -> Array | None:
    if isinstance(rates, GroupRates):
        return rates.error
    return rates.mse if isinstance(rates, GroupMeans) else None


def _disagreement(front: FrontierFigures, record: Evaluation) -> tuple[str, ...]:
    """Say where rate gaps stay open, or turn round, although the loss gap closes; two groups and one rate."""
    facts = front.facts
    rates, attributes = rates_of(facts.notions, facts.task), list(record.groups.values())
    if facts.unit != "loss gap" or facts.task.kind != "binary" or len(rates) != 1 or len(attributes) != 1:
        return ()
    found = attributes[0]
    if not isinstance(found, GroupRates) or len(found.levels) != 2:
        return ()
    values, people = getattr(found, rates[0]), found.people(rates[0], facts.task.favourable)
    plain, end = front.plain, int(np.argmin(front.gaps[:, 0]))
    signed = values[:, 0] - values[:, 1]
    noise = float(np.sqrt((values[plain] * (1.0 - values[plain]) / np.maximum(people, 1)).sum()))
    closed = front.gaps[end, 0] <= CLOSED * front.gaps[plain, 0]
    if not closed or not abs(signed[plain]) > CLEAR * noise or not abs(signed[end]) > LEFT * abs(signed[plain]):
        return ()
    return (
        f"Loss gaps and rate gaps disagree on {record.name}: where the loss gap is smallest, the "
        f"{rates[0].upper() if len(rates[0]) < 4 else rates[0]} gap is {signed[end]:+.3f} after {signed[plain]:+.3f}; "
        f"{spelled(RATES)} lowers gaps of decisions (its models guess the group).",
    )


def _levelled(front: FrontierFigures, record: Evaluation, place: int | None) -> tuple[str, ...]:
    """Say of which points, or that of this one, every group has a larger error than the unconstrained model."""
    said, plain = [], front.plain
    for name, rates in record.groups.items():
        errors = _errors(rates)
        if errors is None:
            continue
        worse = np.flatnonzero((errors > errors[plain]).all(axis=1))
        worse = worse if place is None else worse[worse == place]
        if len(worse):
            ids = front.ids[worse]
            which = f"id {ids[0]}" if len(ids) == 1 else f"{len(ids)} of {len(front)} models, such as id {ids[-1]},"
            said.append(
                f"Levelling down on {record.name}: with {which} every group of {name!r} is worse off, by its error, "
                "than without a constraint."
            )
    return tuple(said)
