"""Forgery: change what is in a package and write checksums that fit, as whoever wants to do harm would."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

CHECKSUMS = "SHA256SUMS"


class Package:
    """A JSON file with its arrays, opened for forgery: change ``document`` and ``arrays``, then `seal`."""

    def __init__(self, folder: Path, name: str = "frontier") -> None:
        self.folder, self.name = folder, name
        self.document: dict[str, Any] = json.loads((folder / f"{self.name}.json").read_text())
        with zipfile.ZipFile(folder / f"{self.name}.npz") as archive:
            self.arrays = {name: archive.read(name) for name in archive.namelist()}
        self.compressed = False

    @property
    def content(self) -> dict[str, Any]:
        """Return the content of the JSON file."""
        return dict.__getitem__(self.document, "content")

    def array(self, name: str) -> np.ndarray:
        """Return one array."""
        return np.load(io.BytesIO(self.arrays[f"{name}.npy"]))

    def _known(self, name: str) -> None:
        """Refuse a name that the package does not have: such a forgery would be noticed for another reason."""
        if f"{name}.npy" not in self.arrays:
            raise KeyError(name)

    def put(self, name: str, values: np.ndarray, **saving: Any) -> None:
        """Replace one array and its description."""
        inside = io.BytesIO()
        np.save(inside, values, **saving)
        self._known(name)
        self.arrays[f"{name}.npy"] = inside.getvalue()
        self.document["arrays"]["names"][name] = {"dtype": values.dtype.str, "shape": list(values.shape)}

    def header(self, name: str, shape: list[int], data: bytes = b"") -> None:
        """Replace an array by a header of some shape, and data that may not fit it."""
        self._known(name)
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
        (self.folder / f"{self.name}.npz").write_bytes(packed)
        self.document["arrays"] |= {"bytes": len(packed), "sha256": hashlib.sha256(packed).hexdigest()}
        self.document.pop("sha256", None)
        plain = json.dumps(self.document, sort_keys=True, separators=(",", ":"))
        self.document["sha256"] = hashlib.sha256(plain.encode()).hexdigest()
        (self.folder / f"{self.name}.json").write_text(json.dumps(self.document))


def listed(folder: Path) -> None:
    """Write the list of checksums of a run or model again, for the files as they are."""
    files = [each for each in sorted(folder.rglob("*")) if each.is_file() and each.name != CHECKSUMS]
    sums = {str(each.relative_to(folder)): hashlib.sha256(each.read_bytes()).hexdigest() for each in files}
    (folder / CHECKSUMS).write_text("".join(f"{sums[name]}  {name}\n" for name in sorted(sums)))
