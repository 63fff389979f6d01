"""Packages: the one format of all our files, a JSON file and its arrays; and the checksums of a folder's files.

``NAME.json`` holds the kind of thing (``format``), the version of its layout (``schema``), the version of fairfront
that wrote it, checksums, and the content (spelt as in `documents`); ``NAME.npz`` holds the numbers. Equal things give
equal bytes. Reading executes nothing: JSON is parsed, arrays are numbers, and all is checked before it is used.

SHA256SUMS lists every other file of a folder with its sha256. The lines are those of ``sha256sum``, so that
``sha256sum -c SHA256SUMS`` checks a folder without fairfront. Whoever can edit a file can write the list again: without
a signature it shows damage and careless edits, no more. Names that start with a dot are files of writers at work, or of
the system; nothing reads them and no list has them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from numpy.typing import NDArray

from .. import __version__
from ..exceptions import ChangedError, InputError
from ..validation import shown
from .documents import AGAIN, decode, encode, pack, read_bytes, read_json, readable, unpack
from .folders import write_file
from .places import CHECKSUMS

Arrays = dict[str, NDArray[Any]]
KEYS = {"format", "schema", "fairfront", "arrays", "files", "content", "sha256"}
LINE = re.compile(r"([0-9a-f]{64})  (.+)")
RENEW = "copy the folder again or recreate it."


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
        "fairfront": __version__,
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
    if found != schema:
        newer = f"and fairfront {__version__} reads up to {schema}; upgrade fairfront"
        older = f"which fairfront {__version__} no longer reads (expected {schema}); use that version, or recreate it"
        said = newer if found > schema else older
        raise InputError(f"{path} was written by fairfront {writer} with schema {found}, {said}.")
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


def write_checksums(folder: Path) -> None:
    write_file(folder / CHECKSUMS, _as_lines(found_in(folder)), overwrite=True)


def check_checksums(folder: Path, growing: str | None = None) -> dict[str, str]:
    """Let files of the subfolder ``growing`` be newer than the list: their reader checks them."""
    listed = read_checksums(folder)  # before the folder is looked at: a record that is written meanwhile is new
    found = found_in(folder)
    for name in sorted({*listed, *found}):
        if name not in found:
            raise ChangedError(f"{folder / name} is missing, expected all files that {CHECKSUMS} lists; {RENEW}")
        if name not in listed and not is_in(name, growing):
            raise ChangedError(f"{folder / name} is not one of the files that {CHECKSUMS} lists; remove it.")
        if listed.get(name, found[name]) != found[name]:
            raise ChangedError(f"{folder / name} was changed after it was written (its checksum differs); {RENEW}")
    return found


def is_in(name: str, subfolder: str | None) -> bool:
    return subfolder is not None and name.startswith(f"{subfolder}/")


def read_checksums(folder: Path) -> dict[str, str]:
    file = folder / CHECKSUMS
    if not _is_regular(file):
        raise ChangedError(
            f"{folder} has no {CHECKSUMS}, expected the list of checksums that fairfront writes with every run and "
            "model; recreate it."
        )
    text = file.read_bytes().decode("utf-8", errors="replace")
    lines = [LINE.fullmatch(line) for line in text.split("\n")[:-1]]
    listed = {line[2]: line[1] for line in lines if line is not None}
    if None in lines or _as_lines(listed) != text:
        raise ChangedError(
            f"{file} was changed after it was written (it is not a list as fairfront writes it); {RENEW}"
        )
    return listed


def found_in(folder: Path) -> dict[str, str]:
    """Open regular files only."""
    found = {}
    for name, mode in sorted(entries_of(folder, hidden=False)):
        if stat.S_ISDIR(mode) or name == CHECKSUMS:
            continue
        if not stat.S_ISREG(mode):
            raise ChangedError(f"{folder / name} is a link or a device, expected a regular file; {RENEW}")
        found[name] = digest_of(folder / name)
    return found


def entries_of(folder: Path, before: str = "", hidden: bool = True) -> Iterator[tuple[str, int]]:
    """Yield names from the folder on, links as links."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if hidden or not entry.name.startswith("."):
                mode = entry.stat(follow_symlinks=False).st_mode
                yield f"{before}{entry.name}", mode
                if stat.S_ISDIR(mode):
                    yield from entries_of(Path(entry.path), f"{before}{entry.name}/", hidden)


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def digest_of(path: Path) -> str:
    with readable(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _as_lines(sums: Mapping[str, str]) -> str:
    return "".join(f"{sums[name]}  {name}\n" for name in sorted(sums))


def checksum_of(sums: Mapping[str, str], growing: Sequence[str]) -> str:
    """Leave out the files of subfolders that grow."""
    kept = {name: found for name, found in sums.items() if not any(is_in(name, each) for each in growing)}
    return digest(_as_lines(kept))
