"""Checkpoints: one small file from which a run goes on; it holds numbers of the run, never rows or counts.

The first line names the kind of file, the second is the checksum of all that follows: a line of JSON and one array with
all numbers. The file is replaced in one piece, so that a kill leaves the last whole one; a torn one is told by its
checksum. Whose run it is of is known by fingerprints: of every setting, and of the data. Only one run at a time writes
it (`take_lock`); the system ends the lock of a run that was killed.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from ..validation import check_flag, check_path
from .documents import decode, encode, pack, parse_json, read_bytes, unpack
from .folders import fcntl, is_still, write_file
from .packages import parts_of
from .places import check_new_file, check_outside

KINDS = b"fairfront checkpoint "
KIND = KINDS + b"1"
ANEW = "delete it to start again, or choose another path."
BUSY = {errno.EACCES, errno.EAGAIN}
LOCKLESS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS}
_taken: set[str] = set()
_guard = threading.Lock()


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
        def differing(ours: Mapping[str, str], its: Mapping[str, str]) -> list[str]:
            return [name for name in dict.fromkeys((*ours, *its)) if ours.get(name) != its.get(name)]

        changed = differing(self.settings, other.settings)
        if not changed and self.rows != other.rows:
            raise InputError(
                f"{path} is a checkpoint of other data, or of other settings that change what rows count for "
                "(favourable, groups), expected the same rows, labels, groups and weights; continue with those, or "
                "choose another path."
            )
        changed = changed or differing(self.derived, other.derived)
        if changed:
            raise InputError(
                f"{path} is a checkpoint of other settings ({', '.join(changed)}), expected the same; continue with "
                "those, or choose another path."
            )


def check_checkpoint(path: Any, resume: bool) -> None:
    check_flag(resume, "resume")
    if path is None:
        if resume:
            raise InputError(
                f"{spelled('resume')} needs a checkpoint, found {spelled('None')}; name the file to go on from."
            )
        return
    target = check_path(path, "checkpoint", "the name of a file such as 'run.checkpoint'")
    if target.is_dir():
        raise InputError(f"{target} is a folder, expected the name of a file for the checkpoint; choose another name.")
    check_outside(target)
    check_new_file(target, overwrite=True)
    if target.exists() and not resume:
        raise InputError(
            f"{target} exists already, expected a new checkpoint; go on from it with "
            f"{spelled('resume', 'resume=True (--resume on the command line)')}, delete it, or choose another path."
        )


def write_checkpoint(path: Any, fingerprint: Fingerprint, entries: Sequence[Entry]) -> None:
    parts: list[NDArray[np.float64]] = [np.zeros(0)]
    described = []
    for entry in entries:
        arrays = {"asked": entry.asked, **entry.arrays}
        parts.extend(np.asarray(array, dtype=np.float64).reshape(-1) for array in arrays.values())
        shapes = {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()}
        described.append({"kind": entry.kind, "arrays": shapes, "numbers": dict(entry.numbers)})
    packed, known = pack({"values": np.concatenate(parts)})
    content = {**vars(fingerprint), "entries": described, "packed": known}
    body = json.dumps(encode(content), allow_nan=False).encode("ascii") + b"\n" + packed
    sealed = b"\n".join([KIND, hashlib.sha256(body).hexdigest().encode("ascii"), body])
    write_file(path, sealed, overwrite=True, own=lambda head: head.startswith(KINDS), private=True)


def read_checkpoint(path: Any) -> tuple[Fingerprint, list[Entry]]:
    data = read_bytes(path)
    kind, _, rest = data.partition(b"\n")
    if kind != KIND:
        older = kind.startswith(KINDS)
        what = "a checkpoint of another version of fairfront" if older else "not a checkpoint of fairfront"
        raise InputError(f"{path} is {what}, expected one that starts with {KIND.decode()!r}; {ANEW}")
    seal, _, body = rest.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode("ascii") != seal:
        raise InputError(f"{path} is damaged or was changed (its checksum differs); {ANEW}")
    line, _, packed = body.partition(b"\n")
    with parts_of(path, "checkpoint"):
        content = decode(parse_json(line, str(path)))
        values = unpack(packed, content["packed"], str(path))["values"]
        entries, start = [], 0
        for each in content["entries"]:
            arrays = {}
            for name, (dtype, shape) in each["arrays"].items():
                size = int(np.prod(shape, dtype=np.int64))
                arrays[name] = values[start : start + size].astype(dtype).reshape(shape)
                start += size
            entries.append(Entry(each["kind"], arrays.pop("asked"), arrays, each["numbers"]))
        return Fingerprint(content["settings"], content["rows"], content["derived"]), entries


def take_lock(path: Any) -> ExitStack:
    """Lock a hidden empty file beside another one until what is returned is closed, which removes it.

    Locks of the system are one per process, so that a child of a killed run keeps none; threads are kept apart here.
    """
    target = Path(os.path.realpath(path))
    place = target.with_name(f".{target.name}.lock")
    busy = InputError(
        f"another run uses {target} right now, expected one run per checkpoint; wait for its end, or choose another "
        "path."
    )
    held = ExitStack()
    with _guard:
        if str(place) in _taken:
            raise busy
        try:
            descriptor = None if fcntl is None else _locked(place)
        except OSError as error:
            if error.errno in BUSY and place.exists() and os.access(place, os.W_OK):
                raise busy from error
            raise InputError(f"{target} cannot be written beside {place.name} ({error}); choose another.") from error
        _taken.add(str(place))
        held.callback(_taken.discard, str(place))
        if descriptor is not None:
            held.callback(os.close, descriptor)
            held.callback(_drop, place)
    return held


def _locked(place: Path) -> int | None:
    """Return None on disks that have no locks."""
    while True:
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if is_still(place, descriptor):
                return descriptor
        except OSError as error:
            os.close(descriptor)
            if error.errno not in LOCKLESS:
                raise
            _drop(place)
            return None
        os.close(descriptor)


def _drop(place: Path) -> None:
    """Leave a file of that name with anything in it: locks are empty, so it is somebody's own."""
    with suppress(OSError):
        if not place.stat().st_size:
            place.unlink()
