"""Read the files of a data set from a folder, after checking that they are the files that are meant."""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..validation import check_path
from .origins import Origin
from .places import ENVIRONMENT, find, given_folder, own_folder

Folder = str | os.PathLike[str] | None


@dataclass(frozen=True)
class Source:
    """Say where the files of one data set come from and what they must be.

    Parameters
    ----------
    name : str
        Name of the data set and of its own folder.
    origin : str
        Address from which people can get the files.
    files : mapping of str to str
        sha256 of each file by file name. Line ends may be LF or CRLF, whatever the copy has.
    """

    name: str
    origin: str
    files: Mapping[str, str]

    @classmethod
    def of(cls, origin: Origin) -> Source:
        """Return the source of a registered origin."""
        return cls(origin.name, origin.page, {file.name: file.sha256 for file in origin.files})

    def read(self, folder: Folder = None) -> dict[str, str]:
        """Return the text of every file, checked.

        Parameters
        ----------
        folder : path, optional
            The data set's own folder or its parent; default: the environment variable ``FAIRFRONT_DATA``,
            then the cache that ``fairfront data fetch`` fills.
        """
        home = self._home(folder)
        return {file: self._checked(home, file).decode("utf-8") for file in self.files}

    def _home(self, folder: Folder) -> Path:
        if folder is not None:
            return own_folder(check_path(folder, "folder").expanduser(), self.name)
        place = find(self.name, self.files)
        home = place.folder if place else given_folder(self.name)
        if home is None:
            raise InputError(
                f"the data set {self.name} is not on this computer, expected {', '.join(self.files)} "
                f"(see {self.origin}): run fairfront data fetch {self.name}, "
                f"pass folder=... or set the environment variable {ENVIRONMENT}."
            )
        return home

    def _checked(self, home: Path, file: str) -> bytes:
        path = home / file
        if not path.is_file():
            raise InputError(
                f"the file {file} of the data set {self.name} was not found, expected at {path}: "
                f"get it from {self.origin}, run fairfront data fetch {self.name}, or pass the folder that holds it."
            )
        content = path.read_bytes()
        if not matches(content, self.files[file]):
            raise InputError(
                f"{path} has sha256 {sha256(content)}, expected {self.files[file]}: it is another version "
                f"or was changed, so get the file again from {self.origin}."
            )
        return content


def table(text: str, delimiter: str = ",") -> list[list[str]]:
    """Return the rows of a delimited text, without empty lines and blanks around the fields."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    return [[value.strip() for value in row] for row in rows if row]


def text_column(values: Iterable[str], missing: tuple[str, ...] = ("", "?")) -> NDArray[Any]:
    """Return a string array, or an object array with ``None`` where a value is missing."""
    cells = [None if value in missing else value for value in values]
    return np.array(cells, dtype=object if None in cells else np.str_)


def number_column(values: Iterable[str], missing: tuple[str, ...] = ("", "?")) -> NDArray[Any]:
    """Return ``int64`` where every value is a whole number, else ``float64`` with NaN where missing."""
    cells = ["nan" if value in missing else value for value in values]
    try:
        return np.array([int(cell) for cell in cells], dtype=np.int64)
    except ValueError:
        return np.array([float(cell) for cell in cells], dtype=np.float64)


def sha256(content: bytes) -> str:
    """Return the checksum in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def matches(content: bytes, checksum: str) -> bool:
    """Say whether the content has the checksum, with LF or CRLF line ends."""
    if sha256(content) == checksum:
        return True
    # Version control and archives rewrite line ends; no value depends on them.
    unix = content.replace(b"\r\n", b"\n")
    return checksum in (sha256(unix), sha256(unix.replace(b"\n", b"\r\n")))
