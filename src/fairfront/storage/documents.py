"""Documents: the one way in which files and their JSON are read; what is too deep, too large or no JSON is refused."""

from __future__ import annotations

import json
import math
import stat
from collections import Counter
from pathlib import Path
from typing import Any

from ..exceptions import ChangedError, InputError

AGAIN = "copy it again or make it anew."
DEPTH = 100
"""Lists and objects inside one another; what fairfront writes has a tenth of it."""


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
