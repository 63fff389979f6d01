"""Differences of two folders: file by file and field by field, JSON trees, arrays and text.

Bytes are compared first, and equal bytes are equal. Where they are not, every field that differs is named with what the
two folders have. With a tolerance, floating-point numbers may differ by that share of the largest of their array (of
themselves where they stand in JSON), or of 1 where that is larger; in arrays of mixed units each by that share of
itself; all else must be equal.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .documents import read_json
from .packages import digest_of, found_in

SHOWN = 60
NOTHING = "nothing"
SEALS = ("bytes", "sha256")
PACKAGE = {"format", "arrays", "files", "content"}
Found = tuple[str, str, str, int]
"""A field, what is stored and what was found there, and how many of its values differ."""


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
        one, two = stored / name, found / name
        parts: Iterable[Found] = ()
        if name not in ours or name not in theirs:
            there = ["a file" if name in each else NOTHING for each in (ours, theirs)]
            parts = [("file", there[0], there[1], 1)]
        elif ours[name] == theirs[name]:
            pass
        elif one.suffix == ".json":
            fields = [each.partition(":")[2] for each in free if each.partition(":")[0] in ("*", name)]
            parts = _in_json(one, two, tolerance, fields)
        elif one.suffix == ".npz":
            parts = _in_arrays(one, two, tolerance, name in mixed)
        elif one.suffix == ".md":
            parts = _in_text(one, two)
        else:
            parts = _in_bytes(one, two, "bytes")
        said[name] = [Difference(name, *part) for part in parts]
    return said


def _in_json(one: Path, two: Path, tolerance: float, free: Collection[str]) -> Iterator[Found]:
    trees = [read_json(path) for path in (one, two)]
    groups: dict[str, list[tuple[str, Any, Any]]] = {}
    for field, a, b in _leaves("", _without_seals(trees[0]), _without_seals(trees[1]), tolerance):
        if not any(field == top or field.startswith((f"{top}.", f"{top}[")) for top in free):
            anywhere = re.sub(r"\[[^\]]*\]?", "", field)  # one line stands for all values of a list
            groups.setdefault(anywhere, []).append((field, a, b))
    for several in groups.values():
        field, a, b = several[0]
        yield field, _text(a), _text(b), len(several)
    if trees[0] == trees[1] and not groups and not tolerance:
        yield from _in_bytes(one, two)


def _without_seals(tree: Any) -> Any:
    """Leave out the checksums of its other files, which differ where those do."""
    if not isinstance(tree, dict) or not set(tree) >= PACKAGE:
        return tree
    arrays = {key: value for key, value in tree["arrays"].items() if key not in SEALS}
    return {**{k: v for k, v in tree.items() if k != "sha256"}, "arrays": arrays, "files": list(tree["files"])}


def _leaves(field: str, a: Any, b: Any, tolerance: float) -> Iterator[tuple[str, Any, Any]]:
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
    elif tolerance and isinstance(a, float) and isinstance(b, float):
        if not math.isclose(a, b, rel_tol=0.0, abs_tol=tolerance * max(1.0, abs(a))):
            yield field, a, b
    elif type(a) is not type(b) or a != b:
        yield field, a, b


def _in_arrays(one: Path, two: Path, tolerance: float, mixed: bool) -> Iterator[Found]:
    with np.load(one, allow_pickle=False) as ours, np.load(two, allow_pickle=False) as theirs:
        keys = dict.fromkeys((*ours.files, *theirs.files))
        pairs = {key: [each.get(key) for each in (ours, theirs)] for key in keys}
    parts = [_in_array(key, one_of, two_of, tolerance, mixed) for key, (one_of, two_of) in pairs.items()]
    found = [part for part in parts if part is not None]
    yield from found
    if not found and not tolerance:
        yield from _in_bytes(one, two)


def _in_array(
    key: str, one: NDArray[Any] | None, two: NDArray[Any] | None, tolerance: float, mixed: bool
) -> Found | None:
    if one is None or two is None or one.shape != two.shape or one.dtype != two.dtype:
        a, b = (NOTHING if each is None else f"{each.dtype} of shape {each.shape}" for each in (one, two))
        return key, a, b, 1
    far, by = one != two, np.ones(one.shape)
    with np.errstate(invalid="ignore"):
        if one.dtype.kind in "iuf":
            by = np.abs(one.astype(float) - two.astype(float))
        if one.dtype.kind in "fc":
            sizes = np.where(np.isfinite(one), np.abs(one), 0.0)  # nothing is near to an infinity but itself
            within = tolerance * (sizes if mixed else max(1.0, float(sizes.max(initial=0.0))))
            far = ~np.isclose(one, two, rtol=0.0, atol=within, equal_nan=True)
    if not far.any():
        return None
    farthest = int(np.where(far, np.where(np.isnan(by), np.inf, by), -1.0).argmax())
    place = tuple(int(i) for i in np.unravel_index(farthest, one.shape))
    where = f"{key}[{', '.join(map(str, place))}]"
    return where, _text(one[place].item()), _text(two[place].item()), int(far.sum())


def _in_text(one: Path, two: Path) -> Iterator[Found]:
    lines = [path.read_bytes().decode("utf-8", errors="replace").split("\n") for path in (one, two)]
    pairs = enumerate(zip_longest(*lines, fillvalue=NOTHING), start=1)
    other = [(f"line {n}", _text(a), _text(b)) for n, (a, b) in pairs if a != b]
    yield from [(*other[0], len(other))] if other else _in_bytes(one, two)


def _in_bytes(one: Path, two: Path, what: str = "spelling") -> Iterator[Found]:
    a, b = (f"{path.stat().st_size} bytes with sha256 {digest_of(path)}" for path in (one, two))
    yield what, a, b, 1


def _text(value: Any) -> str:
    if isinstance(value, Mapping) and set(value) == {"$float"}:
        return str(value["$float"])
    return value if value == NOTHING else repr(value) if isinstance(value, (float, complex)) else json.dumps(value)
