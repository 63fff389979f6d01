"""Documents: how JSON, arrays and CSV are read and written; what is too deep, too large or of another kind is refused.

In JSON None, booleans, whole numbers, text, finite floats, lists and mappings with text keys stand as they are; tuples
come back as lists, numpy's numbers as Python's. NaN and infinities are spelt ``{"$float": "nan"}``, and a mapping whose
only key starts with $ is ``{"$dict": {...}}``. Anything else is refused: a reader must need nothing but JSON. Arrays of
numbers are in npz files whose bytes depend on nothing but the arrays.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import stat
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ..exceptions import ChangedError, InputError

AGAIN = "copy it again or recreate it."
DEPTH = 100
"""Lists and objects inside one another; what fairfront writes has a tenth of it."""
DIGITS = 300
"""Longest number of a file: whole numbers have no end in Python, and reading long ones takes long."""
FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
ARRAY_NAME = re.compile(r"[A-Za-z0-9_.\-]+")
ARRAY_KINDS = "biufc"
LONG_AGO = (1980, 1, 1, 0, 0, 0)
UNIX = 3
FORMULA = (
    r"^(?![+\-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+\-]?\d+)?$)"  # numbers, which may begin with a sign
    r"(?:\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|[\t\r\n])"
)
"""What a spreadsheet would read as a formula, in the words that Python and JavaScript share."""
BOTH = "\r\n"
_formula = re.compile(FORMULA)
_apart = re.compile(r"[\s\x00-\x1f\x7f\"'`,;|]+")


def read_bytes(path: Any, size: int | None = None) -> bytes:
    """Refuse pipes, which would not end, and files of another size where that is known."""
    place = Path(path)
    with readable(place):
        known = place.stat()
        if not stat.S_ISREG(known.st_mode):
            raise InputError(f"{place} is not a file, expected one written by fairfront; check the path.")
        if size is not None and known.st_size < size:
            raise ChangedError(f"{place} ends after {known.st_size} of {size} bytes; {AGAIN}")
        if size is not None and known.st_size > size:
            raise ChangedError(f"{place} is damaged or was changed ({known.st_size} bytes, expected {size}); {AGAIN}")
        return place.read_bytes()


@contextmanager
def readable(place: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{place} is missing, expected a file written by fairfront; check the path.") from None
    except OSError as error:
        raise InputError(f"{place} cannot be read: {error.strerror or error}; check the path.") from error


def read_json(path: Any) -> Any:
    return parse_json(read_bytes(path), str(path))


def parse_json(text: str | bytes, name: str) -> Any:
    """Take strict JSON only, of bounded depth and numbers, every key once; ``name`` is whose it is."""
    deep = f"holds lists inside lists more than {DEPTH} deep"
    plain, wrong = "", None
    try:  # NaN and infinities are no JSON, and no whole numbers either
        plain = text.decode("utf-8") if isinstance(text, bytes) else text
        found = json.loads(plain, parse_constant=int, parse_float=_number, parse_int=_number, object_pairs_hook=_object)
        if not _is_too_deep(found):
            return found
        wrong = deep
    except InputError as error:  # something in it that fairfront never writes
        wrong = f"holds {error}"
    except RecursionError:
        wrong = deep
    except ValueError:
        cut = plain.lstrip().startswith(("{", "[")) and not plain.rstrip().endswith(("}", "]"))
        wrong = "ends too early" if cut else "is not JSON"
    raise ChangedError(f"{name} {wrong}, expected a file written by fairfront; {AGAIN}")


def _number(text: str) -> float:
    number = float(text)
    if math.isinf(number) or len(text) > DIGITS:
        raise InputError("a number that is too large")
    return int(text) if text.lstrip("-").isdigit() else number


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise InputError(f"{twice[:40]!r} twice")
    return found


def _is_too_deep(value: Any) -> bool:
    level: list[Any] = [[value]]
    for _ in range(DEPTH + 1):
        parts = (part for each in level for part in (each.values() if isinstance(each, dict) else each))
        level = [part for part in parts if isinstance(part, (dict, list))]
    return bool(level)


def encode(value: Any, where: str = "content") -> Any:
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (str, int)):
        return str(value) if isinstance(value, str) else int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": str(float(value))}
    if isinstance(value, (list, tuple)):
        return [encode(each, f"{where}[{place}]") for place, each in enumerate(value)]
    if not isinstance(value, Mapping):
        raise InputError(
            f"{where} is of type {type(value).__name__}, expected text, numbers, booleans, None, lists or mappings; "
            "turn it into one of those before saving."
        )
    for key in value:
        if not isinstance(key, str):
            raise InputError(f"{where} has the key {key!r}, expected text; turn keys into text before saving.")
    found = {str(key): encode(each, f"{where}.{key}") for key, each in value.items()}
    return {"$dict": found} if _is_marked(found) else found


def _is_marked(value: Mapping[str, Any]) -> bool:
    return len(value) == 1 and next(iter(value)).startswith("$")


def decode(value: Any) -> Any:
    """Return what `encode` was given, with lists for tuples and Python's numbers for numpy's."""
    if isinstance(value, list):
        return [decode(each) for each in value]
    if not isinstance(value, dict):
        return value
    key, inner = next(iter(value.items())) if _is_marked(value) else ("$dict", value)
    if key == "$dict" and isinstance(inner, dict):
        return {name: decode(each) for name, each in inner.items()}
    if key == "$float" and isinstance(inner, str) and inner in FLOATS:
        return FLOATS[inner]
    raise InputError(f"found the unknown mark {key!r} among the stored values; upgrade fairfront to read it.")


def archive_of(members: Mapping[str, bytes]) -> bytes:
    """Compress nothing, and note no time and no system."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            entry = zipfile.ZipInfo(name, LONG_AGO)
            entry.create_system, entry.external_attr = UNIX, 0o600 << 16
            archive.writestr(entry, data)
    return buffer.getvalue()


def is_stored(entry: zipfile.ZipInfo) -> bool:
    """Tell whether a member takes as many bytes in memory as in its file; compressed ones could take any number."""
    return entry.compress_type == zipfile.ZIP_STORED and entry.compress_size == entry.file_size


def pack(arrays: Mapping[str, NDArray[Any]]) -> tuple[bytes, dict[str, Any]]:
    described: dict[str, Any] = {}
    members: dict[str, bytes] = {}
    for name in sorted(arrays):
        array = np.asarray(arrays[name])
        if not ARRAY_NAME.fullmatch(name):
            raise InputError(f"array has the name {name!r}, expected letters, digits, '.', '_' and '-' only.")
        if array.dtype.kind not in ARRAY_KINDS:
            raise InputError(
                f"array {name!r} is of type {array.dtype}, expected numbers or booleans; text belongs into the content."
            )
        inside = io.BytesIO()
        npy.write_array(inside, array, allow_pickle=False)
        members[f"{name}.npy"] = inside.getvalue()
        described[name] = {"dtype": array.dtype.str, "shape": list(array.shape)}
    return archive_of(members), described


def unpack(packed: bytes, described: Mapping[str, Any], file: str) -> dict[str, NDArray[Any]]:
    """Compare shapes and sizes before memory is taken for any array."""
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            inside = [entry.filename for entry in archive.infolist()]
            missing = [name for name in described if f"{name}.npy" not in inside]
            if missing:
                raise ChangedError(f"{file} lacks the array {missing[0]!r}; {AGAIN}")
            if len(inside) > len(described):
                strange = min(set(inside) - {f"{name}.npy" for name in described} or inside)
                raise ChangedError(f"{file} holds {strange!r}, which its JSON does not name; recreate it.")
            return {
                name: _array(archive, f"{name}.npy", str(known["dtype"]), list(known["shape"]), f"{name!r} of {file}")
                for name, known in described.items()
            }
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        raise ChangedError(f"{file} is not an npz file or is damaged; {AGAIN}") from error


def _array(archive: zipfile.ZipFile, member: str, dtype: str, shape: list[int], name: str) -> NDArray[Any]:
    """Read and compare the header first, and then just the bytes that it stands for."""
    entry = archive.getinfo(member)
    if not is_stored(entry):
        raise ChangedError(f"array {name} is compressed, expected it as it is; recreate it.")
    with archive.open(entry) as inside:
        try:
            read = npy.read_array_header_1_0 if npy.read_magic(inside) == (1, 0) else npy.read_array_header_2_0
            found, fortran, kind = read(inside)
            if min(found, default=0) < 0:
                raise ValueError(f"shape {found}")
        except ValueError as error:
            raise ChangedError(f"array {name} cannot be read, expected numbers; {AGAIN}") from error
        if kind.hasobject:
            raise ChangedError(
                f"array {name} holds objects, expected numbers; objects could run code and are never loaded."
            )
        if kind.kind not in ARRAY_KINDS:
            raise ChangedError(f"array {name} is of type {kind}, expected numbers or booleans.")
        if kind.str != dtype or list(found) != shape:
            raise ChangedError(
                f"array {name} has type {kind.str} and shape {list(found)}, expected {dtype} and {shape}; recreate it."
            )
        size, there = kind.itemsize * math.prod(found), entry.file_size - inside.tell()
        if size != there:
            raise ChangedError(f"array {name} has {there} bytes, expected {size} for the shape {list(found)}; {AGAIN}")
        flat = np.frombuffer(bytearray(inside.read(size)), dtype=kind)
    return flat.reshape(found[::-1]).T if fortran else flat.reshape(found)


class CsvWriter:
    """Writes rows with safe cells, one line each, to a text file.

    Lines end with a line feed. Python's own writer leaves a carriage return inside a cell unquoted then, and readers
    would begin a new row there; so it writes both, and the first is taken off.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream, self._rows = stream, csv.writer(self, lineterminator=BOTH)

    def write_rows(self, rows: Iterable[Iterable[Any]]) -> None:
        self._rows.writerows([safe_cell(value) for value in row] for row in rows)

    def write(self, line: str) -> None:
        self._stream.write(line.removesuffix(BOTH) + "\n")


def safe_cell(value: Any) -> Any:
    """Put a quote before text that a spreadsheet would execute."""
    return f"'{value}" if isinstance(value, str) and _formula.match(value) else value


def column_names(start: str, labels: Iterable[Any]) -> list[str]:
    """Make names without blanks, quotes and delimiters, none of them twice."""
    names: list[str] = []
    for label in labels:
        name = plain = start + _apart.sub("_", str(label))
        number = 2
        while name in names:
            name, number = f"{plain}_{number}", number + 1
        names.append(name)
    return names
