"""Checkpoints: one small file from which a run goes on; it holds numbers of the run, never rows or counts.

The first line names the kind of file, the second is the checksum of all that follows: a line of JSON and one array with
all numbers. The file is replaced in one piece, so that a kill leaves the last whole one; a torn one is told by its
checksum. Whose run it is of is known by fingerprints: of every setting, and of the data.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from ..validation import check_flag, check_path
from .documents import decode, encode, parse_json, read_bytes
from .folders import write_file
from .npz import pack, unpack
from .packages import parts_of
from .places import check_new_file, check_outside, check_parent

KINDS = b"fairfront checkpoint "
KIND = KINDS + b"1"
ANEW = "delete it to start anew, or choose another path."


@dataclass(frozen=True)
class Entry:
    """One answer of a run: what kind it is, what was asked, and the numbers and arrays found."""

    kind: str
    asked: NDArray[Any]
    arrays: Mapping[str, NDArray[Any]]
    numbers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Fingerprint:
    """Digests of a run's settings by name, of its rows, and of settings that depend on the data."""

    settings: Mapping[str, str]
    rows: str
    derived: Mapping[str, str] = field(default_factory=dict)

    def refuse_other(self, other: Fingerprint, path: Any) -> None:
        """Say whether a checkpoint is of other settings or of other data than this run."""
        changed = _changed(self.settings, other.settings)
        if not changed and self.rows != other.rows:
            raise InputError(
                f"{path} is a checkpoint of other data, or of other settings that change what rows count for "
                "(favourable, groups), expected the same rows, labels, groups and weights; continue with those, or "
                "choose another path."
            )
        changed = changed or _changed(self.derived, other.derived)
        if changed:
            raise InputError(
                f"{path} is a checkpoint of other settings ({', '.join(changed)}), expected the same; continue with "
                "those, or choose another path."
            )


def _changed(ours: Mapping[str, str], its: Mapping[str, str]) -> list[str]:
    return [name for name in dict.fromkeys((*ours, *its)) if ours.get(name) != its.get(name)]


def check_checkpoint(path: Any, resume: bool) -> None:
    """Refuse a place for a checkpoint that cannot be used, before any work is done for it."""
    check_flag(resume, "resume")
    if path is None:
        if resume:
            raise InputError(
                f"{spelled('resume')} needs a checkpoint, found {spelled('None')}; name the file to go on from."
            )
        return
    _check_place(check_path(path, "checkpoint", "the name of a file such as 'run.checkpoint'"), resume)


def _check_place(target: Path, resume: bool) -> None:
    if target.is_dir():
        raise InputError(f"{target} is a folder, expected the name of a file for the checkpoint; choose another name.")
    check_parent(target)
    check_outside(target)
    check_new_file(target, overwrite=True)
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"{target.parent} is read-only or not yours, expected one for the checkpoint; choose another.")
    if target.exists() and not resume:
        raise InputError(
            f"{target} exists already, expected a new checkpoint; go on from it with "
            f"{spelled('resume', 'resume=True (--resume on the command line)')}, delete it, or choose another path."
        )


def write_checkpoint(path: Any, fingerprint: Fingerprint, entries: Sequence[Entry]) -> None:
    """Write a checkpoint in one piece."""
    parts: list[NDArray[np.float64]] = [np.zeros(0)]
    described = []
    for entry in entries:
        arrays = {"asked": entry.asked, **entry.arrays}
        parts.extend(np.asarray(array, dtype=np.float64).reshape(-1) for array in arrays.values())
        shapes = {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()}
        described.append({"kind": entry.kind, "arrays": shapes, "numbers": dict(entry.numbers)})
    packed, known = pack({"values": np.concatenate(parts)})
    content = {
        "settings": dict(fingerprint.settings),
        "rows": fingerprint.rows,
        "derived": dict(fingerprint.derived),
        "entries": described,
        "packed": known,
    }
    body = json.dumps(encode(content), allow_nan=False).encode("ascii") + b"\n" + packed
    sealed = b"\n".join([KIND, hashlib.sha256(body).hexdigest().encode("ascii"), body])
    write_file(path, sealed, overwrite=True, own=_is_checkpoint, private=True)


def _is_checkpoint(head: bytes) -> bool:
    return head.startswith(KINDS)


def read_checkpoint(path: Any) -> tuple[Fingerprint, list[Entry]]:
    """Return whose run a checkpoint is of and what it holds, refusing anything else in one sentence."""
    data = read_bytes(path)
    kind, _, rest = data.partition(b"\n")
    if kind != KIND:
        older = kind.startswith(KINDS)
        what = "a checkpoint of another version of fairfront" if older else "no checkpoint of fairfront"
        raise InputError(f"{path} is {what}, expected one that starts with {KIND.decode()!r}; {ANEW}")
    seal, _, body = rest.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode("ascii") != seal:
        raise InputError(f"{path} is damaged or was changed (its checksum differs); {ANEW}")
    line, _, packed = body.partition(b"\n")
    with parts_of(path, "checkpoint"):
        content = decode(parse_json(line, str(path)))
        values = unpack(packed, content["packed"], str(path))["values"]
        found = Fingerprint(content["settings"], content["rows"], content["derived"])
        return found, _restored(content["entries"], values)


def _restored(described: list[dict[str, Any]], values: NDArray[Any]) -> list[Entry]:
    """Cut the one array into those that entries were written with."""
    entries, start = [], 0
    for each in described:
        arrays = {}
        for name, (dtype, shape) in each["arrays"].items():
            size = int(np.prod(shape, dtype=np.int64))
            arrays[name] = values[start : start + size].astype(dtype).reshape(shape)
            start += size
        entries.append(Entry(each["kind"], arrays.pop("asked"), arrays, each["numbers"]))
    return entries
