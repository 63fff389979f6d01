"""Estimators of other packages in files of skops, never pickle.

It names the types in a file before it builds any: those that it trusts (most of scikit-learn, numpy, scipy) load as
they are, any other has to be confirmed by name. Nearest neighbours and support vector machines carry rows that they
were trained on, and so does their file.
"""

from __future__ import annotations

import io
import json
import shlex
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import ChangedError, InputError, require, spelled
from ..validation import shown
from .documents import archive_of, is_stored, read_bytes
from .folders import write_file

SUFFIX = ".skops"
OWN = {
    *(f"fairfront.problems.guesses.{name}" for name in ("Guess", "Posteriors", "Scaling")),
    "fairfront.problems.posteriors.RuleClassifier",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
}
"""Types of the models that fairfront itself fits and writes: they hold values and run nothing when they are built."""
PURPOSE = "saving or loading an estimator of another package"
SKOPS_SCHEMA = "schema.json"


def write_estimator(path: Any, model: Any) -> None:
    """Write equal bytes for equal estimators."""
    skops = require("skops.io", "skops", PURPOSE)
    try:
        data = _respelt(skops.dumps(model))
        for name in skops.get_untrusted_types(data=data):
            if "<" in name:
                raise TypeError(f"{name} can be found by nobody but this session")
    except Exception as error:  # whatever a foreign object raises when it is taken apart
        raise InputError(
            f"{type(model).__name__} cannot be saved ({_first_line(error)}), expected a fitted estimator whose classes "
            "and functions are defined in modules; move them into one."
        ) from error
    write_file(path, data)


def untrusted_types(path: Any) -> tuple[str, ...]:
    """Find the types that skops does not trust by itself, in a file or a folder; nothing is built to find them."""
    place = Path(path)
    names: set[str] = set()
    for file in place.rglob(f"*{SUFFIX}") if place.is_dir() else [place]:
        with _loading(file) as (skops, data):
            names.update(skops.get_untrusted_types(data=data))
    return tuple(sorted(names - OWN))


def check_trusted(path: Any, trusted: Sequence[str]) -> None:
    if isinstance(trusted, (str, bool)):
        raise InputError(f"trusted is {shown(trusted)}, expected a list of type names.")
    unknown = [name for name in untrusted_types(path) if name not in trusted]
    if unknown:
        words = " ".join(f"--trust {shlex.quote(name)}" for name in unknown)
        both = f"trusted={unknown!r} ({words} on the command line)"
        raise InputError(
            f"{path} holds types that are not known to be harmless when loaded: {', '.join(unknown)}; if you trust "
            f"where it is from, confirm them with {both if spelled('trusted') == 'trusted' else words}."
        )


def read_estimator(path: Any, trusted: Sequence[str] = ()) -> Any:
    check_trusted(path, trusted)
    with _loading(path) as (skops, data):
        return skops.loads(data, trusted=[*trusted, *OWN])


@contextmanager
def _loading(path: Any) -> Iterator[tuple[Any, bytes]]:
    """Refuse compressed members, and say in one sentence whatever fails inside."""
    skops = require("skops.io", "skops", PURPOSE)
    data = read_bytes(path)
    damaged = f"{path} is not a file of skops or is damaged; copy it again or save the estimator again."
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            packed = [entry.filename for entry in archive.infolist() if not is_stored(entry)]
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise ChangedError(damaged) from error
    if packed:
        raise InputError(f"{path} holds {packed[0]!r} compressed, expected it as it is; save the estimator again.")
    try:
        yield skops, data
    except Exception as error:  # packages that are missing or too old, and damaged files, fail in ways of their own
        said = f"{path} cannot be loaded ({_first_line(error)}); save the estimator again with the versions used here."
        if isinstance(error, ImportError):
            said = f"{path} needs a package that is not here ({_first_line(error)}); install it and load again."
        raise InputError(damaged if isinstance(error, zipfile.BadZipFile) else said) from error


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def _respelt(data: bytes) -> bytes:
    """Return an archive of skops in one spelling, so that equal models give equal bytes.

    As skops writes it, objects are numbered by their place in memory, files are named by these numbers or at random,
    and members carry the time. Here both are counted in the order of the schema. Texts, numbers and booleans have the
    number of the first that is equal: whether two of them are one object in memory is chance, and nothing can change
    them. Everything else stays one object exactly where it was one.
    """
    numbers: dict[Any, int] = {}
    files: dict[str, str] = {}

    def respell(node: Any) -> Any:
        if isinstance(node, list):
            return [respell(each) for each in node]
        if not isinstance(node, dict):
            return node
        if node.get("__loader__") == "SetNode" and isinstance(node.get("content"), list):
            by_text = sorted(node["content"], key=lambda each: json.dumps({**each, "__id__": 0}, sort_keys=True))
            node = {**node, "content": by_text}
        new: dict[str, Any] = {}
        for key, value in node.items():
            if key == "__id__" and isinstance(value, int):
                leaf = node.get("__loader__") == "JsonNode"
                new[key] = numbers.setdefault(node["content"] if leaf else value, len(numbers) + 1)
            elif key == "file" and isinstance(value, str) and value in names:
                new[key] = files.setdefault(value, f"{len(files)}{PurePosixPath(value).suffix}")
            else:
                new[key] = respell(value)
        return new

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = set(archive.namelist())
        schema = respell(json.loads(archive.read(SKOPS_SCHEMA)))
        members = {new: _without_gaps(archive.read(old), new) for old, new in files.items()}
    return archive_of({**members, SKOPS_SCHEMA: json.dumps(schema, indent=1).encode("ascii")})


def _without_gaps(data: bytes, name: str) -> bytes:
    """Put zeros between the fields of records, where whatever was in memory is stored else."""
    array: NDArray[Any] | None = np.load(io.BytesIO(data), allow_pickle=False) if name.endswith(".npy") else None
    if array is None or array.dtype.names is None:
        return data
    clean = np.zeros(array.shape, array.dtype)
    for field in array.dtype.names:
        clean[field] = array[field]
    buffer = io.BytesIO()
    np.save(buffer, clean, allow_pickle=False)
    return buffer.getvalue()
