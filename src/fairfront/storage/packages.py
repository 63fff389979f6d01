"""Packages: the one format of all our files, a JSON file and the arrays that belong to it.

``NAME.json`` holds the kind of thing (``format``), the version of its layout (``schema``), the version of fairfront
that wrote it, checksums, and the content (spelt as in `documents`); ``NAME.npz`` holds the numbers. Equal things give
equal bytes. Reading executes nothing: JSON is parsed, arrays are numbers, and all is checked before it is used.

An `Inventory` is every file that a folder of one kind may hold, so that nothing else is ever replaced with it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import translate
from pathlib import Path, PurePosixPath
from typing import Any

from numpy.typing import NDArray

from ..exceptions import ChangedError, InputError
from ..validation import shown
from .checksums import changed_in
from .documents import AGAIN, decode, encode, read_bytes, read_json
from .folders import write_file
from .npz import pack, unpack
from .writers import left_of, place_of

Arrays = dict[str, NDArray[Any]]
Upgrade = Callable[[Any, Arrays], tuple[Any, Arrays]]
KEYS = {"format", "schema", "fairfront", "arrays", "files", "content", "sha256"}
Known = Callable[[bytes], bool]
"""Tells whether the bytes of a file are of the format that its name stands for."""


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

    Parameters
    ----------
    folder : path
    name, kind : str
        Name of the files, and what they hold, such as "fairfront frontier".
    content : mappings, lists, text, numbers, booleans, None
    arrays : mapping of name to array
        Numbers and booleans only; text belongs into the content.
    schema : int
        Version of the layout of content and arrays.
    files : sequence of str
        Other files of the folder that belong to the package, written already; their checksums are kept.
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


def read_package(
    folder: Any, name: str, kind: str, schema: int = 1, upgrades: Mapping[int, Upgrade] | None = None
) -> tuple[Any, Arrays]:
    """Return the content and the arrays of a package, refusing anything else in one sentence.

    ``upgrades`` maps an older schema to the function that turns its content and arrays into those of the next one.
    """
    place = Path(folder)
    if not place.is_dir():
        raise InputError(f"{place} is not a folder, expected one written by fairfront; check the path.")
    document = _document(place / f"{name}.json", kind)
    steps = _steps(document, place / f"{name}.json", schema, upgrades or {})
    arrays = _arrays(place, name, document)
    content = decode(document["content"])
    for step in steps:
        content, arrays = step(content, arrays)
    return content, arrays


@contextmanager
def parts_of(folder: Any, kind: str) -> Iterator[None]:
    """Say that what is in a folder does not make up what it should, where its parts do not fit each other."""
    try:
        yield
    except InputError:
        raise
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise ChangedError(f"{folder} does not have the parts of a {kind} ({error}); save it again.") from error


def package_files(folder: Path, name: str, kind: str) -> frozenset[str]:
    """Return the names, from the folder, of all files of a package of any schema; none where one is not as written."""
    place = folder / PurePosixPath(name).parent
    stem = PurePosixPath(name).name
    try:
        document = _document(place / f"{stem}.json", kind)
        _arrays(place, stem, document)
    except InputError:
        return frozenset()
    own = (f"{stem}.json", f"{stem}.npz", *document["files"])
    return frozenset(str(PurePosixPath(name).parent / each) for each in own)


def _arrays(place: Path, name: str, document: Mapping[str, Any]) -> Arrays:
    """Return the arrays of a package after all its checksums were compared."""
    if document.get("sha256") != _seal({k: v for k, v in document.items() if k != "sha256"}):
        raise ChangedError(f"{place / name}.json was changed after it was written (its checksum differs); {AGAIN}")
    try:
        if document["arrays"]["file"] != f"{name}.npz":
            raise KeyError(name)
        packed = _checked(place / f"{name}.npz", document["arrays"])
        for each, known in document["files"].items():
            _checked(place / inner_name(each, place / f"{name}.json"), known)
        return unpack(packed, document["arrays"]["names"], str(place / f"{name}.npz"))
    except (KeyError, TypeError, AttributeError) as error:
        raise ChangedError(f"{place / name}.json does not describe its files as fairfront does; {AGAIN}") from error


def inner_name(name: Any, path: Path) -> str:
    """Return the name of a file that the JSON at a path names, if it leads to no place outside its folder."""
    parts = name.split("/") if isinstance(name, str) else [""]
    if {"", ".", ".."} & set(parts) or set("\\:\0") & set(name):
        raise ChangedError(f"{path} names the file {str(name)[:80]!r}, expected one in its own folder; {AGAIN}")
    return str(name)


def _document(path: Path, kind: str) -> dict[str, Any]:
    """Return the parsed JSON of a package of the kind asked for."""
    found = read_json(path)
    if not isinstance(found, dict) or not isinstance(found.get("format"), str):
        raise ChangedError(f"{path} does not say what it holds, expected a {kind}; {AGAIN}")
    if found["format"] != kind:
        raise InputError(f"{path} holds a {found['format']}, expected a {kind}; check the path.")
    return found


def _steps(document: dict[str, Any], path: Path, schema: int, upgrades: Mapping[int, Upgrade]) -> list[Upgrade]:
    """Return the upgrades from the file's schema to ours, or say that there is no way."""
    found, writer = document.get("schema"), document.get("fairfront")
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise ChangedError(f"{path} has the schema {found!r}, expected a number from 1 to {schema}; {AGAIN}")
    if found > schema:
        raise InputError(
            f"{path} was written by fairfront {writer} with schema {found}, and fairfront {_version()} reads up to "
            f"{schema}; upgrade fairfront."
        )
    missing = [each for each in range(found, schema) if each not in upgrades]
    if missing:
        raise InputError(
            f"{path} was written by fairfront {writer} with schema {found}, which fairfront {_version()} reads no "
            f"more (expected {max(missing) + 1} to {schema}); read it with that version, or make it anew."
        )
    if set(document) != KEYS:
        raise ChangedError(
            f"{path} lacks or adds {shown(sorted(KEYS ^ set(document)))}, expected {', '.join(sorted(KEYS))}; {AGAIN}"
        )
    return [upgrades[each] for each in range(found, schema)]


def _checked(path: Path, known: Mapping[str, Any]) -> bytes:
    """Return a file's bytes if they are those that were written; none are read if there are more or fewer."""
    size = known["bytes"]
    if not isinstance(size, int) or isinstance(size, bool):
        raise TypeError("a size is a whole number")
    data = read_bytes(path, size)
    if _fingerprint(data) != {key: known[key] for key in ("bytes", "sha256")}:
        raise ChangedError(f"{path} is damaged or was changed (its checksum differs); {AGAIN}")
    return data


def _fingerprint(data: bytes) -> dict[str, Any]:
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _seal(document: Mapping[str, Any]) -> str:
    """Return the checksum of a document, whatever the spaces and order in its file."""
    plain = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(plain.encode("ascii")).hexdigest()


def _version() -> str:
    from .. import __version__

    return __version__


@dataclass(frozen=True)
class Inventory:
    """What is in a folder of one kind.

    Attributes
    ----------
    kind : str
        What the folder is, such as "run".
    packages : mapping of path to format
        Packages that every such folder has; each names its files and knows their checksums.
    files : mapping of pattern to function of bytes
        Other files that may be there.
    listed : bool
        Whether a list of checksums covers them all, but for new files in the subfolder ``growing``.
    """

    kind: str
    packages: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Known] = field(default_factory=dict)
    listed: bool = False
    growing: str | None = None

    def check(self, folder: Path) -> None:
        """Refuse to replace a folder that is neither empty nor, file by file, what fairfront writes."""
        found = sorted(_entries(folder))
        if not found:
            return
        packed = [package_files(folder, name, kind) for name, kind in self.packages.items()]
        packaged = frozenset().union(*packed)
        changed = changed_in(folder, self.growing) if self.listed else frozenset()
        for name, mode in found:
            if name in changed or not self._is_ours(folder, name, mode, packaged):
                raise InputError(
                    f"{place_of(folder)} holds other things than fairfront writes into a {self.kind}, or changed ones "
                    f"({name}), and stays as it is, expected nothing else; move them away, or choose another name."
                )
        if not all(packed) or changed:
            raise InputError(
                f"{place_of(folder)} is not a whole {self.kind}, and stays as it is, expected one with all its files; "
                "choose another name."
            )

    def _is_ours(self, folder: Path, name: str, mode: int, packaged: frozenset[str]) -> bool:
        if stat.S_ISDIR(mode):
            return name in _parents([*self.packages, *self.files, *packaged])
        if not stat.S_ISREG(mode):
            return False
        if (left := left_of(folder / name)) is not None:
            return self._known(str(PurePosixPath(name).with_name(left))) is not None
        known = self._known(name)
        return name in packaged or (known is not None and known((folder / name).read_bytes()))

    def _known(self, name: str) -> Known | None:
        """Return what knows a file by its bytes, if its name is one of ours."""
        return next((self.files[pattern] for pattern in self.files if _matches(pattern, name)), None)


def _matches(pattern: str, name: str) -> bool:
    """Compare part by part, so that a star stands for one name and not for a way through folders."""
    one, other = PurePosixPath(pattern).parts, PurePosixPath(name).parts
    return len(one) == len(other) and all(re.match(translate(p), n) for p, n in zip(one, other, strict=True))


def _parents(names: Iterable[str]) -> set[str]:
    return {str(parent) for name in names for parent in PurePosixPath(name).parents}


def _entries(folder: Path, before: str = "") -> Iterator[tuple[str, int]]:
    """Yield all that is in a folder, links as links, by its name from there."""
    with os.scandir(folder) as entries:
        for entry in entries:
            mode = entry.stat(follow_symlinks=False).st_mode
            yield f"{before}{entry.name}", mode
            if stat.S_ISDIR(mode):
                yield from _entries(Path(entry.path), f"{before}{entry.name}/")
