"""Inventories: what a folder of one kind may hold, so that nothing else is ever replaced."""

from __future__ import annotations

import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ..exceptions import InputError
from .packages import entries_of, found_in, is_in, package_files, read_checksums
from .places import CHECKSUMS, left_of, place_of

Known = Callable[[bytes], bool]
"""Tells whether the bytes of a file are of the format that its name stands for."""


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
