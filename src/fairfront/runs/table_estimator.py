"""What scikit-learn asks of a fitted estimator, answered for a model that reads tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score
from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

from ..exceptions import InputError
from ..frontier.judgement import encode_labels
from ..objectives import Task
from ..records import html_record, html_table
from ..tables.table import listed
from ..validation import check_flag
from ..validation.inputs import as_numbers, check_labels, check_weights


class TableEstimator(ABC):
    """A fitted estimator that stays as it is, as those in scikit-learn's `FrozenEstimator`: `fit` trains nothing."""

    task: Task
    about: Mapping[str, Any]
    points: Any
    estimator: Any
    facts: Mapping[str, Any] | None
    decision: Mapping[str, Any] | None
    cutoff: float | None

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]: ...

    @abstractmethod
    def predict(self, data: Any) -> NDArray[Any]: ...

    @property
    def classes_(self) -> NDArray[Any]:
        """Return the labels in the order of `predict_proba`; regression has none."""
        if self.task.kind == "regression":
            raise AttributeError("a model of values has no classes_.")
        return np.asarray(self.task.classes)

    @property
    def n_features_in_(self) -> int:
        """Return the number of columns that a table must have."""
        return len(self.columns)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Return the columns that a table must have; others may be there too."""
        return np.array(self.columns, dtype=object)

    def fit(self, data: Any, y: Any = None, **fit_params: Any) -> Self:
        """Return this model as it is: it was trained when its run was traced.

        Parameters
        ----------
        data, y, **fit_params
            Ignored.
        """
        return self

    def score(self, data: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of labels, or R2 for regression.

        Parameters
        ----------
        data : data frame or path of a file
        y, sample_weight : true labels (or values) of its rows, and their weights
        """
        decided = self.predict(data)
        weight = check_weights(sample_weight, len(decided))
        if self.task.kind == "regression":
            return float(r2_score(check_labels(as_numbers(y, "y"), len(decided)), decided, sample_weight=weight))
        labels = encode_labels(check_labels(y, len(decided), like="data"), self.task)
        return float(np.average(labels == encode_labels(decided, self.task), weights=weight))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return what the model was made of, by the names of its attributes.

        Parameters
        ----------
        deep : bool
            Ignored: none of them has parameters of its own to be set here.
        """
        check_flag(deep, "deep")
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]

    def set_params(self, **params: Any) -> Self:
        """Return the model as it is, where there is nothing to set: a model that was chosen is not changed.

        Parameters
        ----------
        **params
            None; others are refused.
        """
        for name in params:
            raise InputError(f"{name} is to be set, expected nothing: a chosen model is not changed; choose another.")
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> Self:
        return self

    def __sklearn_tags__(self) -> Tags:
        values, several = self.task.kind == "regression", self.task.kind == "multiclass"
        return Tags(
            estimator_type="regressor" if values else "classifier",
            target_tags=TargetTags(required=False),
            classifier_tags=None if values else ClassifierTags(multi_class=several),
            regressor_tags=RegressorTags() if values else None,
            input_tags=InputTags(string=True, categorical=True, allow_nan=True),
        )

    def __repr__(self) -> str:
        task, chosen = self.task, "" if self.decision is None else f", chosen at {self.decision['at']}"
        labels = "values"
        if task.classes:
            labels = f"labels {listed([repr(each) for each in task.classes])} (favourable {task.favourable_label!r})"
        cutoff = "" if self.cutoff is None else f" at the cut-off {self.cutoff:.4g}"
        kind = "linear model" if self.points is not None else type(self.estimator).__name__
        return (
            f"TableModel(id {self.about.get('id')}: {kind}, {self.about.get('loss')} loss{chosen};\n"
            f"  predicts {labels}{cutoff};\n"
            f"  reads {listed(self.columns)})"
        )

    def _repr_html_(self) -> str:
        """Show what the card says of test, beside the unconstrained model."""
        part = ((self.facts or {}).get("parts") or {}).get("test") or {}
        rows = [
            (name, *(_estimate(figure.get(which)) for which in ("chosen", "unconstrained", "difference")))
            for name, figure in part.get("figures", {}).items()
        ]
        table = html_table(("on test", "this model", "unconstrained", "difference"), rows) if rows else ""
        after = "model.predict(data), model.save(path)" + ("; model.card is the card." if self.facts else ".")
        return html_record("Model", repr(self).removeprefix("TableModel(").removesuffix(")"), table, after)


def _estimate(found: Sequence[float | None] | None) -> str:
    """Return a value with its interval, if it has one; empty where there is none."""
    if not found or None in found:
        return ""
    value, *ends = (f"{each:.3f}" for each in found)
    return f"{value} ({ends[0]} to {ends[1]})" if ends else value
