"""Checksums: one file, SHA256SUMS, that lists every other file of a folder with its sha256.

The lines are those of ``sha256sum``, so that ``sha256sum -c SHA256SUMS`` checks a folder without fairfront. Whoever can
edit a file can write the list again: without a signature (`signatures`) it shows damage and careless edits, no more.
Names that start with a dot are files of writers at work, or of the system; nothing reads them and no list has them.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..exceptions import ChangedError, InputError
from .folders import write_file
from .places import CHECKSUMS as CHECKSUMS

SIGNATURE = "SHA256SUMS.sig"
LINE = re.compile(r"([0-9a-f]{64})  (.+)")
RENEW = "copy the folder again or make it anew."


def write_checksums(folder: Path) -> None:
    """Write the list of all files that a folder has now."""
    write_file(folder / CHECKSUMS, as_lines(found_in(folder)), overwrite=True)


def check_checksums(folder: Path, growing: str | None = None) -> dict[str, str]:
    """Return the sha256 of every file by its path, or name one that was changed, is missing or not listed.

    Parameters
    ----------
    growing : str
        Subfolder whose files may be newer than the list: they are written before it, and their reader checks them.
    """
    listed = read_checksums(folder)  # before the folder is looked at: a record that is written meanwhile is new
    found = found_in(folder)
    for name in sorted({*listed, *found}):
        if name not in found:
            raise ChangedError(f"{folder / name} is missing, expected all files that {CHECKSUMS} lists; {RENEW}")
        if name not in listed:
            if growing is None or not name.startswith(f"{growing}/"):
                raise ChangedError(f"{folder / name} is not one of the files that {CHECKSUMS} lists; remove it.")
        elif listed[name] != found[name]:
            raise ChangedError(f"{folder / name} was changed after it was written (its checksum differs); {RENEW}")
    return found


def changed_in(folder: Path, growing: str | None = None) -> frozenset[str]:
    """Return the files that a folder has and its list has not, or not so; ``growing`` is as in `check_checksums`."""
    try:
        listed, found = read_checksums(folder), found_in(folder)
    except InputError:
        return frozenset([CHECKSUMS])
    new = {name for name in found if growing is not None and name.startswith(f"{growing}/") and name not in listed}
    return frozenset(name for name in found.keys() - new if found[name] != listed.get(name))


def read_checksums(folder: Path) -> dict[str, str]:
    """Return the list of a folder, sha256 by path, refusing one that is missing or spelt otherwise than ours."""
    file = folder / CHECKSUMS
    if not is_regular(file):
        raise ChangedError(
            f"{folder} has no {CHECKSUMS}, expected the list of checksums that fairfront writes with every run and "
            "model; make it anew."
        )
    text = file.read_bytes().decode("utf-8", errors="replace")
    lines = [LINE.fullmatch(line) for line in text.split("\n")[:-1]]
    listed = {line[2]: line[1] for line in lines if line is not None}
    if None in lines or as_lines(listed) != text:
        raise ChangedError(
            f"{file} was changed after it was written (it is not a list as fairfront writes it); {RENEW}"
        )
    return listed


def found_in(folder: Path) -> dict[str, str]:
    """Return the sha256 of every file that is there, by path; only regular files are opened."""
    found = {}
    for place in _visible(folder):
        name = place.relative_to(folder).as_posix()
        if name in (CHECKSUMS, SIGNATURE):
            continue
        if not is_regular(place):
            raise ChangedError(f"{place} is a link or a device, expected a regular file; {RENEW}")
        found[name] = digest_of(place)
    return found


def _visible(folder: Path) -> Iterable[Path]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _visible(Path(entry.path))
            else:
                yield Path(entry.path)


def is_regular(path: Path) -> bool:
    """Tell whether a path is a regular file and not a link to one."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def digest_of(path: Path) -> str:
    """Return the sha256 of a file's bytes."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise InputError(f"{path} is missing, expected a file that was there a moment ago; load it again.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}; check the path.") from error


def digest(text: str) -> str:
    """Return the sha256 of a text in UTF-8."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def as_lines(sums: Mapping[str, str]) -> str:
    """Return a list as it is written, one line for each file in the order of their paths."""
    return "".join(f"{sums[name]}  {name}\n" for name in sorted(sums))


def checksum_of(sums: Mapping[str, str], growing: str) -> str:
    """Return one checksum of all files but those of a subfolder that grows."""
    return digest(as_lines({name: found for name, found in sums.items() if not name.startswith(f"{growing}/")}))
