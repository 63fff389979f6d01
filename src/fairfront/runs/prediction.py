"""Predicting: a file of any size through a model, chunk by chunk, into a file that appears when it is whole."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..exceptions import InputError
from ..progress import progress_bar
from ..storage.documents import CsvWriter
from ..storage.folders import writing
from ..storage.places import check_new_file
from ..tables import coerce, open_source
from .model import TableModel


def predict_file(
    model: TableModel,
    data: Any,
    output: Path,
    *,
    keep: Sequence[str] = (),
    overwrite: bool = False,
    rows: int = 50_000,
    delimiter: str | None = None,
    missing: Sequence[str] = (),
    progress: Any = False,
) -> int:
    """Write labels and probabilities for every row of a file, in its order; return the number of rows.

    ``keep`` copies columns of the input, such as an identifier, in front of the predictions; ``missing`` are texts that
    stand for a missing value besides those of training. Text that a spreadsheet would execute gets a quote in front.
    ``overwrite`` replaces predictions that were written before, never another file and never the one that is read.
    """
    _check_output(output, data, overwrite)
    source = open_source(data, delimiter=delimiter)
    model.encoder.check(source.names)
    for name in keep:
        source.check_column(name, "keep")
    wanted = tuple(dict.fromkeys((*model.columns, *keep)))
    done = 0
    with _open(output, overwrite) as stream, progress_bar(progress, "predicting", source.size) as bar:
        writer = CsvWriter(stream)
        for chunk in source.chunks(wanted, rows=rows):
            found = model.outputs(coerce(chunk, model.encoder, tuple(missing)))
            kept = {name: chunk[name] for name in keep}
            if done == 0:
                _check_free(kept, found)
                writer.write_rows([[*kept, *found]])
            writer.write_rows(zip(*(_texts(values) for values in (*kept.values(), *found.values())), strict=True))
            done += len(found["prediction"])
            bar.update(chunk.done, f"{done} rows")
    return done


def _check_output(output: Path, data: Any, overwrite: bool) -> None:
    """Refuse a place that must not be written to, the file that is read before all."""
    read = Path(data) if isinstance(data, (str, os.PathLike)) else None
    if read is not None and read.exists() and output.exists() and output.samefile(read):
        raise InputError(f"{output} is the file that is read, expected another for the predictions; choose a new name.")
    check_new_file(output, overwrite, _is_predictions)


def _open(output: Path, overwrite: bool) -> AbstractContextManager[IO[str]]:
    return writing(output, text=True, overwrite=overwrite, own=_is_predictions)


def _is_predictions(head: bytes) -> bool:
    """Tell whether a file begins as predictions do: with names of which ``prediction`` and scores are the last."""
    first = head.decode("utf-8", errors="replace").partition("\n")[0]
    try:
        names = next(csv.reader([first]), [])
    except csv.Error:
        return False
    last = names[names.index("prediction") + 1 :] if "prediction" in names else [""]
    return all(name.startswith(("probability_", "score_")) for name in last)


def _check_free(kept: Iterable[str], found: Iterable[str]) -> None:
    """Refuse to copy a column under the name of one that is written."""
    twice = sorted(set(kept) & set(found))
    if twice:
        raise InputError(
            f"keep names {twice[0]!r}, which is the name of a column of predictions, expected others; rename it."
        )


def _texts(values: Any) -> list[Any]:
    """Return cells as they are written: numbers with all their digits, nothing for what is missing."""
    array = np.asarray(values)
    if array.dtype.kind == "f":
        return ["" if v != v else repr(v) for v in array.tolist()]
    return ["" if v is None else v for v in array.tolist()]
