"""Judgement of a frontier's models on Dask collections, of which only counts travel, of scores in bins.

Bins are cut at quantiles of some rows. Pairs of rows in different bins are ordered exactly; pairs in one bin count
half, as ties do, so that the area is off by at most half their share. A bin with a single score holds true ties.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from hashlib import blake2b
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import FairfrontWarning, InputError
from ..measures import Evaluation
from ..measures.counts import Sums, ratio, sums_of
from ..measures.cutoffs import Operating, OperatingPoint, one_number
from ..measures.decisions import check_scores
from ..measures.evaluation import judgement_of
from ..measures.moments import settled
from ..measures.notion_figures import scores_of
from ..objectives import Array, Attribute, GroupProbabilities
from ..problems.dask.passes import reduced
from ..problems.dask.scan import Key, Tally, group_tally, keys_of
from ..validation import is_dask
from ..validation.inputs import as_columns, as_weights, check_labels, factorize, take_rows
from .judgement import Asked, checked_features, encode_labels, resolve_attributes
from .models import Models, responses_of

if TYPE_CHECKING:
    from .points import Facts

ROWS = 65_536
"""Rows that are scored at once within a partition."""
LOOKED_AT, SAMPLED = 8, 20_000
"""Partitions, and rows of each, from whose scores the bins of the AUC are cut."""
BEYOND_ALL = 1e-12  # how far beyond all scores a cut-off lies that approves nobody
BINS = 8192
SETS = 1000
"""Sets of people that intervals of several rows per person are made from."""
SURE = 1e-3
"""Areas that may be off by more are not given."""


def evaluate_parts(
    models: Models, facts: Facts, rows: tuple[Any, ...], name: str, asked: Asked, more: Sequence[str] = ()
) -> Evaluation:
    """Score all models on the partitions of X and add up their counts in the order of partitions.

    ``rows`` are features, labels, groups, weights and who each row is. Counts, rates and gaps are those of
    `evaluate_scores`. The AUC is counted in 8192 bins of scores, cut at quantiles of eight partitions; it is off by at
    most half the share of pairs in one bin, about 1e-4 where these partitions are like the others, and NaN where that
    bound is above 1e-3. Cut-offs that follow from the rows lie between two such bins, and take a pass of their own.
    """
    task, X = models.task, rows[0]
    if not is_dask(X):
        raise InputError(
            "y, sensitive_features or sample_weight are Dask collections and X is not, expected X as one too; make it "
            "one with dask.array.from_array, or compute() the others."
        )
    names = (*facts.notions, *more)
    if about := scores_of(names, task):
        raise InputError(
            f"notion {' and '.join(names)} is judged by {' and '.join(about)} of rows in memory, found Dask "
            "collections; evaluate a sample of the rows, X.compute()."
        )
    book = GroupBook.of(facts, rows[2])
    part, known = Part(models, book, _edges(models, X) if task.kind == "binary" else None), models.probable
    if isinstance(asked, Operating) and asked.cutoff is not None:
        asked = OperatingPoint(asked, np.full(len(models), one_number(asked.cutoff)), known, name)
    elif isinstance(asked, Operating):
        bins = part.counted(rows).bins
        assert bins is not None
        at = bins.place(asked, task.favourable)[:, None]
        asked = OperatingPoint(asked, responses_of(at, task, known)[:, 0], known, name)
    return judged_sums(replace(part, operating=asked).counted(rows), facts, book, name, asked)


def judged_sums(sums: Sums, facts: Facts, book: GroupBook, name: str, asked: Asked = None) -> Evaluation:
    task, area = facts.task, None
    if sums.bins is not None:
        area, off = sums.bins.auc()
        unsure = off > SURE
        if unsure.any():
            warnings.warn(
                f"auc is left out for {int(unsure.sum())} models, because scores differ too much between partitions "
                f"for it to be known within {SURE}; shuffle the rows, or evaluate a sample in memory.",
                FairfrontWarning,
                stacklevel=3,
            )
        area = np.where(unsure, np.nan, area)
    assert not isinstance(asked, Operating)
    sums = replace(sums, spreads=settled(sums.spreads)) if sums.clustered else sums
    return replace(judgement_of(sums, task, book.attributes, name, area), operating=asked)


@dataclass(frozen=True, eq=False)
class GroupBook:
    """The attributes of every combination of groups that occurs in a collection, and the place of each of them."""

    attributes: tuple[Attribute, ...]
    places: Mapping[Key, int]

    @classmethod
    def of(cls, facts: Facts, sensitive_features: Any) -> GroupBook:
        """Count the values of groups in one pass, and match them with training as `resolve_attributes` does."""
        if isinstance(sensitive_features, GroupProbabilities):
            raise InputError(
                "sensitive_features are probabilities in memory and X is a Dask collection, expected columns of groups "
                "as Dask collections; compute() X, or give groups."
            )
        if is_dask(sensitive_features):
            tally = reduced(group_tally, sensitive_features, combine=lambda parts: reduce(Tally.joined, parts))
        else:
            tally = group_tally(sensitive_features)
        return cls.of_tally(facts, tally)

    @classmethod
    def of_tally(cls, facts: Facts, tally: Tally) -> GroupBook:
        attributes = resolve_attributes(facts, tally.groups, len(tally.keys), tally.counts)
        return cls(attributes, {key: i for i, key in enumerate(tally.keys)})

    def read(self, block: Any, n: int) -> tuple[Attribute, ...]:
        place, keys = keys_of(list(as_columns(block, "sensitive_features", n=n).values()))
        if not all(key in self.places for key in keys):
            raise InputError(
                "a partition has groups that it did not have when it was first read, expected collections that give "
                "the same rows each time; store or persist them before judging."
            )
        rows = np.array([self.places[key] for key in keys], dtype=np.intp)[place]
        return tuple(attribute.take(rows) for attribute in self.attributes)


@dataclass(frozen=True, eq=False)
class Part:
    """What a partition needs to know to count its rows: models, cut-offs, labels, groups, edges of the AUC's bins."""

    models: Models
    book: GroupBook
    edges: Array | None
    operating: OperatingPoint | None = None

    def counted(self, rows: tuple[Any, ...]) -> Sums:
        sums: Sums | None = reduced(self.count, *rows, combine=joined)
        if sums is None:
            raise InputError("X has 0 rows, or sample_weight is zero in every row, expected rows to judge.")
        return sums

    def count(self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, person: Any = None) -> Sums | None:
        """None where the partition has no rows that count."""
        n, task = X.shape[0], self.models.task
        if not n:
            return None
        matrix, labels = checked_features(self.models, X), encode_labels(check_labels(y, n), task)
        attributes = self.book.read(sensitive_features, n)
        weight = None if sample_weight is None else as_weights(sample_weight, n)
        busy, people = np.arange(n) if weight is None else np.flatnonzero(weight), None
        if person is not None:
            people = sets_of(person, n)
        found: list[Sums | None] = []
        for start in range(0, len(busy), ROWS):
            rows = busy[start : start + ROWS]
            some, w = tuple(a.take(rows) for a in attributes), None if weight is None else weight[rows]
            scores, decided = self.models.decisions(take_rows(matrix, rows), self.operating, some)
            scores = check_scores(scores, task)
            who = None if people is None else people[rows]
            sums = sums_of(decided, labels[rows], task, some, w, person=who, together=True, sets=SETS)
            if self.edges is not None:
                sums = replace(sums, bins=count_scores(scores[:, 0], labels[rows] == 1, w, self.edges))
            found.append(sums)
        return joined(found)


def sets_of(person: Any, n: int) -> NDArray[np.intp]:
    """Return the set that each of n rows is in, by a hash of its person, the same in every partition.

    A whole number is the same person as an integer and as a float.
    """
    codes, levels = factorize(check_labels(person, n, "person"))
    known = (int(each) if isinstance(each, float) and each.is_integer() else each for each in levels)
    digests = [blake2b(str(each).encode(), digest_size=8).digest() for each in known]
    return np.array([int.from_bytes(each, "big") % SETS for each in digests], dtype=np.intp)[codes]


def joined(parts: Sequence[Sums | None]) -> Sums | None:
    known = [part for part in parts if part is not None]
    return reduce(add, known) if known else None


def _edges(models: Models, X: Any) -> Array:
    found: Array = reduced(partial(sampled, models), X, combine=side_by_side, places=spread_over)
    return score_edges(found if found.size else np.zeros((len(models), 1)))


def sampled(models: Models, block: Any) -> Array:
    n = block.shape[0]
    if not n:
        return np.zeros((len(models), 0))
    rows = np.unique(np.linspace(0, n - 1, min(n, SAMPLED)).astype(np.intp))
    return np.asarray(models.scores(take_rows(checked_features(models, block), rows)))[:, 0]


def side_by_side(parts: list[Array]) -> Array:
    return np.concatenate(parts, axis=1)


def spread_over(n: int) -> list[int]:
    return sorted({(n - 1) * i // (LOOKED_AT - 1) for i in range(LOOKED_AT)})


@dataclass(frozen=True, eq=False)
class ScoreBins:
    """Weights of positive (``up``) and other rows (``across``) in bins of scores, and the bins' extremes, (N, bins)."""

    up: Array
    across: Array
    low: Array
    high: Array

    def __add__(self, other: ScoreBins) -> ScoreBins:
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return ScoreBins(self.up + other.up, self.across + other.across, low, high)

    def auc(self) -> tuple[Array, Array]:
        """Return the area of each model and how far it may be off, both (N,); NaN where a label has no weight."""
        whole = self.up.sum(axis=1) * self.across.sum(axis=1)
        before = np.cumsum(self.across, axis=1) - self.across
        area = (self.up * (before + 0.5 * self.across)).sum(axis=1)
        mixed = np.where(self.low < self.high, self.up * self.across, 0.0)
        return np.clip(ratio(area, whole), 0.0, 1.0), ratio(0.5 * mixed.sum(axis=1), whole)

    def place(self, rule: Operating, favourable: int) -> Array:
        """Return each model's cut-off, (N,), between two bins; the favourable label is that of ``up`` rows if 1."""
        sign, bins = 1.0, (self.up, self.across, self.low, self.high)
        if favourable != 1:
            sign, bins = -1.0, (self.across, self.up, -self.high, -self.low)
        return sign * np.array([_cut(rule, *each) for each in zip(*bins, strict=True)])


def _cut(rule: Operating, good: Array, other: Array, low: Array, high: Array) -> float:
    """Return the cut-off of one model, midway between the last bin that is approved and the first that is not."""
    there = low <= high
    at = np.tile(low[there], 2)
    weight = np.concatenate([good[there], other[there]])
    first = float(rule.place(at[None], np.arange(len(at)) < there.sum(), weight, between=False)[0])
    if first > low[there].max():  # nobody is approved, whatever the last bits of a probability are
        top = float(high[there].max())
        return top + BEYOND_ALL * max(abs(top), 1.0)
    below = high[there & (high < first)]
    return 0.5 * (first + float(below.max())) if len(below) else first


def score_edges(scores: Array) -> Array:
    """Return the edges of bins for N models, (N, BINS - 1): quantiles of their scores on some rows, (N, m)."""
    ranked = np.sort(scores, axis=1)
    places = np.linspace(0, ranked.shape[1] - 1, BINS - 1).round().astype(np.intp)
    return np.asarray(ranked[:, places])


def count_scores(scores: Array, positive: NDArray[np.bool_], weight: Array | None, edges: Array) -> ScoreBins:
    """Count the scores (N, n) of some rows; a bin begins with its lower edge."""
    w = np.ones(len(positive)) if weight is None else weight
    sides, rows = (np.where(positive, w, 0.0), np.where(positive, 0.0, w)), []
    for of_model, cuts in zip(scores, edges, strict=True):
        order = np.argsort(of_model)
        ranked = of_model[order]
        ends = np.concatenate([[0], np.searchsorted(ranked, cuts, side="left"), [len(ranked)]])
        some = ends[1:] > ends[:-1]
        low, high = np.full(len(some), np.inf), np.full(len(some), -np.inf)
        low[some], high[some] = ranked[ends[:-1][some]], ranked[ends[1:][some] - 1]
        sums = [np.diff(np.concatenate([[0.0], np.cumsum(each[order])])[ends]) for each in sides]
        rows.append((*sums, low, high))
    return ScoreBins(*(np.stack(column) for column in zip(*rows, strict=True)))
