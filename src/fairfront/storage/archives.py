"""Archives: zip files whose bytes depend on nothing but what is in them, and those of skops in one spelling."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

import numpy as np

LONG_AGO = (1980, 1, 1, 0, 0, 0)
UNIX = 3
SCHEMA = "schema.json"


def archive_of(members: Mapping[str, bytes]) -> bytes:
    """Return a zip file with some members in their order: nothing is compressed, no time and no system is noted."""
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


def respelt(data: bytes) -> bytes:
    """Return an archive of skops in one spelling, so that equal models give equal bytes.

    As skops writes it, objects are numbered by their place in memory, files are named by these numbers or at random,
    and members carry the time. Here both are counted in the order of the schema. Texts, numbers and booleans have the
    number of the first that is equal: whether two of them are one object in memory is chance, and nothing can change
    them. Everything else stays one object exactly where it was one.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        spelling = _Spelling(archive.namelist())
        schema = spelling.of(json.loads(archive.read(SCHEMA)))
        members = {new: _without_gaps(archive.read(old), new) for old, new in spelling.files.items()}
    return archive_of({**members, SCHEMA: json.dumps(schema, indent=1).encode("ascii")})


def _without_gaps(data: bytes, name: str) -> bytes:
    """Return an array with zeros between the fields of its records, where whatever was in memory is stored else."""
    if not name.endswith(".npy"):
        return data
    array = np.load(io.BytesIO(data), allow_pickle=False)
    if array.dtype.names is None:
        return data
    clean = np.zeros(array.shape, array.dtype)
    for field in array.dtype.names:
        clean[field] = array[field]
    buffer = io.BytesIO()
    np.save(buffer, clean, allow_pickle=False)
    return buffer.getvalue()


class _Spelling:
    """New numbers of objects and new names of files, in the order in which they are met."""

    def __init__(self, names: list[str]) -> None:
        self._names = set(names)
        self._numbers: dict[Any, int] = {}
        self.files: dict[str, str] = {}

    def of(self, node: Any) -> Any:
        """Return a part of a schema with the new numbers and names."""
        if isinstance(node, list):
            return [self.of(each) for each in node]
        if not isinstance(node, dict):
            return node
        if node.get("__loader__") == "SetNode" and isinstance(node.get("content"), list):
            node = {**node, "content": sorted(node["content"], key=_without_numbers)}
        return {key: self._entry(key, value, node) for key, value in node.items()}

    def _entry(self, key: str, value: Any, node: Mapping[str, Any]) -> Any:
        if key == "__id__" and isinstance(value, int):
            leaf = node.get("__loader__") == "JsonNode"
            return self._numbers.setdefault(node["content"] if leaf else value, len(self._numbers) + 1)
        if key == "file" and isinstance(value, str) and value in self._names:
            return self.files.setdefault(value, f"{len(self.files)}{PurePosixPath(value).suffix}")
        return self.of(value)


def _without_numbers(node: Any) -> str:
    return json.dumps({key: value for key, value in node.items() if key != "__id__"}, sort_keys=True)
