"""Arrays of numbers in one npz file whose bytes depend on nothing but the arrays."""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Mapping
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ..exceptions import ChangedError, InputError
from .documents import AGAIN

LONG_AGO = (1980, 1, 1, 0, 0, 0)
UNIX = 3
NAME = re.compile(r"[A-Za-z0-9_.\-]+")
KINDS = "biufc"


def archive_of(members: Mapping[str, bytes]) -> bytes:
    """Return a zip file with some members in their order: nothing is compressed, no time and no system is noted."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            entry = zipfile.ZipInfo(name, LONG_AGO)
            entry.create_system, entry.external_attr = UNIX, 0o600 << 16
            archive.writestr(entry, data)
    return buffer.getvalue()


def is_stored(entry: zipfile.ZipInfo) -> bool:
    """Tell whether a member takes as many bytes in memory as in its file; compressed ones could take any number."""
    return entry.compress_type == zipfile.ZIP_STORED and entry.compress_size == entry.file_size


def pack(arrays: Mapping[str, NDArray[Any]]) -> tuple[bytes, dict[str, Any]]:
    """Return the bytes of an npz file, and the type and shape of every array in it."""
    described: dict[str, Any] = {}
    members: dict[str, bytes] = {}
    for name in sorted(arrays):
        array = _checked(name, arrays[name])
        inside = io.BytesIO()
        npy.write_array(inside, array, allow_pickle=False)
        members[f"{name}.npy"] = inside.getvalue()
        described[name] = {"dtype": array.dtype.str, "shape": list(array.shape)}
    return archive_of(members), described


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
    """Return the arrays that are described; shapes and sizes are compared before memory is taken for any of them."""
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            inside = [entry.filename for entry in archive.infolist()]
            missing = [name for name in described if f"{name}.npy" not in inside]
            if missing:
                raise ChangedError(f"{file} lacks the array {missing[0]!r}; {AGAIN}")
            strange = set(inside) - {f"{name}.npy" for name in described}
            if strange or len(inside) > len(described):
                raise ChangedError(
                    f"{file} holds {min(strange or inside)!r}, which its JSON does not name; make it anew."
                )
            return {
                name: _read(archive, name, str(known["dtype"]), list(known["shape"]), file)
                for name, known in described.items()
            }
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        raise ChangedError(f"{file} is not an npz file or is damaged; {AGAIN}") from error


def _read(archive: zipfile.ZipFile, name: str, dtype: str, shape: list[int], file: str) -> NDArray[Any]:
    """Return one array: its header is read and compared first, and then just the bytes that it stands for."""
    entry = archive.getinfo(f"{name}.npy")
    if not is_stored(entry):
        raise ChangedError(f"array {name!r} of {file} is compressed, expected it as it is; make it anew.")
    with archive.open(entry) as inside:
        found, fortran, kind = _header(inside, name, file)
        if kind.str != dtype or list(found) != shape:
            raise ChangedError(
                f"array {name!r} of {file} has type {kind.str} and shape {list(found)}, expected {dtype} and {shape}; "
                "make it anew."
            )
        size = kind.itemsize * math.prod(found)
        if size != entry.file_size - inside.tell():
            raise ChangedError(
                f"array {name!r} of {file} has {entry.file_size - inside.tell()} bytes, expected {size} for the shape "
                f"{list(found)}; {AGAIN}"
            )
        flat = np.frombuffer(bytearray(inside.read(size)), dtype=kind)
    return flat.reshape(found[::-1]).T if fortran else flat.reshape(found)


def _header(inside: IO[bytes], name: str, file: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, order and type of an array of numbers; objects, which only code could bring back, are refused."""
    try:
        read = npy.read_array_header_1_0 if npy.read_magic(inside) == (1, 0) else npy.read_array_header_2_0
        shape, fortran, kind = read(inside)
        if min(shape, default=0) < 0:
            raise ValueError(f"shape {shape}")
    except ValueError as error:
        raise ChangedError(f"array {name!r} of {file} cannot be read, expected numbers; {AGAIN}") from error
    if kind.hasobject:
        raise ChangedError(
            f"array {name!r} of {file} holds objects, expected numbers; objects could run code and are never loaded."
        )
    if kind.kind not in KINDS:
        raise ChangedError(f"array {name!r} of {file} is of type {kind}, expected numbers or booleans.")
    return shape, fortran, kind
