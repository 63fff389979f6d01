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

from ..measures.evaluation import Evaluation
from .arguments import Incumbent
from .digits import Few, coarse_p
from .dossier_layout import Part
from .families import Data
from .split_search import Outcome, Plan, Split, combined
from .verdicts import SHORT, Verdict, judged, verdicts


@dataclass(frozen=True, eq=False)
class Search(Plan):
    """A search that is over: what was asked and given, the first split whole, and of all splits what p-values rest on.

    It holds rows, and is never written. ``alpha`` is one minus the confidence; ``stopped`` says why the search did,
    ``limit`` whether the limit of all rules is asked for.
    """

    data: Data
    incumbent: Incumbent
    outcome: Outcome
    splits: tuple[Split, ...]
    stopped: str
    alpha: float
    limit: bool = True

    @cached_property
    def p(self) -> float:
        """Return the p-value of the whole search."""
        return combined([each.p for each in self.splits])

    @property
    def rests_on_first(self) -> bool:
        """Tell whether the p-value of the search is made of that of the first split."""
        return bool(min(1.0, 2.0 * self.splits[0].p) == self.p)

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Return one per model of the first split, in the order of its candidates."""
        return tuple(verdicts(self.outcome, self.data, self.wanted, 1.0 - self.alpha, self.p, self.rests_on_first))

    @property
    def hidden(self) -> bool:
        """Tell whether the p-value of the first split may only say whether it passes."""
        return any(each.hidden for each in self.verdicts[:1])

    @property
    def told_p(self) -> float:
        """Return the p-value of the whole search as it may be told."""
        return coarse_p(self.p, self.alpha) if self.hidden and self.rests_on_first else self.p

    @cached_property
    def judged(self) -> Evaluation:
        """Return the incumbent, first, and the models of the first split on its judge rows, as may be published."""
        return judged(self.outcome, self.data)

    @cached_property
    def few(self) -> bool:
        """Tell whether a small count is behind a model that was tested, so that some of it is told less exactly."""
        rows, before = self.data.sample.take(self.outcome.judge), self.outcome.incumbent.take(self.outcome.judge)
        return any(Few(rows, before, each.answers) for each in self.outcome.candidates[:SHORT])

    @property
    def qualified(self) -> tuple[int, ...]:
        return tuple(i + 1 for i, each in enumerate(self.verdicts) if each.qualified)

    @property
    def shown(self) -> int | None:
        """Return the id that is told of at length: the most promising, which is the first to qualify; None of none."""
        return 1 if self.outcome.candidates else None


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
