"""The result of a search for alternatives: p-value, table, those that qualify, and their models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import narwhals.stable.v1 as nw

from ..exceptions import require
from ..records import Record, html_record, html_table
from ..validation import BACKENDS, check_choice, is_whole, refuse
from .record import Search, record_of
from .split_search import Outcome
from .summary import figure_words, write_search


@dataclass(frozen=True, eq=False, repr=False)
class Alternatives(Record):
    """What a search for fairer alternatives to an incumbent found.

    Attributes
    ----------
    p_value : float
        Of the claim that the search finds a model that is worse in the job by less than the tolerances and has a
        smaller gap, on new people: twice the median over the splits, valid after searching. Small values are evidence
        that such a model exists; large ones are not evidence that there is none.
    split_p_values : tuple of float, those of the splits, in their order
    table : tuple of dict
        One line per model of the first split, the incumbent first (id 0): where it comes from, and its figures on judge
        rows that were not searched on.
    qualified : bool
        Whether model 1, the most promising on the search rows, qualifies at the confidence asked for: its own p-value
        on the first split and that of the search both pass.
    changes : dict
        By figure how model 1 differs from the incumbent: ``value``, ``lower`` and ``upper`` (None where only a lower
        bound is claimed). Of a gap it is how much smaller it is, of a ratio the factor by which it is larger.
    moved : dict
        Of model 1: rates of every group before and after, and how many people enter and leave, with the share of them
        who have the favourable label.
    swapped : dict, the same of all rows
    record : dict, all that is known, as plain values
    outcome : what `select` builds models from; it holds row numbers, and is never written
    """

    p_value: float
    split_p_values: tuple[float, ...]
    table: tuple[dict[str, Any], ...] = field(repr=False)
    qualified: bool
    changes: Mapping[str, Any] = field(repr=False)
    moved: Mapping[str, Any] = field(repr=False)
    swapped: Mapping[str, Any] = field(repr=False)
    record: Mapping[str, Any] = field(repr=False)
    outcome: Outcome = field(repr=False)

    @property
    def sentence(self) -> str:
        """Say what was found, in one sentence that claims no more than that."""
        return str(self.record["finding"])

    def select(self, id: int = 1) -> Any:
        """Return a model of the table, fitted on the search rows of the first split, which decides at its cut-off.

        Parameters
        ----------
        id : int
            As in ``table``. The incumbent, 0, is the caller's own.
        """
        known = len(self.outcome.candidates)
        if not is_whole(id) or not 1 <= int(id) <= known:
            raise refuse("id", id, f"one of the table, from 1 to {known}" if known else "none: no model was found")
        return self.outcome.candidates[int(id) - 1].build()

    def to_frame(self, backend: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any:
        """Return `table` as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
        """
        require(check_choice(backend, "backend", BACKENDS), backend, f"to_frame(backend={backend!r})")
        names = list(self.table[0])
        columns = {
            name: [line[name] if name != "settings" else str(line[name]) for line in self.table] for name in names
        }
        return nw.from_dict(columns, backend=backend).to_native()

    def save(self, path: Any, *, overwrite: bool = False) -> Path:
        """Write summary.md and alternatives.json to a folder, whole or not at all.

        Parameters
        ----------
        path : str or path of the folder
        overwrite : bool, whether a folder with an earlier search, and nothing else, is replaced
        """
        return write_search(path, self.record, overwrite=overwrite)

    def _repr_html_(self) -> str:
        heads = [name for name in self.table[0] if name != "settings"]
        cells = ([figure_words(line[name]) for name in heads] for line in self.table[:2])
        after = "select() gives model 1; save(folder) writes a summary and the record."
        return html_record("Alternatives", self.sentence, html_table(heads, cells), after)


def result_of(search: Search) -> Alternatives:
    """Return what a finished search found."""
    record = record_of(search)
    return Alternatives(
        p_value=search.p_value,
        split_p_values=tuple(record["split_p_values"]),
        table=tuple(record["table"]),
        qualified=search.qualified,
        changes=record["changes"],
        moved=record["moved"],
        swapped=record["swapped"],
        record=record,
        outcome=search.outcome,
    )
