"""Origins of data sets: where files are published and on which terms, where they lie here, and what they must be."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..validation import Registry, check_count, check_path, check_positive

ENVIRONMENT = "FAIRFRONT_DATA"
CACHE = "FAIRFRONT_CACHE"
MISSING = ("", "?")
"""Missing values in the files of public data sets."""
Folder = str | os.PathLike[str] | None


class Place(NamedTuple):
    """A folder that holds all files of a data set: ``label`` is "FAIRFRONT_DATA" or "cache"."""

    label: str
    folder: Path


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


@dataclass(frozen=True)
class PublicFile:
    """One published file: its name, bytes and checksum as published, and its addresses, tried in this order.

    A file that comes out of an archive has no addresses.
    """

    name: str
    size: int
    sha256: str
    urls: tuple[str, ...] = ()

    def matches(self, content: bytes) -> bool:
        """Say whether the content has the checksum, with LF or CRLF line ends."""
        if hashlib.sha256(content).hexdigest() == self.sha256:
            return True
        # Version control and archives rewrite line ends; no value depends on them.
        unix = content.replace(b"\r\n", b"\n")
        return any(hashlib.sha256(each).hexdigest() == self.sha256 for each in (unix, unix.replace(b"\n", b"\r\n")))

    def is_at(self, path: Path) -> bool:
        return path.is_file() and path.stat().st_size > 0 and self.matches(path.read_bytes())


@dataclass(frozen=True)
class Origin:
    """Describe where a data set comes from and what it holds, without loading it.

    Parameters
    ----------
    name : str
        Name in the registry of data sets.
    page : str
        Page on which people read about the data set; empty where the data are part of the package.
    rows : int
        Rows that the loader returns by default.
    terms : str
        Licence or terms in a few words.
    target : str
        Column to predict, by default.
    groups : tuple of str
        Sensitive columns.
    files : tuple of PublicFile
        Files that the loader reads; empty where the data are part of the package.
    archive : PublicFile, optional
        Archive that holds ``files``, where they are not published one by one.
    csv_id : str
        Name of a column of identifiers in the CSV file of the data set; empty for none.
    csv_columns : tuple of str
        Columns of the CSV file that are neither features nor groups nor target.
    """

    name: str
    page: str
    rows: int
    terms: str
    target: str
    groups: tuple[str, ...]
    files: tuple[PublicFile, ...] = field(default=(), repr=False)
    archive: PublicFile | None = field(default=None, repr=False)
    csv_id: str = ""
    csv_columns: tuple[str, ...] = ()

    @property
    def embedded(self) -> bool:
        """Say whether the data are part of the package."""
        return not self.files

    @property
    def downloads(self) -> tuple[PublicFile, ...]:
        """Return what has to be downloaded: the archive, or every file."""
        return self.files if self.archive is None else (self.archive,)

    def place(self) -> Place | None:
        """Return the first place that holds every file: ``FAIRFRONT_DATA``, then the cache."""
        if self.embedded:
            return None
        for place in (self._given(), Place("cache", cache_folder() / self.name)):
            if place is not None and all((place.folder / file.name).is_file() for file in self.files):
                return Place(place.label, place.folder.absolute())
        return None

    def read(self, folder: Folder = None) -> dict[str, str]:
        """Return the text of every file by its name, checked.

        Parameters
        ----------
        folder : path, optional
            The data set's own folder or its parent; default: the environment variable ``FAIRFRONT_DATA``,
            then the cache that ``fairfront data fetch`` fills.
        """
        if folder is not None:
            home = self._own(check_path(folder, "folder"))
        else:
            place = self.place() or self._given()
            if place is None:
                raise InputError(
                    f"the data set {self.name} is not on this computer, expected "
                    f"{', '.join(file.name for file in self.files)} (see {self.page}): run fairfront data fetch "
                    f"{self.name}, pass folder=... or set the environment variable {ENVIRONMENT}."
                )
            home = place.folder
        return {file.name: self._checked(home / file.name, file) for file in self.files}

    def _given(self) -> Place | None:
        """The folder by ``FAIRFRONT_DATA``, whatever it holds."""
        home = os.environ.get(ENVIRONMENT)
        return Place(ENVIRONMENT, self._own(Path(home))) if home else None

    def _own(self, home: Path) -> Path:
        """Return the data set's own folder in ``home``, or ``home`` where it has none."""
        own = home.expanduser() / self.name
        return own if own.is_dir() else own.parent

    def _checked(self, path: Path, file: PublicFile) -> str:
        if not path.is_file():
            raise InputError(
                f"the file {file.name} of the data set {self.name} was not found, expected at {path}: "
                f"get it from {self.page}, run fairfront data fetch {self.name}, or pass the folder that holds it."
            )
        content = path.read_bytes()
        if not file.matches(content):
            raise InputError(
                f"{path} has sha256 {hashlib.sha256(content).hexdigest()}, expected {file.sha256}: it is another "
                f"version or was changed, so get the file again from {self.page}."
            )
        return content.decode("utf-8")


ORIGINS: Registry[Origin] = Registry("data set")


def published(address: str, *files: tuple[str, int, str]) -> tuple[PublicFile, ...]:
    """Describe files (name, size, sha256) that are published one by one below an address."""
    return tuple(PublicFile(name, size, sha256, (f"{address}/{name}",)) for name, size, sha256 in files)


def cache_folder() -> Path:
    """Return the folder that fairfront may fill: ``FAIRFRONT_CACHE``, or ``fairfront`` in the user's cache."""
    given = os.environ.get(CACHE)
    return Path(given).expanduser().absolute() if given else _user_cache() / "fairfront"


def _user_cache() -> Path:
    # The XDG rules say that a relative path counts as not set.
    given = os.environ.get("XDG_CACHE_HOME", "")
    if Path(given).is_absolute():
        return Path(given)
    if sys.platform == "win32" and os.environ.get("LOCALAPPDATA"):
        return Path(os.environ["LOCALAPPDATA"])
    try:
        home = Path.home()
    except RuntimeError as error:
        raise InputError(
            f"this user has no home folder ({error}), expected a cache: set {CACHE} to a folder."
        ) from error
    return home / "Library" / "Caches" if sys.platform == "darwin" else home / ".cache"


def table(text: str, delimiter: str = ",") -> list[list[str]]:
    """Return the rows of a delimited text, without empty lines and blanks around the fields."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    return [[value.strip() for value in row] for row in rows if row]


def columns_of(values: Mapping[str, Sequence[str]], numbers: Collection[str]) -> dict[str, NDArray[Any]]:
    return {name: (number_column if name in numbers else text_column)(cells) for name, cells in values.items()}


def text_column(values: Iterable[str]) -> NDArray[Any]:
    """Return a string array, or an object array with ``None`` where a value is missing."""
    cells = [None if value in MISSING else value for value in values]
    return np.array(cells, dtype=object if None in cells else np.str_)


def number_column(values: Iterable[str]) -> NDArray[Any]:
    """Return ``int64`` where every value is a whole number, else ``float64`` with NaN where missing."""
    cells = ["nan" if value in MISSING else value for value in values]
    try:
        return np.array([int(cell) for cell in cells], dtype=np.int64)
    except ValueError:
        return np.array([float(cell) for cell in cells], dtype=np.float64)
