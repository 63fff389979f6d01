"""Frontier: the frozen result of tracing, its models, objectives and evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, require
from ..measures import Evaluation
from ..objectives import Array, Task
from ..solvers import Status
from ..validation import check_preferences
from . import selection
from .evaluating import evaluate_points
from .points import Points


@dataclass(frozen=True)
class Facts:
    """What a frontier was made from, in words and names; no rows, labels or counts of small groups.

    ``sensitive`` maps each attribute to its groups, the reference last; ``left_out`` names the groups that
    were too small for the gaps.
    """

    task: Task
    notions: tuple[str, ...]
    sentences: tuple[str, ...]
    surrogate: str
    loss: str
    gap: str
    ridge: float
    sensitive: tuple[tuple[str, tuple[str, ...]], ...]
    left_out: tuple[tuple[str, tuple[str, ...]], ...]
    solver: str
    favourable_was_given: bool = True
    used_for: str = "training weights and evaluation; predictions need no sensitive feature"

    @property
    def unit(self) -> str:
        """Name the unit of ``Frontier.gaps``."""
        return "loss gap" if self.surrogate == "loss" else "smooth rate gap"


@dataclass(frozen=True)
class Frontier:
    """Models between accuracy and fairness, from the smallest loss to the smallest gap.

    Attributes
    ----------
    ids : array of int, shape (N,)
        Stable names of the points.
    loss : array of shape (N,)
        Training loss with its ridge.
    gaps : array of shape (N, n_notions)
        Worst absolute gap of each notion on the training data, in the unit named by ``facts.unit``: a loss gap
        is not a rate gap; rates come from `evaluate`.
    objectives : array of shape (N, m)
        The paper's vector: loss with ridge first, then phi of every pair of groups.
    status : tuple of Status
        Why each point stopped where it is.
    preferences : array of shape (N, m)
        The preference that led to the point, NaN where none did.
    kkt : array of shape (N,)
        KKT residual of points solved by Newton, NaN for others.
    certified : array of bool, shape (N,)
        Whether the point is known to be the global optimum at its gap; otherwise it is a local one.
    multipliers : array of shape (N, ...)
        Loss per unit of gap, on training data: how much the loss would fall if the gap were allowed to grow. Signed,
        per pair for two groups and per group for more (``multiplier_names``). They are no prices in accuracy.
    """

    points: Points
    objectives: Array
    gaps: Array
    signed_gaps: Array
    objective_names: tuple[str, ...]
    status: tuple[Status, ...]
    preferences: Array
    facts: Facts
    kkt: Array
    certified: NDArray[np.bool_]
    multipliers: Array
    multiplier_names: tuple[str, ...]
    evaluations: Mapping[str, Evaluation] = field(default_factory=dict)

    @property
    def ids(self) -> NDArray[np.intp]:
        """Return the points' ids."""
        return np.arange(len(self.objectives))

    @property
    def loss(self) -> Array:
        """Return the training loss with its ridge, (N,)."""
        return np.asarray(self.objectives[:, 0])

    def __len__(self) -> int:
        return len(self.objectives)

    def __repr__(self) -> str:
        worst = self.gaps.max(axis=1)
        return (
            f"Frontier({len(self)} points, {' + '.join(self.facts.notions)}: loss {self.loss.min():.4f} to "
            f"{self.loss.max():.4f}, worst {self.facts.unit} {worst.max():.4f} to {worst.min():.4f}; "
            f"favourable label {self.facts.task.favourable_label!r})"
        )

    def evaluate(
        self, X: Any, y: Any, *, sensitive_features: Any, name: str = "validation", sample_weight: Any = None
    ) -> Frontier:
        """Return this frontier with a named record of rates on other data: error, AUC, gaps per group.

        A group that was not seen in training is evaluated too, with a warning.
        """
        record = evaluate_points(self.points, self.facts, X, y, sensitive_features, name, sample_weight)
        return replace(self, evaluations={**self.evaluations, name: record})

    def column(self, name: str, on: str | None = None) -> Array:
        """Return a column by name: ``loss``, ``loss_gap`` (training), or a figure of an evaluation."""
        if name == "loss":
            return self.loss
        if name == "loss_gap":
            return np.asarray(self.gaps.max(axis=1))
        record = self._record(on)
        if name not in record.columns:
            known = ", ".join(["loss", "loss_gap", *record.columns])
            raise InputError(f"unknown column {name!r} on {record.name!r}, expected one of {known}.")
        return record.columns[name]

    def _record(self, on: str | None) -> Evaluation:
        if not self.evaluations:
            raise InputError(
                "rates are not known yet, expected an evaluation; call front = front.evaluate(X, y, "
                "sensitive_features=..., name='validation') first."
            )
        chosen = on or ("validation" if "validation" in self.evaluations else next(iter(self.evaluations)))
        if chosen not in self.evaluations:
            raise InputError(f"no evaluation {chosen!r}, expected one of {', '.join(self.evaluations)}.")
        return self.evaluations[chosen]

    def choose(
        self,
        *,
        id: int | None = None,
        at_most: Mapping[str, float] | None = None,
        least: str | None = None,
        within: Mapping[str, float] | None = None,
        preference: Any = None,
        knee: bool = False,
        on: str | None = None,
    ) -> int:
        """Return the id of the point that a rule picks; see `select`."""
        rules = {"id": id, "at_most": at_most, "least": least, "preference": preference, "knee": knee}
        rule = selection.one_rule(rules)

        def column(name: str) -> Array:
            return self.column(name, on)

        if rule == "id":
            return self._checked(id)
        if rule == "knee":
            return selection.knee(self.loss, self.gaps.max(axis=1))
        if rule == "preference":
            pi = check_preferences(preference, self.objective_names)
            return selection.nearest_preference(self.objectives, pi[0])
        if rule == "least":
            assert least is not None
            return selection.least(column, least, within or {})
        assert at_most is not None
        best = column("error") if self.evaluations and "error" in self._record(on).columns else self.loss
        return selection.at_most(column, at_most, best)

    def _checked(self, id: Any) -> int:
        if not 0 <= int(id) < len(self):
            raise InputError(f"id {id} is not on this frontier, expected 0 to {len(self) - 1}.")
        return int(id)

    def select(self, **rule: Any) -> Any:
        """Return the chosen model as a stock scikit-learn estimator that needs no fairfront.

        Give exactly one rule: ``id=17``; ``knee=True``; ``preference=[1, 50]``; ``at_most={"tpr_gap": 0.02}``
        (smallest error among those); ``least="tpr_gap", within={"error": 0.005}``. Rates are those of the
        evaluation named by ``on``, by default "validation".
        """
        return self.points.build(self.choose(**rule))

    def table(self) -> dict[str, Any]:
        """Return all columns as arrays: id, status, loss, loss gaps, and every evaluation's figures."""
        columns: dict[str, Any] = {"id": self.ids, "status": np.array([s.name.lower() for s in self.status])}
        columns["loss"] = self.loss
        several = len(self.facts.notions) > 1
        for i, notion in enumerate(self.facts.notions):
            columns[f"{notion}.loss_gap" if several else "loss_gap"] = self.gaps[:, i]
        for name, record in self.evaluations.items():
            columns.update({f"{name}.{key}": values for key, values in record.columns.items()})
        return columns

    def to_frame(self, backend: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any:
        """Return `table` as a data frame of the backend asked for (pandas, polars or pyarrow)."""
        require(backend, backend, f"to_frame(backend={backend!r})")
        return nw.from_dict(self.table(), backend=backend).to_native()

    def plot(self, **options: Any) -> Any:
        """Draw the frontier with matplotlib (extra ``plot``); see `fairfront.plots.plot_frontier`."""
        from ..plots import plot_frontier

        return plot_frontier(self, **options)
