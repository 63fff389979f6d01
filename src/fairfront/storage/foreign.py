"""Estimators that a user brought, through skops, which names the types in a file before it builds any of them.

Types that skops trusts by itself (most of scikit-learn, numpy, scipy) load as they are; any other has to be confirmed
by name. Nothing here is ever pickled. A fitted estimator keeps what it keeps: nearest neighbours and support vector
machines carry rows that they were trained on, and so does their file.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..exceptions import ChangedError, InputError, require, spelled
from ..validation import shown
from .archives import is_stored, respelt
from .documents import read_bytes
from .folders import write_file

PURPOSE = "saving or loading an estimator of another package"
SUFFIX = ".skops"
OWN = (
    "fairfront.problems.posteriors.Guess",
    "fairfront.problems.posteriors.PosteriorClassifier",
    "fairfront.problems.posteriors.Posteriors",
    "fairfront.problems.posteriors.Scaling",
)
"""Our own types around a user's estimators: they hold values and run nothing when they are built."""


def write_estimator(path: Any, model: Any) -> None:
    """Write a fitted estimator to one file; equal estimators give equal bytes."""
    skops = require("skops.io", "skops", PURPOSE)
    try:
        data = respelt(skops.dumps(model))
        nameless = [name for name in skops.get_untrusted_types(data=data) if "<" in name]
    except Exception as error:  # whatever a foreign object raises when it is taken apart
        raise InputError(_unfit(model, _first_line(error))) from error
    if nameless:
        raise InputError(_unfit(model, f"{nameless[0]} can be found by nobody but this session"))
    write_file(path, data)


def _unfit(model: Any, why: str) -> str:
    return (
        f"{type(model).__name__} cannot be saved ({why}), expected a fitted estimator whose classes and functions are "
        "defined in modules; move them into one."
    )


def untrusted_types(path: Any) -> tuple[str, ...]:
    """Return the names of types that skops does not trust by itself, in a file or in all estimators of a folder.

    Nothing is built to find them.
    """
    skops = require("skops.io", "skops", PURPOSE)
    place = Path(path)
    files = sorted(place.rglob(f"*{SUFFIX}")) if place.is_dir() else [place]
    return tuple(sorted({name for file in files for name in _types(skops, file)}))


def _types(skops: Any, file: Path) -> list[str]:
    data = _bytes(file)
    try:
        return [name for name in skops.get_untrusted_types(data=data) if name not in OWN]
    except Exception as error:  # a damaged file fails in many ways
        raise InputError(_damaged(file, error)) from error


def check_trusted(path: Any, trusted: Sequence[str]) -> None:
    """Refuse a file, or a folder of them, with types that were not confirmed, and name them all."""
    if isinstance(trusted, (str, bool)):
        raise InputError(f"trusted is {shown(trusted)}, expected a list of type names.")
    unknown = [name for name in untrusted_types(path) if name not in trusted]
    if unknown:
        words = " ".join(f"--trust {name}" for name in unknown)
        both = f"trusted={unknown!r} ({words} on the command line)"
        raise InputError(
            f"{path} holds types that are not known to be harmless when loaded: {', '.join(unknown)}; if you trust "
            f"where it is from, confirm them with {both if spelled('trusted') == 'trusted' else words}."
        )


def read_estimator(path: Any, trusted: Sequence[str] = ()) -> Any:
    """Return the estimator of a file; types that skops does not trust have to be named in ``trusted``."""
    skops = require("skops.io", "skops", PURPOSE)
    check_trusted(path, trusted)
    try:
        return skops.loads(_bytes(path), trusted=[*trusted, *OWN])
    except Exception as error:  # packages that are missing or too old fail in ways of their own
        raise InputError(_damaged(path, error)) from error


def _bytes(path: Any) -> bytes:
    data = read_bytes(path)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            packed = [entry.filename for entry in archive.infolist() if not is_stored(entry)]
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise ChangedError(_damaged(path, zipfile.BadZipFile())) from error
    if packed:
        raise InputError(f"{path} holds {packed[0]!r} compressed, expected it as it is; save the estimator anew.")
    return data


def _damaged(path: Any, error: Exception) -> str:
    if isinstance(error, ImportError):
        return f"{path} needs a package that is not here ({_first_line(error)}); install it and load again."
    if isinstance(error, zipfile.BadZipFile):
        return f"{path} is not a file of skops or is damaged; copy it again or save the estimator anew."
    return f"{path} cannot be loaded ({_first_line(error)}); save the estimator anew with the versions used here."


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
