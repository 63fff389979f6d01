"""Columns of a frontier: training figures and those of its evaluations, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, require
from ..measures import Evaluation, GroupRates
from ..measures.evaluation import Pair, worst_pair
from ..measures.figures import Column, larger_is_better
from ..measures.intervals import Sizes, error_interval, selection_ratio_lower, worst_gap_floor, worst_gap_upper
from ..measures.operating_points import OperatingPoint
from ..objectives import Array, proxy_sentences
from ..solvers import Status
from ..validation import BACKENDS, check_choice, check_confidence, check_count, check_text, counted, shown

if TYPE_CHECKING:
    from .models import Models
    from .points import Facts, Points


GAPS = ("tpr_gap", "fpr_gap", "selection_gap", "error_gap", "recall_gap")
"""Gaps of shares, which have intervals."""
End = Callable[[GroupRates, str, float, Sizes | None], Array]


def _column(name: str, doc: str) -> Any:
    return property(attrgetter(f"points.{name}"), doc=doc)


class FrontierColumns:
    """What is known of a frontier's points: columns of their table, and those of evaluations by name."""

    models: Models
    points: Points
    facts: Facts
    evaluations: Mapping[str, Evaluation]

    ids: NDArray[np.intp] = _column("ids", "Stable names of the points, (N,).")
    loss: Array = _column("loss", "Training loss with its ridge, (N,).")
    objectives: Array = _column("objectives", "The paper's vector, (N, m): loss with ridge, then phi of every pair.")
    objective_names: tuple[str, ...] = _column("objective_names", "Names of the objectives, (m,).")
    gaps: Array = _column("gaps", "Worst gap per notion in training, (N, notions), in ``facts.unit``: no rate gaps.")
    signed_gaps: Array = _column("signed_gaps", "The gap of every pair of groups with its sign, (N, m - 1).")
    status: tuple[Status, ...] = _column("status", "Why each point stopped where it is.")
    preferences: Array = _column("preferences", "Preferences that led to the points, (N, m), NaN where none did.")
    kkt: Array = _column("kkt", "KKT residual of points solved by Newton, (N,), NaN for others.")
    certified: NDArray[np.bool_] = _column("certified", "Which points are known to be the global optimum at their gap.")
    multipliers: Array = _column(
        "multipliers",
        "How much the training loss would fall if the gap were allowed to grow, per unit of gap, signed, (N, ...): per "
        "pair for two groups and per group for more. They are no prices in accuracy.",
    )
    multiplier_names: tuple[str, ...] = _column("multiplier_names", "Pairs or groups of the columns of multipliers.")

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
        name : str
            The training gap is ``loss_gap``, or ``smooth_rate_gap`` for the rate surrogate.
        on : str, optional
            The evaluation, as in `record`.
        confidence : float, optional
            With it a gap or an error is the upper end of its interval and the selection ratio the lower: what these
            rows support.
        """
        check_text(name, "name", "the name of a column")
        if confidence is not None:
            check_confidence(confidence)
        training = dict(zip(self.facts.gap_columns, self.gaps.T, strict=True))
        training |= {"loss": self.loss, self.facts.gap_column: self.gaps.max(axis=1)}
        return training[name] if name in training else figures(self.record(on), name, confidence)

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

    def least_claim(self, name: str, on: str | None, confidence: float | None, among: NDArray[np.intp]) -> str:
        """Say the smallest gap that the evaluation's rows could demonstrate at the rates of some points."""
        record = self.record(on)
        if confidence is None or Column.of(name).kind not in GAPS:
            return ""
        parts = [name] if name in record.columns else [each for each in record.columns if Column.of(each).kind == name]
        sure = 1.0 - (1.0 - confidence) / len(parts)
        floors = np.stack([figures(record, part, sure, worst_gap_floor) for part in parts])
        floor = np.fmax.reduce(floors)
        if np.isnan(floor[among]).all():
            return ""
        place = int(among[np.nanargmin(floor[among])])
        pair = worst_pair(record, parts[int(np.nanargmax(floors[:, place]))], place, self.facts.task)
        assert pair is not None
        few = f"{pair.fewest[0]:.0f} and {pair.fewest[1]:.0f} people{pair.label}"
        unit = 10.0 ** (np.floor(np.log10(max(floor[place], 1e-12))) - 1)
        down = np.floor(floor[place] / unit + 1e-9) * unit  # towards 0, so that no upper end is below what is told
        return f"with {few} in the smallest groups, no gap below about {down:.2g} can be demonstrated"

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

    def table(self) -> dict[str, Any]:
        """Return all columns as arrays: id, status, loss, loss gaps, and every evaluation's figures."""
        columns: dict[str, Any] = {"id": self.ids, "status": np.array([s.name.lower() for s in self.status])}
        if self.models.names is not None:
            columns["name"] = np.array(self.models.names, dtype=object)
        if self.facts.loss_name == "loss":  # that of candidates is their error, which their evaluation has
            columns["loss"] = self.loss
        columns.update(zip(self.facts.gap_columns, self.gaps.T, strict=True))
        for name, record in self.evaluations.items():
            columns.update({f"{name}.{key}": values for key, values in record.columns.items()})
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


def figures(record: Evaluation, name: str, confidence: float | None, end: End = worst_gap_upper) -> Array:
    """Return a column of an evaluation, as the end of its interval that has to hold when a confidence is given.

    That is the upper end of an error and of a gap, the lower end of the selection ratio (of each pair of groups on its
    own, because all have to hold). With several attributes ``tpr_gap`` is the worst of ``sex.tpr_gap``... and its upper
    end holds for all of them at once. ``end`` takes something else of a gap's intervals than their upper end.
    """
    parts = [each for each in record.columns if Column.of(each).kind == name and each != name]
    if name not in record.columns and parts:
        if larger_is_better(name):
            return np.asarray(np.fmin.reduce([figures(record, part, confidence) for part in parts]))
        sure = None if confidence is None else 1.0 - (1.0 - confidence) / len(parts)
        return np.asarray(np.fmax.reduce([figures(record, part, sure, end) for part in parts]))
    values = record[name]
    if confidence is None:
        return values
    column = Column.of(name)
    if name == "error":
        return error_interval(values, np.full(len(values), record.effective_n or record.n), confidence)[1]
    attribute = column.attribute or next(iter(record.groups))
    rates, sizes = record.groups.get(attribute), record.sizes.get(attribute)
    if isinstance(rates, GroupRates) and column.figure == "selection_ratio":
        return selection_ratio_lower(rates, confidence, sizes)
    if isinstance(rates, GroupRates) and column.kind in GAPS:
        return end(rates, column.figure, confidence, sizes)
    return values
