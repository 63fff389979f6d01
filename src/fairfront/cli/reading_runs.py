"""Opening runs and models for commands; types of estimators that others wrote are shown and confirmed."""

from __future__ import annotations

from pathlib import Path

from ..exceptions import InputError
from ..measures.disclosure import LIMIT, check_small
from ..runs import Run, TableModel, load
from ..runs.tracing_tables import with_exact_counts


def run_at(path: Path, trusted: list[str] | None = None, small: int = LIMIT, data: Path | None = None) -> Run:
    """Return the run in a folder, with exact counts from its data where small is 0."""
    check_data(small, data)
    found = load(path, trusted=type_names(trusted))
    if not isinstance(found, Run):
        raise InputError(f"{path} holds a {type(found).__name__}, expected a run written by fairfront trace.")
    return found if small else with_exact_counts(found, data)


def check_data(small: int, data: Path | None) -> None:
    """Refuse exact counts without the rows, and a file that would not be read."""
    if check_small(small) == 0 and data is None:
        raise InputError(
            "--small 0 needs the rows, because files of a run have rounded counts only; add --data FILE, the file that "
            "the run was traced from."
        )
    if small and data is not None:
        raise InputError("--data goes with --small 0: the rows are read for exact counts only; leave it out.")


def model_at(path: Path, trusted: list[str] | None = None) -> TableModel:
    """Return the model in a folder."""
    found = load(path, trusted=type_names(trusted))
    if not isinstance(found, TableModel):
        raise InputError(f"{path} holds a {type(found).__name__}, expected a model written by fairfront select.")
    return found


def type_names(names: list[str] | None) -> list[str]:
    """Return names of types; other words would be passed over without a word."""
    for name in names or ():
        if "." not in name or not all(part.isidentifier() for part in name.split(".")):
            raise InputError(f"--trust is {name!r}, expected the full name of a type such as package.module.Type.")
    return names or []
