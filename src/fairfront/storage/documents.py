"""Documents: how JSON and CSV are read and written; what is too deep, too large or not JSON is refused.

What may be stored in JSON, and how the few things that it lacks are spelt:

====================================  =============================  ============================
in Python                             in the file                    comes back as
====================================  =============================  ============================
None, bool, int, str, finite float    the same                       the same type and value
NaN, infinities                       ``{"$float": "nan"}``, ...     float
numpy bool, integer, float            as Python's bool, int, float   Python's, equal by ``==``
list, tuple                           array                          list
mapping with text keys                object                         dict
mapping whose only key starts with $  ``{"$dict": {...}}``           dict
====================================  =============================  ============================

Anything else is refused: a reader must need nothing but JSON.
"""

from __future__ import annotations

import csv
import json
import math
import re
import stat
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..exceptions import ChangedError, InputError

AGAIN = "copy it again or make it anew."
DEPTH = 100
"""Lists and objects inside one another; what fairfront writes has a tenth of it."""
FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
FORMULA = (
    r"^(?![+\-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+\-]?\d+)?$)"  # numbers, which may begin with a sign
    r"(?:\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|[\t\r\n])"
)
"""What a spreadsheet would read as a formula, in the words that Python and JavaScript share."""
BOTH = "\r\n"
_formula = re.compile(FORMULA)
_apart = re.compile(r"[\s\x00-\x1f\x7f\"'`,;|]+")


class _UnusableError(Exception):
    """Something in JSON that fairfront never writes."""


def read_bytes(path: Any, size: int | None = None) -> bytes:
    """Return the bytes of a regular file, of the size that it should have where that is known; pipes would not end."""
    place = Path(path)
    try:
        known = place.stat()
        if not stat.S_ISREG(known.st_mode):
            raise InputError(f"{place} is not a file, expected one written by fairfront; check the path.")
        if size is not None and known.st_size < size:
            raise ChangedError(f"{place} ends after {known.st_size} of {size} bytes; {AGAIN}")
        if size is not None and known.st_size > size:
            raise ChangedError(f"{place} is damaged or was changed ({known.st_size} bytes, expected {size}); {AGAIN}")
        return place.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{place} is missing, expected a file written by fairfront; check the path.") from None
    except OSError as error:
        raise InputError(f"{place} cannot be read: {error.strerror or error}; check the path.") from error


def read_json(path: Any) -> Any:
    """Return what a JSON file holds, or say in a sentence why it cannot be used."""
    return parse_json(read_bytes(path), str(path))


def parse_json(text: str | bytes, name: str) -> Any:
    """Return what JSON stands for: strict, of bounded depth and numbers, every key once; ``name`` is whose it is."""
    try:
        plain = text.decode("utf-8") if isinstance(text, bytes) else text
    except UnicodeDecodeError as error:
        raise ChangedError(f"{name} is not JSON, expected a file written by fairfront; {AGAIN}") from error
    try:
        found = json.loads(
            plain, parse_constant=_constant, parse_float=_float, parse_int=_int, object_pairs_hook=_object
        )
    except _UnusableError as error:
        raise ChangedError(f"{name} holds {error}, expected a file written by fairfront; {AGAIN}") from None
    except RecursionError:
        raise ChangedError(_too_deep(name)) from None
    except ValueError as error:
        ends = not plain.lstrip().startswith(("{", "[")) or plain.rstrip().endswith(("}", "]"))
        what = "is not JSON" if ends else "ends too early"
        raise ChangedError(f"{name} {what}, expected a file written by fairfront; {AGAIN}") from error
    if _is_deeper(found, DEPTH):
        raise ChangedError(_too_deep(name))
    return found


def _too_deep(name: str) -> str:
    return f"{name} holds lists inside lists more than {DEPTH} deep, expected a file written by fairfront; {AGAIN}"


def _constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _UnusableError("a number that is too large")
    return number


def _int(text: str) -> int:
    if len(text) > 300:
        raise _UnusableError("a number that is too large")
    return int(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise _UnusableError(f"{twice[:40]!r} twice")
    return found


def _is_deeper(value: Any, depth: int) -> bool:
    """Tell whether lists and objects are inside one another deeper than so many times."""
    level = [value]
    for _ in range(depth):
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return False
    return True


def _inside(value: Any) -> list[Any]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [each for each in inner if isinstance(each, (dict, list))]


def encode(value: Any, where: str = "content") -> Any:
    """Return a value in terms of strict JSON, or say where something is that JSON does not know."""
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": str(float(value))}
    if isinstance(value, (list, tuple)):
        return [encode(each, f"{where}[{place}]") for place, each in enumerate(value)]
    if isinstance(value, Mapping):
        return _mapping(value, where)
    raise InputError(
        f"{where} is of type {type(value).__name__}, expected text, numbers, booleans, None, lists or mappings; "
        "turn it into one of those before saving."
    )


def _mapping(value: Mapping[Any, Any], where: str) -> dict[str, Any]:
    for key in value:
        if not isinstance(key, str):
            raise InputError(f"{where} has the key {key!r}, expected text; turn keys into text before saving.")
    found = {str(key): encode(each, f"{where}.{key}") for key, each in value.items()}
    return {"$dict": found} if _marked(found) else found


def _marked(value: Mapping[str, Any]) -> bool:
    return len(value) == 1 and next(iter(value)).startswith("$")


def decode(value: Any) -> Any:
    """Return what `encode` was given, with lists for tuples and Python's numbers for numpy's."""
    if isinstance(value, list):
        return [decode(each) for each in value]
    if not isinstance(value, dict):
        return value
    if not _marked(value):
        return {key: decode(each) for key, each in value.items()}
    (key, inner), *_ = value.items()
    if key == "$dict" and isinstance(inner, dict):
        return {name: decode(each) for name, each in inner.items()}
    if key == "$float" and isinstance(inner, str) and inner in FLOATS:
        return FLOATS[inner]
    raise InputError(f"found the unknown mark {key!r} among the stored values; upgrade fairfront to read it.")


class CsvWriter:
    """Writes rows with safe cells, one line each, to a text file.

    Lines end with a line feed. Python's own writer leaves a carriage return inside a cell unquoted then, and readers
    would begin a new row there; so it writes both, and the first is taken off.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream, self._rows = stream, csv.writer(self, lineterminator=BOTH)

    def write_rows(self, rows: Iterable[Iterable[Any]]) -> None:
        """Write rows of text and numbers."""
        self._rows.writerows([safe_cell(value) for value in row] for row in rows)

    def write(self, line: str) -> None:
        """Take one line from Python's writer."""
        self._stream.write(line.removesuffix(BOTH) + "\n")


def safe_cell(value: Any) -> Any:
    """Return a cell for a CSV file: text that a spreadsheet would execute gets a quote in front."""
    return f"'{value}" if isinstance(value, str) and _formula.match(value) else value


def column_names(start: str, labels: Iterable[Any]) -> list[str]:
    """Return a name for the column of each label, without blanks, quotes and delimiters, none of them twice."""
    names: list[str] = []
    for label in labels:
        name = plain = start + _apart.sub("_", str(label))
        number = 2
        while name in names:
            name, number = f"{plain}_{number}", number + 1
        names.append(name)
    return names
