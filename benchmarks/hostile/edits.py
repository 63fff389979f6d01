"""One byte of one file is changed: does loading or `fairfront verify` notice?"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import fairfront as ff

from .children import REFUSED, Limits, command, end_of
from .material import Material
from .tally import Tally


def edited(folder: Path, rng: np.random.Generator) -> str:
    """Change one byte of one file, both drawn evenly, and say which."""
    files = sorted(each for each in folder.rglob("*") if each.is_file() and each.stat().st_size)
    file = files[int(rng.integers(len(files)))]
    data = bytearray(file.read_bytes())
    place, change = int(rng.integers(len(data))), int(rng.integers(1, 256))
    data[place] ^= change
    file.write_bytes(bytes(data))
    return f"{file.relative_to(folder)}, byte {place} xor {change}"


@dataclass(frozen=True)
class Watch:
    """Who may notice an edit of a copy: loading it, and a command, if it agrees with the copy as it was written."""

    copy: Path
    verify: tuple[object, ...]
    verified: bool

    def notices(self) -> str | None:
        """Return who notices, "load" or "verify"; None: nobody."""
        ended = end_of(lambda: ff.load(self.copy), Limits(60))
        if ended.code == REFUSED and ended.fault is None:
            return "load"
        if ended.code:
            raise RuntimeError(ended.fault)
        if not self.verified:
            return None
        ended = end_of(command("verify", *self.verify))
        if ended.fault:
            raise RuntimeError(ended.fault)
        return "verify" if ended.code else None


def watched(whole: Path, copy: Path, verify: tuple[object, ...]) -> Watch:
    """Return who watches a copy; as it was written, it has to load."""
    shutil.copytree(whole, copy)
    ff.load(copy)
    return Watch(copy, verify, end_of(command("verify", *verify)).code == 0)


def tried(fault: str, count: int, whole: Path, watch: Watch, seed: int) -> Tally:
    """Edit a copy so many times."""
    tally = Tally(fault)
    for number in range(count):
        shutil.rmtree(watch.copy)
        shutil.copytree(whole, watch.copy)
        what = edited(watch.copy, np.random.default_rng([seed, number]))
        try:
            by = watch.notices()
            tally.note(None if by else f"edit {number}: {what} was not noticed", **({f"by_{by}": 1} if by else {}))
        except RuntimeError as error:
            tally.note(f"edit {number}: {what}: {error}")
    return tally


def run(count: int, material: Material, folder: Path) -> list[Tally]:
    """Edit a run and a model, half of the times each."""
    of_run = watched(material.run, folder / "run", (folder / "run", material.table))
    of_model = watched(material.model, folder / "model", (folder / "model", material.run))
    return [
        tried("one byte of a run edited", count - count // 2, material.run, of_run, 1),
        tried("one byte of a model edited", count // 2, material.model, of_model, 2),
    ]
