"""Progress: a bar on standard error while something long runs, silent where nobody looks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal


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
