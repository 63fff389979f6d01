"""The cache of data sets: files fetched from public origins, checked before they count as there, and CSV files."""

from __future__ import annotations

import hashlib
import time
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from typing import IO, Any, Literal
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from ..exceptions import InputError, progress_bar
from ..storage.folders import fcntl, write_file
from ..validation import check_instance, check_progress
from .base import DATASETS
from .origin import CACHE, ENVIRONMENT, ORIGINS, Origin, Patience, PublicFile, cache_folder

PARTIAL = ".partial"
CHUNK = 1 << 16
LOOPBACK = {"127.0.0.1", "localhost", "::1"}
PASSING = (408, 425, 429)
"""Answers of a server that may be others a little later, besides those from 500 on."""
NETWORK = (OSError, HTTPException)
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError, RuntimeError)
DEFAULT = Patience()


@dataclass(frozen=True)
class Fetched:
    """What `fetch` did.

    Attributes
    ----------
    name : str
        Name of the data set.
    folder : Path
        Where its files lie.
    new : tuple of str
        Those of them that were fetched just now.
    """

    name: str
    folder: Path
    new: tuple[str, ...]


class BrokenOffError(Exception):
    """The connection failed or ended early; trying again may help."""


class RefusedError(Exception):
    """The address does not serve the file; trying again does not help."""


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
        with (folder / ".lock").open("w") as lock:
            try:
                if fcntl is not None:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise InputError(f"{name} is being fetched by another process: wait until it is done.") from error
            missing = [file for file in origin.files if not file.is_at(folder / file.name)]
            for file in missing if origin.archive is None else ():
                _bring(file, origin, folder, patience, progress).replace(folder / file.name)
            if origin.archive is not None and missing:
                part = _bring(origin.archive, origin, folder, patience, progress)
                for file in missing:
                    unpack(part, file, folder / (file.name + PARTIAL)).replace(folder / file.name)
                part.unlink()
            return Fetched(name, folder, tuple(file.name for file in missing))
    except OSError as error:
        raise InputError(
            f"{name} cannot be written to {folder} ({error.strerror or error}), "
            f"expected a folder with room for {megabytes(sum(file.size for file in origin.downloads))}: "
            f"set {CACHE} to another one."
        ) from error


def megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def _bring(file: PublicFile, origin: Origin, folder: Path, patience: Patience, progress: Any) -> Path:
    """The partial file once it is whole and right; its addresses are tried in turn."""
    part = folder / (file.name + PARTIAL)
    reasons, size = [], megabytes(file.size)
    with progress_bar(progress, file.name, file.size) as bar:
        for url in file.urls:
            try:
                transfer(url, part, file, patience, lambda done: bar.update(done, f"{done / 1e6:.1f} of {size}"))
                return part
            except (BrokenOffError, RefusedError) as error:
                reasons.append(f"{url}: {error}")
    kept = "what came is kept, so run the command again to go on" if part.exists() else "nothing was kept"
    raise InputError(
        f"{file.name} of {origin.name} could not be fetched ({'; '.join(reasons)}), expected {file.size} bytes with "
        f"sha256 {file.sha256}: {kept}, or get it from {origin.page} and set {ENVIRONMENT} to its folder."
    )


def transfer(
    url: str, part: Path, wanted: PublicFile, patience: Patience, report: Callable[[int], None] = lambda done: None
) -> None:
    """Fill ``part`` with what ``url`` serves until it is right.

    What an earlier try left in ``part`` is kept and asked for no more, where the server can send the rest. A file
    that turns out wrong after such a mixture is asked for once more as a whole.
    """
    failures, most = 0, _size(part)
    while not wanted.is_at(part):
        try:
            resumed = _receive(url, part, wanted, patience, report)
            if not wanted.is_at(part):
                if not resumed:
                    raise _wrong(part, "another file than expected")
                part.unlink()
        except BrokenOffError:
            failures = 1 if _size(part) > most else failures + 1
            most = max(most, _size(part))
            if failures >= patience.tries and not wanted.is_at(part):
                raise
            time.sleep(patience.pause * 2 ** (failures - 1))


def _receive(url: str, part: Path, wanted: PublicFile, patience: Patience, report: Callable[[int], None]) -> bool:
    """Take one answer into ``part``; say whether it was added to what an earlier one left there.

    An end before the announced length, or else the expected size, counts as broken off.
    """
    start = _size(part)
    with _answer(url, start, patience, part) as answer:
        resumed = answer.status == 206
        if resumed and not str(answer.headers.get("Content-Range", "")).startswith(f"bytes {start}-"):
            part.unlink()
            raise BrokenOffError("the server sent another part of the file than was asked for")
        done = start if resumed else 0
        length = answer.headers.get("Content-Length", "")
        end = done + int(length) if length.isdigit() else None
        with part.open("ab" if resumed else "wb") as file:
            while end is None or done < end:
                try:
                    chunk = answer.read1(CHUNK)  # hands over what has come, so that a stall loses nothing
                except NETWORK as error:
                    raise _broken(error, "the connection broke") from error
                if not chunk:
                    break
                file.write(chunk)
                file.flush()  # what has come outlives the process
                done += len(chunk)
                report(done)
                # line ends may differ from those of the checksum, so a text may be longer, though never twice
                if done > 2 * wanted.size:
                    raise _wrong(part, f"more than {2 * wanted.size} bytes")
    expected = wanted.size if end is None else end
    if done < expected:
        raise BrokenOffError(f"the connection ended after {done} of {expected} bytes")
    return bool(resumed and start)


def _answer(url: str, start: int, patience: Patience, part: Path) -> Any:
    class Redirects(HTTPRedirectHandler):
        max_redirections = max_repeats = patience.redirects

        def redirect_request(
            self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
        ) -> Request | None:
            if not _is_allowed(newurl, url):
                fp.close()
                raise RefusedError(f"the address redirects to {newurl}, which is not https")
            return super().redirect_request(req, fp, code, msg, headers, newurl)

    if not _is_allowed(url, url):
        raise RefusedError(f"the address is not https: {url}")
    # a proxy cannot reach this computer's own loopback address
    opener = build_opener(Redirects, *([ProxyHandler({})] if urlsplit(url).hostname in LOOPBACK else []))
    headers = {"User-Agent": "fairfront", "Accept-Encoding": "identity"}
    request = Request(url, headers=headers | ({"Range": f"bytes={start}-"} if start else {}))
    try:
        return opener.open(request, timeout=patience.timeout)
    except HTTPError as error:
        error.close()
        said = f"the server answered {error.code} {error.reason}".strip()
        if error.code == 416:  # nothing lies beyond what is here, and what is here is not right
            part.unlink(missing_ok=True)
            raise BrokenOffError("the server has no more of the file") from error
        if 300 <= error.code < 400:
            said = "the address redirects in a circle, too often, or to something other than https"
        raise (BrokenOffError if error.code >= 500 or error.code in PASSING else RefusedError)(said) from error
    except NETWORK as error:
        raise _broken(error, "no connection") from error


def _broken(error: Exception, what: str) -> BrokenOffError:
    stalled = isinstance(error, TimeoutError)
    return BrokenOffError("the connection stalled" if stalled else f"{what}: {getattr(error, 'reason', error)}")


def _wrong(part: Path, what: str) -> RefusedError:
    found = hashlib.sha256(part.read_bytes()).hexdigest()
    part.unlink()
    return RefusedError(f"{what}, found sha256 {found}")


def _is_allowed(url: str, first: str) -> bool:
    scheme = urlsplit(url).scheme
    return scheme == "https" or (scheme == "http" and {urlsplit(each).hostname for each in (url, first)} <= LOOPBACK)


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def unpack(archive: Path, file: PublicFile, part: Path) -> Path:
    """Write the archive's member ``file.name`` to ``part`` and return it, checked.

    Only the name that is asked for is looked up and ``part`` is the only path written, so a member with a path such
    as ``../x`` or a link reaches nothing. No more than twice the file's size is unpacked, whatever the archive says.
    """
    limit = 2 * file.size
    try:
        with zipfile.ZipFile(archive) as opened, opened.open(file.name) as member, part.open("wb") as out:
            while chunk := member.read(CHUNK):
                if out.tell() + len(chunk) > limit:
                    raise zipfile.BadZipFile(f"it unpacks to more than {limit} bytes")
                out.write(chunk)
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


def csv_path(name: str) -> Path:
    """Return the CSV file of a data set in the cache, written if it is not there yet or not as it should be."""
    content = DATASETS[name]().as_csv().encode()
    path = cache_folder() / name / f"{name}.csv"
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
