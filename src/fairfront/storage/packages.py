"""Packages: the one format of all our files, a JSON file, its arrays, and estimators that a user brought.

``NAME.json`` holds the kind of thing (``format``), the version of its layout (``schema``), the version of fairfront
that wrote it, checksums, and the content (spelt as in `documents`); ``NAME.npz`` holds the numbers. Equal things give
equal bytes. Reading executes nothing: JSON is parsed, arrays are numbers, and all is checked before it is used.

Estimators of other packages go through skops, never pickle. It names the types in a file before it builds any: those
that it trusts (most of scikit-learn, numpy, scipy) load as they are, any other has to be confirmed by name. Nearest
neighbours and support vector machines carry rows that they were trained on, and so does their file.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import ChangedError, InputError, require, spelled
from ..validation import shown
from .documents import AGAIN, archive_of, decode, encode, is_stored, pack, read_bytes, read_json, unpack
from .folders import write_file

Arrays = dict[str, NDArray[Any]]
KEYS = {"format", "schema", "fairfront", "arrays", "files", "content", "sha256"}
SUFFIX = ".skops"
OWN = {f"fairfront.problems.posteriors.{name}" for name in ("Guess", "PosteriorClassifier", "Posteriors", "Scaling")}
"""Our own types around a user's estimators: they hold values and run nothing when they are built."""
PURPOSE = "saving or loading an estimator of another package"
SKOPS_SCHEMA = "schema.json"


def write_package(
    folder: Any,
    name: str,
    kind: str,
    content: Any,
    arrays: Mapping[str, NDArray[Any]],
    schema: int = 1,
    files: Sequence[str] = (),
) -> None:
    """Write ``name.json`` and ``name.npz`` into a folder that exists.

    ``kind`` is what they hold, such as "fairfront frontier"; ``schema`` the version of the layout of content and
    arrays; ``files`` others of the folder that belong to the package, written already: their checksums are kept.
    """
    place = Path(folder)
    packed, described = pack(arrays)
    document = {
        "format": kind,
        "schema": schema,
        "fairfront": _version(),
        "arrays": {"file": f"{name}.npz", **_fingerprint(packed), "names": described},
        "files": {each: _fingerprint((place / each).read_bytes()) for each in files},
        "content": encode(content),
    }
    document["sha256"] = _seal(document)
    write_file(place / f"{name}.npz", packed)
    write_file(place / f"{name}.json", json.dumps(document, indent=1, sort_keys=True, allow_nan=False) + "\n")


def read_package(folder: Any, name: str, kind: str, schema: int = 1) -> tuple[Any, Arrays]:
    place = Path(folder)
    path = place / f"{name}.json"
    if not place.is_dir():
        raise InputError(f"{place} is not a folder, expected one written by fairfront; check the path.")
    document = _document(path, kind)
    found, writer = document.get("schema"), document.get("fairfront")
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise ChangedError(f"{path} has the schema {found!r}, expected a number from 1 to {schema}; {AGAIN}")
    if found > schema:
        raise InputError(
            f"{path} was written by fairfront {writer} with schema {found}, and fairfront {_version()} reads up to "
            f"{schema}; upgrade fairfront."
        )
    if found < schema:
        raise InputError(
            f"{path} was written by fairfront {writer} with schema {found}, which fairfront {_version()} reads no "
            f"more (expected {schema}); read it with that version, or make it anew."
        )
    if set(document) != KEYS:
        raise ChangedError(
            f"{path} lacks or adds {shown(sorted(KEYS ^ set(document)))}, expected {', '.join(sorted(KEYS))}; {AGAIN}"
        )
    return decode(document["content"]), _arrays(place, name, document)


@contextmanager
def parts_of(folder: Any, kind: str) -> Iterator[None]:
    """Say in one sentence that what is read inside does not fit together."""
    try:
        yield
    except InputError:
        raise
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise ChangedError(f"{folder} does not have the parts of a {kind} ({error}); save it again.") from error


def package_files(folder: Path, name: str, kind: str) -> frozenset[str]:
    """Take any schema; return no names where one file is not as written."""
    inner = PurePosixPath(name).parent
    stem = PurePosixPath(name).name
    try:
        document = _document(folder / inner / f"{stem}.json", kind)
        _arrays(folder / inner, stem, document)
    except InputError:
        return frozenset()
    return frozenset(str(inner / each) for each in (f"{stem}.json", f"{stem}.npz", *document["files"]))


def _document(path: Path, kind: str) -> dict[str, Any]:
    found = read_json(path)
    if not isinstance(found, dict) or not isinstance(found.get("format"), str):
        raise ChangedError(f"{path} does not say what it holds, expected a {kind}; {AGAIN}")
    if found["format"] != kind:
        raise InputError(f"{path} holds a {found['format']}, expected a {kind}; check the path.")
    return found


def _arrays(place: Path, name: str, document: Mapping[str, Any]) -> Arrays:
    path = place / f"{name}.json"
    if document.get("sha256") != _seal({k: v for k, v in document.items() if k != "sha256"}):
        raise ChangedError(f"{path} was changed after it was written (its checksum differs); {AGAIN}")
    try:
        if document["arrays"]["file"] != f"{name}.npz":
            raise KeyError(name)
        packed = _checked(place / f"{name}.npz", document["arrays"])
        for each, known in document["files"].items():
            _checked(place / inner_name(each, path), known)
        return unpack(packed, document["arrays"]["names"], str(place / f"{name}.npz"))
    except (KeyError, TypeError, AttributeError) as error:
        raise ChangedError(f"{path} does not describe its files as fairfront does; {AGAIN}") from error


def inner_name(name: Any, path: Path) -> str:
    """Refuse a name that leads to a place outside its folder."""
    parts = name.split("/") if isinstance(name, str) else [""]
    if {"", ".", ".."} & set(parts) or set("\\:\0") & set(name):
        raise ChangedError(f"{path} names the file {str(name)[:80]!r}, expected one in its own folder; {AGAIN}")
    return str(name)


def _checked(path: Path, known: Mapping[str, Any]) -> bytes:
    """Read nothing if there are more or fewer bytes than were written."""
    size = known["bytes"]
    if not isinstance(size, int) or isinstance(size, bool):
        raise TypeError("a size is a whole number")
    data = read_bytes(path, size)
    if _fingerprint(data)["sha256"] != known["sha256"]:
        raise ChangedError(f"{path} is damaged or was changed (its checksum differs); {AGAIN}")
    return data


def _fingerprint(data: bytes) -> dict[str, Any]:
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _seal(document: Mapping[str, Any]) -> str:
    """Return the same checksum whatever the spaces and order in the file."""
    plain = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(plain.encode("ascii")).hexdigest()


def _version() -> str:
    from .. import __version__

    return __version__


def write_estimator(path: Any, model: Any) -> None:
    """Write equal bytes for equal estimators."""
    skops = require("skops.io", "skops", PURPOSE)
    try:
        data = _respelt(skops.dumps(model))
        for name in skops.get_untrusted_types(data=data):
            if "<" in name:
                raise TypeError(f"{name} can be found by nobody but this session")
    except Exception as error:  # whatever a foreign object raises when it is taken apart
        raise InputError(
            f"{type(model).__name__} cannot be saved ({_first_line(error)}), expected a fitted estimator whose classes "
            "and functions are defined in modules; move them into one."
        ) from error
    write_file(path, data)


def untrusted_types(path: Any) -> tuple[str, ...]:
    """Find the types that skops does not trust by itself, in a file or a folder; nothing is built to find them."""
    place = Path(path)
    names: set[str] = set()
    for file in place.rglob(f"*{SUFFIX}") if place.is_dir() else [place]:
        with _loading(file) as (skops, data):
            names.update(skops.get_untrusted_types(data=data))
    return tuple(sorted(names - OWN))


def check_trusted(path: Any, trusted: Sequence[str]) -> None:
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
    check_trusted(path, trusted)
    with _loading(path) as (skops, data):
        return skops.loads(data, trusted=[*trusted, *OWN])


@contextmanager
def _loading(path: Any) -> Iterator[tuple[Any, bytes]]:
    """Refuse compressed members, and say in one sentence whatever fails inside."""
    skops = require("skops.io", "skops", PURPOSE)
    data = read_bytes(path)
    damaged = f"{path} is not a file of skops or is damaged; copy it again or save the estimator anew."
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            packed = [entry.filename for entry in archive.infolist() if not is_stored(entry)]
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise ChangedError(damaged) from error
    if packed:
        raise InputError(f"{path} holds {packed[0]!r} compressed, expected it as it is; save the estimator anew.")
    try:
        yield skops, data
    except Exception as error:  # packages that are missing or too old, and damaged files, fail in ways of their own
        said = f"{path} cannot be loaded ({_first_line(error)}); save the estimator anew with the versions used here."
        if isinstance(error, ImportError):
            said = f"{path} needs a package that is not here ({_first_line(error)}); install it and load again."
        raise InputError(damaged if isinstance(error, zipfile.BadZipFile) else said) from error


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def _respelt(data: bytes) -> bytes:
    """Return an archive of skops in one spelling, so that equal models give equal bytes.

    As skops writes it, objects are numbered by their place in memory, files are named by these numbers or at random,
    and members carry the time. Here both are counted in the order of the schema. Texts, numbers and booleans have the
    number of the first that is equal: whether two of them are one object in memory is chance, and nothing can change
    them. Everything else stays one object exactly where it was one.
    """
    numbers: dict[Any, int] = {}
    files: dict[str, str] = {}

    def respell(node: Any) -> Any:
        if isinstance(node, list):
            return [respell(each) for each in node]
        if not isinstance(node, dict):
            return node
        if node.get("__loader__") == "SetNode" and isinstance(node.get("content"), list):
            by_text = sorted(node["content"], key=lambda each: json.dumps({**each, "__id__": 0}, sort_keys=True))
            node = {**node, "content": by_text}
        new: dict[str, Any] = {}
        for key, value in node.items():
            if key == "__id__" and isinstance(value, int):
                leaf = node.get("__loader__") == "JsonNode"
                new[key] = numbers.setdefault(node["content"] if leaf else value, len(numbers) + 1)
            elif key == "file" and isinstance(value, str) and value in names:
                new[key] = files.setdefault(value, f"{len(files)}{PurePosixPath(value).suffix}")
            else:
                new[key] = respell(value)
        return new

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = set(archive.namelist())
        schema = respell(json.loads(archive.read(SKOPS_SCHEMA)))
        members = {new: _without_gaps(archive.read(old), new) for old, new in files.items()}
    return archive_of({**members, SKOPS_SCHEMA: json.dumps(schema, indent=1).encode("ascii")})


def _without_gaps(data: bytes, name: str) -> bytes:
    """Put zeros between the fields of records, where whatever was in memory is stored else."""
    array: NDArray[Any] | None = np.load(io.BytesIO(data), allow_pickle=False) if name.endswith(".npy") else None
    if array is None or array.dtype.names is None:
        return data
    clean = np.zeros(array.shape, array.dtype)
    for field in array.dtype.names:
        clean[field] = array[field]
    buffer = io.BytesIO()
    np.save(buffer, clean, allow_pickle=False)
    return buffer.getvalue()
