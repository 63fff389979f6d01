"""Checksums: one file, SHA256SUMS, that lists every other file of a folder with its sha256.

The lines are those of ``sha256sum``, so that ``sha256sum -c SHA256SUMS`` checks a folder without fairfront. Whoever can
edit a file can write the list again: without a signature it shows damage and careless edits, no more.
Names that start with a dot are files of writers at work, or of the system; nothing reads them and no list has them.

SHA256SUMS.sig is the Ed25519 signature of that list, with keys in PEM files. It covers every file, so an edit by
someone without the private key is seen by whoever has the public one. A signature is the 64 bytes that
``openssl pkeyutl -sign -rawin`` writes, and openssl can check it without fairfront.

An `Inventory` is every file that a folder of one kind may hold, so that nothing else is ever replaced with it.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import translate
from pathlib import Path, PurePosixPath
from typing import Any

from ..exceptions import ChangedError, InputError, require
from ..validation import check_path
from .folders import write_file
from .packages import package_files
from .places import CHECKSUMS, left_of, place_of

SIGNATURE = "SHA256SUMS.sig"
LINE = re.compile(r"([0-9a-f]{64})  (.+)")
RENEW = "copy the folder again or make it anew."
PURPOSE = "signing, or checking a signature"
REMEDIES = {
    "private": "make one with: openssl genpkey -algorithm ed25519 -out key.pem",
    "public": "take it from the private one with: openssl pkey -in key.pem -pubout -out public.pem",
}
Known = Callable[[bytes], bool]
"""Tells whether the bytes of a file are of the format that its name stands for."""


def write_checksums(folder: Path) -> None:
    write_file(folder / CHECKSUMS, _as_lines(found_in(folder)), overwrite=True)


def check_checksums(folder: Path, growing: str | None = None) -> dict[str, str]:
    """Let files of the subfolder ``growing`` be newer than the list: their reader checks them."""
    listed = read_checksums(folder)  # before the folder is looked at: a record that is written meanwhile is new
    found = found_in(folder)
    for name in sorted({*listed, *found}):
        if name not in found:
            raise ChangedError(f"{folder / name} is missing, expected all files that {CHECKSUMS} lists; {RENEW}")
        if name not in listed and not _is_in(name, growing):
            raise ChangedError(f"{folder / name} is not one of the files that {CHECKSUMS} lists; remove it.")
        if listed.get(name, found[name]) != found[name]:
            raise ChangedError(f"{folder / name} was changed after it was written (its checksum differs); {RENEW}")
    return found


def _is_in(name: str, subfolder: str | None) -> bool:
    return subfolder is not None and name.startswith(f"{subfolder}/")


def read_checksums(folder: Path) -> dict[str, str]:
    file = folder / CHECKSUMS
    if not _is_regular(file):
        raise ChangedError(
            f"{folder} has no {CHECKSUMS}, expected the list of checksums that fairfront writes with every run and "
            "model; make it anew."
        )
    text = file.read_bytes().decode("utf-8", errors="replace")
    lines = [LINE.fullmatch(line) for line in text.split("\n")[:-1]]
    listed = {line[2]: line[1] for line in lines if line is not None}
    if None in lines or _as_lines(listed) != text:
        raise ChangedError(
            f"{file} was changed after it was written (it is not a list as fairfront writes it); {RENEW}"
        )
    return listed


def found_in(folder: Path) -> dict[str, str]:
    """Open regular files only."""
    found = {}
    for name, mode in sorted(_entries(folder, hidden=False)):
        if stat.S_ISDIR(mode) or name in (CHECKSUMS, SIGNATURE):
            continue
        if not stat.S_ISREG(mode):
            raise ChangedError(f"{folder / name} is a link or a device, expected a regular file; {RENEW}")
        found[name] = digest_of(folder / name)
    return found


def _entries(folder: Path, before: str = "", hidden: bool = True) -> Iterator[tuple[str, int]]:
    """Yield names from the folder on, links as links."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if hidden or not entry.name.startswith("."):
                mode = entry.stat(follow_symlinks=False).st_mode
                yield f"{before}{entry.name}", mode
                if stat.S_ISDIR(mode):
                    yield from _entries(Path(entry.path), f"{before}{entry.name}/", hidden)


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def digest_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise InputError(f"{path} is missing, expected a file that was there a moment ago; load it again.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}; check the path.") from error


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _as_lines(sums: Mapping[str, str]) -> str:
    return "".join(f"{sums[name]}  {name}\n" for name in sorted(sums))


def checksum_of(sums: Mapping[str, str], growing: str) -> str:
    """Leave out the files of a subfolder that grows."""
    return digest(_as_lines({name: found for name, found in sums.items() if not _is_in(name, growing)}))


def private_key(path: Any) -> Any:
    return _key(path, "private")


def public_key(path: Any) -> Any:
    return _key(path, "public")


def _key(path: Any, half: str) -> Any:
    pem = require("cryptography.hazmat.primitives.serialization", "sign", PURPOSE)
    kinds = require("cryptography.hazmat.primitives.asymmetric.ed25519", "sign", PURPOSE)
    remedy = REMEDIES[half]
    file = check_path(path, "the key")
    if file.exists() and not file.is_file():
        raise InputError(f"the key {path} is not a regular file, expected a PEM file; {remedy}")
    try:
        data = file.read_bytes()
        key = pem.load_pem_private_key(data, None) if half == "private" else pem.load_pem_public_key(data)
    except OSError as error:
        raise InputError(f"the key {path} cannot be read ({error.strerror}), expected a PEM file; {remedy}") from error
    except TypeError:
        raise InputError(
            f"{path} is encrypted, expected a private key without a passphrase; decrypt it to a file of your own first."
        ) from None
    except Exception as error:  # whatever a library makes of bytes that are no key
        raise InputError(f"{path} is not a {half} key in PEM, expected an Ed25519 one; {remedy}") from error
    if not isinstance(key, kinds.Ed25519PrivateKey if half == "private" else kinds.Ed25519PublicKey):
        raise InputError(f"{path} holds a key of another kind, expected an Ed25519 {half} key; {remedy}")
    return key


def write_signature(folder: Path, key: Any) -> None:
    write_file(folder / SIGNATURE, key.sign((folder / CHECKSUMS).read_bytes()), overwrite=True)


def is_signed(folder: Path) -> bool:
    return _is_regular(folder / SIGNATURE)


def is_signature_of(folder: Path, key: Any) -> bool:
    try:
        key.verify((folder / SIGNATURE).read_bytes(), (folder / CHECKSUMS).read_bytes())
    except require("cryptography.exceptions", "sign", PURPOSE).InvalidSignature:
        return False
    return True


@dataclass(frozen=True)
class Inventory:
    """What is in a folder of one kind.

    kind       what the folder is, such as "run"
    packages   path -> format of packages that every such folder has; each names its files and knows their checksums
    files      pattern -> what knows by its bytes another file that may be there
    listed     whether a list of checksums covers them all, but for new files in the subfolder ``growing``
    """

    kind: str
    packages: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Known] = field(default_factory=dict)
    listed: bool = False
    growing: str | None = None

    def check(self, folder: Path) -> None:
        """Refuse to replace a folder that is neither empty nor, file by file, what fairfront writes."""
        found = sorted(_entries(folder))
        if not found:
            return
        packed = [package_files(folder, name, kind) for name, kind in self.packages.items()]
        packaged = frozenset().union(*packed)
        changed = self._changed(folder) if self.listed else frozenset()
        for name, mode in found:
            if name in changed or not self._is_ours(folder, name, mode, packaged):
                raise InputError(
                    f"{place_of(folder)} holds other things than fairfront writes into a {self.kind}, or changed ones "
                    f"({name}), and stays as it is, expected nothing else; move them away, or choose another name."
                )
        if not all(packed) or changed:
            raise InputError(
                f"{place_of(folder)} is not a whole {self.kind}, and stays as it is, expected one with all its files; "
                "choose another name."
            )

    def _changed(self, folder: Path) -> frozenset[str]:
        try:
            listed, found = read_checksums(folder), found_in(folder)
        except InputError:
            return frozenset([CHECKSUMS])
        new = {name for name in found if _is_in(name, self.growing) and name not in listed}
        return frozenset(name for name in found.keys() - new if found[name] != listed.get(name))

    def _is_ours(self, folder: Path, name: str, mode: int, packaged: frozenset[str]) -> bool:
        if stat.S_ISDIR(mode):
            inner = [*self.packages, *self.files, *packaged]
            return name in {str(parent) for each in inner for parent in PurePosixPath(each).parents}
        if not stat.S_ISREG(mode):
            return False
        if (left := left_of(folder / name)) is not None:
            return self._known(str(PurePosixPath(name).with_name(left))) is not None
        known = self._known(name)
        return name in packaged or (known is not None and known((folder / name).read_bytes()))

    def _known(self, name: str) -> Known | None:
        """Let a star stand for one name of a path."""
        names = PurePosixPath(name).parts
        for pattern, known in self.files.items():
            parts = PurePosixPath(pattern).parts
            pairs = zip(parts, names, strict=False)
            if len(parts) == len(names) and all(re.match(translate(part), each) for part, each in pairs):
                return known
        return None
