"""Checks: what a verification compared, and what it found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..storage.differences import Difference
from ..storage.packages import found_in, is_signed, read_checksums
from ..storage.places import CHECKSUMS
from ..storage.seals import is_signature_of

TOLERANCE = 1e-6
SIGNED = "signature"


@dataclass(frozen=True)
class Check:
    """One comparison: what was compared, whether it agrees, what was found, and every field that differs.

    ``same`` is None where nothing was compared; what is not decisive is told and no more.
    """

    what: str
    same: bool | None
    found: str
    decisive: bool = True
    differences: tuple[Difference, ...] = ()


def agrees(checks: list[Check]) -> bool:
    return all(check.same for check in checks if check.decisive)


def first_digits(digest: str | None) -> str:
    return "none" if digest is None else digest[:12]


def signature_check(folder: Path, key: Any) -> Check:
    """Say whether the list of checksums is signed, by the key if one is given, and covers all records."""
    if key is None:
        there = "there, and not checked without --key" if is_signed(folder) else "none"
        return Check(SIGNED, None, there, decisive=False)
    if not is_signed(folder):
        return Check(SIGNED, False, "none, expected one by the key")
    if not is_signature_of(folder, key):
        return Check(SIGNED, False, f"not of this {CHECKSUMS} by this key")
    later = sorted(set(found_in(folder)) - set(read_checksums(folder)))
    return Check(SIGNED, not later, f"does not cover {', '.join(later)}" if later else "by the key")


def file_checks(found: Mapping[str, list[Difference]], rounded: bool) -> list[Check]:
    equal = f"equal up to {TOLERANCE:g}" if rounded else "equal to the last bit"
    checks = []
    for name, said in found.items():
        words = f"{len(said)} {'field differs' if len(said) == 1 else 'fields differ'}" if said else equal
        checks.append(Check(name, not said, words, differences=tuple(said)))
    return checks
