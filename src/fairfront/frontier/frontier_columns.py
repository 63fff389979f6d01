"""Columns of a frontier: training figures and those of its evaluations, by name, and the point that a rule picks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, require
from ..measures import Evaluation
from ..measures.claims import Pair, worst_pair
from ..measures.cutoffs import Operating, OperatingPoint
from ..measures.disclosure import NOTABLE
from ..objectives import Array, proxy_sentences
from ..objectives.exposures import per_exposure
from ..validation import BACKENDS, check_choice, check_confidence, check_count, check_text, counted, is_dask, shown
from .judgement import asked_of, held_rows, with_notions
from .models import Models
from .points import Facts, PointColumns, Points
from .selection import Rule

if TYPE_CHECKING:
    from .linear_frontier import Stability


@dataclass(frozen=True, repr=False)
class FrontierColumns(PointColumns):
    """What is known of a frontier's points: columns of their table, and those of evaluations by name."""

    models: Models
    points: Points
    facts: Facts
    evaluations: Mapping[str, Evaluation] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        facts, worst = self.facts, self.gaps.max(axis=1)
        proxies = f"; groups of {', '.join(self.proxies)} are probabilities" if self.proxies else ""
        return (
            f"Frontier({counted(len(self), 'point')}, {' + '.join(facts.notions)}: "
            f"{facts.loss_name} {self.loss.min():.4f} to {self.loss.max():.4f}, "
            f"worst {facts.unit} {worst.max():.4f} to {worst.min():.4f}; "
            + (f"favourable label {facts.task.favourable_label!r}" if facts.task.classes else "regression")
            + f"{proxies})"
        )

    @property
    def proxies(self) -> tuple[str, ...]:
        """Return the attributes whose groups were given as probabilities, in training or in an evaluation."""
        judged = (name for record in self.evaluations.values() for name in record.proxies)
        return tuple(dict.fromkeys((*self.facts.proxies, *judged)))

    @property
    def sentences(self) -> tuple[str, ...]:
        """Say what each notion compares, and what else has to be known to read the figures."""
        return (*self.facts.sentences, *proxy_sentences([n for n in self.proxies if n not in self.facts.proxies]))

    @property
    def solved(self) -> NDArray[np.intp]:
        """Return the rows of solved points, or of all where none is."""
        mask = np.array([status.solved for status in self.status])
        return np.flatnonzero(mask if mask.any() else ~mask)

    def column(self, name: str, on: str | None = None, confidence: float | None = None) -> Array:
        """Return a column by name: ``loss``, a training gap, or a figure of an evaluation.

        Parameters
        ----------
        name : the training gap is ``loss_gap``, or ``smooth_rate_gap`` for the rate surrogate
        on : the evaluation, as in `record`
        confidence : float, optional
            With it a gap or an error is its upper confidence bound and the selection ratio its lower: what these rows
            support.
        """
        check_text(name, "name", "the name of a column")
        if confidence is not None:
            check_confidence(confidence)
        training = dict(zip(self.facts.gap_columns, self.gaps.T, strict=True))
        training |= {"loss": self.loss, self.facts.gap_column: self.gaps.max(axis=1)}
        return training[name] if name in training else self.record(on).figure(name, confidence)

    def record(self, on: str | None = None) -> Evaluation:
        """Return an evaluation.

        Parameters
        ----------
        on : its name, by default "validation", or the first
        """
        known = self.evaluations
        if not known:
            raise InputError(
                "rates are not known yet, expected an evaluation; call front = front.evaluate(X, y, "
                "sensitive_features=..., name='validation') first."
            )
        if on is None:
            return known["validation"] if "validation" in known else next(iter(known.values()))
        if not isinstance(on, str) or on not in known:
            raise InputError(f"no evaluation {shown(on)}, expected one of {', '.join(known)}.")
        return known[on]

    def operating(self, on: str | None = None) -> OperatingPoint | None:
        """Return the rule and the cut-offs of an evaluation, None where there are none.

        Parameters
        ----------
        on : as in `record`
        """
        return self.record(on).operating if self.evaluations else None

    def column_names(self, on: str | None = None) -> tuple[str, ...]:
        """Return the names of an evaluation's figures.

        Parameters
        ----------
        on : as in `record`
        """
        return tuple(self.record(on).columns)

    def worst_pair(self, name: str, id: int, on: str | None = None) -> Pair | None:
        """Return the two groups that make a point's worst gap or ratio, and the people it rests on.

        Parameters
        ----------
        name : column of a gap or ratio, such as ``tpr_gap``
        id : that of the point
        on : as in `record`
        """
        return worst_pair(self.record(on), name, self.place(id), self.facts.task)

    def place(self, id: int) -> int:
        """Return the row of a point.

        Parameters
        ----------
        id : that of the point
        """
        found = np.flatnonzero(self.ids == check_count(id, "id", least=0))
        if not len(found):
            known = sorted(self.ids.tolist())
            every = len(known) == 1 + known[-1] - known[0]
            words = f"{known[0]} to {known[-1]}" if every else ", ".join(map(str, known))
            raise InputError(f"id {id} is not on this frontier, expected one of {words}.")
        return int(found[0])

    def evaluate(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any,
        name: str = "validation",
        sample_weight: Any = None,
        exposure: Any = None,
        cutoff: float | None = None,
        approval_rate: float | None = None,
        costs: Mapping[str, float] | None = None,
        like: str | None = None,
    ) -> Self:
        """Return this frontier with a named record of rates on other data: error, AUC, gaps per group.

        Decisions are those at 0.5 (a score of 0), or at an operating point, the same rule for every model and group.
        Each model's cut-off is placed on these rows and kept. Later evaluations without a rule, of test rows above
        all, apply it unchanged. A group that was not seen in training is evaluated too, with a warning.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight : rows to judge on, in memory or as Dask collections
        name : what the rows are for; rows called test never place a cut-off
        exposure : of values that are counts or totals, as in `trace`: figures are then per unit of it, weighted by it
        cutoff, approval_rate, costs : optional
            One at most: a cut-off on the probability of the favourable label (on its score where models give no
            probabilities), a share of favourable decisions, or costs of a ``false_positive`` and a ``false_negative``.
        like : the evaluation whose cut-offs are meant, by default "validation"
        """
        check_text(name, "name", "the name of the evaluation")
        asked = asked_of(Operating(cutoff, approval_rate, costs), self.evaluations, name, like, self.models)
        values = self.facts.task.kind == "regression"
        y, sample_weight = per_exposure(y, sample_weight, exposure, regression=values)
        rows = (X, y, sensitive_features, sample_weight)
        if any(is_dask(each) for each in rows):
            from .dask_judgement import evaluate_parts

            record = evaluate_parts(self.models, self.facts, rows, name, asked)
        else:
            held = held_rows(self, *rows)
            record = held.judge_models(self.models, name, asked)
            known = (self.facts.notions, self.facts.task, lambda: self.models.responses(held.X)[1])
            record = held.with_scores(record, *known)
        return replace(self, evaluations={**self.evaluations, name: with_notions(record, self.facts)})

    def pool(self, *names: str, name: str = "pooled") -> Self:
        """Return this frontier with the rows of several evaluations judged as one, each row by its weight.

        Parameters
        ----------
        *names : evaluations of different rows, made in this process, such as "held_out" and "validation"
        name : that of their common record; its AUC is over pairs of rows of the same evaluation
        """
        from .held_out import pool_evaluations

        check_text(name, "name", "the name of the evaluation")
        return replace(self, evaluations={**self.evaluations, name: pool_evaluations(self, names, name)})

    def choose(self, **rule: Any) -> int:
        """Return the id of the point that a rule picks.

        Parameters
        ----------
        **rule : as in `select`
        """
        return int(self.ids[Rule.of(rule).place(self)])

    def refine(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any,
        between: tuple[int, int],
        n: int = 5,
        sample_weight: Any = None,
    ) -> Self:
        """Return this frontier with more solved points; evaluations cover the old points only and go.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight : the data of training; others are refused
        between, n : ids of two points, and how many to add between them, with caps at even distances
        """
        from .linear_frontier import refine_between

        return refine_between(self, (X, y, sensitive_features, sample_weight), between, n)

    def stability(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any,
        n: int = 100,
        confidence: float = 0.95,
        sample_weight: Any = None,
        random_state: int | None = 0,
        progress: bool | Literal["auto"] = "auto",
    ) -> Stability:
        """Solve every point again on bootstrap samples: bands of losses, gaps and coefficients, decisions that flip.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight
            The data of training; rows are drawn with replacement inside each (group, label) cell.
        n, confidence, random_state, progress
            Number of samples, confidence of the bands, seed of the draws, and whether to show a bar.
        """
        from .linear_frontier import bootstrap_frontier

        rows = (X, y, sensitive_features, sample_weight)
        return bootstrap_frontier(self, rows, n, confidence, random_state, progress)

    def table(self) -> dict[str, Any]:
        """Return columns as arrays: id, status, loss, loss gaps, and figures of evaluations.

        Those of rounded counts that may be off by more than 0.02 have ``_rounding`` with them: by how much.
        """
        columns: dict[str, Any] = {"id": self.ids, "status": np.array([s.name.lower() for s in self.status])}
        if self.models.names is not None:
            columns["name"] = np.array(self.models.names, dtype=object)
        if self.facts.loss_name == "loss":  # that of candidates is their error, which their evaluation has
            columns["loss"] = self.loss
        columns.update(zip(self.facts.gap_columns, self.gaps.T, strict=True))
        for name, record in self.evaluations.items():
            columns.update({f"{name}.{key}": values for key, values in record.columns.items()})
            off = {f"{name}.{key}_rounding": record.rounding(key) for key in record.columns}
            columns.update({key: values for key, values in off.items() if (values > NOTABLE).any()})
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
