"""The command in this process: tests of what it says need not import everything anew each time."""

from __future__ import annotations

import io
import os
import sys
import traceback
import warnings
from contextlib import redirect_stderr, redirect_stdout
from subprocess import CompletedProcess
from unittest.mock import patch

from fairfront.cli import main

COMMANDS = (
    "trace",
    "show",
    "report",
    "select",
    "predict",
    "evaluate",
    "verify",
    "audit",
    "alternatives",
    "demo",
    "data",
)
"""In the order of the help, which `tests/core/test_startup.py` holds; the last is a group of commands."""
BELOW_DATA = ("list", "path", "fetch")


def command(*words: object) -> CompletedProcess[str]:
    """Run the command as a process would, and return its exit code and both streams."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", errors, "") for errors in ("strict", "backslashreplace"))
    argv = ["fairfront", *(str(word) for word in words)]
    with (
        patch.object(sys, "argv", argv),
        patch.dict(os.environ, {"COLUMNS": "160"}),
        warnings.catch_warnings(),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        warnings.simplefilter("default")
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        except Exception:
            code = 1
            traceback.print_exc()
    return CompletedProcess(argv, code, _read(out), _read(err))


def _read(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def fairfront(*words: object, code: int = 0) -> str:
    """Run the command and return what it printed on both streams; any other exit code than ``code`` fails."""
    done = command(*words)
    said = done.stdout + done.stderr
    assert done.returncode == code, said
    assert "Traceback" not in done.stderr
    return str(said)
