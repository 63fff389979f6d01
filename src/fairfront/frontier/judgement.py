"""Judgement of a frontier's models on rows that are matched with training; of Dask collections only counts travel."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..exceptions import FairfrontWarning, GroupWarning, InputError
from ..measures import Evaluation, evaluate_scores
from ..measures.counts import Sums, sums_of
from ..measures.evaluation import check_scores, judgement_of
from ..measures.operating_points import Operating, OperatingPoint, one_number
from ..measures.score_counts import SURE, count_scores, score_edges
from ..objectives import Array, Attribute, GroupProbabilities, Groups, Task, take_groups, warn_of_proxies
from ..problems.dask.passes import reduced
from ..problems.dask.scan import Key, Tally, group_tally, keys_of
from ..problems.linear import feature_names
from ..validation import (
    as_columns,
    as_weights,
    check_labels,
    check_matrix,
    check_weights,
    counted,
    is_dask,
    take_rows,
    weighted_rows,
)
from .cutoffs import decisions, for_favourable, responses_of, second_class
from .models import Models, encode_labels

if TYPE_CHECKING:
    from .frontier import Frontier
    from .points import Facts

ROWS = 65_536
"""Rows that are scored at once within a partition."""
LOOKED_AT, SAMPLED = 8, 20_000
"""Partitions, and rows of each, from whose scores the bins of the AUC are cut."""


@dataclass(frozen=True, eq=False)
class HeldRows:
    """Features, labels, groups and weights of the rows that models are judged on, without those of weight 0."""

    X: Any
    labels: NDArray[Any]
    attributes: tuple[Attribute, ...]
    weight: Array | None

    def judge(
        self, task: Task, name: str, scores: Array, decided: Any = None, operating: OperatingPoint | None = None
    ) -> Evaluation:
        """Decisions (N, n) are by default those of scores (N, K, n)."""
        known: dict[str, Any] = {"name": name, "sample_weight": self.weight, "decided": decided}
        return replace(evaluate_scores(scores, self.labels, task, self.attributes, **known), operating=operating)

    def judge_at(
        self, task: Task, scores: Array, responses: Array, asked: Operating | OperatingPoint, **known: Any
    ) -> Evaluation:
        """Judge at cut-offs on responses (N, n): those placed before, or those that a rule places on these rows.

        ``known`` are the other fields of `OperatingPoint`.
        """
        if isinstance(asked, Operating):
            good, side = self.labels == task.favourable, known.get("side", "above")
            asked = OperatingPoint(asked, asked.place(responses, good, self.weight, side), **known)
        return self.judge(task, known["placed_on"], scores, second_class(asked, responses, task), asked)


def held_rows(
    front: Frontier, X: Any, y: Any, sensitive_features: Any, sample_weight: Any = None, *, as_given: bool = False
) -> HeldRows:
    """Check rows, and match features, labels and groups with training; X may stay ``as_given`` for a stock model."""
    matrix = check_matrix(X) if as_given else checked_features(front.models, X)
    kept, n = X if as_given else matrix, matrix.shape[0]
    warn_of_proxies(sensitive_features, stacklevel=5)
    labels, weight = encode_labels(check_labels(y, n), front.facts.task), check_weights(sample_weight, n)
    rows = weighted_rows(weight)
    if rows is not None and weight is not None:
        labels, weight, kept = labels[rows], weight[rows], take_rows(kept, rows)
        sensitive_features = take_groups(sensitive_features, rows, n)
    return HeldRows(kept, labels, resolve_attributes(front.facts, sensitive_features, len(labels)), weight)


def checked_features(models: Models, X: Any) -> Any:
    """Return X as a matrix, refusing columns that are not those of training or in another order."""
    as_given = models.raw and hasattr(X, "shape")
    matrix = X if as_given and not models.by_group else check_matrix(X)
    known, given = models.feature_names, feature_names(X)
    if known is not None and given is not None and tuple(known) != tuple(given):
        first = next((f"{g!r} where {k!r} was" for k, g in zip(known, given, strict=False) if k != g), "another number")
        raise InputError(
            f"X has other columns than training had, or in another order (found {first}); select X[names]."
        )
    width = models.n_features
    if width is not None and matrix.shape[1] != width:
        raise InputError(f"X has {counted(matrix.shape[1], 'column')}, expected {width}, as in training.")
    return X if as_given else matrix


def resolve_attributes(
    facts: Facts, sensitive_features: Any, n: int, counts: Array | None = None
) -> tuple[Attribute, ...]:
    """Resolve groups with the reference of training, without those that training left out; warn of what is new.

    ``counts`` (n,) are the rows that each entry stands for, as in `Groups.resolve`.
    """
    crossed = len(facts.sensitive) == 1 and " & " in facts.sensitive[0][0]
    present = Groups(cross=crossed, min_size=1).resolve(sensitive_features, n, counts)
    trained, small = dict(facts.sensitive), dict(facts.left_out)
    if len(trained) == len(present) == 1:  # a single attribute is matched whatever its name
        trained = {present[0].name: next(iter(trained.values()))}
    usable = {a.name: trained[a.name][-1] for a in present if trained.get(a.name, ("",))[-1] in a.levels}
    found = []
    for attribute in Groups(reference=usable, cross=crossed, min_size=1).resolve(sensitive_features, n, counts):
        name = attribute.name
        levels, known = trained.get(name, attribute.levels), small.get(name, ())
        new = [level for level in attribute.levels if level not in (*levels, *known)]
        if new:
            said = f"groups of {name!r} that training did not have are evaluated too: {', '.join(new)}."
            warnings.warn(said, GroupWarning, stacklevel=5)
        if levels[-1] not in attribute.levels:
            said = f"the reference group {levels[-1]!r} has no rows here; {attribute.reference!r} takes its place."
            warnings.warn(said, GroupWarning, stacklevel=5)
        kept = [i for i, level in enumerate(attribute.levels) if level not in known]
        if 2 <= len(kept) < len(attribute.levels) and attribute.codes is not None:
            place = np.full(len(attribute.levels) + 1, -1, dtype=np.intp)
            place[kept] = np.arange(len(kept))
            some = tuple(attribute.levels[i] for i in kept)
            attribute = replace(attribute, levels=some, codes=place[attribute.codes])
        found.append(attribute)
    return tuple(found)


def evaluate_points(
    front: Frontier, rows: tuple[Any, Any, Any, Any], name: str, asked: Operating | OperatingPoint | None
) -> Evaluation:
    """Score all models on rows (X, y, sensitive features, weights) and count their decisions per group.

    ``asked`` is a rule that places cut-offs on these rows, or cut-offs that hold here too.
    """
    if any(is_dask(each) for each in rows):
        return _evaluate_parts(front, rows, name, asked)
    models, task, held = front.models, front.facts.task, held_rows(front, *rows)
    if asked is None:
        return held.judge(task, name, *decisions(models, held.X, None, held.attributes))
    scores, responses = responses_of(models, held.X)
    return held.judge_at(task, scores, responses, asked, probability=models.probable, placed_on=name)


def _evaluate_parts(
    front: Frontier, rows: tuple[Any, Any, Any, Any], name: str, asked: Operating | OperatingPoint | None
) -> Evaluation:
    """Score all models on the partitions of X and add up their counts in the order of partitions.

    Counts, rates and gaps are those of `evaluate_scores`. The AUC is counted in 8192 bins of scores, cut at quantiles
    of eight partitions; it is off by at most half the share of pairs in one bin, about 1e-4 where these partitions are
    like the others, and NaN where that bound is above 1e-3. Cut-offs that follow from the rows lie between two such
    bins, and take a pass of their own.
    """
    models, task, X = front.models, front.facts.task, rows[0]
    if not is_dask(X):
        raise InputError(
            "y, sensitive_features or sample_weight are Dask collections and X is not, expected X as one too; make it "
            "one with dask.array.from_array, or compute() the others."
        )
    book = GroupBook.of(front.facts, rows[2])
    part, known = Part(models, task, book, _edges(models, X) if task.kind == "binary" else None), models.probable
    if isinstance(asked, Operating) and asked.cutoff is not None:
        asked = OperatingPoint(asked, np.full(len(models), one_number(asked.cutoff)), known, name)
    elif isinstance(asked, Operating):
        bins = part.counted(rows).bins
        assert bins is not None
        at = bins.place(asked, task.favourable)
        second = np.where(known, expit(at), at)
        asked = OperatingPoint(asked, for_favourable(second[:, None], task, known)[:, 0], known, name)
    sums, area = replace(part, operating=asked).counted(rows), None
    if sums.bins is not None:
        area, off = sums.bins.auc()
        unsure = off > SURE
        if unsure.any():
            warnings.warn(
                f"auc is left out for {int(unsure.sum())} models, because scores differ too much between partitions "
                f"for it to be known within {SURE}; shuffle the rows, or evaluate a sample in memory.",
                FairfrontWarning,
                stacklevel=4,
            )
        area = np.where(unsure, np.nan, area)
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
    task: Task
    book: GroupBook
    edges: Array | None
    operating: OperatingPoint | None = None

    def counted(self, rows: tuple[Any, ...]) -> Sums:
        sums: Sums | None = reduced(self.count, *rows, combine=_joined)
        if sums is None:
            raise InputError("X has 0 rows, or sample_weight is zero in every row, expected rows to judge.")
        return sums

    def count(self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> Sums | None:
        """None where the partition has no rows that count."""
        n = X.shape[0]
        if not n:
            return None
        matrix, labels = checked_features(self.models, X), encode_labels(check_labels(y, n), self.task)
        attributes = self.book.read(sensitive_features, n)
        weight = None if sample_weight is None else as_weights(sample_weight, n)
        busy = np.arange(n) if weight is None else np.flatnonzero(weight)
        found: list[Sums | None] = []
        for start in range(0, len(busy), ROWS):
            rows = busy[start : start + ROWS]
            some, w = tuple(a.take(rows) for a in attributes), None if weight is None else weight[rows]
            scores, decided = decisions(self.models, take_rows(matrix, rows), self.operating, some)
            scores = check_scores(scores, self.task)
            sums = sums_of(decided, labels[rows], self.task, some, w)
            if self.edges is not None:
                sums = replace(sums, bins=count_scores(scores[:, 0], labels[rows] == 1, w, self.edges))
            found.append(sums)
        return _joined(found)


def _joined(parts: Sequence[Sums | None]) -> Sums | None:
    known = [part for part in parts if part is not None]
    return reduce(add, known) if known else None


def _edges(models: Models, X: Any) -> Array:
    def sample(block: Any) -> Array:
        n = block.shape[0]
        if not n:
            return np.zeros((len(models), 0))
        rows = np.unique(np.linspace(0, n - 1, min(n, SAMPLED)).astype(np.intp))
        return np.asarray(models.scores(take_rows(checked_features(models, block), rows)))[:, 0]

    def spread(n: int) -> list[int]:
        return sorted({(n - 1) * i // (LOOKED_AT - 1) for i in range(LOOKED_AT)})

    found: Array = reduced(sample, X, combine=lambda parts: np.concatenate(parts, axis=1), places=spread)
    return score_edges(found if found.size else np.zeros((len(models), 1)))
