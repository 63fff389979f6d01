"""Exchange: two names change places in one step where the system can (renameat2 of Linux), and new names are new."""

from __future__ import annotations

import ctypes
import errno
import os
from functools import cache
from pathlib import Path
from typing import Any

HERE = -100
"""AT_FDCWD: paths are as the process sees them."""
NO_REPLACE, EXCHANGE = 1, 2
CANNOT = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM}
"""What systems and disks answer that do not have it."""


def exchange(one: Path, other: Path) -> bool:
    """Let two things that exist change names in one step; False where the system or the disk cannot."""
    return _renamed(one, other, EXCHANGE)


def rename_new(source: Path, target: Path) -> None:
    """Rename a file to a name that nothing has yet, else FileExistsError; disks without links take the name first."""
    if _renamed(source, target, NO_REPLACE):
        return
    try:
        os.link(source, target)
        source.unlink()
    except OSError as error:
        if error.errno not in CANNOT:
            raise
        os.close(os.open(target, os.O_CREAT | os.O_EXCL))
        source.replace(target)


def _renamed(source: Path, target: Path, flag: int) -> bool:
    call = _renameat2()
    if call is None:
        return False
    if call(HERE, os.fsencode(source), HERE, os.fsencode(target), flag) == 0:
        return True
    number = ctypes.get_errno()
    if number in CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(source), None, str(target))


@cache
def _renameat2() -> Any:
    """Return the function of the C library, None where it has none."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return None
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    call.restype = ctypes.c_int
    return call
