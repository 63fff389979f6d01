"""A part of a frontier: some of its points, with everything that is known of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from ..exceptions import InputError
from ..measures import Evaluation
from .estimator_points import EstimatorPoints
from .frontier import Frontier


def subset(front: Frontier, ids: Sequence[int]) -> Frontier:
    """Return a frontier of the points with these ids, in their order on the frontier; ids stay."""
    places = sorted({front.place(id) for id in ids})
    return replace(
        front,
        points=_some(front.points, places),
        objectives=front.objectives[places],
        gaps=front.gaps[places],
        signed_gaps=front.signed_gaps[places],
        status=tuple(front.status[i] for i in places),
        preferences=front.preferences[places],
        kkt=front.kkt[places],
        certified=front.certified[places],
        multipliers=front.multipliers[places],
        ids=front.ids[places],
        evaluations={name: _taken(record, places) for name, record in front.evaluations.items()},
    )


def _some(points: Any, places: list[int]) -> Any:
    """Return some of the models; fits that were put off are made now, because the rows are not kept."""
    if isinstance(points, EstimatorPoints):
        models = {new: points.build(old) for new, old in enumerate(places)}
        return replace(points, models=models, size=len(places), refit=None)
    if not hasattr(points, "take"):
        raise InputError(f"{type(points).__name__} cannot be taken apart, expected linear models or fits of a learner.")
    return points.take(places)


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
