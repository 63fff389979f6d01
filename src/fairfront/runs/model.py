"""TableModel: one chosen model with its preprocessing; reads tables as they come, needs no sensitive feature."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from ..exceptions import InputError, progress_bar, spelled
from ..frontier.candidates import scores_of
from ..frontier.estimator_models import at_cutoff
from ..frontier.linear_models import LinearModels
from ..frontier.models import for_favourable
from ..frontier.rule_models import RuleModels
from ..measures.cutoffs import Operating, OperatingPoint
from ..objectives import Array, Task, is_likelihood
from ..storage.documents import CsvWriter, column_names
from ..storage.folders import writing
from ..storage.places import check_new_file
from ..tables import Table, coerce, open_source
from ..tables.encoder import TableEncoder, count_others
from ..tables.notation import Decimal, check_decimal, number_of
from ..validation import check_flag
from .card_exports import markdown_of
from .manifest import opening_of
from .onnx_export import export_onnx
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

    def _outputs(self, table: Table) -> dict[str, NDArray[Any]]:
        scores = self._scores(self.encoder.transform(table))
        found: dict[str, NDArray[Any]] = {"prediction": self._labels(scores)}
        if self.task.kind == "regression":
            return found
        if self.gives_probabilities:
            names = column_names("probability_", self.task.classes)
            return found | dict(zip(names, self._probabilities(scores).T, strict=True))
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

    def to_onnx(self, path: Any = None, *, overwrite: bool = False) -> bytes:
        """Return the model with its preprocessing as one ONNX graph (extra ``onnx``).

        Parameters
        ----------
        path : file to write it to, optional
        overwrite : whether to replace a graph that fairfront wrote there before
        """
        check_flag(overwrite, "overwrite")
        return export_onnx(self.encoder, self.model, self.task, path, overwrite=overwrite)

    def save(
        self,
        path: Any,
        *,
        overwrite: bool = False,
        onnx: bool = False,
        sign: Any = None,
        formats: Sequence[str] = (),
    ) -> Path:
        """Write the model, its card, the decision and the manifest as one folder, whole or not at all.

        Parameters
        ----------
        path : a folder that does not exist yet; the one above it does
        overwrite : whether to replace a model that was saved there before; anything else stays
        onnx : whether to add the ONNX graph
        sign : PEM file of the private key to sign with, optional
        formats : further forms of the card, "cyclonedx" (card.cdx.json) and "huggingface" (README.md)
        """
        from .archive import save_model  # it reads models too

        return save_model(self, path, overwrite=overwrite, onnx=onnx, sign=sign, formats=formats)


def predict_file(
    model: TableModel,
    data: Any,
    output: Path,
    *,
    keep: Sequence[str] = (),
    exposure: str | None = None,
    overwrite: bool = False,
    rows: int = 50_000,
    delimiter: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
    decimal: Decimal | None = None,
    progress: Any = False,
    on_unknown: Callable[[Mapping[str, int]], None] | None = None,
) -> int:
    """Write labels and probabilities for every row of a file, in its order; return the number of rows.

    ``keep`` copies columns of the input; values are predicted for an ``exposure``, a column, or per unit. ``missing``
    are texts for a missing value besides those of training, whose
    delimiter, encoding and decimal mark hold unless others are given. Text that a spreadsheet would execute gets a
    quote in front. No file but earlier predictions is overwritten. ``on_unknown`` is told the rows by column whose
    value was rare or unknown in training.
    """
    read = Path(data) if isinstance(data, (str, os.PathLike)) else None
    if read is not None and read.exists() and output.exists() and output.samefile(read):
        raise InputError(f"{output} is the file that is read, expected another for the predictions; choose a new name.")
    check_new_file(output, overwrite, _is_predictions)
    source = open_source(data, **opening_of(model.manifest, delimiter=delimiter, encoding=encoding))
    model.encoder.check(source.names)
    for name in keep:
        source.check_column(name, "keep")
    if exposure is not None:
        source.check_column(exposure, "exposure")
    if exposure is not None and model.task.kind != "regression":
        raise InputError(f"{spelled('exposure')} is for predicted values, found labels; leave it out.")
    more = keep if exposure is None else (*keep, exposure)
    done, strange = 0, Counter[str]()
    with (
        writing(output, text=True, overwrite=overwrite, own=_is_predictions) as stream,
        progress_bar(progress, "predicting", source.size) as bar,
    ):
        writer = CsvWriter(stream)
        for chunk in source.chunks(tuple(dict.fromkeys((*model.columns, *more))), rows=rows):
            table = coerce(chunk, model.encoder, tuple(missing), check_decimal(decimal))
            found, strange = model._outputs(table), strange + Counter(count_others(table, model.encoder))
            kept = {name: chunk[name] for name in keep}
            if exposure is not None:
                found["prediction"] = found["prediction"] * _exposures(chunk[exposure], exposure)
            if done == 0:
                for name in sorted(set(kept) & set(found)):
                    raise InputError(
                        f"{spelled('keep')} names {name!r}, which is the name of a column of predictions, expected "
                        "others; rename it."
                    )
                writer.write_rows([[*kept, *found]])
            writer.write_rows(zip(*(_texts(values) for values in (*kept.values(), *found.values())), strict=True))
            done += len(found["prediction"])
            bar.update(chunk.done, f"{done} rows")
    if on_unknown is not None and strange:
        on_unknown(strange)
    return done


def _exposures(texts: Any, name: str) -> Array:
    values = np.array([each if isinstance(each, (int, float)) else number_of(str(each)) for each in texts], dtype=float)
    if not (np.isfinite(values) & (values >= 0.0)).all():
        raise InputError(f"the exposure {name!r} has words, missing or negative values, expected numbers >= 0.")
    return values


def _is_predictions(head: bytes) -> bool:
    """Tell whether a file begins as predictions do: with names of which ``prediction`` and scores are the last."""
    first = head.decode("utf-8", errors="replace").partition("\n")[0]
    try:
        names = next(csv.reader([first]), [])
    except csv.Error:
        return False
    last = names[names.index("prediction") + 1 :] if "prediction" in names else [""]
    return all(name.startswith(("probability_", "score_")) for name in last)


def _texts(values: Any) -> list[Any]:
    array = np.asarray(values)
    if array.dtype.kind == "f":
        return ["" if v != v else repr(v) for v in array.tolist()]
    return ["" if v is None else v for v in array.tolist()]
