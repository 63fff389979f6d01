"""The chain of decision records: each names the checksum of the one before it and that of the run.

A record that was edited, left out or moved breaks the chain. That the last one was deleted cannot be seen in the chain
itself; the list of checksums misses it, unless that was written again too, which only a signature prevents.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..exceptions import ChangedError, InputError
from ..storage.checksums import SIGNATURE, check_checksums, checksum_of, is_signed, write_checksums, write_signature
from ..storage.documents import read_json
from ..storage.folders import write_numbered
from .decision import DECISIONS, FORMAT, SCHEMA, Decision
from .manifest import as_text

if TYPE_CHECKING:
    from .run import Run

BROKEN = "it was edited, deleted or added by something else than fairfront select: copy the run again."


def stages(manifest: Mapping[str, Any], checksum: str) -> list[str]:
    """Return the checksums that a run has had, oldest first: records name the one that they were made at."""
    earlier = manifest.get("earlier", [])
    kept = manifest.get("kept_ids", "all")
    if not isinstance(earlier, list) or not all(_is_stage(each) for each in earlier) or not _are_points(kept):
        raise ChangedError(f"the manifest says {earlier} and {kept} of points that were removed; {BROKEN}")
    return [*(each["checksum"] for each in earlier), checksum]


def _is_stage(found: Any) -> bool:
    return isinstance(found, dict) and set(found) == {"checksum", "kept"} and _are_points(found["kept"])


def _are_points(found: Any) -> bool:
    return found == "all" or (isinstance(found, list) and all(type(each) is int for each in found))


def with_earlier(manifest: Mapping[str, Any], checksum: str | None) -> dict[str, Any]:
    """Return a manifest that keeps a run's checksum, and which points it had, before its files are written anew."""
    before = {"checksum": checksum, "kept": manifest.get("kept_ids", "all")}
    return {**manifest, "earlier": [*manifest.get("earlier", ()), before]}


def read_records(folder: Path, sums: Mapping[str, str], known: Sequence[str]) -> tuple[Mapping[str, Any], ...]:
    """Return the records of a run whose files have these checksums, or say where their chain breaks.

    ``known`` are the checksums that the run has had, oldest first.
    """
    names = [name for name in sums if name.startswith(f"{DECISIONS}/")]
    found: list[Mapping[str, Any]] = []
    previous, stage = None, 0
    for number, name in enumerate(sorted(names, key=lambda each: (len(each), each)), start=1):
        expected, where = f"{DECISIONS}/{number:04d}.json", folder / name
        if name != expected:
            raise ChangedError(
                f"{folder / expected} is missing, expected records numbered from 1 without a gap; {BROKEN}"
            )
        record = _checked(where, number)
        if record["previous"] != previous:
            raise ChangedError(f"{where} does not follow the record before it (its checksum differs); {BROKEN}")
        if record["run"] not in known[stage:]:
            raise ChangedError(
                f"{where} is a record of other files than this run has (their checksum differs); {BROKEN}"
            )
        previous, stage = sums[name], known.index(record["run"], stage)
        found.append(record)
    return tuple(found)


def _checked(where: Path, number: int) -> Mapping[str, Any]:
    record = read_json(where)
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise ChangedError(f"{where} is not a decision record, expected one written by fairfront select; {BROKEN}")
    if record.get("schema") != SCHEMA:
        raise InputError(f"{where} has schema {record.get('schema')!r}, expected {SCHEMA}; trace and select again.")
    if set(record) != set(Decision.__dataclass_fields__) or record["opened"] != number:
        raise ChangedError(f"{where} does not have the fields of record {number}; {BROKEN}")
    if where.read_bytes() != as_text(record).encode():
        raise ChangedError(f"{where} is spelt otherwise than fairfront writes; {BROKEN}")
    return record


def check_recordable(run: Run, key: Any = None) -> None:
    """Refuse a run that cannot count how often its test part was opened, before it is opened."""
    if run.path is None:
        raise InputError("the run has no folder yet, expected one that was saved; call run.save(path) first.")
    place = run.path / DECISIONS
    if not os.access(place if place.exists() else run.path, os.W_OK):
        raise InputError(
            f"{run.path} is read-only, expected a run in which the decision can be recorded; copy it and select there."
        )
    if key is None and is_signed(run.path):
        raise InputError(
            f"{run.path} is signed, and a record without a signature would break it, expected the key too; give "
            f"--sign KEY, or select in a copy of it without {SIGNATURE}."
        )


def check_kept(path: Any, records: int, key: Any) -> None:
    """Refuse to replace a run whose records the new one lacks, or a signed one without a key."""
    there = len(list((Path(path) / DECISIONS).glob("*.json")))
    if there > records:
        raise InputError(
            f"{path} holds {there} decision record(s), which replacing it would lose, expected none or all of them; "
            "move it away, or choose another name."
        )
    if key is None and is_signed(Path(path)):
        raise InputError(f"{path} is signed, expected a key to sign what replaces it; give one, or move it away.")


def records_now(run: Run) -> tuple[Mapping[str, Any], ...]:
    """Return the records that a run's folder has at this moment, refusing one that was replaced by another run."""
    assert run.path is not None
    sums = check_checksums(run.path, growing=DECISIONS)
    if checksum_of(sums, DECISIONS) != run.checksum:
        raise InputError(f"{run.path} was written anew while it was read, expected the run as it was; select again.")
    return read_records(run.path, sums, stages(run.manifest, str(run.checksum)))


def add_record(run: Run, decision: Decision, key: Any = None) -> None:
    """Write the next record of a run, list it, and sign the list.

    A kill before the list is written leaves a record that continues the chain, and the next one lists it.
    """
    assert run.path is not None
    place = write_numbered(run.path / DECISIONS, as_text(decision.to_json()))
    if int(place.stem) != decision.opened:  # only where the system keeps no locks
        place.unlink()
        raise InputError(f"another model was chosen from {run.path} at this moment; select again.")
    write_checksums(run.path)
    if key is not None:
        write_signature(run.path, key)
