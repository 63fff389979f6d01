"""Where the files of a data set may lie on this computer: a folder of yours, then the cache."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..exceptions import InputError

ENVIRONMENT = "FAIRFRONT_DATA"
CACHE = "FAIRFRONT_CACHE"


@dataclass(frozen=True)
class Place:
    """Name a folder that holds all files of a data set: ``label`` is "FAIRFRONT_DATA" or "cache"."""

    label: str
    folder: Path


def cache_folder() -> Path:
    """Return the folder that fairfront may fill: ``FAIRFRONT_CACHE``, or ``fairfront`` in the user's cache."""
    given = os.environ.get(CACHE)
    if given:
        return Path(given).expanduser().absolute()
    return _user_cache() / "fairfront"


def own_folder(home: Path, name: str) -> Path:
    """Return the data set's own folder in ``home``, or ``home`` where it has none."""
    return home / name if (home / name).is_dir() else home


def given_folder(name: str) -> Path | None:
    """Return the data set's folder by ``FAIRFRONT_DATA``, whatever it holds; None where the variable is not set."""
    home = os.environ.get(ENVIRONMENT)
    return own_folder(Path(home).expanduser(), name) if home else None


def find(name: str, files: Iterable[str]) -> Place | None:
    """Return the first place that holds every file: ``FAIRFRONT_DATA``, then the cache."""
    folders = {ENVIRONMENT: given_folder(name), "cache": cache_folder() / name}
    wanted = tuple(files)
    for label, folder in folders.items():
        if folder is not None and all((folder / file).is_file() for file in wanted):
            return Place(label, folder.absolute())
    return None


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
