"""Judgement of all models of a frontier on data, in rates of decisions; of Dask collections part by part.

Every partition counts its own rows, and only counts travel.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from ..exceptions import FairfrontWarning, InputError
from ..measures import Evaluation, evaluate_scores
from ..measures.counts import Sums, sums_of
from ..measures.evaluation import check_scores, judgement_of
from ..measures.operating_points import Operating, OperatingPoint, one_number
from ..measures.score_counts import SURE, count_scores, score_edges
from ..objectives import Array, Task
from ..problems.dask.passes import reduced
from ..validation import as_weights, check_labels, is_dask, take_rows
from .cutoffs import decisions, for_favourable, placed, responses_of, second_class
from .held_rows import GroupBook, checked_features, encode_labels, group_book, held_rows
from .models import Models

if TYPE_CHECKING:
    from .frontier import Frontier

ROWS = 65_536
"""Rows that are scored at once within a partition."""
LOOKED_AT, SAMPLED = 8, 20_000
"""Partitions, and rows of each, from whose scores the bins of the AUC are cut."""


def evaluate_points(
    front: Frontier,
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    name: str,
    asked: Operating | OperatingPoint | None = None,
) -> Evaluation:
    """Score all models on X and count their decisions per group.

    ``asked`` is a rule that places cut-offs on these rows, or cut-offs that hold here too.
    """
    rows = (X, y, sensitive_features, sample_weight)
    if any(is_dask(each) for each in rows):
        return _evaluate_parts(front, rows, name, asked)
    models, task, held = front.models, front.facts.task, held_rows(front, *rows)
    operating = None
    if asked is None:
        scores, decided = decisions(models, held.X, None, held.attributes)
    else:
        scores, responses = responses_of(models, held.X)
        good = held.labels == task.favourable
        operating = placed(asked, responses, good, held.weight, probability=models.probable, placed_on=name)
        decided = second_class(operating, responses, task)
    record = evaluate_scores(
        scores, held.labels, task, held.attributes, name=name, sample_weight=held.weight, decided=decided
    )
    return replace(record, operating=operating)


def _evaluate_parts(
    front: Frontier, rows: tuple[Any, Any, Any, Any], name: str, asked: Operating | OperatingPoint | None
) -> Evaluation:
    """Score all models on the partitions of X and add up their counts in the order of partitions.

    Counts, rates and gaps are those of `evaluate_scores`. The AUC is counted in 8192 bins of scores, cut at quantiles
    of eight partitions; it is off by at most half the share of pairs in one bin, about 1e-4 where these partitions are
    like the others, and NaN where that bound is above 1e-3. Cut-offs that follow from the rows lie between two such
    bins, and take a pass of their own.
    """
    X, _, sensitive_features, _ = rows
    models, facts = front.models, front.facts
    if not is_dask(X):
        raise InputError(
            "y, sensitive_features or sample_weight are Dask collections and X is not, expected X as one too; make it "
            "one with dask.array.from_array, or compute() the others."
        )
    book = group_book(facts, sensitive_features)
    edges = _edges(models, X) if facts.task.kind == "binary" else None
    part = Part(models, facts.task, book, edges)
    operating = _placed(part, rows, name, asked) if isinstance(asked, Operating) else asked
    sums = _counted(replace(part, operating=operating), rows)
    record = judgement_of(sums, facts.task, book.attributes, name, _area(sums))
    return replace(record, operating=operating)


def _counted(part: Part, rows: tuple[Any, ...]) -> Sums:
    sums: Sums | None = reduced(part.count, *rows, combine=_joined)
    if sums is None:
        raise InputError("X has 0 rows, or sample_weight is zero in every row, expected rows to judge.")
    return sums


def _placed(part: Part, rows: tuple[Any, ...], name: str, rule: Operating) -> OperatingPoint:
    """Return the cut-offs of a rule: the one given, or those between two bins of scores."""
    known = part.models.probable
    if rule.cutoff is not None:
        return OperatingPoint(rule, np.full(len(part.models), one_number(rule.cutoff)), known, name)
    bins = _counted(part, rows).bins
    assert bins is not None
    at = bins.place(rule, part.task.favourable)
    second = np.where(known, expit(at), at)
    return OperatingPoint(rule, for_favourable(second[:, None], part.task, known)[:, 0], known, name)


@dataclass(frozen=True, eq=False)
class Part:
    """What a partition needs to know to count its rows: models, cut-offs, labels, groups, edges of the AUC's bins."""

    models: Models
    task: Task
    book: GroupBook
    edges: Array | None
    operating: OperatingPoint | None = None

    def count(self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> Sums | None:
        """Return the sums of one partition, None where it has no rows that count."""
        n = X.shape[0]
        if not n:
            return None
        matrix = checked_features(self.models, X)
        labels = encode_labels(check_labels(y, n), self.task)
        attributes = self.book.read(sensitive_features, n)
        weight = None if sample_weight is None else as_weights(sample_weight, n)
        busy = np.arange(n) if weight is None else np.flatnonzero(weight)
        found = []
        for start in range(0, len(busy), ROWS):
            rows = busy[start : start + ROWS]
            some = tuple(a.take(rows) for a in attributes)
            w = None if weight is None else weight[rows]
            found.append(self._sums(take_rows(matrix, rows), labels[rows], some, w))
        return reduce(add, found) if found else None

    def _sums(self, matrix: Any, labels: Any, attributes: Any, weight: Array | None) -> Sums:
        scores, decided = decisions(self.models, matrix, self.operating, attributes)
        scores = check_scores(scores, self.task)
        sums = sums_of(decided, labels, self.task, attributes, weight)
        if self.edges is None:
            return sums
        return replace(sums, bins=count_scores(scores[:, 0], labels == 1, weight, self.edges))


def _edges(models: Models, X: Any) -> Array:
    """Cut bins at quantiles of scores in a few partitions, from the first to the last."""

    def sample(block: Any) -> list[Array]:
        n = block.shape[0]
        if not n:
            return []
        rows = np.unique(np.linspace(0, n - 1, min(n, SAMPLED)).astype(np.intp))
        return [np.asarray(models.scores(take_rows(checked_features(models, block), rows)))[:, 0]]

    found: list[Array] = reduced(sample, X, combine=_listed, places=_spread)
    return score_edges(np.concatenate(found, axis=1) if found else np.zeros((len(models), 1)))


def _spread(n: int) -> list[int]:
    return sorted({(n - 1) * i // (LOOKED_AT - 1) for i in range(LOOKED_AT)})


def _listed(parts: Sequence[list[Array]]) -> list[Array]:
    return [each for part in parts for each in part]


def _joined(parts: Sequence[Sums | None]) -> Sums | None:
    known = [part for part in parts if part is not None]
    return reduce(add, known) if known else None


def _area(sums: Sums) -> Array | None:
    """Return the AUC of each model, NaN with a warning where bins do not tell it closely enough."""
    if sums.bins is None:
        return None
    area, off = sums.bins.auc()
    if (off > SURE).any():
        warnings.warn(
            f"auc is left out for {int((off > SURE).sum())} models, because scores differ too much between partitions "
            f"for it to be known within {SURE}; shuffle the rows, or evaluate a sample in memory.",
            FairfrontWarning,
            stacklevel=5,
        )
    return np.where(off > SURE, np.nan, area)
