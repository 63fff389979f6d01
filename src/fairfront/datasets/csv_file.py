"""A data set as one CSV file with a header, as a file of one's own would look."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from ..exceptions import InputError
from ..storage.folders import write_file
from .base import DATASETS, Dataset
from .origins import ORIGINS
from .places import CACHE, cache_folder


def csv_path(name: str) -> Path:
    """Return the CSV file of a data set in the cache, written if it is not there yet or not as it should be."""
    data = DATASETS[name]()
    path = cache_folder() / name / f"{name}.csv"
    content = as_csv(data).encode()
    try:
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, content, overwrite=True)
    except OSError as error:
        raise InputError(
            f"{path} cannot be written ({error.strerror or error}), expected a folder that can be written to: "
            f"set {CACHE} to another one."
        ) from error
    return path


def as_csv(data: Dataset) -> str:
    """Return features, sensitive columns and target as text, with what the origin adds; empty cells are missing.

    Other columns stay out: some of them hold the target or the group in other words.
    """
    origin = ORIGINS[data.name]
    names = (*data.features, *origin.csv_columns, *data.sensitive, data.target)
    columns = {name: data.columns[name].tolist() for name in names}
    if origin.csv_id:
        columns = {origin.csv_id: [f"ID-{k + 1:06d}" for k in range(len(data))], **columns}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in zip(*columns.values(), strict=True))
    return text.getvalue()


def _cell(value: Any) -> Any:
    return "" if value is None or value != value else value
