"""Scorers for cross_validate and GridSearchCV: gaps between groups on hard decisions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sklearn
from sklearn.metrics import make_scorer

from ..exceptions import InputError
from ..measures import evaluate_scores
from ..objectives import Groups, Task
from ..registry import Registry
from ..validation import check_labels, check_weights, factorize, pass_hint

GAIN = frozenset({"selection_ratio"})
SCORES: Registry[str] = Registry("score")
for _name in (
    "tpr_gap",
    "fpr_gap",
    "selection_gap",
    "error_gap",
    "selection_ratio",
    "recall_gap",
    "mse_gap",
    "prediction_gap",
):
    SCORES.add(_name, _name)


@dataclass(frozen=True)
class GroupScore:
    """The worst gap between groups (or the smallest ratio) of decisions, as a score function."""

    name: str
    favourable: Any = None
    groups: Groups = field(default_factory=lambda: Groups(min_size=1))

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, y_true: Any, y_pred: Any, *, sensitive_features: Any = None, sample_weight: Any = None) -> float:
        """Return the figure on these labels and predictions."""
        if sensitive_features is None:
            raise InputError(f"scorer {self.name!r} needs sensitive_features; {pass_hint('sensitive_features')}")
        truth = check_labels(y_true, len(y_true))
        decided = check_labels(y_pred, len(truth))
        attributes = self.groups.resolve(sensitive_features, len(truth))
        task, scores, labels = self._encoded(truth, decided)
        weight = check_weights(sample_weight, len(truth))
        record = evaluate_scores(scores, labels, task, attributes, name=self.name, sample_weight=weight)
        found = [v for key, v in record.columns.items() if key.split(".")[-1] == self.name]
        if not found:
            raise InputError(f"score {self.name!r} has no meaning for {task.kind} labels.")
        return float(np.nanmin(found) if self.name in GAIN else np.nanmax(found))

    def _encoded(self, truth: Any, decided: Any) -> tuple[Task, Any, Any]:
        if self.name in ("mse_gap", "prediction_gap"):
            return Task("regression"), decided.astype(np.float64)[None, None], truth.astype(np.float64)
        codes, classes = factorize(np.concatenate([truth, decided]))
        if len(classes) < 2:
            raise InputError(f"score {self.name!r} needs two labels, found {classes[0]!r} alone in these rows.")
        good = 1 if self.favourable is None else self._place(classes)
        task = Task("binary" if len(classes) == 2 else "multiclass", tuple(classes), good)
        chosen = codes[len(truth) :]
        if task.kind == "binary":
            return task, (2.0 * chosen - 1.0)[None, None], codes[: len(truth)]
        hot = (np.arange(len(classes))[:, None] == chosen).astype(np.float64)
        return task, hot[None], codes[: len(truth)]

    def _place(self, classes: list[Any]) -> int:
        if self.favourable not in classes:
            raise InputError(f"favourable is {self.favourable!r}, expected one of {', '.join(map(repr, classes))}.")
        return classes.index(self.favourable)


def scorer(name: str, *, favourable: Any = None, groups: Groups | None = None) -> Any:
    """Return a scikit-learn scorer of the worst gap between groups; larger is better, so gaps are negated.

    Needs metadata routing in cross-validation (``sklearn.set_config(enable_metadata_routing=True)``); the scorer
    already requests ``sensitive_features``.
    """
    function = GroupScore(SCORES[name], favourable, groups or Groups(min_size=1))
    made = make_scorer(function, greater_is_better=name in GAIN)
    with sklearn.config_context(enable_metadata_routing=True):
        return made.set_score_request(sensitive_features=True)
