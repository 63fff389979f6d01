"""What users are told: errors and warnings, how they name parameters, which extra an optional part needs, progress."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType, ModuleType
from typing import Any, Literal

_SPELLING: ContextVar[Mapping[str, str]] = ContextVar("spelling", default=MappingProxyType({}))


@contextmanager
def spelling(words: Mapping[str, str]) -> Iterator[None]:
    """Name parameters in other words inside; where two callers have words for one, those of the outer one hold."""
    token = _SPELLING.set({**words, **_SPELLING.get()})
    try:
        yield
    finally:
        _SPELLING.reset(token)


def spelled(name: str, python: str | None = None) -> str:
    """Return a parameter as the caller writes it; ``python`` is what is said in Python where that is not its name."""
    return _SPELLING.get().get(name, name if python is None else python)


def setting(name: str, value: str) -> str:
    """Return a parameter with a value as the caller writes both: notion='group_loss', or --notion group_loss."""
    known = _SPELLING.get().get(name)
    return f"{name}={value!r}" if known is None else f"{known} {value}"


class FairfrontError(Exception):
    """Base of all errors raised by fairfront."""


class InputError(FairfrontError, ValueError):
    """Input that cannot be used: the message says what, expected, found and remedy, on one line."""

    def __init__(self, message: object = "") -> None:
        super().__init__(" ".join(line.strip() for line in str(message).splitlines()))


class ChangedError(InputError):
    """A stored file that is not as fairfront wrote it: edited, damaged or missing."""


class UnboundedError(FairfrontError, ArithmeticError):
    """Objectives that fall without bound, so that no efficient point exists."""


class MissingExtraError(FairfrontError, ImportError):
    """An optional part was asked for and its extra is not installed."""


class FairfrontWarning(UserWarning):
    """Base of all warnings given by fairfront."""


class GroupWarning(FairfrontWarning):
    """A group is too small, missing or unseen, and was left out of the gaps."""


class ProxyWarning(GroupWarning):
    """Groups are given as probabilities, and gaps between them are not gaps between people."""


class ColumnWarning(FairfrontWarning):
    """Columns that a table's models read look sensitive, or tell the group, or deserve another look."""


def level_of_caller() -> int:
    """Return the ``stacklevel`` of a warning that points to the line that called fairfront, from however deep."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == __package__:
        frame, level = frame.f_back, level + 1
    return level


def require(module: str, extra: str, purpose: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{purpose} needs the package {module.split('.')[0]}, which is not installed; "
            f'install it with: pip install "fairfront[{extra}]"'
        ) from error


class Progress:
    """Takes note of how far a run has come, and moves the bar of rich where there is one."""

    def __init__(self, bar: Any = None, task: Any = None) -> None:
        self._bar, self._task = bar, task

    def update(self, done: int, note: str = "", total: int | None = None) -> None:
        """Say how many units are done, and of how many where that was not known before."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, note=note, total=total)


@contextmanager
def progress_bar(show: bool | Literal["auto"], title: str, total: int | None = None) -> Iterator[Progress]:
    """Yield a bar of ``total`` units; "auto" shows it when standard error is a terminal."""
    if show is False or (show == "auto" and not sys.stderr.isatty()):
        yield Progress()
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Rich

    note = TextColumn("{task.fields[note]}")
    columns = (TextColumn("{task.description}"), BarColumn(), note, TimeElapsedColumn(), TimeRemainingColumn())
    with Rich(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total, note="")
        yield Progress(bar, task)
        bar.update(task, completed=bar.tasks[0].total)
