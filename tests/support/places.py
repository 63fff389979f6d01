"""Where things are: the repository, the data sets that cannot be embedded, and the package for other processes."""

from __future__ import annotations

import os
from pathlib import Path

import fairfront as ff

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("FAIRFRONT_DATA") or ROOT / "data")
"""The folder of raw data; tests that need it skip where it is not there."""


def environment(*folders: Path) -> dict[str, str]:
    """Return the environment of a process that finds the package under test, the tests and further folders."""
    found = (*folders, ROOT, Path(ff.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(str(folder) for folder in found)}
