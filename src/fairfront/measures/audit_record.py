"""The record of an audit, and how it is written down: a data frame, plain values for JSON, tables for notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Literal

import narwhals.stable.v1 as nw
from numpy.typing import NDArray

from ..exceptions import require
from ..objectives import Task
from ..objectives.proxies import PROXY_NOTE
from ..validation import BACKENDS, check_choice, counted
from .claims import Verdict, judge
from .disclosure import LIMIT, Cell, check_small
from .figures import RATIOS, Column, figure_of, found_sentences, not_defined, pooled_sentences, reference_sentences
from .group_table import GroupTable
from .lines import ALL
from .table_columns import Worst


@dataclass(frozen=True, eq=False)
class Audit:
    """What an audit found; made by `audit`.

    Attributes
    ----------
    task : Task
        Classes and the favourable label.
    rule : str
        How scores became decisions.
    cutoff : float or None
        The one cut-off of all groups, where scores were given.
    n : int
        Number of rows.
    groups : dict of attribute to `GroupTable`
        Every figure of every group.
    strata : dict of level to dict of attribute to `GroupTable`
        The same within each level of the control features.
    pooled : dict of attribute to dict of columns
        Mantel and Haenszel's gaps over those levels.
    confidence : float
    weighted : bool
        Whether rates are weighted by unequal sample weights; counts are rows all the same.
    small : int
        Counts below it are rounded; 0 for exact counts. `published` gives the audit with rounded ones.
    """

    task: Task
    rule: str
    cutoff: float | None
    n: int
    groups: dict[str, GroupTable]
    confidence: float
    notions: tuple[str, ...]
    strata: dict[str, dict[str, GroupTable]] = field(default_factory=dict)
    pooled: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    weighted: bool = False
    small: int = 0
    shown: Audit | None = field(default=None, repr=False)

    @property
    def proxies(self) -> tuple[str, ...]:
        """Return the attributes whose groups are given as probabilities."""
        return tuple(name for name, table in self.groups.items() if table.lines.is_proxy)

    @property
    def tables(self) -> dict[str, dict[str, NDArray[Any]]]:
        """Return the columns of each attribute's table, one entry per line; NaN has its reason in `to_frame`."""
        return {name: table.columns for name, table in self.groups.items()}

    @property
    def worst(self) -> dict[str, dict[str, Worst]]:
        """Return, per attribute, the worst gap of every notion and the selection ratio, by figure."""
        return {name: {found.figure: found for found in table.worst} for name, table in self.groups.items()}

    @property
    def sentences(self) -> tuple[str, ...]:
        """Say how decisions were made, what each notion compares, and what was found."""
        return (*self.notions, *reference_sentences(self.groups.values()), *self.found)

    @property
    def found(self) -> tuple[str, ...]:
        """Say the worst contrast of every notion, and what is pooled over control features."""
        found = [found_sentences(table, self.confidence) for table in self.groups.values()]
        pooled = [pooled_sentences(self.groups[name].lines, columns) for name, columns in self.pooled.items()]
        return tuple(sentence for sentences in (*found, *pooled) for sentence in sentences)

    def published(self) -> Audit:
        """Return the audit as it may be shared: groups of a few people pooled, small counts rounded.

        Every figure is computed from the published counts; see `fairfront.measures.disclosure`.
        """
        return self if self.shown is None else self.shown

    def check(self, requirement: str) -> tuple[Verdict, ...]:
        """Judge a requirement such as ``"selection_ratio.lower>=0.80"``: met, not met or inconclusive.

        Gaps and the ratio are the worst over pairs of groups, with ends that hold for all of them at once; the lower
        end of the ratio is that of each pair on its own, because all pairs have to hold. Other figures, such as
        ``error``, are those of all rows. ``sex.tpr_gap.upper<=0.05`` asks for one attribute.
        """
        return judge(self, requirement)

    def to_frame(self, attribute: str | None = None, backend: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any:
        """Return one attribute's table as a data frame, with a column that gives the reason of every missing value.

        Counts are exact, small ones too; use `to_dict`, or the frame of `published()`, for anything you share.
        """
        require(check_choice(backend, "backend", BACKENDS), backend, f"to_frame(backend={backend!r})")
        table = self._table(attribute)
        columns = {name: values.tolist() for name, values in table.columns.items()}
        numbers = {k: [None if v != v else v for v in values] for k, values in columns.items()}
        return nw.from_dict({**numbers, "notes": notes_of(table)}, backend=backend).to_native()

    def _table(self, attribute: str | None) -> GroupTable:
        if attribute is None and len(self.groups) == 1:
            return next(iter(self.groups.values()))
        return self.groups[str(check_choice(attribute, "attribute", self.groups))]

    def to_dict(self, *, small: int = LIMIT) -> dict[str, Any]:
        """Return everything as plain values for JSON, with words where there is no value.

        It is what `published` gives, unless ``small`` is 0: exact counts, for use where the rows are kept.
        """
        return _plain(self.published() if check_small(small) else self)

    def __repr__(self) -> str:
        names = [f"{name} (probabilities)" if name in self.proxies else name for name in self.groups]
        return f"Audit({counted(self.n, 'row')}, {self.task.kind}, groups of {', '.join(names)}; {self.rule})"

    def _repr_html_(self) -> str:
        """Show the audit in a notebook: plain tables as they are published, because notebooks are files too."""
        return audit_html(self.published(), reference_sentences(self.groups.values()))


FORMAT = "fairfront audit 2"


def notes_of(table: GroupTable) -> list[str]:
    """Return for every line the reasons of figures without a value; those of gaps are said by the status."""
    plain = {name: cells for name, cells in table.cells.items() if not Column.of(name).end}
    notes = []
    for i, status in enumerate(table.lines.status):
        found = [f"{name}: {cells[i].plain}" for name, cells in plain.items() if cells[i].reason and cells[i].meant]
        notes.append("; ".join([PROXY_NOTE, *found] if table.lines.is_proxy and status != ALL else found))
    return notes


def _plain(audit: Audit) -> dict[str, Any]:
    """Return an audit as plain values for JSON."""
    result: dict[str, Any] = {
        "format": FORMAT,
        "task": audit.task.kind,
        "favourable": None if audit.task.favourable_label is None else str(audit.task.favourable_label),
        "rule": audit.rule,
        "cutoff": audit.cutoff,
        "n": audit.n,
        "small": audit.small,
        "weighted": audit.weighted,
        "proxies": list(audit.proxies),
        "confidence": audit.confidence,
        "references": {
            name: {"group": table.lines.names[table.lines.reference], "largest": table.lines.largest}
            for name, table in audit.groups.items()
        },
        "tables": {name: table.readable for name, table in audit.groups.items()},
        "worst": {name: [_worst(w) for w in table.worst] for name, table in audit.groups.items()},
        "sentences": [*audit.notions, *audit.found],
        "found": list(audit.found),
    }
    if audit.strata:
        strata = {
            level: {name: table.readable for name, table in tables.items()} for level, tables in audit.strata.items()
        }
        result |= {"strata": strata, "pooled": audit.pooled}
    return result


def _worst(worst: Worst) -> dict[str, Any]:
    """Return a worst contrast with words where it has no value."""
    record: dict[str, Any] = {"figure": worst.figure, "notion": worst.notion, "unit": worst.unit}
    record["not_compared"] = list(worst.not_compared)
    if worst.value != worst.value:
        return {**record, "value": not_defined(worst)}
    names = ("value", "lower", "upper", "pair_lower" if worst.figure in RATIOS else "floor")
    record |= {name: getattr(worst, name) for name in names} | {"between": list(worst.between)}
    return record | ({"people": list(worst.people)} if worst.people[0] == worst.people[0] else {})


FIGURES_SHOWN = (
    *("selection", "selection_over_reference", "tpr", "fpr", "precision", "error", "auc", "in_the_large"),
    *("prediction", "residual", "mse"),
)
"""The figures that are shown, in this order."""


CELL = "text-align:right;padding:2px 8px"


def audit_html(audit: Audit, references: Sequence[str]) -> str:
    """Draw a published audit: how decisions were made, the references, the tables, what was found."""
    tables = [_table(table) for table in audit.groups.values()]
    before, after = (
        [f"<p>{escape(each)}</p>" for each in said] for said in ((*audit.notions, *references), audit.found)
    )
    return f"<div>{''.join([*before, *tables, *after])}</div>"


def _table(table: GroupTable) -> str:
    """Draw one attribute: a line per group, each figure with its interval."""
    figures = [figure for figure in FIGURES_SHOWN if figure in table.cells]
    headings = ["n", *(figure_of(figure).heading for figure in figures)]
    heads = "".join(f'<th scope="col" style="{CELL}">{escape(heading)}</th>' for heading in headings)
    lines = [_line(table, figures, i) for i in range(len(table.lines.names))]
    name = escape(table.lines.attribute)
    head = f'<thead><tr><th scope="col" style="text-align:left">{name}</th>{heads}</tr></thead>'
    return f"<table>{head}<tbody>{''.join(lines)}</tbody></table>"


def _line(table: GroupTable, figures: list[str], i: int) -> str:
    status = table.lines.status[i]
    group = table.lines.names[i] + (f" ({status})" if status in ("reference", "too few") else "")
    cells = [_number(table.cells["n"][i]), *(_figure(table.cells, figure, i) for figure in figures)]
    body = "".join(f'<td style="{CELL}">{escape(cell)}</td>' for cell in cells)
    return f'<tr><th scope="row" style="text-align:left">{escape(group)}</th>{body}</tr>'


def _figure(cells: Mapping[str, list[Cell]], figure: str, i: int) -> str:
    """Return a figure with its interval, or the reason why it has no value."""
    value, low, high = (cells[figure + end][i] for end in ("", "_lower", "_upper"))
    if value.reason or low.reason or high.reason:
        return _number(value)
    return f"{_number(value)} ({_number(low)} to {_number(high)})"


def _number(cell: Cell) -> str:
    """Return a number, nothing where no comparison was meant, or a reason."""
    if not cell.meant:
        return ""
    return f"{cell.value:.4g}" if isinstance(cell.value, float) else str(cell.plain)
