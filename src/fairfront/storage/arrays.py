"""Arrays of numbers in one npz file whose bytes depend on nothing but the arrays."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ..exceptions import InputError

NAME = re.compile(r"[A-Za-z0-9_.\-]+")
KINDS = "biufc"
LONG_AGO = (1980, 1, 1, 0, 0, 0)


def pack(arrays: Mapping[str, NDArray[Any]]) -> tuple[bytes, dict[str, Any]]:
    """Return the bytes of an npz file, and the type and shape of every array in it."""
    described: dict[str, Any] = {}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(arrays):
            array = _checked(name, arrays[name])
            inside = io.BytesIO()
            npy.write_array(inside, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", LONG_AGO), inside.getvalue())
            described[name] = {"dtype": array.dtype.str, "shape": list(array.shape)}
    return buffer.getvalue(), described


def _checked(name: Any, values: Any) -> NDArray[Any]:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InputError(f"array has the name {name!r}, expected letters, digits, '.', '_' and '-' only.")
    array = np.asarray(values)
    if array.dtype.kind not in KINDS:
        raise InputError(
            f"array {name!r} is of type {array.dtype}, expected numbers or booleans; text belongs into the content."
        )
    return array


def unpack(packed: bytes, described: Mapping[str, Any], file: str) -> dict[str, NDArray[Any]]:
    """Return the arrays that are described, refusing objects, which only code could bring back, and other shapes."""
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            inside = set(archive.namelist())
            missing = [name for name in described if f"{name}.npy" not in inside]
            if missing:
                raise InputError(f"{file} lacks the array {missing[0]!r}; copy it again or make it anew.")
            strange = inside - {f"{name}.npy" for name in described}
            if strange:
                raise InputError(f"{file} holds {min(strange)!r}, which its JSON does not name; make it anew.")
            return {name: _read(archive, name, known, file) for name, known in described.items()}
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        raise InputError(f"{file} is not an npz file or is damaged; copy it again or make it anew.") from error


def _read(archive: zipfile.ZipFile, name: str, known: Mapping[str, Any], file: str) -> NDArray[Any]:
    with archive.open(f"{name}.npy") as inside:
        try:
            array = npy.read_array(inside, allow_pickle=False)
        except ValueError as error:
            what = "holds objects" if "allow_pickle" in str(error) else "cannot be read"
            raise InputError(
                f"array {name!r} of {file} {what}, expected numbers; objects could run code and are never loaded."
            ) from error
    if array.dtype.kind not in KINDS:
        raise InputError(f"array {name!r} of {file} is of type {array.dtype}, expected numbers or booleans.")
    if array.dtype.str != known["dtype"] or list(array.shape) != known["shape"]:
        raise InputError(
            f"array {name!r} of {file} has type {array.dtype.str} and shape {list(array.shape)}, expected "
            f"{known['dtype']} and {known['shape']}; make it anew."
        )
    return np.asarray(array)
