"""The archive: whatever was saved, read from its folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..explorer import Details
from ..frontier.store import load_frontier
from ..storage.documents import read_json
from ..storage.packages import check_checksums, checksum_of, parts_of, read_package
from ..storage.places import MANIFEST, SEALED, read_folder
from ..tables.encoder import TableEncoder
from ..validation import check_names, check_path, refuse
from .decision import ADDED, DECISIONS, read_records, stages
from .external import read_external
from .manifest import SCHEMA, check_manifest
from .model import read_model
from .run import DETAILS, ENCODER, FRONTIER, KINDS, TEST, Run


def read_run(folder: Path, trusted: tuple[str, ...] = ()) -> Run:
    sums = check_checksums(folder, growing=DECISIONS)
    manifest = check_manifest(read_json(folder / MANIFEST), str(folder / MANIFEST))
    encoding, arrays = read_package(folder, ENCODER, KINDS[ENCODER], SCHEMA)
    tested, _ = read_package(folder, TEST, KINDS[TEST], SCHEMA)
    front = load_frontier(folder / FRONTIER, trusted=trusted)
    checksum, details = checksum_of(sums, ADDED), folder / DETAILS
    with parts_of(folder, "run"):
        front, external = read_external(folder, front)
        return Run(
            frontier=front,
            encoder=TableEncoder.from_content(encoding, arrays),
            manifest=manifest,
            stability=dict(tested["stability"]),
            details=Details.from_json(read_json(details)) if details.exists() else None,
            path=folder,
            validated=dict(tested["validation"]),
            tested=dict(tested["points"]),
            decisions=read_records(folder, sums, stages(manifest, checksum)),
            checksum=checksum,
            external=external,
        )


def load(path: Any, *, trusted: Sequence[str] = ()) -> Any:
    """Read a `Frontier`, a `Run` or a `TableModel` from the folder it was saved to.

    Parameters
    ----------
    path : path
        A folder written by ``Frontier.save``, ``Run.save``, ``TableModel.save`` or the command line.
    trusted : sequence of str
        Types inside estimators that a user brought which may be loaded, after reading the list that the error shows.
        Models of fairfront itself are arrays and JSON: loading them executes nothing.
    """
    folder, expected = check_path(path), "a list of the names of types, such as those that an error has listed"
    if isinstance(trusted, str):
        raise refuse("trusted", trusted, expected)
    types = check_names(trusted, "trusted", expected)

    def read(place: Path) -> Any:
        if (place / "model.json").exists():
            return read_model(place, types)
        if any((place / name).exists() for name in SEALED):
            return read_run(place, types)
        return load_frontier(place, trusted=types)

    return read_folder(folder, read)
