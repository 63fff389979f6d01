"""Opening runs and models for commands; types of estimators that others wrote are shown and confirmed."""

from __future__ import annotations

from pathlib import Path

from ..exceptions import InputError
from ..runs import Run, TableModel, load


def run_at(path: Path, trusted: list[str] | None = None) -> Run:
    """Return the run in a folder."""
    found = load(path, trusted=trusted or ())
    if not isinstance(found, Run):
        raise InputError(f"{path} holds a {type(found).__name__}, expected a run written by fairfront trace.")
    return found


def model_at(path: Path, trusted: list[str] | None = None) -> TableModel:
    """Return the model in a folder."""
    found = load(path, trusted=trusted or ())
    if not isinstance(found, TableModel):
        raise InputError(f"{path} holds a {type(found).__name__}, expected a model written by fairfront select.")
    return found
