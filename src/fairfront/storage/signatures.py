"""Signatures: SHA256SUMS.sig, the Ed25519 signature of a folder's list of checksums, with keys in PEM files.

The list covers every file, so an edit by someone without the private key is seen by whoever has the public one. A
signature is the 64 bytes that ``openssl pkeyutl -sign -rawin`` writes, and openssl can check it without fairfront.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..exceptions import InputError, require
from ..validation import check_path
from .checksums import CHECKSUMS, SIGNATURE, is_regular
from .folders import write_file

PURPOSE = "signing, or checking a signature"
MAKE = "make one with: openssl genpkey -algorithm ed25519 -out key.pem"
PUBLIC = "take it from the private one with: openssl pkey -in key.pem -pubout -out public.pem"


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
