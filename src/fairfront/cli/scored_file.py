"""A file of labels, scores or decisions, and groups, read as ``fairfront trace`` reads its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from ..tables import MISSING, Table, infer, load, open_source


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
    return ScoredFile(load(source, schema))


def as_label(text: str, labels: NDArray[Any]) -> Any:
    """Return a label typed on the command line in the type of the column."""
    if labels.dtype == object:
        return text
    try:
        return int(text) if labels.dtype.kind == "i" else float(text)
    except ValueError:
        return text
