"""The cache of data sets: files fetched from public origins, checked before they count as there, and CSV files."""

from __future__ import annotations

import csv
import hashlib
import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from ..exceptions import InputError
from ..progress import progress_bar
from ..storage.folders import write_file
from ..validation import check_instance, check_progress
from .base import DATASETS, Dataset
from .origin import CACHE, ENVIRONMENT, ORIGINS, Origin, PublicFile, cache_folder
from .transfer import CHUNK, BrokenOffError, Patience, RefusedError, WrongContentError, transfer

PARTIAL = ".partial"
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError, RuntimeError)
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
    place = origin.place()
    if place is not None and place.label == ENVIRONMENT:
        origin.read()
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
    missing = [file for file in origin.files if not file.is_at(folder / file.name)]
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
    reasons, size = [], megabytes(file.size)
    with progress_bar(progress, file.name, file.size) as bar:
        for url in file.urls:
            try:
                transfer(url, part, file, patience, lambda done: bar.update(done, f"{done / 1e6:.1f} of {size}"))
                return part
            except (BrokenOffError, RefusedError) as error:
                reasons.append(f"{url}: {error}")
            except WrongContentError as error:
                reasons.append(f"{url}: {error}, found sha256 {hashlib.sha256(part.read_bytes()).hexdigest()}")
                part.unlink(missing_ok=True)
    kept = "what came is kept, so run the command again to go on" if part.exists() else "nothing was kept"
    raise InputError(
        f"{file.name} of {origin.name} could not be fetched ({'; '.join(reasons)}), expected {file.size} bytes with "
        f"sha256 {file.sha256}: {kept}, or get it from {origin.page} and set {ENVIRONMENT} to its folder."
    )


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


def unpack(archive: Path, file: PublicFile, part: Path) -> Path:
    """Write the archive's member ``file.name`` to ``part`` and return it, checked.

    Only the name that is asked for is looked up and ``part`` is the only path written, so a member with a path such
    as ``../x`` or a link reaches nothing. No more than twice the file's size is unpacked, whatever the archive says.
    """
    try:
        with zipfile.ZipFile(archive) as opened, opened.open(file.name) as member, part.open("wb") as out:
            _unpacked(member, out, 2 * file.size)
    except DAMAGE as error:
        part.unlink(missing_ok=True)
        raise InputError(
            f"{archive.name} cannot be unpacked ({error}), expected a zip archive that holds {file.name}: "
            "delete it and fetch again."
        ) from error
    if not file.is_at(part):
        part.unlink()
        raise InputError(
            f"{file.name} in {archive.name} is another file than expected (sha256 {file.sha256}): it was removed."
        )
    return part


def _unpacked(member: IO[bytes], out: IO[bytes], limit: int) -> None:
    done = 0
    while chunk := member.read(CHUNK):
        done += len(chunk)
        if done > limit:
            raise zipfile.BadZipFile(f"it unpacks to more than {limit} bytes")
        out.write(chunk)


def csv_path(name: str) -> Path:
    """Return the CSV file of a data set in the cache, written if it is not there yet or not as it should be."""
    data = DATASETS[name]()
    path = cache_folder() / name / f"{name}.csv"
    content = as_csv(data).encode()
    try:
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, content, overwrite=True)
    except OSError as error:
        raise InputError(
            f"{path} cannot be written ({error.strerror or error}), expected a folder that can be written to: "
            f"set {CACHE} to another one."
        ) from error
    return path


def as_csv(data: Dataset) -> str:
    """Return features, sensitive columns and target as text, with what the origin adds; empty cells are missing.

    Other columns stay out: some of them hold the target or the group in other words.
    """
    origin = ORIGINS[data.name]
    names = (*data.features, *origin.csv_columns, *data.sensitive, data.target)
    columns = {name: data.columns[name].tolist() for name in names}
    if origin.csv_id:
        columns = {origin.csv_id: [f"ID-{k + 1:06d}" for k in range(len(data))], **columns}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in zip(*columns.values(), strict=True))
    return text.getvalue()


def _cell(value: Any) -> Any:
    return "" if value is None or value != value else value
