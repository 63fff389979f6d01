"""Columns of a frontier: training figures and those of its evaluations, by name, and the point that a rule picks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import narwhals.stable.v1 as nw
import numpy as np

from ..exceptions import require
from ..measures.cutoffs import Operating
from ..measures.notion_figures import check_metrics
from ..objectives import Within
from ..validation import BACKENDS, check_choice, check_text, is_dask
from .cautions import worst_errors
from .choice import Choice, choice_of
from .frontier_figures import FrontierFigures
from .judgement import asked_of, held_rows, with_notions
from .selection import Rule


class FrontierColumns(FrontierFigures):
    """Figures of a frontier's points, the evaluations that add some, and the point that a rule picks."""

    def evaluate(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any,
        control_features: Any = None,
        name: str = "validation",
        notion: str | Sequence[str] | None = None,
        sample_weight: Any = None,
        cutoff: float | None = None,
        approval_rate: float | None = None,
        costs: Mapping[str, float] | None = None,
        like: str | None = None,
        person: Any = None,
    ) -> Self:
        """Return this frontier with a named record of rates on other data: error, AUC, gaps per group.

        Decisions are those at 0.5 (a score of 0), or at an operating point, the same rule for every model and group.
        Each model's cut-off is placed on these rows and kept. Later evaluations without a rule, of test rows above
        all, apply it unchanged. A group that was not seen in training is evaluated too, with a warning.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight : rows to judge on, in memory or as Dask collections
        control_features : optional
            Columns inside whose levels groups are compared too: gaps such as ``tpr_within_gap`` are pooled over levels.
        name : what the rows are for; rows called test never place a cut-off
        notion : str or sequence of str, optional
            Notions and metrics whose gaps are added to those of training, such as ``"precision"``, ``"npv"``,
            ``"f_score"``, ``"tpr_ratio"``, ``"auc"`` or ``"xauc"``.
        cutoff, approval_rate, costs : optional
            One at most: a cut-off on the probability of the favourable label (on its score where models give no
            probabilities), a share of favourable decisions, or costs of a ``false_positive`` and a ``false_negative``.
        like : the evaluation whose cut-offs are meant, by default "validation"
        person : array of shape (n,), optional
            Who each row is, where people have several: intervals are then those of people, not of rows.
        """
        check_text(name, "name", "the name of the evaluation")
        asked = asked_of(Operating(cutoff, approval_rate, costs), self.evaluations, name, like, self.models)
        more = check_metrics(notion)
        rows = (X, y, Within.of(sensitive_features, control_features), sample_weight)
        if any(is_dask(each) for each in rows):
            from .dask_judgement import evaluate_parts

            record = evaluate_parts(self.models, self.facts, (*rows, person), name, asked, more)
        else:
            held = held_rows(self, *rows, person)
            record = held.judge_models(self.models, name, asked)
            known = ((*self.facts.notions, *more), self.facts.task, lambda: self.models.responses(held.X)[1])
            record = held.with_scores(record, *known)
        return replace(self, evaluations={**self.evaluations, name: with_notions(record, self.facts, more)})

    def choose(self, **rule: Any) -> int:
        """Return the id of the point that a rule picks.

        Parameters
        ----------
        **rule : as in `select`
        """
        return int(self.ids[Rule.of(rule).place(self)])

    def choice(self, **rule: Any) -> Choice | None:
        """Return the point that a rule picks with what was asked, observed, expected and promised; None without rates.

        Parameters
        ----------
        **rule : as in `select`
        """
        asked = Rule.of(rule)
        return choice_of(self, asked, asked.place(self))

    def table(self) -> dict[str, Any]:
        """Return columns as arrays: id, status, loss, loss gaps, and figures of evaluations."""
        columns: dict[str, Any] = {"id": self.ids, "status": np.array([s.name.lower() for s in self.status])}
        if self.models.names is not None:
            columns["name"] = np.array(self.models.names, dtype=object)
        if self.facts.trained:  # the loss of candidates is their error, which their evaluation has
            columns["loss"] = self.loss
        columns.update(zip(self.facts.gap_columns, self.gaps.T, strict=True))
        for name, record in self.evaluations.items():
            columns.update({f"{name}.{key}": values for key, values in record.columns.items()})
            if (worst := worst_errors(record)) is not None:
                columns[f"{name}.worst_group_error"] = worst
            if record.cutoffs is not None:
                columns[f"{name}.cutoff"] = record.cutoffs
        return columns

    def to_frame(self, backend: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any:
        """Return `table` as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
        """
        require(check_choice(backend, "backend", BACKENDS), backend, f"to_frame(backend={backend!r})")
        return nw.from_dict(self.table(), backend=backend).to_native()
