"""Paths given on the command line: names that no file can have are refused before any work is done."""

from __future__ import annotations

from pathlib import Path

import typer

from .usage import name_of


def checked(param: typer.CallbackParam, path: Path | None) -> Path | None:
    """Return a path as it was given; what the system does not take is refused under the name of its option."""
    if path is not None:
        try:
            path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError:
            from ..validation import check_path

            check_path(path, name_of(param))
    return path
