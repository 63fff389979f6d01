"""Seals: what a folder of one kind may hold, so that nothing else is ever replaced, and who signed it.

SHA256SUMS.sig is the Ed25519 signature of the list of checksums, with keys in PEM files. It covers every file, so an
edit by someone without the private key is seen by whoever has the public one. A signature is the 64 bytes that
``openssl pkeyutl -sign -rawin`` writes, and openssl can check it without fairfront.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from ..exceptions import InputError, require
from ..validation import check_path
from .folders import write_file
from .packages import SIGNATURE, entries_of, found_in, is_in, package_files, read_checksums
from .places import CHECKSUMS, left_of, place_of

PURPOSE = "signing, or checking a signature"
REMEDIES = {
    "private": "make one with: openssl genpkey -algorithm ed25519 -out key.pem",
    "public": "take it from the private one with: openssl pkey -in key.pem -pubout -out public.pem",
}
Known = Callable[[bytes], bool]
"""Tells whether the bytes of a file are of the format that its name stands for."""


def _key(half: str, path: Any) -> Any:
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


private_key, public_key = partial(_key, "private"), partial(_key, "public")


def write_signature(folder: Path, key: Any) -> None:
    write_file(folder / SIGNATURE, key.sign((folder / CHECKSUMS).read_bytes()), overwrite=True)


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
        found = sorted(entries_of(folder))
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
        new = {name for name in found if is_in(name, self.growing) and name not in listed}
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
        path = PurePosixPath(name)
        alike = (each for each in self.files if len(PurePosixPath(each).parts) == len(path.parts) and path.match(each))
        return next((self.files[each] for each in alike), None)
