"""A frontier as it is written: what files may tell of few people."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..exceptions import InputError
from ..measures.disclosure import LIMIT
from ..measures.published import published
from .points import Points

if TYPE_CHECKING:
    from .frontier import Frontier


def published_frontier(front: Frontier) -> Frontier:
    """Return a frontier as it is written: small groups pooled and small counts rounded in its evaluations."""
    facts, question = front.facts, front.facts.question
    if question is not None and question.groups.min_size < LIMIT:
        raise InputError(
            f"this frontier was traced with Groups(min_size={question.groups.min_size}), so that its gaps may describe "
            f"fewer than {LIMIT} people, which is not written to files; trace it with min_size={LIMIT} or more."
        )
    evaluations = {name: published(record, facts.task) for name, record in front.evaluations.items()}
    front = replace(front, evaluations=evaluations)
    if facts.trained:
        return front
    if not evaluations:
        raise InputError("these candidates have no evaluation, expected the one that their axes are from.")
    record = next(iter(evaluations.values()))  # the axes of candidates are figures of their first evaluation
    levels = {name: rates.levels for name, rates in record.groups.items()}
    sensitive = tuple((name, levels.get(name, known)) for name, known in facts.sensitive)
    front = replace(front, facts=replace(facts, sensitive=sensitive))
    points = Points.of_record(record, facts.task, facts.notions)
    if np.array_equal(points.objectives, front.objectives, equal_nan=True):
        return front
    return replace(front, points=replace(points, ids=front.ids))
