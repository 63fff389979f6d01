"""Inventories: every file that a folder of one kind may hold, so that nothing else is ever replaced with it."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import translate
from pathlib import Path, PurePosixPath

from ..exceptions import InputError
from .checksums import changed_in
from .leftovers import left_of, place_of
from .packages import package_files

Known = Callable[[bytes], bool]
"""Tells whether the bytes of a file are of the format that its name stands for."""


@dataclass(frozen=True)
class Inventory:
    """What is in a folder of one kind.

    Attributes
    ----------
    kind : str
        What the folder is, such as "run".
    packages : mapping of path to format
        Packages that every such folder has; each names its files and knows their checksums.
    files : mapping of pattern to function of bytes
        Other files that may be there.
    listed : bool
        Whether a list of checksums covers them all, but for new files in the subfolder ``growing``.
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
        changed = changed_in(folder, self.growing) if self.listed else frozenset()
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

    def _is_ours(self, folder: Path, name: str, mode: int, packaged: frozenset[str]) -> bool:
        if stat.S_ISDIR(mode):
            return name in _parents([*self.packages, *self.files, *packaged])
        if not stat.S_ISREG(mode):
            return False
        if (left := left_of(folder / name)) is not None:
            return self._known(str(PurePosixPath(name).with_name(left))) is not None
        known = self._known(name)
        return name in packaged or (known is not None and known((folder / name).read_bytes()))

    def _known(self, name: str) -> Known | None:
        """Return what knows a file by its bytes, if its name is one of ours."""
        return next((self.files[pattern] for pattern in self.files if _matches(pattern, name)), None)


def _matches(pattern: str, name: str) -> bool:
    """Compare part by part, so that a star stands for one name and not for a way through folders."""
    one, other = PurePosixPath(pattern).parts, PurePosixPath(name).parts
    return len(one) == len(other) and all(re.match(translate(p), n) for p, n in zip(one, other, strict=True))


def _parents(names: Iterable[str]) -> set[str]:
    return {str(parent) for name in names for parent in PurePosixPath(name).parents}


def _entries(folder: Path, before: str = "") -> Iterator[tuple[str, int]]:
    """Yield all that is in a folder, links as links, by its name from there."""
    with os.scandir(folder) as entries:
        for entry in entries:
            mode = entry.stat(follow_symlinks=False).st_mode
            yield f"{before}{entry.name}", mode
            if stat.S_ISDIR(mode):
                yield from _entries(Path(entry.path), f"{before}{entry.name}/")
