"""Gaps inside levels of control features, on rows that did not train, for cards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..frontier import Frontier
from ..measures.evaluation import Evaluation
from ..measures.paired import rounded
from ..measures.score_gaps import PairGaps, ordered_pair
from ..measures.within_gaps import within_gaps
from ..objectives import Array, Attribute
from ..objectives.strata import Strata
from .rows import Part


def worst_within(
    front: Frontier,
    record: Evaluation,
    part: Part,
    scores: Array,
    decided: Any,
    labels: Any,
    attributes: Sequence[Attribute],
    confidence: float,
) -> list[list[dict[str, Any]]]:
    """Return the worst pooled gaps of each model."""
    found: list[list[dict[str, Any]]] = [[] for _ in range(len(front.ids))]
    if part.control is None:
        return found
    task, strata = front.facts.task, Strata.of(part.control, part.n)
    weight = None if part.weight is None else np.asarray(part.weight, dtype=np.float64)
    gaps = within_gaps(record, scores, decided, task, labels, attributes, weight, strata.codes)
    for attribute in attributes:
        for figure, pairs in gaps[attribute.name].items():
            for place, told in enumerate(found):
                told.append(_contrast(attribute, f"{figure}_gap", pairs, place, confidence))
    return found


def _contrast(attribute: Attribute, figure: str, pairs: PairGaps, place: int, confidence: float) -> dict[str, Any]:
    one = pairs.take([place])
    known = bool(np.isfinite(one.gap).all())
    ends = (float(one.worst[0]), float(one.lower(confidence)[0]), float(one.upper(confidence)[0]))
    told = rounded(list(ends), figure=figure) if known else [None, None, None]
    low, high = ordered_pair(one.gap[0], len(attribute.levels)) if known else (0, 0)
    between = [attribute.levels[low], attribute.levels[high]] if known else []
    return {
        "attribute": attribute.name,
        "figure": figure,
        **dict(zip(("value", "lower", "upper"), told, strict=True)),
        **{"between": between, "people": [], "upper_between": [], "not_compared": []},
    }
