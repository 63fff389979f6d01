"""Checksums: one file, SHA256SUMS, that lists every other file of a folder with its sha256.

The lines are those of ``sha256sum``, so that ``sha256sum -c SHA256SUMS`` checks a folder without fairfront. Whoever can
edit a file can write the list again: without a signature it shows damage and careless edits, no more.
Names that start with a dot are files of writers at work, or of the system; nothing reads them and no list has them.

SHA256SUMS.sig is the Ed25519 signature of that list, with keys in PEM files. It covers every file, so an edit by
someone without the private key is seen by whoever has the public one. A signature is the 64 bytes that
``openssl pkeyutl -sign -rawin`` writes, and openssl can check it without fairfront.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..exceptions import ChangedError, InputError, require
from ..validation import check_path
from .folders import write_file
from .places import CHECKSUMS

SIGNATURE = "SHA256SUMS.sig"
LINE = re.compile(r"([0-9a-f]{64})  (.+)")
RENEW = "copy the folder again or make it anew."
PURPOSE = "signing, or checking a signature"
MAKE = "make one with: openssl genpkey -algorithm ed25519 -out key.pem"
PUBLIC = "take it from the private one with: openssl pkey -in key.pem -pubout -out public.pem"


def write_checksums(folder: Path) -> None:
    """Write the list of all files that a folder has now."""
    write_file(folder / CHECKSUMS, as_lines(found_in(folder)), overwrite=True)


def check_checksums(folder: Path, growing: str | None = None) -> dict[str, str]:
    """Return the sha256 of every file by its path, or name one that was changed, is missing or not listed.

    Parameters
    ----------
    growing : str
        Subfolder whose files may be newer than the list: they are written before it, and their reader checks them.
    """
    listed = read_checksums(folder)  # before the folder is looked at: a record that is written meanwhile is new
    found = found_in(folder)
    for name in sorted({*listed, *found}):
        if name not in found:
            raise ChangedError(f"{folder / name} is missing, expected all files that {CHECKSUMS} lists; {RENEW}")
        if name not in listed:
            if growing is None or not name.startswith(f"{growing}/"):
                raise ChangedError(f"{folder / name} is not one of the files that {CHECKSUMS} lists; remove it.")
        elif listed[name] != found[name]:
            raise ChangedError(f"{folder / name} was changed after it was written (its checksum differs); {RENEW}")
    return found


def changed_in(folder: Path, growing: str | None = None) -> frozenset[str]:
    """Return the files that a folder has and its list has not, or not so; ``growing`` is as in `check_checksums`."""
    try:
        listed, found = read_checksums(folder), found_in(folder)
    except InputError:
        return frozenset([CHECKSUMS])
    new = {name for name in found if growing is not None and name.startswith(f"{growing}/") and name not in listed}
    return frozenset(name for name in found.keys() - new if found[name] != listed.get(name))


def read_checksums(folder: Path) -> dict[str, str]:
    """Return the list of a folder, sha256 by path, refusing one that is missing or spelt otherwise than ours."""
    file = folder / CHECKSUMS
    if not is_regular(file):
        raise ChangedError(
            f"{folder} has no {CHECKSUMS}, expected the list of checksums that fairfront writes with every run and "
            "model; make it anew."
        )
    text = file.read_bytes().decode("utf-8", errors="replace")
    lines = [LINE.fullmatch(line) for line in text.split("\n")[:-1]]
    listed = {line[2]: line[1] for line in lines if line is not None}
    if None in lines or as_lines(listed) != text:
        raise ChangedError(
            f"{file} was changed after it was written (it is not a list as fairfront writes it); {RENEW}"
        )
    return listed


def found_in(folder: Path) -> dict[str, str]:
    """Return the sha256 of every file that is there, by path; only regular files are opened."""
    found = {}
    for place in _visible(folder):
        name = place.relative_to(folder).as_posix()
        if name in (CHECKSUMS, SIGNATURE):
            continue
        if not is_regular(place):
            raise ChangedError(f"{place} is a link or a device, expected a regular file; {RENEW}")
        found[name] = digest_of(place)
    return found


def _visible(folder: Path) -> Iterable[Path]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _visible(Path(entry.path))
            else:
                yield Path(entry.path)


def is_regular(path: Path) -> bool:
    """Tell whether a path is a regular file and not a link to one."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def digest_of(path: Path) -> str:
    """Return the sha256 of a file's bytes."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise InputError(f"{path} is missing, expected a file that was there a moment ago; load it again.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}; check the path.") from error


def digest(text: str) -> str:
    """Return the sha256 of a text in UTF-8."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def as_lines(sums: Mapping[str, str]) -> str:
    """Return a list as it is written, one line for each file in the order of their paths."""
    return "".join(f"{sums[name]}  {name}\n" for name in sorted(sums))


def checksum_of(sums: Mapping[str, str], growing: str) -> str:
    """Return one checksum of all files but those of a subfolder that grows."""
    return digest(as_lines({name: found for name, found in sums.items() if not name.startswith(f"{growing}/")}))


def private_key(path: Any) -> Any:
    """Return the Ed25519 private key of a PEM file."""
    serialization, ed25519 = _library()
    pem = _pem(path, MAKE)
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except TypeError:
        raise InputError(
            f"{path} is encrypted, expected a private key without a passphrase; decrypt it to a file of your own first."
        ) from None
    except Exception as error:  # whatever a library makes of bytes that are no key
        raise InputError(f"{path} is not a private key in PEM, expected an Ed25519 one; {MAKE}") from error
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise InputError(f"{path} holds a key of another kind, expected an Ed25519 private key; {MAKE}")
    return key


def public_key(path: Any) -> Any:
    """Return the Ed25519 public key of a PEM file."""
    serialization, ed25519 = _library()
    pem = _pem(path, PUBLIC)
    try:
        key = serialization.load_pem_public_key(pem)
    except Exception as error:
        raise InputError(f"{path} is not a public key in PEM, expected an Ed25519 one; {PUBLIC}") from error
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise InputError(f"{path} holds a key of another kind, expected an Ed25519 public key; {PUBLIC}")
    return key


def write_signature(folder: Path, key: Any) -> None:
    """Sign the list of checksums of a folder."""
    write_file(folder / SIGNATURE, key.sign((folder / CHECKSUMS).read_bytes()), overwrite=True)


def is_signed(folder: Path) -> bool:
    """Tell whether a folder has a signature, right or wrong."""
    return is_regular(folder / SIGNATURE)


def is_signature_of(folder: Path, key: Any) -> bool:
    """Tell whether the private half of a public key signed the list of checksums that a folder has."""
    try:
        key.verify((folder / SIGNATURE).read_bytes(), (folder / CHECKSUMS).read_bytes())
    except require("cryptography.exceptions", "sign", PURPOSE).InvalidSignature:
        return False
    return True


def _library() -> tuple[Any, Any]:
    """Return what reads keys, and the kind of keys."""
    return (
        require("cryptography.hazmat.primitives.serialization", "sign", PURPOSE),
        require("cryptography.hazmat.primitives.asymmetric.ed25519", "sign", PURPOSE),
    )


def _pem(path: Any, remedy: str) -> bytes:
    file = check_path(path, "the key")
    if file.exists() and not file.is_file():
        raise InputError(f"the key {path} is not a regular file, expected a PEM file; {remedy}")
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"the key {path} cannot be read ({error.strerror}), expected a PEM file; {remedy}") from error
