"""Predictions as a CSV file: labels, probabilities and reasons for every row of a table, in chunks."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import InputError, progress_bar, spelled
from ..storage.documents import CsvWriter
from ..storage.folders import writing
from ..storage.places import check_new_file
from ..tables import coerce, open_source
from ..tables.coercion import count_others
from ..tables.notation import Decimal, check_decimal
from ..validation import check_count
from .manifest import opening_of
from .model import TableModel
from .split_rows import check_part

ROW = "row"
"""The column of the numbers that rows have in the file, from 1."""


def predict_file(
    model: TableModel,
    data: Any,
    output: Path,
    *,
    keep: Sequence[str] = (),
    reasons: int = 0,
    part: str | None = None,
    overwrite: bool = False,
    rows: int = 50_000,
    delimiter: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
    decimal: Decimal | None = None,
    progress: Any = False,
    on_unknown: Callable[[Mapping[str, int]], None] | None = None,
) -> int:
    """Write labels and probabilities for every row of a file, in its order; return the number of rows.

    ``keep`` copies columns of the input, ``reasons`` names so many that speak against the person. Of a ``part`` of the
    run's split only the rows are written, with their numbers in the file that the run was traced from: ``row`` is 1 for
    the first. ``missing`` are texts for a missing value besides those of training, whose delimiter, encoding and
    decimal mark hold unless others are given. Text that a spreadsheet would execute gets a quote in front. No file but
    earlier predictions is overwritten. ``on_unknown`` is told the rows by column whose value was rare or unknown in
    training.
    """
    read = Path(data) if isinstance(data, (str, os.PathLike)) else None
    if read is not None and read.exists() and output.exists() and output.samefile(read):
        raise InputError(f"{output} is the file that is read, expected another for the predictions; choose a new name.")
    check_new_file(output, overwrite, _is_predictions)
    if check_count(reasons, "reasons", least=0):
        model.check_reasons()
    source = open_source(data, **opening_of(model.manifest, delimiter=delimiter, encoding=encoding))
    if part is not None:
        check_part(model.manifest, source, data, part)
    model.encoder.check(source.names)
    for name in keep:
        source.check_column(name, "keep")
    of_part = None if part is None else model.part_rows(data, part)
    number: dict[str, Any] = {}
    done, seen, strange = 0, 0, Counter[str]()
    with (
        writing(output, text=True, overwrite=overwrite, own=_is_predictions) as stream,
        progress_bar(progress, "predicting", source.size) as bar,
    ):
        writer = CsvWriter(stream)
        for chunk in source.chunks(tuple(dict.fromkeys((*model.columns, *keep))), rows=rows):
            table = coerce(chunk, model.encoder, tuple(missing), check_decimal(decimal))
            kept: dict[str, Any] = {name: chunk[name] for name in keep}
            if of_part is not None:
                first, seen = seen, seen + table.n
                some = of_part[(of_part >= first) & (of_part < seen)] - first
                if not len(some):
                    continue
                table = table.take(some)
                kept = {name: [values[i] for i in some] for name, values in kept.items()}
                number = {ROW: first + some + 1}
            found, strange = model.outputs(table, reasons), strange + Counter(count_others(table, model.encoder))
            if done == 0:
                for name in sorted(set(kept) & {*number, *found}):
                    raise InputError(
                        f"{spelled('keep')} names {name!r}, which is the name of a column of predictions, expected "
                        "others; rename it."
                    )
                writer.write_rows([[*number, *kept, *found]])
            writer.write_rows(
                zip(*(_texts(values) for values in (*number.values(), *kept.values(), *found.values())), strict=True)
            )
            done += len(found["prediction"])
            bar.update(chunk.done, f"{done} rows")
    if on_unknown is not None and strange:
        on_unknown(strange)
    return done


def _is_predictions(head: bytes) -> bool:
    """Tell whether a file begins as predictions do: with names of which ``prediction`` and scores are the last."""
    first = head.decode("utf-8", errors="replace").partition("\n")[0]
    try:
        names = next(csv.reader([first]), [])
    except csv.Error:
        return False
    last = names[names.index("prediction") + 1 :] if "prediction" in names else [""]
    return all(name.startswith(("probability_", "score_", "reason_")) for name in last)


def _texts(values: Any) -> list[Any]:
    array = np.asarray(values)
    if array.dtype.kind == "f":
        return ["" if v != v else repr(v) for v in array.tolist()]
    return ["" if v is None else v for v in array.tolist()]
