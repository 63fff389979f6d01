"""TableModel: one chosen model with its preprocessing; reads tables as they come, needs no sensitive feature."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from ..exceptions import InputError
from ..frontier.candidates import scores_of
from ..frontier.estimator_models import at_cutoff
from ..frontier.explanation import Reasons, Side, not_linear, reasons_of
from ..frontier.linear_models import LinearModels
from ..frontier.models import for_favourable
from ..frontier.rule_models import RuleModels
from ..measures.cutoffs import Operating, OperatingPoint
from ..objectives import Array, Task, is_likelihood
from ..storage.documents import column_names
from ..tables import Table, coerce, open_source
from ..tables.encoder import TableEncoder
from .card_exports import markdown_of
from .manifest import opening_of
from .table_estimator import TableEstimator


@dataclass(frozen=True, eq=False, repr=False)
class TableModel(TableEstimator):
    """A model that was chosen, with the preprocessing it was trained on.

    Attributes
    ----------
    encoder : TableEncoder
        From columns of a table to numbers.
    points : LinearModels or RuleModels of one model, or None
        Coefficients, or the rule and its posteriors; None where ``estimator`` is a learner of another kind.
    task : Task, with classes and the favourable label
    about : mapping
        What it is: id, notion, where the sensitive attribute was used; no rows and no counts.
    estimator, facts, decision, manifest
        The learner, where it is not linear; and, of a model that was chosen by a rule, the facts of its card
        (``card.json``), the record of the choice and the manifest of the run.
    cutoff : float or None
        The operating point: the favourable label is decided where its probability (its score, where the model gives no
        probabilities) is at or above; None decides at 0.5 (a score of 0).
    """

    encoder: TableEncoder
    points: LinearModels | RuleModels | None
    task: Task
    about: Mapping[str, Any]
    estimator: Any = None
    facts: Mapping[str, Any] | None = None
    decision: Mapping[str, Any] | None = None
    manifest: Mapping[str, Any] | None = None
    cutoff: float | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that a table must have."""
        return self.encoder.columns

    @property
    def card(self) -> str:
        """Return the card in Markdown; empty for a model that nobody chose."""
        return "" if self.facts is None else markdown_of(self.facts)

    @property
    def gives_probabilities(self) -> bool:
        """Tell whether scores are probabilities."""
        if self.points is None:
            return self.task.kind != "regression" and hasattr(self.estimator, "predict_proba")
        return is_likelihood(self.points.loss)

    @property
    def model(self) -> Any:
        """Return the model without its preprocessing: a stock estimator, which decides at its cut-off if it has one."""
        bare = self.estimator if self.points is None else self.points.build(0)
        if self.cutoff is None:
            return bare
        known = np.array([self.gives_probabilities])
        point = OperatingPoint(Operating(self.cutoff), np.array([self.cutoff]), known, "validation")
        return at_cutoff(bare, point, 0, self.task)

    def predict(self, data: Any) -> NDArray[Any]:
        """Return labels, or values for regression.

        Parameters
        ----------
        data : data frame or path of a file
        """
        return self._labels(self._scores_of(data))

    def predict_proba(self, data: Any) -> Array:
        """Return probabilities (n, K) in the order of ``task.classes``.

        Parameters
        ----------
        data : data frame or path of a file
        """
        if isinstance(self.points, RuleModels):  # of the label, which the rule does not decide by alone
            return np.concatenate([self.points.probabilities(X) for X in self._encoded(data)])
        if not self.gives_probabilities:
            raise InputError("this model gives scores and no probabilities, expected the logistic loss; use predict.")
        return self._probabilities(self._scores_of(data))

    def part_rows(self, data: Any, part: str = "test") -> NDArray[np.intp]:
        """Return which rows of the file that the run was traced from are in a part of its split, counted from 0.

        No file keeps them: they are drawn again by the rule and the seed of the run.

        Parameters
        ----------
        data : data frame or path of a file
            The one that the run was traced from; another is refused.
        part : str
            "train", "validation" or "test".
        """
        from .split_rows import rows_of_part  # it reads tables as runs do

        return rows_of_part(self.manifest, data, part)

    def reasons(self, data: Any, *, k: int = 4, side: Side = "against") -> Reasons:
        """Say which columns speak against each person, or for them; of linear models.

        People are compared with the means of the training columns, of categories with the shares of their levels, which
        the model keeps.

        Parameters
        ----------
        data : data frame or path of a file
        k : int, how many columns are named
        side : {"against", "for"}
        """
        self.check_reasons()
        found = [self._reasons(X, k, side) for X in self._encoded(data)]
        names, said = (np.concatenate([getattr(each, name) for each in found]) for name in ("names", "contributions"))
        return Reasons(names, found[0].columns, said, found[0].base)

    def check_reasons(self) -> None:
        """Refuse models that are no sum over columns, and those that do not know their training means."""
        if not isinstance(self.points, LinearModels):
            raise not_linear("a rule on posteriors" if self.points else type(self.estimator).__name__)
        if self.encoder.reference is None:
            raise InputError("this model does not know its training means, expected one of this version; trace again.")

    def _reasons(self, X: Any, k: int, side: Side = "against") -> Reasons:
        assert isinstance(self.points, LinearModels)
        coef, intercept, good = self.points.coef[0], self.points.intercept[0], self.task.favourable
        place, sign = (good, 1.0) if len(coef) > 1 else (0, -1.0 if self.task.kind == "binary" and good == 0 else 1.0)
        names = [block.name for block in self.encoder.blocks for _ in block.feature_names]
        known = np.array(self.encoder.reference), names
        return reasons_of(X, sign * coef[place], sign * float(intercept[place]), *known, k=k, side=side)

    def outputs(self, table: Table, reasons: int = 0) -> dict[str, NDArray[Any]]:
        """Return the columns of predictions by name.

        Parameters
        ----------
        table : Table, as the encoder reads it
        reasons : int, how many columns are named that speak against each person
        """
        X = self.encoder.transform(table)
        named = self._reasons(X, reasons).names.T if reasons else ()
        return self._predicted(X) | {f"reason_{j + 1}": each for j, each in enumerate(named)}

    def _predicted(self, X: Any) -> dict[str, NDArray[Any]]:
        scores = self._scores(X)
        found: dict[str, NDArray[Any]] = {"prediction": self._labels(scores)}
        if self.task.kind == "regression":
            return found
        if self.gives_probabilities:
            names = column_names("probability_", self.task.classes)
            return found | dict(zip(names, self._probabilities(scores).T, strict=True))
        if isinstance(self.points, RuleModels):  # of the label, which the rule does not decide by alone
            probabilities = self.points.probabilities(X).T
            found |= dict(zip(column_names("probability_", self.task.classes), probabilities, strict=True))
        labels = [self.task.classes[1]] if self.task.kind == "binary" else self.task.classes
        return found | dict(zip(column_names("score_", labels), scores, strict=True))

    def _encoded(self, data: Any) -> Iterator[Array]:
        source = open_source(data, **opening_of(self.manifest))
        self.encoder.check(source.names)
        return (self.encoder.transform(coerce(chunk, self.encoder)) for chunk in source.chunks(self.columns))

    def _scores_of(self, data: Any) -> Array:
        return np.concatenate([self._scores(X) for X in self._encoded(data)], axis=1)

    def _scores(self, X: Array) -> Array:
        """(K, n), of two classes the second's: log-odds of linear models, else what rules or estimators give."""
        if self.points is None:
            return scores_of(self.estimator, X, self.task, "estimator")[0]
        return np.asarray(self.points.scores(X)[0])

    def _labels(self, scores: Array) -> NDArray[Any]:
        if self.task.kind == "regression":
            return np.asarray(scores[0])
        if self.task.kind == "multiclass":
            decided = scores.argmax(axis=0)
        elif self.cutoff is None:
            decided = scores[0] > (0.5 if self.points is None and self.gives_probabilities else 0.0)
        else:
            responses = self._probabilities(scores).T[1:] if self.gives_probabilities else scores
            favoured = for_favourable(responses, self.task, np.array([self.gives_probabilities]))[0] >= self.cutoff
            decided = favoured == (self.task.favourable == 1)
        return np.asarray(np.asarray(self.task.classes)[decided.astype(np.intp)])

    def _probabilities(self, scores: Array) -> Array:
        if self.task.kind == "multiclass":
            return np.asarray(softmax(scores, axis=0).T if self.points is not None else scores.T)
        second = expit(scores[0]) if self.points is not None else scores[0]
        return np.column_stack([1.0 - second, second])

    def save(self, path: Any, *, overwrite: bool = False) -> Path:
        """Write the model, its card, the decision and the manifest as one folder, whole or not at all.

        Parameters
        ----------
        path : a folder that does not exist yet; the one above it does
        overwrite : whether to replace a model that was saved there before; anything else stays
        """
        from .archive import save_model  # it reads models too

        return save_model(self, path, overwrite=overwrite)
