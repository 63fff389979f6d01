"""Loading: whatever fairfront wrote, from its folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..frontier.store import load_frontier
from ..storage.places import SEALED, read_folder
from ..validation import check_names, check_path, refuse
from .model import read_model
from .run import read_run


def load(path: Any, *, trusted: Sequence[str] = ()) -> Any:
    """Read a `Frontier`, a `Run` or a `TableModel` from the folder it was saved to.

    Parameters
    ----------
    path : path
        A folder written by ``Frontier.save``, ``Run.save``, ``TableModel.save`` or the command line.
    trusted : sequence of str
        Types inside estimators that a user brought which may be loaded, after reading the list that the error shows.
        Models of fairfront itself are arrays and JSON: loading them executes nothing.
    """
    folder, expected = check_path(path), "a list of the names of types, such as those that an error has listed"
    if isinstance(trusted, str):
        raise refuse("trusted", trusted, expected)
    types = check_names(trusted, "trusted", expected)
    return read_folder(folder, lambda place: _read(place, types))


def _read(folder: Path, types: tuple[str, ...]) -> Any:
    if (folder / "model.json").exists():
        return read_model(folder, types)
    if any((folder / name).exists() for name in SEALED):
        return read_run(folder, types)
    return load_frontier(folder, trusted=types)
