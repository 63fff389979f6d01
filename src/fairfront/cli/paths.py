"""Paths given on the command line: names that no file can have are refused before any work is done."""

from __future__ import annotations

from pathlib import Path

import typer

from ..exceptions import InputError
from .usage import name_of, short


def checked(param: typer.CallbackParam, path: Path | None) -> Path | None:
    """Return a path as it was given; the system tells only when it is asked whether a file can have such a name."""
    if path is not None:
        try:
            path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            raise InputError(
                f"{name_of(param)} is {short(repr(str(path)))}, which cannot be read or written "
                f"({error.strerror}), expected the path of a file or folder; choose another."
            ) from error
    return path
