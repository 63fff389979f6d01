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

ENVIRONMENT = "FAIRFRONT_DATA"
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

    def read(self, folder: Folder = None) -> dict[str, str]:
        """Return the text of every file, checked.

        Parameters
        ----------
        folder : path, optional
            The data set's own folder or its parent; default: the environment variable ``FAIRFRONT_DATA``.
        """
        home = self._home(folder)
        return {file: self._checked(home, file).decode("utf-8") for file in self.files}

    def _home(self, folder: Folder) -> Path:
        given = folder or os.environ.get(ENVIRONMENT)
        if not given:
            raise InputError(
                f"no folder given for the data set {self.name}, expected one with {', '.join(self.files)} "
                f"(see {self.origin}): pass folder=... or set the environment variable {ENVIRONMENT}."
            )
        home = Path(given).expanduser()
        return home / self.name if (home / self.name).is_dir() else home

    def _checked(self, home: Path, file: str) -> bytes:
        path = home / file
        if not path.is_file():
            raise InputError(
                f"the file {file} of the data set {self.name} was not found, expected at {path}: "
                f"get it from {self.origin}, or pass the folder that holds it."
            )
        content = path.read_bytes()
        if self.files[file] not in _digests(content):
            raise InputError(
                f"{path} has sha256 {_sha256(content)}, expected {self.files[file]}: it is another version "
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


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _digests(content: bytes) -> set[str]:
    # Version control and archives rewrite line ends; no value depends on them.
    unix = content.replace(b"\r\n", b"\n")
    return {_sha256(content), _sha256(unix), _sha256(unix.replace(b"\n", b"\r\n"))}
