"""Judgement of a frontier's models on rows that are matched with training, at cut-offs placed on these or before."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import GroupWarning, InputError
from ..measures import Evaluation, auc, evaluate_scores
from ..measures.cutoffs import NONE_GIVEN, Operating, OperatingPoint, Side
from ..measures.decisions import decide
from ..measures.notion_figures import figures_of, scores_of, with_figures, with_gaps, with_scores
from ..measures.proxy_bounds import with_bounds
from ..measures.within_gaps import within_gaps
from ..objectives import Array, Attribute, Groups, Task, Within, is_likelihood, take_groups, warn_of_proxies
from ..objectives.strata import Strata
from ..problems.fit_rows import person_codes
from ..problems.pieces import feature_names
from ..validation import check_text, counted
from ..validation.inputs import check_labels, check_matrix, check_weights, take_rows, weighted_rows
from .folds import deal_folds
from .models import Models, second_class
from .points import Facts

if TYPE_CHECKING:
    from .frontier_columns import FrontierColumns

Asked = Operating | OperatingPoint | None
"""A rule that places cut-offs on the rows to judge, cut-offs that were placed before, or 0.5."""


def is_test(name: str) -> bool:
    return name.strip().casefold().startswith("test")


def asked_of(
    rule: Operating, evaluations: Mapping[str, Evaluation], name: str, like: str | None, models: Models
) -> Asked:
    """Return the rule to place cut-offs by, the ones placed before that hold here too, or None for 0.5.

    Rows for testing never place a cut-off: that would look at their labels, or at how many of them are approved.
    """
    if rule.asked is not None and like is not None:
        raise InputError(f"{rule.asked} and like={like!r} were given, expected one: a rule, or cut-offs placed before.")
    given, task = rule.asked or ("like" if like is not None else None), models.task
    if models.by_group and given is not None:
        raise InputError(f"{given} was given, expected none: these models have one cut-off per group already.")
    if task.kind != "binary":
        rule.refuse(f"{task.kind} labels")
        return None
    known = {key: record.operating for key, record in evaluations.items() if record.operating is not None}
    if like is not None:
        if check_text(like, "like", "the name of an evaluation") not in known:
            raise InputError(
                f"like is {like!r}, expected an evaluation with an operating point "
                f"({', '.join(known) or 'none has one'}); evaluate with cutoff=, approval_rate= or costs= first."
            )
        return known[like]
    if rule.asked is None:
        others = {key: point for key, point in known.items() if key != name}
        return others.get("validation") or next(iter(others.values()), None)
    if is_test(name) and rule.asked != "cutoff":
        raise InputError(
            f"{rule.asked} would place cut-offs on the rows {name!r}, expected rows to choose on; evaluate those with "
            f"{rule.asked}=... and name='validation' first, then {name!r} without it: the cut-offs are kept."
        )
    return rule.check()


@dataclass(frozen=True, eq=False)
class HeldRows:
    """Features, labels, groups, weights and people (codes) of the rows to judge on, without those of weight 0."""

    X: Any
    labels: NDArray[Any]
    attributes: tuple[Attribute, ...]
    weight: Array | None
    person: NDArray[np.intp] | None = None
    strata: Strata | None = None

    @classmethod
    def of(
        cls,
        X: Any,
        labels: NDArray[Any],
        sensitive_features: Any,
        sample_weight: Any,
        resolve: Callable[[Any, int], tuple[Attribute, ...]],
        person: Any = None,
    ) -> HeldRows:
        weight = check_weights(sample_weight, len(labels))
        rows = weighted_rows(weight)
        people = None if person is None else person_codes(person, len(labels), rows)
        if rows is not None and weight is not None:
            sensitive_features = take_groups(sensitive_features, rows, len(labels))
            X, labels, weight = take_rows(X, rows), labels[rows], weight[rows]
        strata = sensitive_features.strata(len(labels)) if isinstance(sensitive_features, Within) else None
        return cls(X, labels, resolve(sensitive_features, len(labels)), weight, people, strata)

    def take(self, rows: NDArray[np.intp]) -> HeldRows:
        attributes = tuple(each.take(rows) for each in self.attributes)
        weight = None if self.weight is None else self.weight[rows]
        person = None if self.person is None else self.person[rows]
        strata = self.strata and replace(self.strata, codes=self.strata.codes[rows])
        return HeldRows(self.X[rows], self.labels[rows], attributes, weight, person, strata)

    def judge(
        self, task: Task, name: str, scores: Array, decided: Any = None, operating: OperatingPoint | None = None
    ) -> Evaluation:
        """Decisions (N, n) are by default those of scores (N, K, n)."""
        rows: Any = {"sample_weight": self.weight, "decided": decided, "person": self.person}
        record = evaluate_scores(scores, self.labels, task, self.attributes, name=name, **rows)
        if self.strata is not None:
            known = (self.labels, self.attributes, self.weight, self.strata.codes)
            record = with_gaps(record, within_gaps(record, scores, decided, task, *known))
        rest = (task, self.labels, self.attributes, self.weight)
        record = with_bounds(record, decide(scores, task) if decided is None else decided, *rest)
        return replace(record, operating=operating)

    def judge_at(
        self,
        task: Task,
        name: str,
        scores: Array,
        responses: Array,
        asked: Operating | OperatingPoint,
        probability: NDArray[np.bool_],
        side: Side = "above",
        *,
        apart: bool = False,
    ) -> Evaluation:
        """Judge at cut-offs on responses (N, n), of which ``probability`` (N,) says where they are probabilities.

        ``apart``: every row at those of a rule that were placed without its fold; those of all rows are kept.
        """
        good, weight, rule = self.labels == task.favourable, self.weight, asked
        if isinstance(asked, Operating):
            asked = OperatingPoint(asked, asked.place(responses, good, weight, side), probability, name, side)
        decided = second_class(asked, responses, task)
        if apart and isinstance(rule, Operating) and rule.asked != "cutoff":
            fold = deal_folds(self.labels, self.person)
            own = replace(asked, cutoffs=rule.place_apart(responses, good, weight, fold, side)[fold])  # (n, N)
            decided = second_class(own, responses.T[..., None], task)[..., 0].T
        return self.judge(task, name, scores, decided, asked)

    def group_auc(self, columns: NDArray[np.intp]) -> Array | None:
        """Of each column, for belonging to the smallest group rather than the reference, folded above 0.5."""
        attribute, X = self.attributes[0], self.X
        if attribute.codes is None:
            return None
        dense = np.asarray(X.todense()) if hasattr(X, "todense") else X
        smallest, reference = int(np.argmin(attribute.sizes()[:-1])), len(attribute.levels) - 1
        rows = np.isin(attribute.codes, [smallest, reference])
        scores = np.ascontiguousarray(dense[:, columns][rows].T, dtype=np.float64)
        found = auc(scores, attribute.codes[rows] == smallest)
        return np.maximum(found, 1.0 - found)

    def judge_models(self, models: Models, name: str, asked: Asked) -> Evaluation:
        if asked is None:
            return self.judge(models.task, name, *models.judged(self.X, self.attributes))
        return self.judge_at(models.task, name, *models.responses(self.X), asked, models.probable)

    def with_scores(
        self, record: Evaluation, notions: Sequence[str], task: Task, responses: Callable[[], Array]
    ) -> Evaluation:
        """Add the gaps of scores that notions are about, of responses (N, n)."""
        if names := scores_of(notions, task):
            record = with_scores(
                record, names, responses(), self.labels == task.favourable, self.attributes, self.weight
            )
        return record


def with_notions(record: Evaluation, facts: Facts, more: Sequence[str] = ()) -> Evaluation:
    """Return an evaluation with the figures that a frontier's notions, and ``more`` metrics, are about."""
    return with_figures(record, figures_of((*facts.notions, *more), facts.task), facts.task.favourable)


def check_comparable(first: Evaluation, second: Evaluation) -> None:
    """Refuse evaluations of two frontiers that rest on other rows or decide by other rules."""
    if first.rule != second.rule:
        raise InputError(
            f"decisions are made by different rules ({first.rule}; {second.rule}), expected one for both; evaluate "
            "both with the same cutoff=, approval_rate= or costs=."
        )
    same = first.groups.keys() == second.groups.keys() and first.n == second.n
    if not same or any(not np.array_equal(first.groups[g].n, second.groups[g].n, equal_nan=True) for g in first.groups):
        raise InputError(
            f"the evaluations rest on different rows ({first.n} and {second.n}, or other groups), expected the same."
        )


def held_rows(
    front: FrontierColumns,
    X: Any,
    y: Any,
    groups: Any,
    sample_weight: Any = None,
    person: Any = None,
    *,
    as_given: bool = False,
) -> HeldRows:
    """Check rows, and match features, labels and groups with training; X may stay ``as_given`` for a stock model."""
    matrix = check_matrix(X) if as_given else checked_features(front.models, X)
    warn_of_proxies(groups, stacklevel=4)
    labels, resolve = check_labels(y, matrix.shape[0]), partial(resolve_attributes, front.facts)
    known = (encode_labels(labels, front.facts.task), groups, sample_weight, resolve, person)
    return HeldRows.of(X if as_given else matrix, *known)


def encode_labels(labels: NDArray[Any], task: Task, what: str = "y") -> NDArray[Any]:
    if task.kind == "regression":
        return labels.astype(np.float64)
    place = {label: i for i, label in enumerate(task.classes)}
    codes = np.array([place.get(label, -1) for label in labels.tolist()], dtype=np.intp)
    if (codes < 0).any():
        raise InputError(
            f"{what} has the label {labels[codes < 0].tolist()[0]!r}, expected those of training: "
            f"{', '.join(map(repr, task.classes))}."
        )
    return codes


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
    known = Groups(reference=usable, cross=crossed, min_size=1)
    for attribute in known.resolve(sensitive_features, n, counts):
        name = attribute.name
        levels, few = trained.get(name, attribute.levels), small.get(name, ())
        new = [level for level in attribute.levels if level not in (*levels, *few)]
        if new:
            said = f"groups of {name!r} that training did not have are evaluated too: {', '.join(new)}."
            warnings.warn(said, GroupWarning, stacklevel=5)
        if levels[-1] not in attribute.levels:
            said = f"the reference group {levels[-1]!r} has no rows here; {attribute.reference!r} takes its place."
            warnings.warn(said, GroupWarning, stacklevel=5)
        kept = [i for i, level in enumerate(attribute.levels) if level not in few]
        if 2 <= len(kept) < len(attribute.levels) and attribute.codes is not None:
            place = np.full(len(attribute.levels) + 1, -1, dtype=np.intp)
            place[kept] = np.arange(len(kept))
            some = tuple(attribute.levels[i] for i in kept)
            attribute = replace(attribute, levels=some, codes=place[attribute.codes])
        found.append(attribute)
    return tuple(found)


def operating_words(record: Evaluation | None, facts: Facts) -> str:
    if facts.task.kind != "binary":
        return ""
    if record is not None and record.operating is not None:
        return f"Operating point: {record.operating.words}."
    if facts.rule:
        return facts.rule
    default = "0.5" if is_likelihood(facts.loss) or not facts.trained else "0 (scores)"
    return f"Cut-off {default}: {NONE_GIVEN}."
