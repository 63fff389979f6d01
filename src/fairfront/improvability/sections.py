"""Sections of a dossier: what each takes down of a search, and how it is told.

A new section is one class and one line in `SECTIONS` of `dossier`. `find` is asked once, when the search is over; all
files are then made of the record, so that a dossier can be written again from its JSON.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..measures.disclosure import LIMIT
from ..measures.evaluation import Evaluation
from .dossier_layout import Part
from .families import Data
from .incumbent import Incumbent
from .requirements import Requirements
from .split_search import Budget, Outcome, Split, combined
from .verdicts import SHORT, Verdict, judged, verdicts


@dataclass(frozen=True, eq=False)
class Search:
    """A search that is over: what was asked and given, the first split whole, and of all splits what p-values rest on.

    It holds rows, and is never written. ``alpha`` is one minus the confidence; ``stopped`` says why the search did,
    ``limit`` whether the limit of all rules is asked for.
    """

    data: Data
    wanted: Requirements
    incumbent: Incumbent
    outcome: Outcome
    splits: tuple[Split, ...]
    families: tuple[str, ...]
    budget: Budget
    stopped: str
    seed: int
    alpha: float
    limit: bool = True

    @cached_property
    def p(self) -> float:
        """Return the p-value of the whole search."""
        return combined([each.p for each in self.splits])

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Return one per model of the first split, in the order of its candidates."""
        return tuple(verdicts(self.outcome, self.data, self.wanted, 1.0 - self.alpha, self.p))

    @cached_property
    def judged(self) -> Evaluation:
        """Return the incumbent, first, and the models of the first split on its judge rows, as may be published."""
        return judged(self.outcome, self.data)

    @cached_property
    def few(self) -> bool:
        """Tell whether a count of judge rows by group, label and decision is small, of a model that was tested.

        Then its figures are made of rounded counts, and what is computed from exact ones is told less exactly.
        """
        rows = self.data.sample.take(self.outcome.judge)
        said = [self.outcome.incumbent.take(self.outcome.judge), *(e.answers for e in self.outcome.candidates[:SHORT])]
        for attribute in rows.attributes:
            codes = np.asarray(attribute.codes) + 1
            for each in said:
                counts = np.bincount(4 * codes + 2 * rows.good + each.approved, minlength=4)
                if ((counts > 0) & (counts < LIMIT)).any():
                    return True
        return False

    @property
    def qualified(self) -> tuple[int, ...]:
        return tuple(i + 1 for i, each in enumerate(self.verdicts) if each.qualified)

    @property
    def shown(self) -> int | None:
        """Return the id that is told of at length: the first that qualifies, else the most promising; None of none."""
        return self.qualified[0] if self.qualified else 1 if self.outcome.candidates else None


class Section(ABC):
    """One section of a dossier."""

    name: ClassVar[str]

    def find(self, search: Search) -> Mapping[str, Any]:
        """Return what it adds to the record: plain values for JSON, no rows, and no count below the limit."""
        return {}

    @abstractmethod
    def parts(self, record: Mapping[str, Any]) -> Iterable[Part]:
        """Return its parts of the dossier, from the record alone; none where there is nothing to tell."""

    def summary(self, record: Mapping[str, Any]) -> Iterable[Part]:
        """Return its parts of the page for a committee."""
        return ()
