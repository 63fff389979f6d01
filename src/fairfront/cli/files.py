"""Files that commands open: runs, models, and rows with scores; types of estimators that others wrote are confirmed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..measures.disclosure import LIMIT, check_small
from ..objectives import Array
from ..runs import Run, TableModel, load
from ..runs.pipeline import with_exact_counts
from ..tables import MISSING, Table, infer, open_source
from ..tables import load as load_table


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


@dataclass(frozen=True, eq=False)
class ScoredFile:
    """The columns of a file that an audit was asked to read."""

    table: Table

    def labels(self, name: str) -> NDArray[Any]:
        """Return whole numbers where all values are, other numbers where all are, else text; none may be missing."""
        self.table.complete(name)
        texts = self.table.texts(name)
        levels, codes = np.unique(texts.astype(str), return_inverse=True)
        try:
            numbers = levels.astype(np.float64)
        except ValueError:
            return texts
        whole = np.isfinite(numbers).all() and np.array_equal(numbers, np.rint(numbers))
        return np.asarray((numbers.astype(np.int64) if whole else numbers)[codes])

    def numbers(self, name: str) -> Array:
        """Return a column of numbers; none may be missing."""
        found = self.table.complete(name).numbers
        assert found is not None
        return found

    def groups(self, names: Iterable[str]) -> dict[str, NDArray[Any]]:
        """Return columns as text, with None for missing values."""
        return {name: self.table.texts(name) for name in names}


def read_scored(
    path: Path,
    texts: dict[str, Sequence[str]],
    numbers: dict[str, Sequence[str]],
    *,
    delimiter: str | None = None,
    missing: Sequence[str] = (),
) -> ScoredFile:
    """Read columns as text or as numbers; both are given by the option that names them."""
    source = open_source(path, delimiter=delimiter, missing=(*MISSING, *missing))
    for option, names in (*texts.items(), *numbers.items()):
        for name in names:
            source.check_column(name, option)
    words, figures = ([name for names in each.values() for name in names] for each in (texts, numbers))
    schema = infer(source, text=words, numbers=figures, columns=[*words, *figures])
    return ScoredFile(load_table(source, schema))


def as_label(text: str, labels: NDArray[Any]) -> Any:
    """Return a label typed on the command line in the type of the column."""
    if labels.dtype == object:
        return text
    try:
        return int(text) if labels.dtype.kind == "i" else float(text)
    except ValueError:
        return text
