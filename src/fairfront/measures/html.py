"""An audit as HTML for notebooks: escaped plain tables, no script, nothing loaded from anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from .figures import figure_of

FIGURES = (
    *("selection", "selection_over_reference", "tpr", "fpr", "precision", "error", "auc", "in_the_large"),
    *("prediction", "residual", "mse"),
)
"""The figures that are shown, in this order."""
CELL = "text-align:right;padding:2px 8px"


def audit_html(shown: Mapping[str, Any], references: Sequence[str]) -> str:
    """Draw what `Audit.to_dict` shows: how decisions were made, the references, the tables, what was found."""
    sentences = [f"<p>{escape(sentence)}</p>" for sentence in shown["sentences"]]
    said = len(sentences) - len(shown["found"])
    tables = [_table(name, columns) for name, columns in shown["tables"].items()]
    named = [f"<p>{escape(sentence)}</p>" for sentence in references]
    return f"<div>{''.join([*sentences[:said], *named, *tables, *sentences[said:]])}</div>"


def _table(name: str, columns: Mapping[str, list[Any]]) -> str:
    """Draw one attribute: a line per group, each figure with its interval."""
    figures = [figure for figure in FIGURES if figure in columns]
    headings = ["n", *(figure_of(figure).heading for figure in figures)]
    heads = "".join(f'<th scope="col" style="{CELL}">{escape(heading)}</th>' for heading in headings)
    lines = [_line(columns, figures, i) for i in range(len(columns["group"]))]
    head = f'<thead><tr><th scope="col" style="text-align:left">{escape(name)}</th>{heads}</tr></thead>'
    return f"<table>{head}<tbody>{''.join(lines)}</tbody></table>"


def _line(columns: Mapping[str, list[Any]], figures: list[str], i: int) -> str:
    status = str(columns["status"][i])
    group = str(columns["group"][i]) + (f" ({status})" if status in ("reference", "too few") else "")
    cells = [_number(columns["n"][i]), *(_figure(columns, figure, i) for figure in figures)]
    body = "".join(f'<td style="{CELL}">{escape(cell)}</td>' for cell in cells)
    return f'<tr><th scope="row" style="text-align:left">{escape(group)}</th>{body}</tr>'


def _figure(columns: Mapping[str, list[Any]], figure: str, i: int) -> str:
    """Return a figure with its interval, or the reason why it has no value."""
    value, low, high = (columns[figure + end][i] for end in ("", "_lower", "_upper"))
    if isinstance(value, str) or isinstance(low, str) or isinstance(high, str):
        return _number(value)
    return f"{_number(value)} ({_number(low)} to {_number(high)})"


def _number(value: Any) -> str:
    """Return a number, nothing where no comparison was meant, or a reason."""
    if isinstance(value, str):
        return "" if value.startswith(("reference group", "all rows", "not compared")) else value
    return f"{value:.4g}" if isinstance(value, float) else str(value)
