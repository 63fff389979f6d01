"""Packages that somebody made to do harm, with checksums that fit: refused in one sentence, in bounded memory and time."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fairfront as ff

from .children import REFUSED, Limits, end_of
from .material import frontier
from .tally import Tally

LIMITS = Limits(20, memory=600_000_000)
NAME = "frontier"


class Package:
    """A saved frontier, opened for forgery: change ``document`` and ``arrays``, then `seal`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.document: dict[str, Any] = json.loads((folder / f"{NAME}.json").read_text())
        with zipfile.ZipFile(folder / f"{NAME}.npz") as archive:
            self.arrays = {name: archive.read(name) for name in archive.namelist()}
        self.compressed = False

    @property
    def content(self) -> dict[str, Any]:
        """Return the content of the JSON file."""
        return dict.__getitem__(self.document, "content")

    def array(self, name: str) -> np.ndarray:
        """Return one array."""
        return np.load(io.BytesIO(self.arrays[f"{name}.npy"]))

    def put(self, name: str, values: np.ndarray, **saving: Any) -> None:
        """Replace one array and its description."""
        inside = io.BytesIO()
        np.save(inside, values, **saving)
        self.arrays[f"{name}.npy"] = inside.getvalue()
        self.document["arrays"]["names"][name] = {"dtype": values.dtype.str, "shape": list(values.shape)}

    def header(self, name: str, shape: list[int], data: bytes = b"") -> None:
        """Replace an array by a header of some shape, and data that may not fit it."""
        text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
        text = text.ljust(118 - 1) + "\n"
        self.arrays[f"{name}.npy"] = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + data
        self.document["arrays"]["names"][name] = {"dtype": "<f8", "shape": shape}

    def seal(self) -> None:
        """Write both files with checksums that fit."""
        buffer = io.BytesIO()
        how = zipfile.ZIP_DEFLATED if self.compressed else zipfile.ZIP_STORED
        with zipfile.ZipFile(buffer, "w", how) as archive:
            for name, data in self.arrays.items():
                archive.writestr(name, data)
        packed = buffer.getvalue()
        (self.folder / f"{NAME}.npz").write_bytes(packed)
        self.document["arrays"] |= {"bytes": len(packed), "sha256": hashlib.sha256(packed).hexdigest()}
        self.document.pop("sha256", None)
        plain = json.dumps(self.document, sort_keys=True, separators=(",", ":"))
        self.document["sha256"] = hashlib.sha256(plain.encode()).hexdigest()
        (self.folder / f"{NAME}.json").write_text(json.dumps(self.document))


def _changed(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Package], None]:
    return lambda package: package.put(name, change(package.array(name)))


def _first(value: float) -> Callable[[np.ndarray], np.ndarray]:
    def change(array: np.ndarray) -> np.ndarray:
        array.reshape(-1)[0] = value
        return array

    return change


def _bomb(package: Package) -> None:
    shape = [40_000_000, 1, 10]
    package.header("points.coef", shape, bytes(8 * 100_000_000))
    package.compressed = True


def _foreign(path: str) -> Callable[[Package], None]:
    def change(package: Package) -> None:
        package.document["files"][path] = {"bytes": 0, "sha256": hashlib.sha256(b"").hexdigest()}

    return change


def _content(**values: Any) -> Callable[[Package], None]:
    return lambda package: package.content.update(values)


def _member(name: str) -> Callable[[Package], None]:
    return lambda package: package.arrays.update({name: b"x"})


FORGED: dict[str, Callable[[Package], None]] = {
    "shape of 1e12 numbers in a header": lambda package: package.header("points.coef", [10**12, 1, 3]),
    "negative shape": lambda package: package.header("points.coef", [-1, 1, 3]),
    "shape beyond integers": lambda package: package.header("points.coef", [10**30, 1, 3]),
    "compressed bomb of 800 MB": _bomb,
    "array of objects": lambda package: package.put("points.coef", np.array([print], dtype=object), allow_pickle=True),
    "array of text": lambda package: package.put("points.coef", np.array(["x"])),
    "climbing path": _foreign("../outside"),
    "absolute path": _foreign("/etc/hostname"),
    "path of a device": _foreign("/dev/zero"),
    "member with a climbing name": _member("../../x.npy"),
    "member that nobody named": _member("strange.npy"),
    "duplicate ids": _changed("ids", lambda ids: np.zeros_like(ids)),
    "NaN as a coefficient": _changed("points.coef", _first(np.nan)),
    "infinity as a coefficient": _changed("points.coef", _first(np.inf)),
    "booleans as coefficients": _changed("points.coef", lambda coef: coef > 0),
    "coefficients of another shape": _changed("points.coef", lambda coef: coef[:, :, :1]),
    "coefficients of too few points": _changed("points.coef", lambda coef: coef[:1]),
    "no points": _changed("points.coef", lambda coef: coef[:0]),
    "complex coefficients": _changed("points.coef", lambda coef: coef + 1j),
    "content of another kind": lambda package: package.document.update(content=[]),
    "content without points": _content(points={}),
    "unknown status": _content(status=["WON"] * 4),
    "status as numbers": _content(status=[1, 2, 3, 4]),
    "format of another kind": lambda package: package.document.update(format="fairfront model"),
    "schema of the future": lambda package: package.document.update(schema=10**6),
    "schema as text": lambda package: package.document.update(schema="1"),
    "arrays file of another name": lambda package: package.document["arrays"].update(file="../frontier.npz"),
}


def _text(text: str) -> Callable[[Path], None]:
    return lambda folder: (folder / f"{NAME}.json").write_text(text)


def _replaced(name: str, make: Callable[[Path], Any]) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).unlink()
        make(folder / name)

    return change


DAMAGED: dict[str, Callable[[Path], Any]] = {
    "deep JSON": _text("[" * 100_000 + "]" * 100_000),
    "deep JSON in objects": _text('{"a":' * 100_000 + "1" + "}" * 100_000),
    "JSON with a number of a million digits": _text('{"format": ' + "9" * 1_000_000 + "}"),
    "JSON with NaN": _text('{"format": NaN}'),
    "empty JSON": _text(""),
    "JSON that is not UTF-8": lambda folder: (folder / f"{NAME}.json").write_bytes(b"\xff\xfe\x00{}"),
    "JSON with a lone surrogate": _text('{"format": "\\ud800"}'),
    "JSON with duplicate keys": _text('{"format": "fairfront frontier", "format": 1}'),
    "npz is a folder": _replaced(f"{NAME}.npz", lambda path: path.mkdir()),
    "JSON is a folder": _replaced(f"{NAME}.json", lambda path: path.mkdir()),
    "npz is a pipe": _replaced(f"{NAME}.npz", os.mkfifo),
    "JSON is a pipe": _replaced(f"{NAME}.json", os.mkfifo),
    "JSON is a link to itself": _replaced(f"{NAME}.json", lambda path: path.symlink_to(path)),
    "npz is gone": _replaced(f"{NAME}.npz", lambda path: None),
    "npz is not an archive": lambda folder: (folder / f"{NAME}.npz").write_bytes(b"PK\x03\x04" + bytes(100)),
}


def run(count: int, folder: Path) -> list[Tally]:
    """Load every forged and damaged package; there is a fixed number of them."""
    tally, whole = Tally("packages made to do harm"), frontier(0).save(folder / "whole")
    changes: list[tuple[str, Callable[[Path], Any]]] = [*DAMAGED.items()]
    for name, forge in FORGED.items():

        def change(copy: Path, forge: Callable[[Package], None] = forge) -> None:
            package = Package(copy)
            forge(package)
            package.seal()

        changes.append((name, change))
    for name, change in changes[:count]:
        copy = folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(whole, copy)
        change(copy)
        ended = end_of(lambda copy=copy: ff.load(copy), LIMITS)
        wrong = ended.fault or (None if ended.code == REFUSED else "it was loaded")
        tally.note(wrong and f"{name}: {wrong}")
    return [tally]
