"""One value of a run is edited and all checksums are written again: does `fairfront verify` notice?

Checksums cannot: whoever edits can write them. Verifying traces the run again from its rows and compares.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

import fairfront as ff

from .children import REFUSED, Limits, command, end_of
from .forgery import Package, listed
from .material import Material
from .tally import Tally

PACKAGES = {"frontier/frontier.json": "frontier/frontier", "encoder.json": "encoder", "test.json": "test"}
PLAIN = ("details.json", "manifest.json")
NOT_OF_ROWS = ("versions", "data", "fairfront")
"""Parts of the manifest that do not follow from the rows: versions of the time, and the name of the file."""


def leaves(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values in a JSON tree that are neither lists nor mappings."""
    if isinstance(tree, dict):
        return [found for key, value in tree.items() for found in leaves(value, (*path, key))]
    if isinstance(tree, list):
        return [found for key, value in enumerate(tree) for found in leaves(value, (*path, key))]
    return [path]


def other(value: Any) -> Any:
    """Return a value of the same kind that differs."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return 1.5 * value + 0.25
    return "other" if value is None else f"{value} edited"


def edit(tree: Any, path: tuple[Any, ...]) -> None:
    """Replace the value at a path."""
    for key in path[:-1]:
        tree = tree[key]
    tree[path[-1]] = other(tree[path[-1]])


def edit_array(package: Package, rng: np.random.Generator) -> str:
    """Change one number of one array, both drawn evenly."""
    names = [name.removesuffix(".npy") for name in package.arrays]
    filled = [name for name in sorted(names) if package.array(name).size]
    name = filled[int(rng.integers(len(filled)))]
    array = package.array(name)
    place = int(rng.integers(array.size))
    flat = array.reshape(-1)
    flat[place] = other(flat[place].item()) if np.isfinite(flat[place]) else 0
    package.put(name, array)
    return f"{name}[{place}]"


def edited(folder: Path, rng: np.random.Generator) -> str:
    """Edit one value of one file, both drawn evenly, write all checksums again, and say which."""
    name = str(rng.choice([*PACKAGES, *(f"{PACKAGES[name]}.npz" for name in PACKAGES), *PLAIN]))
    if name in PLAIN:
        tree = json.loads((folder / name).read_text())
        paths = [path for path in leaves(tree) if name != "manifest.json" or path[0] not in NOT_OF_ROWS]
        path = paths[int(rng.integers(len(paths)))]
        edit(tree, path)
        (folder / name).write_text(json.dumps(tree, indent=1) + "\n")
        what = "/".join(map(str, path))
    else:
        place = folder / name
        package = Package(place.parent, place.stem)
        if name.endswith(".json") or not package.arrays:
            paths = leaves(package.content)
            path = paths[int(rng.integers(len(paths)))]
            edit(package.content, path)
            what = "/".join(map(str, path))
        else:
            what = edit_array(package, rng)
        package.seal()
    listed(folder)
    return f"{name}: {what}"


def run(count: int, material: Material, folder: Path) -> list[Tally]:
    """Edit a run without decisions so many times; each time it is loaded and verified."""
    tally, whole, copy = Tally("one value of a run edited, checksums written again"), folder / "whole", folder / "copy"
    asked = command("verify", copy, material.table)
    for job in (material.trace(whole), lambda: shutil.copytree(whole, copy), asked):
        ended = end_of(job)
        if ended.code:
            raise RuntimeError(ended.said)
    for number in range(count):
        shutil.rmtree(copy)
        shutil.copytree(whole, copy)
        what = edited(copy, np.random.default_rng([3, number]))
        loaded = end_of(lambda: ff.load(copy), Limits(60))
        ended = loaded if loaded.code else end_of(asked)
        wrong = ended.fault or (None if ended.code else "it was not noticed")
        by = {f"by_{'load' if loaded.code == REFUSED else 'verify'}": int(wrong is None)}
        tally.note(wrong and f"edit {number}: {what}: {wrong}", **by)
    return [tally]
