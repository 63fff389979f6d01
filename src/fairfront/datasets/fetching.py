"""Fetch the files of a data set from its public origin into the cache, checked before they count as there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..exceptions import InputError
from ..progress import progress_bar
from ..validation import check_instance, check_progress
from .origins import ORIGINS, Origin, PublicFile
from .places import CACHE, ENVIRONMENT, cache_folder, find
from .reading import Source, matches
from .transfer import BrokenOffError, Patience, RefusedError, Wanted, WrongContentError, transfer
from .unpacking import unpack

PARTIAL = ".partial"
DEFAULT = Patience()


@dataclass(frozen=True)
class Fetched:
    """Say where the files of a data set lie, and which of them were fetched just now."""

    name: str
    folder: Path
    new: tuple[str, ...]


def fetch(name: str, *, patience: Patience = DEFAULT, progress: bool | Literal["auto"] = "auto") -> Fetched:
    """Fetch a public data set into the cache, unless it is there already and right.

    Parameters
    ----------
    name : str
        Name of the data set.
    patience : Patience
        Time-outs, tries, pauses and redirects.
    progress : bool or "auto"
        Whether a bar is shown; "auto" shows it when standard error is a terminal.

    Returns
    -------
    Fetched
        The folder, and the files that were new. A file gets its name only after its sha256 was checked; until then
        it ends with ``.partial``, and the next fetch goes on from there.
    """
    origin = ORIGINS[name]
    check_instance(patience, Patience, "patience", "Patience(timeout=..., tries=...)")
    check_progress(progress)
    if origin.embedded:
        raise InputError(f"{name} is part of fairfront, so there is nothing to fetch: use it as it is.")
    place = find(name, origin.file_names)
    if place is not None and place.label == ENVIRONMENT:
        Source.of(origin).read()
        return Fetched(name, place.folder, ())
    folder = cache_folder() / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder, name):
            return Fetched(name, folder, tuple(_fill(origin, folder, patience, progress)))
    except OSError as error:
        raise InputError(
            f"{name} cannot be written to {folder} ({error.strerror or error}), "
            f"expected a folder with room for {megabytes(sum(file.size for file in origin.downloads))}: "
            f"set {CACHE} to another one."
        ) from error


def megabytes(size: int) -> str:
    """Return a number of bytes for people."""
    return f"{size / 1e6:.1f} MB"


def _fill(origin: Origin, folder: Path, patience: Patience, progress: bool | Literal["auto"]) -> Iterator[str]:
    """Bring what is missing or wrong, and yield its names."""
    missing = [file for file in origin.files if not _is_right(folder / file.name, file)]
    if origin.archive is None:
        for file in missing:
            _bring(file, origin, folder, patience, progress).replace(folder / file.name)
            yield file.name
    elif missing:
        part = _bring(origin.archive, origin, folder, patience, progress)
        for file in missing:
            unpack(part, file, folder / (file.name + PARTIAL)).replace(folder / file.name)
            yield file.name
        part.unlink()


def _bring(
    file: PublicFile, origin: Origin, folder: Path, patience: Patience, progress: bool | Literal["auto"]
) -> Path:
    """Return the partial file once it is whole and right; its addresses are tried in turn."""
    part = folder / (file.name + PARTIAL)
    # Line ends may differ from those of the checksum, so a text may be longer than its size, though never twice.
    wanted = Wanted(file.size, 2 * file.size, lambda path: _is_right(path, file))
    reasons = []
    with progress_bar(progress, file.name, file.size) as bar:
        for url in file.urls:
            try:
                transfer(url, part, wanted, patience, lambda done: bar.update(done, _note(done, file.size)))
                return part
            except (BrokenOffError, RefusedError) as error:
                reasons.append(f"{url}: {error}")
            except WrongContentError as error:
                reasons.append(f"{url}: {error}, {_found(part)}")
                part.unlink(missing_ok=True)
    raise InputError(_sentence(file, origin, reasons, part))


def _sentence(file: PublicFile, origin: Origin, reasons: list[str], part: Path) -> str:
    kept = "what came is kept, so run the command again to go on" if part.exists() else "nothing was kept"
    return (
        f"{file.name} of {origin.name} could not be fetched ({'; '.join(reasons)}), expected {file.size} bytes with "
        f"sha256 {file.sha256}: {kept}, or get it from {origin.page} and set {ENVIRONMENT} to its folder."
    )


def _found(part: Path) -> str:
    with part.open("rb") as file:
        return f"found sha256 {hashlib.file_digest(file, 'sha256').hexdigest()}"


def _is_right(path: Path, file: PublicFile) -> bool:
    return path.is_file() and path.stat().st_size > 0 and matches(path.read_bytes(), file.sha256)


def _note(done: int, size: int) -> str:
    return f"{done / 1e6:.1f} of {megabytes(size)}"


@contextmanager
def _alone(folder: Path, name: str) -> Iterator[None]:
    """Keep a second fetch from writing into the same partial file, where the system has locks."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(f"{name} is being fetched by another process: wait until it is done.") from error
        yield
