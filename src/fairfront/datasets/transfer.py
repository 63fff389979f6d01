"""Bring one file from one address, going on from where it broke."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from ..validation import check_count, check_positive
from .origin import PublicFile

CHUNK = 1 << 16
LOOPBACK = ("127.0.0.1", "localhost", "::1")
PASSING = (408, 425, 429)


@dataclass(frozen=True)
class Patience:
    """Say how long a download may take its time.

    Parameters
    ----------
    timeout : float, default 30
        Seconds without a byte after which a connection counts as stalled.
    tries : int, default 4
        Tries in a row that bring nothing new before giving up.
    pause : float, default 1
        Seconds before the second try; doubled before each further one.
    redirects : int, default 5
        Redirects that are followed.
    """

    timeout: float = 30.0
    tries: int = 4
    pause: float = 1.0
    redirects: int = 5

    def __post_init__(self) -> None:
        check_positive(self.timeout, "timeout")
        check_count(self.tries, "tries")
        check_positive(self.pause, "pause", zero=True)
        check_count(self.redirects, "redirects", least=0)


class BrokenOffError(Exception):
    """The connection failed or ended early; trying again may help."""


class RefusedError(Exception):
    """The address does not serve the file; trying again does not help."""


class WrongContentError(Exception):
    """The address serves another file."""


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
            if not _receive(url, part, wanted, patience, report) and not wanted.is_at(part):
                raise WrongContentError("another file than expected")
        except BrokenOffError:
            failures = 1 if _size(part) > most else failures + 1
            most = max(most, _size(part))
            if failures >= patience.tries and not wanted.is_at(part):
                raise
            time.sleep(patience.pause * 2 ** (failures - 1))


def _receive(url: str, part: Path, wanted: PublicFile, patience: Patience, report: Callable[[int], None]) -> bool:
    """Take one answer into ``part``; say whether the next try should start from nothing."""
    start = _size(part)
    with _answer(url, start, patience, part) as answer:
        resumed = answer.status == 206
        if resumed and not str(answer.headers.get("Content-Range", "")).startswith(f"bytes {start}-"):
            part.unlink()
            raise BrokenOffError("the server sent another part of the file than was asked for")
        done = start if resumed else 0
        with part.open("ab" if resumed else "wb") as file:
            _copy(answer, file, done, wanted, report)
    mixed = resumed and start > 0 and not wanted.is_at(part)
    if mixed:
        part.unlink()
    return mixed


def _copy(answer: Any, file: IO[bytes], start: int, wanted: PublicFile, report: Callable[[int], None]) -> None:
    """Copy the body; an end before the announced length, or else the expected size, counts as broken off."""
    announced = _length(answer)
    done, end = start, wanted.size if announced is None else start + announced
    while announced is None or done < end:
        chunk = _read(answer)
        if not chunk:
            break
        file.write(chunk)
        file.flush()  # what has come outlives the process
        done += len(chunk)
        report(done)
        # line ends may differ from those of the checksum, so a text may be longer than its size, though never twice
        if done > 2 * wanted.size:
            raise WrongContentError(f"more than {2 * wanted.size} bytes")
    if done < end:
        raise BrokenOffError(f"the connection ended after {done} of {end} bytes")


def _read(answer: Any) -> bytes:
    # read1 hands over what has come, so that a stall loses nothing.
    try:
        return bytes(answer.read1(CHUNK))
    except TimeoutError as error:
        raise BrokenOffError("the connection stalled") from error
    except (OSError, HTTPException) as error:
        raise BrokenOffError(f"the connection broke: {error}") from error


def _answer(url: str, start: int, patience: Patience, part: Path) -> Any:
    """Return the open answer to a request for everything from byte ``start``."""
    if not _allowed(url, url):
        raise RefusedError(f"the address is not https: {url}")
    headers = {"User-Agent": "fairfront", "Accept-Encoding": "identity"}
    request = Request(url, headers=headers | ({"Range": f"bytes={start}-"} if start else {}))
    try:
        return _opener(url, patience).open(request, timeout=patience.timeout)
    except HTTPError as error:
        error.close()
        raise _judged(error, part) from error
    except TimeoutError as error:
        raise BrokenOffError("the connection stalled") from error
    except (URLError, OSError, HTTPException) as error:
        raise BrokenOffError(f"no connection: {getattr(error, 'reason', error)}") from error


def _judged(error: HTTPError, part: Path) -> Exception:
    if error.code == 416:  # nothing lies beyond what is here, and what is here is not right
        part.unlink(missing_ok=True)
        return BrokenOffError("the server has no more of the file")
    if 300 <= error.code < 400:
        return RefusedError("the address redirects in a circle, too often, or to something other than https")
    said = f"the server answered {error.code} {error.reason}".strip()
    return BrokenOffError(said) if error.code >= 500 or error.code in PASSING else RefusedError(said)


def _opener(url: str, patience: Patience) -> OpenerDirector:
    class Redirects(HTTPRedirectHandler):
        max_redirections = max_repeats = patience.redirects

        def redirect_request(
            self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
        ) -> Request | None:
            if not _allowed(newurl, url):
                fp.close()
                raise RefusedError(f"the address redirects to {newurl}, which is not https")
            return super().redirect_request(req, fp, code, msg, headers, newurl)

    # A proxy cannot reach this computer's own loopback address.
    return build_opener(Redirects, *([ProxyHandler({})] if _loopback(url) else []))


def _allowed(url: str, first: str) -> bool:
    scheme = urlsplit(url).scheme
    return scheme == "https" or (scheme == "http" and _loopback(url) and _loopback(first))


def _loopback(url: str) -> bool:
    return urlsplit(url).hostname in LOOPBACK


def _length(answer: Any) -> int | None:
    text = answer.headers.get("Content-Length", "")
    return int(text) if text.isdigit() else None


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0
