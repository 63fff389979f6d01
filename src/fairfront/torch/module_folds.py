"""Folds of a module's rows: what is trained without each of them, and the evaluation of all rows by it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..frontier import Frontier
from ..frontier.folds import folds_of, too_few_people
from ..frontier.held_out import judged_scores, operating_of, refuse_operating
from ..measures.cutoffs import Operating
from ..objectives import Array, take_groups
from ..problems.fit_rows import person_codes
from ..validation import check_flag
from .module_objectives import Ints, TorchObjectives, on_other_rows


@dataclass(frozen=True, eq=False)
class TorchFolds:
    """Labels, groups and weights of the rows, the fold of each, who they are, and how cut-offs are placed."""

    objectives: TorchObjectives
    rows: tuple[Any, Any, Any]
    fold: Ints
    person: Ints | None
    rule: Operating | None

    @classmethod
    def of(
        cls, given: TorchObjectives, y: Any, groups: Any, weight: Any, person: Any, asked: bool | Mapping[str, Any]
    ) -> TorchFolds | None:
        """Return None where held-out figures were not asked for."""
        codes = None if person is None else person_codes(person, given.n, None)
        if not isinstance(asked, Mapping) and not check_flag(asked, "held_out"):
            return None
        if len(given.labels) > 1:
            raise InputError(
                f"held_out judges one label per row, found {len(given.labels)}; leave it out, and evaluate a label of "
                "`of_label` on validation rows."
            )
        refuse_operating(asked, given.labels[0].task)
        cells = given.labels[0].layout.cells
        fold, dealt = np.empty(given.n, dtype=np.intp), folds_of(cells, codes)
        if why := too_few_people(cells, dealt):
            raise InputError(f"held_out trains without folds of these rows, {why}; leave it out.")
        fold[cells.order] = dealt
        labels = y.detach().cpu().numpy() if hasattr(y, "detach") else np.asarray(y)
        return cls(given, (labels.reshape(given.n), groups, weight), fold, codes, operating_of(asked))

    def parts(self) -> Iterator[tuple[Ints, Ints, TorchObjectives]]:
        """Return rows to train on, rows of the fold, and the objectives without it, one fold after the other."""
        y, groups, weight = self.rows
        for each in np.unique(self.fold):  # ten, or as many as there are people
            rest, n = np.flatnonzero(self.fold != each), self.objectives.n
            less = None if weight is None else np.asarray(weight)[rest]
            known = on_other_rows(self.objectives, y[rest], take_groups(groups, rest, n), less)
            yield rest, np.flatnonzero(self.fold == each), known

    def judged(self, front: Frontier, scores: Array) -> Frontier:
        """Add the evaluation of scores (N, K, n)."""
        parts = len(np.unique(self.fold))
        made = f"{parts} folds, trained again"
        return judged_scores(front, self.rows, scores, made, self.rule, person=self.person, refitted=parts)
