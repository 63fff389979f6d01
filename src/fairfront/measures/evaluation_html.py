"""Evaluations, and tables of groups of audits, in notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from ..records import html_record, html_table
from ..validation import counted
from .evaluation import Evaluation
from .figures import MORE, figure_of
from .group_table import GroupTable

ROWS = 12
"""Models of an evaluation that a notebook lists."""


def notebook_form(record: Evaluation) -> str:
    """Return escaped HTML of the first models."""
    names = [name for name in record.columns if "." not in name] or list(record.columns)
    places = range(min(ROWS, record.n_models))
    rows = [(str(place), *(f"{record[name][place]:.4f}" for name in names)) for place in places]
    said = f"{counted(record.n_models, 'model')} on {counted(record.n, 'row')} of {record.name}; {record.rule}"
    after = "evaluation['tpr_gap'] is a column; front.to_frame() has all of them."
    return html_record("Evaluation", said, html_table(("place", *names), rows), after)


FIGURES_SHOWN = (
    *("selection", "selection_over_reference", "tpr", "fpr", "precision", "error", "auc", "in_the_large"),
    *(*MORE, "prediction", "residual", "mse"),
)
"""The figures that notebooks show, in this order."""


def html_of_groups(table: GroupTable) -> str:
    def drawn(tag: str, scope: str, texts: Iterable[str]) -> str:
        style = "text-align:right;padding:2px 8px"
        return "".join(f'<{tag}{scope} style="{style}">{escape(text)}</{tag}>' for text in texts)

    def number(name: str, i: int) -> str:
        cell = table.cells[name][i]
        if not cell.meant:
            return ""
        return f"{cell.value:.4g}" if isinstance(cell.value, float) else str(cell.plain)

    def with_ends(figure: str, i: int) -> str:
        value, low, high = (figure + end for end in ("", "_lower", "_upper"))
        if any(table.cells[name][i].reason for name in (value, low, high)):
            return number(value, i)
        return f"{number(value, i)} ({number(low, i)} to {number(high, i)})"

    lines, figures = [], [figure for figure in FIGURES_SHOWN if figure in table.cells]
    heads = drawn("th", ' scope="col"', ["n", *(figure_of(figure).heading for figure in figures)])
    for i, (name, status) in enumerate(zip(table.lines.names, table.lines.status, strict=True)):
        group = escape(name + (f" ({status})" if status in ("reference", "too few") else ""))
        cells = drawn("td", "", [number("n", i), *(with_ends(figure, i) for figure in figures)])
        lines.append(f'<tr><th scope="row" style="text-align:left">{group}</th>{cells}</tr>')
    attribute = f'<th scope="col" style="text-align:left">{escape(table.lines.attribute)}</th>'
    return f"<table><thead><tr>{attribute}{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
