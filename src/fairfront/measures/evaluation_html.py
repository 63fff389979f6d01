"""Evaluations in notebooks."""

from __future__ import annotations

from ..records import html_record, html_table
from ..validation import counted
from .evaluation import Evaluation
from .published import published

ROWS = 12
"""Models of an evaluation that a notebook lists."""


def notebook_form(record: Evaluation) -> str:
    """Return escaped HTML of the first models as they may be shared; exact figures that cannot be rounded stay out."""
    if record.task is not None and record.sums is not None:
        record = published(record, record.task)
    names = [name for name in record.columns if "." not in name] or list(record.columns)
    places = range(min(ROWS, record.n_models) if record.small else 0)
    rows = [(str(place), *(f"{record[name][place]:.4f}" for name in names)) for place in places]
    said = f"{counted(record.n_models, 'model')} on {counted(record.n, 'row')} of {record.name}; {record.rule}"
    after = "evaluation['tpr_gap'] is a column; front.to_frame() has all of them."
    return html_record("Evaluation", said, html_table(("place", *names), rows), after)
