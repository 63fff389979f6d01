"""Tables: from a file or data frame to a matrix of numbers, with every doubt about the data said in a sentence."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

from ..exceptions import InputError
from ..validation import check_names, check_path, refuse
from .arrow import KINDS, ArrowSource
from .csv_file import CsvSource, opened
from .encoder import TableEncoder, coerce
from .findings import Finding, screen
from .schema import ColumnSchema, Schema, infer, load
from .source import MISSING, Chunk, FrameSource, Source
from .split import Split, parse_split
from .statistics import TrainingRows
from .table import Column, Table, Target, read_groups, read_target

__all__ = [
    "MISSING",
    "Chunk",
    "Column",
    "ColumnSchema",
    "Finding",
    "Schema",
    "Source",
    "Split",
    "Table",
    "TableEncoder",
    "Target",
    "TrainingRows",
    "check_delimiter",
    "coerce",
    "infer",
    "load",
    "open_source",
    "parse_split",
    "read_groups",
    "read_target",
    "screen",
]

DELIMITED = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": ","}
SPELT = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|"}


def open_source(data: Any, *, delimiter: str | None = None, missing: Iterable[str] = MISSING) -> Source:
    """Open a file (CSV or TSV, also gzipped, Parquet, Feather, Arrow) or a data frame without reading it.

    ``delimiter`` is by default a comma, or a tab for ``.tsv``; cells in ``missing`` stand for a missing value.
    """
    known = check_names(missing, "missing", "texts such as 'NA'")
    if not isinstance(data, (str, PathLike)):
        return FrameSource(data, known)
    path = check_path(data, "data").expanduser()
    try:
        _check_file(path)
        if path.suffix.lower() in KINDS:
            return ArrowSource(path, known)
        bare = Path(path.name.lower().removesuffix(".gz"))
        return CsvSource(path, check_delimiter(delimiter) or DELIMITED[bare.suffix], known)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}), expected a file that may be read.") from error


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{path} is a folder, expected a file; name the file in it.")
    if not path.exists():
        beside = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
        near = difflib.get_close_matches(path.name, beside, n=1)
        hint = f"; did you mean {path.parent / near[0]}?" if near else "; check the path."
        raise InputError(f"there is no file {path}, expected a CSV, TSV, Parquet or Feather file{hint}")
    if not path.is_file():
        raise InputError(f"{path} is not a regular file, expected one that can be read twice; save it as a file first.")
    endings = (*DELIMITED, *(f"{ending}.gz" for ending in DELIMITED), *KINDS)
    if not path.name.lower().endswith(endings):
        raise InputError(
            f"{path} has the ending {path.suffix or '(none)'!r}, expected one of {', '.join(endings)}; save the table "
            "as CSV, or rename the file to what it is."
        )
    if not path.stat().st_size:
        raise InputError(f"{path} is empty (0 bytes), expected a header line and one row per person.")
    if path.suffix.lower() == ".gz":
        with opened(path) as (data, raw):
            if data is raw:
                raise InputError(
                    f"{path} is not a gzip file, expected one by its ending .gz; rename it, or pack it again."
                )


def check_delimiter(given: Any) -> str | None:
    if given is None:
        return None
    found = SPELT.get(given, given) if isinstance(given, str) else ""
    if len(found) != 1 or found in '"\r\n':
        raise refuse("delimiter", given, "one character such as ',' or ';', or the word tab")
    return found
