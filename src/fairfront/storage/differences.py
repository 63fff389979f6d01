"""Differences of two folders: file by file and field by field, JSON trees, arrays and text.

Bytes are compared first, and equal bytes are equal. Where they are not, every field that differs is named with what the
two folders have. With a tolerance, floating-point numbers may differ by that share of the largest of their array (of
themselves where they stand in JSON), or of 1 where that is larger; in arrays of mixed units each by that share of
itself; all else must be equal.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .checksums import digest_of, found_in
from .documents import read_json

SHOWN = 60
NOTHING = "nothing"
SEALS = ("bytes", "sha256")
PACKAGE = {"format", "arrays", "files", "content"}


@dataclass(frozen=True)
class Difference:
    """One field that differs: where, what is stored and what was found, and how many of its values do."""

    file: str
    field: str
    stored: str
    found: str
    count: int = 1

    def __str__(self) -> str:
        more = f" (and {self.count - 1} more)" if self.count > 1 else ""
        both = (self.stored, self.found)
        first = next((n for n, (a, b) in enumerate(zip(*both, strict=False)) if a != b), min(map(len, both)))
        stored, found = (_part(each, first) for each in both)
        return f"{self.file}, {self.field}: stored {stored}, found {found}{more}"


def _part(text: str, place: int) -> str:
    """Return what fits a line of a text, around a place in it."""
    begin = max(0, min(place - SHOWN // 3, len(text) - SHOWN))
    end = begin + SHOWN
    return "..." * (begin > 0) + text[begin:end] + "..." * (end < len(text))


def differences(
    stored: Path, found: Path, tolerance: float = 0.0, free: Collection[str] = (), mixed: Collection[str] = ()
) -> dict[str, list[Difference]]:
    """Return what differs by file, with an empty list for every file that agrees.

    ``free`` are fields of JSON files that may differ, as ``file:field``, where the file may be ``*``; ``mixed`` are
    files whose arrays hold numbers of several units.
    """
    ours, theirs = found_in(stored), found_in(found)
    said: dict[str, list[Difference]] = {}
    for name in sorted({*ours, *theirs}):
        if name not in ours or name not in theirs:
            one, two = (NOTHING if name not in each else "a file" for each in (ours, theirs))
            said[name] = [Difference(name, "file", one, two)]
        elif ours[name] == theirs[name]:
            said[name] = []
        else:
            known = (tolerance, free, name in mixed)
            said[name] = list(_in_file(name, stored / name, found / name, *known))
    return said


def _in_file(
    name: str, one: Path, two: Path, tolerance: float, free: Collection[str], mixed: bool
) -> Iterator[Difference]:
    kind = one.suffix
    if kind == ".json":
        yield from _in_json(name, one, two, tolerance, free)
    elif kind == ".npz":
        yield from _in_arrays(name, one, two, tolerance, mixed)
    elif kind == ".md":
        yield from _in_text(name, one, two)
    else:
        yield Difference(name, "bytes", _bytes(one), _bytes(two))


def _in_json(name: str, one: Path, two: Path, tolerance: float, free: Collection[str]) -> Iterator[Difference]:
    trees = [read_json(path) for path in (one, two)]
    sealed = [_without_seals(tree) for tree in trees]
    groups: dict[str, list[tuple[str, Any, Any]]] = {}
    for field, a, b in _leaves("", sealed[0], sealed[1], tolerance):
        if not any(_is_under(field, each.partition(":")[2]) for each in free if each.partition(":")[0] in ("*", name)):
            groups.setdefault(_place(field), []).append((field, a, b))
    for several in groups.values():
        field, a, b = several[0]
        yield Difference(name, field, _text(a), _text(b), len(several))
    if trees[0] == trees[1] and not groups and not tolerance:
        yield Difference(name, "spelling", _bytes(one), _bytes(two))


def _without_seals(tree: Any) -> Any:
    """Return a package without the checksums of its other files, which differ where those do."""
    if not isinstance(tree, dict) or not set(tree) >= PACKAGE:
        return tree
    plain = {key: value for key, value in tree.items() if key != "sha256"}
    arrays, files = plain["arrays"], plain["files"]
    plain["arrays"] = {key: value for key, value in arrays.items() if key not in SEALS}
    plain["files"] = list(files)
    return plain


def _leaves(field: str, a: Any, b: Any, tolerance: float) -> Iterator[tuple[str, Any, Any]]:
    """Yield the places of two trees where they differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in dict.fromkeys((*a, *b)):
            inner = f"{field}.{key}" if field else str(key)
            if key not in a or key not in b:
                yield inner, a.get(key, NOTHING), b.get(key, NOTHING)
            else:
                yield from _leaves(inner, a[key], b[key], tolerance)
    elif isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            yield f"{field} (length)", len(a), len(b)
            return
        for place, pair in enumerate(zip(a, b, strict=True)):
            yield from _leaves(f"{field}[{place}]", *pair, tolerance)
    elif not _same(a, b, tolerance):
        yield field, a, b


def _same(a: Any, b: Any, tolerance: float) -> bool:
    if tolerance and isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=0.0, abs_tol=tolerance * max(1.0, abs(a)))
    return type(a) is type(b) and bool(a == b)


def _place(field: str) -> str:
    """Return a field without the places in its lists, so that one line stands for all values of a list."""
    return "".join(part.partition("]")[2] if i else part for i, part in enumerate(field.split("[")))


def _is_under(field: str, top: str) -> bool:
    return field == top or field.startswith((f"{top}.", f"{top}["))


def _in_arrays(name: str, one: Path, two: Path, tolerance: float, mixed: bool) -> Iterator[Difference]:
    ours, theirs = _arrays(one), _arrays(two)
    some = False
    for key in dict.fromkeys((*ours, *theirs)):
        there = _in_array(name, key, ours.get(key), theirs.get(key), tolerance, mixed)
        some = some or there is not None
        if there is not None:
            yield there
    if not some and not tolerance:
        yield Difference(name, "spelling", _bytes(one), _bytes(two))


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    with np.load(path, allow_pickle=False) as found:
        return {key: found[key] for key in found.files}


def _in_array(
    name: str, key: str, one: NDArray[Any] | None, two: NDArray[Any] | None, tolerance: float, mixed: bool
) -> Difference | None:
    if one is None or two is None or one.shape != two.shape or one.dtype != two.dtype:
        return Difference(name, key, _described(one), _described(two))
    far = ~(one == two)
    if one.dtype.kind in "fc":
        far &= ~(np.isnan(one) & np.isnan(two))
        largest = max(1.0, float(np.max(np.abs(one), where=np.isfinite(one), initial=0.0)))
        allowed = tolerance * (np.abs(one) if mixed else largest)
        with np.errstate(invalid="ignore"):
            far &= ~(np.abs(one - two) <= allowed)
    if not far.any():
        return None
    place = _farthest(one, two, far)
    where = f"{key}[{', '.join(map(str, place))}]"
    return Difference(name, where, _text(one[place].item()), _text(two[place].item()), int(far.sum()))


def _farthest(one: NDArray[Any], two: NDArray[Any], far: NDArray[np.bool_]) -> tuple[int, ...]:
    with np.errstate(invalid="ignore"):
        by = np.abs(one.astype(float) - two.astype(float)) if one.dtype.kind in "iuf" else np.ones(one.shape)
    by = np.where(far, np.where(np.isnan(by), np.inf, by), -1.0)
    return tuple(int(i) for i in np.unravel_index(int(by.argmax()), by.shape))


def _described(array: NDArray[Any] | None) -> str:
    return NOTHING if array is None else f"{array.dtype} of shape {array.shape}"


def _in_text(name: str, one: Path, two: Path) -> Iterator[Difference]:
    ours, theirs = (path.read_bytes().decode("utf-8", errors="replace").split("\n") for path in (one, two))
    long = max(len(ours), len(theirs))
    lines = [[*each, *[NOTHING] * (long - len(each))] for each in (ours, theirs)]
    other = [n for n, (a, b) in enumerate(zip(*lines, strict=True), start=1) if a != b]
    if other:
        a, b = (_text(each[other[0] - 1]) for each in lines)
        yield Difference(name, f"line {other[0]}", a, b, len(other))
    else:
        yield Difference(name, "spelling", _bytes(one), _bytes(two))


def _bytes(path: Path) -> str:
    return f"{path.stat().st_size} bytes with sha256 {digest_of(path)}"


def _text(value: Any) -> str:
    """Return a value as JSON, in full."""
    if isinstance(value, Mapping) and set(value) == {"$float"}:
        return str(value["$float"])
    return value if value == NOTHING else repr(value) if isinstance(value, (float, complex)) else json.dumps(value)
