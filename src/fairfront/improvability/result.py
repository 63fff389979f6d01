"""The result of a search for alternatives: p-value, table, those that qualify, and their models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import narwhals.stable.v1 as nw

from ..exceptions import require
from ..records import Record, html_record, html_table
from ..validation import BACKENDS, as_plain, check_choice, is_whole, refuse
from .dossier import record_of, write_dossier
from .sections import Search
from .split_search import Outcome


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
        One line per model of the first split, the incumbent first (id 0): where it comes from, figures on judge rows
        that were not searched on, whether it qualifies, and why not.
    qualified : tuple of int
        Ids of models that qualify at the confidence asked for; none where ``p_value`` does not pass. They are tested in
        the order of the table, which was found on the search rows, until one fails; a fixed sequence needs no more.
    moved : dict
        Of the first model that qualifies, else of the most promising one: rates of every group before and after, and
        how many people enter and leave, with the share of them who have the favourable label.
    swapped : dict, the same of all rows
    record : dict, all that the dossier says
    outcome : what `select` builds models from; it holds row numbers, and is never written
    """

    p_value: float
    split_p_values: tuple[float, ...]
    table: tuple[dict[str, Any], ...] = field(repr=False)
    qualified: tuple[int, ...]
    moved: Mapping[str, Any] = field(repr=False)
    swapped: Mapping[str, Any] = field(repr=False)
    record: Mapping[str, Any] = field(repr=False)
    outcome: Outcome = field(repr=False)

    @property
    def sentence(self) -> str:
        """Say what was found, in one sentence that claims no more than that."""
        return str(self.record["finding"])

    @property
    def limit(self) -> Mapping[str, Any] | None:
        """Return the least error of any rule that does not see the group, by gap, and the models' distances to it.

        ``gaps``, ``error``, ``low`` and ``high`` are lists, the last two the ends of a band for all gaps at once;
        ``models`` has a line per id. None where it was not asked for, ``why_not`` alone where it cannot be given.
        """
        found: Mapping[str, Any] | None = self.record["limit"]
        return found

    def select(self, id: int) -> Any:
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
        """Write summary.md, dossier.md, dossier.json and dossier.html to a folder, whole or not at all.

        Parameters
        ----------
        path : str or path of the folder
        overwrite : bool, whether a folder with an earlier dossier, and nothing else, is replaced
        """
        return write_dossier(path, self.record, overwrite=overwrite)

    def _repr_html_(self) -> str:
        heads = [name for name in self.table[0] if name not in ("settings", "why")]
        shown = [line for line in self.table if line["p"] is not None or line["id"] == 0]
        cells = ([_cell(line[name]) for name in heads] for line in shown)
        after = "select(id) gives a model; save(folder) writes the dossier."
        return html_record("Alternatives", self.sentence, html_table(heads, cells), after)


def result_of(search: Search) -> Alternatives:
    """Return what a search that is over found."""
    record, p = record_of(search), tuple(each.p for each in search.splits)
    found = (tuple(record["table"]), search.qualified, record["moved"], record["swapped"])
    return Alternatives(search.p, p, *found, record, search.outcome)


def _cell(value: Any) -> str:
    plain = as_plain(value)
    return "" if plain is None else f"{plain:.4g}" if isinstance(plain, float) else str(plain)
