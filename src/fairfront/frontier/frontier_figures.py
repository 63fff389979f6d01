"""Figures of a frontier's points: columns of training and of its evaluations, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..measures import Evaluation
from ..measures.claims import Pair, worst_pair
from ..measures.cutoffs import OperatingPoint
from ..measures.promises import together
from ..objectives import Array
from ..solvers import Visited
from ..validation import check_confidence, check_count, check_text, counted, shown
from .cautions import notes_of
from .models import Models
from .points import Facts, PointColumns, Points
from .source import Source

BOTH = "held_out and validation"
"""Name of the two evaluations pooled, which choices rest on by default."""
POOLS: WeakKeyDictionary[Evaluation, WeakKeyDictionary[Evaluation, Evaluation | None]] = WeakKeyDictionary()
"""Pools of held-out rows and those of validation, as long as both evaluations live."""


@dataclass(frozen=True, repr=False)
class FrontierFigures(PointColumns):
    """What is known of a frontier's points: columns of their table, and those of evaluations by name."""

    models: Models
    points: Points
    facts: Facts
    evaluations: Mapping[str, Evaluation] = field(default_factory=dict)
    visited: Visited | None = None
    source: Source | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the rows that the frontier was traced on out of files and copies."""
        return {**self.__dict__, "source": None}

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
    def plain(self) -> int:
        """The place of unconstrained training: the smallest loss."""
        return int(np.argmin(self.loss))

    @property
    def proxies(self) -> tuple[str, ...]:
        """Return the attributes whose groups were given as probabilities, in training or in an evaluation."""
        judged = (name for record in self.evaluations.values() for name in record.proxies)
        return tuple(dict.fromkeys((*self.facts.proxies, *judged)))

    @property
    def sentences(self) -> tuple[str, ...]:
        """Say what each notion compares, and what else has to be known to read the figures."""
        return (*self.facts.sentences[: len(self.facts.notions)], *notes_of(self))

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
            support of all points at once (max-t).
        """
        check_text(name, "name", "the name of a column")
        if confidence is not None:
            check_confidence(confidence)
        training = dict(zip(self.facts.gap_columns, self.gaps.T, strict=True))
        training |= {"loss": self.loss, self.facts.gap_column: self.gaps.max(axis=1)}
        if name in training:
            return np.asarray(training[name])
        record = self.record(on)
        return record.figure(name) if confidence is None else together(record, name, confidence)

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
        if isinstance(on, str) and on == BOTH and self._both is not None:
            return self._both
        if not isinstance(on, str) or on not in known:
            raise InputError(f"no evaluation {shown(on)}, expected one of {', '.join(known)}.")
        return known[on]

    def judged(self, on: str | None = None) -> Evaluation:
        """Return the evaluation that rules choose on.

        Parameters
        ----------
        on : its name
            By default held-out and validation rows pooled, where they can be, else as `record`.
        """
        return self._both or self.record() if on is None else self.record(on)

    @property
    def _both(self) -> Evaluation | None:
        """Pool the rows that were held out in training with those of validation; None where that cannot be done.

        It is done once for two evaluations, whatever frontiers have them.
        """
        from .pooled_rows import pool_evaluations

        held, other = (self.evaluations.get(name) for name in ("held_out", "validation"))
        if held is None or other is None:
            return None
        known = POOLS.setdefault(held, WeakKeyDictionary())
        if other not in known:
            try:
                known[other] = pool_evaluations([held, other], self.facts, BOTH)
            except InputError:
                known[other] = None
        return known[other]

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
