"""Take one named file out of a zip archive that may be hostile."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import IO

from ..exceptions import InputError
from .origins import PublicFile
from .reading import matches

CHUNK = 1 << 16
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError, RuntimeError)


def unpack(archive: Path, file: PublicFile, part: Path) -> Path:
    """Write the archive's member ``file.name`` to ``part`` and return it, checked.

    Only the name that is asked for is looked up and ``part`` is the only path written, so a member with a path such
    as ``../x`` or a link reaches nothing. No more than twice the file's size is unpacked, whatever the archive says.
    """
    try:
        with zipfile.ZipFile(archive) as opened, opened.open(file.name) as member, part.open("wb") as out:
            _copy(member, out, 2 * file.size)
    except DAMAGE as error:
        part.unlink(missing_ok=True)
        raise InputError(
            f"{archive.name} cannot be unpacked ({error}), expected a zip archive that holds {file.name}: "
            "delete it and fetch again."
        ) from error
    if not matches(part.read_bytes(), file.sha256):
        part.unlink()
        raise InputError(
            f"{file.name} in {archive.name} is another file than expected (sha256 {file.sha256}): it was removed."
        )
    return part


def _copy(member: IO[bytes], out: IO[bytes], limit: int) -> None:
    done = 0
    while chunk := member.read(CHUNK):
        done += len(chunk)
        if done > limit:
            raise zipfile.BadZipFile(f"it unpacks to more than {limit} bytes")
        out.write(chunk)
