"""Scorers for cross_validate and GridSearchCV: any gap, ratio or overall figure of the audit."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.metrics import make_scorer

from ..exceptions import GroupWarning, InputError
from ..measures.figures import SCORED, SHARES, VALUES, Column, larger_is_better
from ..measures.group_table import GroupTable, tabulate
from ..measures.judged import Judged
from ..measures.lines import TOO_FEW, lines_of
from ..measures.table_columns import Settings
from ..objectives import Array, Groups, Task, check_groups, take_groups, warn_of_proxies
from ..validation import Registry, check_favourable, pass_hint
from ..validation.inputs import as_numbers, check_labels, check_weights, factorize, weighted_rows

PROBABLE = ("brier", "in_the_large", "slope")


@dataclass(frozen=True)
class Score:
    """One name for `scorer`: the audit's figure behind it, what it reads of a model, and which way is better.

    ``figure`` is one of the worst contrasts where ``contrast``, else a column of all rows. ``better`` is 1 where larger
    is better (or neither), -1 where smaller is.
    """

    figure: str
    reads: Literal["labels", "scores", "values"]
    contrast: bool
    better: int

    @property
    def response_method(self) -> Any:
        if self.reads != "scores":
            return "predict"
        needs = Column.of(self.figure).figure in PROBABLE
        return "predict_proba" if needs else ("predict_proba", "decision_function")


SCORES: Registry[Score] = Registry("score")


def _register() -> None:
    """Name a gap and an overall figure for every figure of the audit, and the contrasts that are no plain gaps."""
    for reads, figures in (("labels", SHARES), ("scores", SCORED), ("values", VALUES)):
        for figure in figures.values():
            SCORES.add(f"{figure.name}_gap", Score(f"{figure.name}_gap", reads, True, -1))  # type: ignore[arg-type]
            SCORES.add(figure.name, Score(figure.name, reads, False, figure.better or 1))  # type: ignore[arg-type]
    for name in ("odds_gap", "recall_gap", "selection_ratio"):
        SCORES.add(name, Score(name, "labels", True, 1 if larger_is_better(name) else -1))
    SCORES.add("calibration_gap", SCORES["in_the_large_gap"])


_register()


@dataclass(frozen=True)
class GroupScore:
    """A figure of the audit as a score function: the worst over groups of a contrast, or that of all rows."""

    name: str
    favourable: Any = None
    groups: Groups = field(default_factory=lambda: Groups(min_size=1))

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, y_true: Any, y_pred: Any, *, sensitive_features: Any = None, sample_weight: Any = None) -> float:
        if sensitive_features is None:
            raise InputError(f"scorer {self.name!r} needs sensitive_features; {pass_hint('sensitive_features')}")
        warn_of_proxies(sensitive_features)
        truth = check_labels(y_true, len(y_true))
        judged = self._judged(truth, y_pred, check_weights(sample_weight, len(truth)))
        rows = weighted_rows(judged.weight)
        if rows is not None:
            judged, sensitive_features = judged.take(rows), take_groups(sensitive_features, rows, len(truth))
        found = []
        for each in lines_of(sensitive_features, len(judged.truth), self.groups):
            small = [name for name, kind in zip(each.names, each.status, strict=True) if kind == TOO_FEW]
            if small:
                said = f"groups of {each.attribute!r} with fewer than {each.min_size} rows are excluded from the gaps"
                warnings.warn(f"{said}: {', '.join(small)}.", GroupWarning, stacklevel=2)
            found.append(self._figure(tabulate(judged, each, Settings(n_resamples=0)), judged.task))
        known = [value for value in found if value == value]
        if not known:
            raise InputError(f"score {self.name!r} is not defined on these rows: fewer than two groups have it.")
        return min(known) if SCORES[self.name].better > 0 else max(known)

    def _figure(self, table: GroupTable, task: Task) -> float:
        asked, columns = SCORES[self.name], table.columns
        found = {worst.figure: worst.value for worst in table.worst}
        if not asked.contrast:
            found = {name: float(values[-1]) for name, values in columns.items() if f"{name}_gap" in columns}
        if asked.figure not in found:
            raise InputError(f"score {self.name!r} has no meaning for {task.kind} labels.")
        return found[asked.figure]

    def _judged(self, truth: NDArray[Any], given: Any, weight: Array | None) -> Judged:
        n, reads = len(truth), SCORES[self.name].reads
        if reads == "values":
            predicted = as_numbers(check_labels(given, n), "y_pred")
            return Judged(Task("regression"), as_numbers(truth, "y_true"), predicted, "", weight=weight)
        scores = as_numbers(given, "y_pred") if reads == "scores" else None
        codes, classes = factorize(truth if scores is not None else np.concatenate([truth, check_labels(given, n)]))
        if len(classes) < 2:
            raise InputError(f"score {self.name!r} needs two labels, found {classes[0]!r} alone in these rows.")
        good = check_favourable(self.favourable, classes)
        task = Task("binary" if len(classes) == 2 else "multiclass", tuple(classes), good)
        judged = Judged(task, codes[:n], codes[-n:], "", weight=weight)
        if scores is None:
            return judged
        if task.kind != "binary" or scores.shape != truth.shape:
            raise InputError(f"score {self.name!r} is for scores of two classes, found {len(classes)} classes.")
        probability = bool(scores.min() >= 0.0 and scores.max() <= 1.0)
        return replace(judged, scores=scores, probability=probability, side="above" if good else "below")


def scorer(name: str, *, favourable: Any = None, groups: Groups | None = None) -> Any:
    """Return a scikit-learn scorer of a figure of the audit; larger is better, so gaps and errors are negated.

    Needs metadata routing in cross-validation (``sklearn.set_config(enable_metadata_routing=True)``); the scorer
    already requests ``sensitive_features``.

    Parameters
    ----------
    name : str
        ``tpr_gap``, ``precision_gap``, ``auc_gap``, ``calibration_gap`` and so on are the worst gap between two groups,
        ``selection_ratio`` the lowest rate over the highest; ``error``, ``auc``, ``brier`` and so on are those of all
        rows. With several attributes the worst counts.
    favourable : label, optional
        The label that is good for the person; the second of the sorted classes by default.
    groups : Groups, optional
        Reference group, crossing, smallest size; by default every group counts, however small.
    """
    asked = SCORES[name]
    function = GroupScore(name, favourable, check_groups(groups) or Groups(min_size=1))
    made = make_scorer(function, response_method=asked.response_method, greater_is_better=asked.better > 0)
    with sklearn.config_context(enable_metadata_routing=True):
        return made.set_score_request(sensitive_features=True)
