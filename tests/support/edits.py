"""What someone does who edits a run and knows the format: all checksums are computed again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fairfront.storage.documents import pack
from fairfront.storage.packages import write_checksums


def reseal(folder: Path) -> None:
    """Compute all checksums of a folder for the files that are there: of packages, and the list of all."""
    for path in sorted(folder.rglob("*.json")):
        found = json.loads(path.read_text())
        if isinstance(found, dict) and "arrays" in found and "content" in found:
            for name, known in [(found["arrays"]["file"], found["arrays"]), *found["files"].items()]:
                data = (path.parent / name).read_bytes()
                known |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            found.pop("sha256")
            plain = json.dumps(found, sort_keys=True, separators=(",", ":"))
            found["sha256"] = hashlib.sha256(plain.encode()).hexdigest()
            path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    write_checksums(folder)


def edit_json(path: Path, change: Callable[[Any], Any]) -> None:
    """Change the content of a JSON file, which is then spelt as fairfront spells it."""
    text = path.read_text()
    found = json.loads(text)
    change(found)
    indent = 1 if "\n" in text.rstrip() else None
    path.write_text(json.dumps(found, indent=indent, ensure_ascii=False) + "\n" * text.endswith("\n"))


def edit_arrays(path: Path, change: Callable[[dict[str, np.ndarray]], None]) -> None:
    """Change the arrays of an npz file."""
    with np.load(path) as stored:
        arrays = dict(stored)
    change(arrays)
    path.write_bytes(pack(arrays)[0])
