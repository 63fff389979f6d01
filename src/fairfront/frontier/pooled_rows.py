"""Rows of several evaluations judged as one, each row by its weight."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..exceptions import InputError
from ..measures import Evaluation
from ..measures.evaluation import judgement_of
from ..measures.intervals import SKEW
from ..measures.notion_figures import more_of, pooled_scores
from ..measures.promises import FOLDS, widened
from ..objectives import Array, Attribute, Task
from .judgement import is_test, with_notions

if TYPE_CHECKING:
    from .points import Facts


def pool_evaluations(records: list[Evaluation], facts: Facts, name: str) -> Evaluation:
    """Judge the rows of several evaluations as one; the AUC is over pairs of rows of the same evaluation."""
    why = kept_apart(records)
    if why:
        raise InputError(why)
    factors = [float(record.design.get("", {}).get(FOLDS, 1.0)) for record in records]
    factor = float(np.average(factors, weights=[record.n for record in records]))
    more = [metric for record in records for metric in more_of(record)]
    found = pooled_scores(records, with_notions(_pooled(records, facts.task, name), facts, more))
    return widened(found, factor) if factor > 1.0 else found


def kept_apart(records: list[Evaluation]) -> str:
    """Say why evaluations cannot be judged as one; empty where they can."""
    first = records[0]
    for each in records:
        if is_test(each.name):
            return f"{each.name!r} has rows for testing, expected rows to choose on; leave it out."
        both = f"evaluations {first.name!r} and {each.name!r}"
        if _levels(each) != _levels(first):
            return f"{both} have different groups, expected the same ones."
        if not _alike(first.cutoffs, each.cutoffs):
            return (
                f"{both} decide at different cut-offs ({first.rule}; {each.rule}), expected the same ones; evaluate "
                "without cutoff=, approval_rate= and costs=."
            )
    return ""


def _levels(record: Evaluation) -> dict[str, tuple[str, ...]]:
    return {key: tuple(rates.levels) for key, rates in record.groups.items()}


def _alike(one: Array | None, two: Array | None) -> bool:
    return one is two or (one is not None and two is not None and np.array_equal(one, two))


def _pooled(records: list[Evaluation], task: Task, name: str) -> Evaluation:
    sums, first, area = [record.sums for record in records if record.sums is not None], records[0], None
    whole = sums[0]
    for each in sums[1:]:
        whole = whole + replace(each, bins=None)
    if "auc" in first.columns:
        pairs = np.array([np.prod(each.overall.labels) for each in sums])
        area = pairs @ np.stack([record.columns["auc"] for record in records]) / pairs.sum()
    none, shares = np.zeros(0, dtype=np.intp), np.zeros((0, 0))
    attributes = [
        Attribute(key, rates.levels, none, shares if key in first.proxies else None)
        for key, rates in first.groups.items()
    ]
    made = "; ".join(f"{record.name}: {record.made}" for record in records if record.made)
    found = judgement_of(whole, task, attributes, name, area)
    errors = {key: each | _longest(records, key) for key, each in found.errors.items()}
    return replace(found, errors=errors, operating=first.operating, made=made)


def _longest(records: list[Evaluation], attribute: str) -> dict[str, Array]:
    """Return the skewness of means, the largest of the parts', which is more than that of all their rows."""
    known = [record.errors[attribute] for record in records]
    names = [name for name in known[0] if name.endswith(SKEW)]
    return {name: np.max([np.abs(each.get(name, 0.0)) for each in known], axis=0) for name in names}
