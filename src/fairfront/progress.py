"""Progress: a bar on standard error while something long runs, silent where nobody looks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, Protocol


class Progress(Protocol):
    """Takes note of how far a run has come."""

    def update(self, done: int, note: str = "", total: int | None = None) -> None:
        """Say how many units are done, and of how many where that was not known before."""
        ...


class Silent:
    """Shows nothing."""

    def update(self, done: int, note: str = "", total: int | None = None) -> None:
        """Ignore the news."""


class Bar:
    """A rich progress bar."""

    def __init__(self, bar: object, task: object) -> None:
        self._bar, self._task = bar, task

    def update(self, done: int, note: str = "", total: int | None = None) -> None:
        """Move the bar."""
        self._bar.update(self._task, completed=done, note=note, total=total)  # type: ignore[attr-defined]


@contextmanager
def progress_bar(show: bool | Literal["auto"], title: str, total: int | None = None) -> Iterator[Progress]:
    """Yield a bar of ``total`` units; "auto" shows it when standard error is a terminal."""
    if show is False or (show == "auto" and not sys.stderr.isatty()):
        yield Silent()
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Rich

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Rich(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total, note="")
        yield Bar(bar, task)
        bar.update(task, completed=bar.tasks[0].total)
