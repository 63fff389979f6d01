"""Estimators that a user brought, through skops, which names the types in a file before it builds any of them.

Types that skops trusts by itself (most of scikit-learn, numpy, scipy) load as they are; any other has to be confirmed
by name. Nothing here is ever pickled. A fitted estimator keeps what it keeps: nearest neighbours and support vector
machines carry rows that they were trained on, and so does their file.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from ..exceptions import ChangedError, InputError, require, spelled
from ..validation import shown
from .documents import read_bytes
from .folders import write_file
from .npz import archive_of, is_stored

PURPOSE = "saving or loading an estimator of another package"
SUFFIX = ".skops"
OWN = (
    "fairfront.problems.posteriors.Guess",
    "fairfront.problems.posteriors.PosteriorClassifier",
    "fairfront.problems.posteriors.Posteriors",
    "fairfront.problems.posteriors.Scaling",
)
"""Our own types around a user's estimators: they hold values and run nothing when they are built."""
SCHEMA = "schema.json"


def write_estimator(path: Any, model: Any) -> None:
    """Write a fitted estimator to one file; equal estimators give equal bytes."""
    skops = require("skops.io", "skops", PURPOSE)
    try:
        data = respelt(skops.dumps(model))
        nameless = [name for name in skops.get_untrusted_types(data=data) if "<" in name]
    except Exception as error:  # whatever a foreign object raises when it is taken apart
        raise InputError(_unfit(model, _first_line(error))) from error
    if nameless:
        raise InputError(_unfit(model, f"{nameless[0]} can be found by nobody but this session"))
    write_file(path, data)


def _unfit(model: Any, why: str) -> str:
    return (
        f"{type(model).__name__} cannot be saved ({why}), expected a fitted estimator whose classes and functions are "
        "defined in modules; move them into one."
    )


def untrusted_types(path: Any) -> tuple[str, ...]:
    """Return the names of types that skops does not trust by itself, in a file or in all estimators of a folder.

    Nothing is built to find them.
    """
    skops = require("skops.io", "skops", PURPOSE)
    place = Path(path)
    files = sorted(place.rglob(f"*{SUFFIX}")) if place.is_dir() else [place]
    return tuple(sorted({name for file in files for name in _types(skops, file)}))


def _types(skops: Any, file: Path) -> list[str]:
    data = _bytes(file)
    try:
        return [name for name in skops.get_untrusted_types(data=data) if name not in OWN]
    except Exception as error:  # a damaged file fails in many ways
        raise InputError(_damaged(file, error)) from error


def check_trusted(path: Any, trusted: Sequence[str]) -> None:
    """Refuse a file, or a folder of them, with types that were not confirmed, and name them all."""
    if isinstance(trusted, (str, bool)):
        raise InputError(f"trusted is {shown(trusted)}, expected a list of type names.")
    unknown = [name for name in untrusted_types(path) if name not in trusted]
    if unknown:
        words = " ".join(f"--trust {name}" for name in unknown)
        both = f"trusted={unknown!r} ({words} on the command line)"
        raise InputError(
            f"{path} holds types that are not known to be harmless when loaded: {', '.join(unknown)}; if you trust "
            f"where it is from, confirm them with {both if spelled('trusted') == 'trusted' else words}."
        )


def read_estimator(path: Any, trusted: Sequence[str] = ()) -> Any:
    """Return the estimator of a file; types that skops does not trust have to be named in ``trusted``."""
    skops = require("skops.io", "skops", PURPOSE)
    check_trusted(path, trusted)
    try:
        return skops.loads(_bytes(path), trusted=[*trusted, *OWN])
    except Exception as error:  # packages that are missing or too old fail in ways of their own
        raise InputError(_damaged(path, error)) from error


def _bytes(path: Any) -> bytes:
    data = read_bytes(path)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            packed = [entry.filename for entry in archive.infolist() if not is_stored(entry)]
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise ChangedError(_damaged(path, zipfile.BadZipFile())) from error
    if packed:
        raise InputError(f"{path} holds {packed[0]!r} compressed, expected it as it is; save the estimator anew.")
    return data


def _damaged(path: Any, error: Exception) -> str:
    if isinstance(error, ImportError):
        return f"{path} needs a package that is not here ({_first_line(error)}); install it and load again."
    if isinstance(error, zipfile.BadZipFile):
        return f"{path} is not a file of skops or is damaged; copy it again or save the estimator anew."
    return f"{path} cannot be loaded ({_first_line(error)}); save the estimator anew with the versions used here."


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


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
