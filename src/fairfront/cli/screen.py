"""What all commands share: the screen and tables on it, what they read first, and errors as one sentence."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .. import __version__
from ..exceptions import FairfrontError, InputError, spelling
from .words import OPTIONS, name_of

if TYPE_CHECKING:
    from ..runs import Run
    from ..runs.champion import Champion
    from ..storage.inventory import Inventory


Mistake: type[Exception] = typer.BadParameter.__mro__[2]
"""What typer raises where words cannot be read as a command; it has no public name of its own."""
SHOWN = 60
INTERRUPTED = 130
"""Exit code of a command that got SIGINT: 128 and its number."""


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"fairfront {__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
]


def options(version: Version = False) -> None:
    """Take what goes before the name of a command."""


def run_app(app: typer.Typer) -> None:
    """Run the command; an error that fairfront foresaw is one sentence and exit code 2."""
    told: set[str] = set()

    def note(message: Warning | str, *where: Any, **more: Any) -> None:
        """Show a warning as one line without the place in the code, and the same words only once."""
        if str(message) not in told:
            told.add(str(message))
            typer.echo(f"note: {printable(str(message))}", err=True)

    warnings.showwarning = note
    try:
        for word in sys.argv[1:]:  # bytes that are not text could be neither shown nor written
            if not word.isascii() and any("\ud800" <= letter <= "\udfff" for letter in word):
                raise InputError(
                    f"{word!r} is not text in UTF-8, expected words that are; rename the file, or retype it."
                )
        with spelling(OPTIONS):
            sys.exit(app(standalone_mode=False, prog_name="fairfront"))
    except typer.Abort:  # while words were read
        raise KeyboardInterrupt from None
    except FairfrontError as error:
        _fail(str(error))
    except Mistake as error:
        if type(error).show is not typer.BadParameter.show:  # type: ignore[attr-defined]  # no words: the help itself
            error.show()  # type: ignore[attr-defined]
            sys.exit(2)
        _fail(_sentence(error))


def interruptible(command: Callable[..., None]) -> Callable[..., None]:
    """Say what became of work that a person interrupts: what the interrupt says, or that nothing was written."""

    @wraps(command)
    def run(*args: Any, **given: Any) -> None:
        try:
            command(*args, **given)
        except KeyboardInterrupt as stop:
            typer.echo(f"Interrupted; {stop if stop.args else 'nothing was written'}.", err=True)
            raise typer.Exit(INTERRUPTED) from None

    return run


def _fail(text: str) -> NoReturn:
    typer.echo(f"fairfront: {printable(text)}", err=True)
    sys.exit(2)


def screen(**options: Any) -> Console:
    """Return a console without emoji, so that a group or path with ``:id:`` in it is printed so."""
    return Console(emoji=False, **options)


def say(console: Console, *lines: str, whole: bool = True) -> None:
    """Print lines without markup and control characters; those that people copy stay ``whole`` on a terminal too."""
    for line in lines:
        console.print(printable(line), markup=False, highlight=False, soft_wrap=whole or not console.is_terminal)


tell = partial(say, whole=False)


def printable(text: str) -> str:
    """Return text in one line: control characters of a name or path are written as Python does."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def _sentence(error: Any) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "fairfront"
    option, param = getattr(error, "option_name", None), getattr(error, "param", None)
    if option is not None and hasattr(error, "possibilities"):
        near = difflib.get_close_matches(option, error.possibilities or (), n=1, cutoff=0.0)
        what = f"there is no option {_short(option)} of {path}" + (f", did you mean {near[0]}?" if near else "")
    elif param is None:
        what = _joined(error.format_message())
    elif hasattr(error, "param_type"):
        what = f"{name_of(param)} is missing, expected: {_joined(param.help or 'a value')}"
    else:
        reading = getattr(error.__cause__, "errors", None)  # knows the value that could not be read
        found = f" is {_short(repr(reading()[0]['input']))}" if reading is not None else ""
        expected = _joined(error.message).removeprefix("value error, ").partition(", unable to parse")[0]
        what = f"{name_of(param)}{found}: {expected}"
    return f"{what}; see {path} --help."


def _joined(text: str) -> str:
    parts = " ".join(text.split()).rstrip(".").split(". ")
    return "; ".join(part if part[:2].isupper() else part[:1].lower() + part[1:] for part in parts)


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN // 2]}...{text[-SHOWN // 4 :]}"


def given_of(context: typer.Context, kind: Any) -> dict[str, Any]:
    """Return the options of a command that are fields of a record, but for those that were not given."""
    known = {name: value for name, value in context.params.items() if name in kind.__dataclass_fields__}
    return {name: value for name, value in known.items() if value not in (None, [], ())}


def check_new_run(output: Path, kind: Inventory, overwrite: bool) -> None:
    """Refuse, before the work, a folder that may not be written, or that holds records of decisions."""
    from ..runs.decision_records import check_kept
    from ..storage.places import check_new_folder

    check_new_folder(output, kind, overwrite)
    if output.exists():
        check_kept(output, 0)


def stored_at(path: Path, kind: Any, expected: str, trusted: list[str] | None) -> Any:
    """Return what a folder holds if it is of a kind; types of estimators that others wrote are confirmed by name."""
    from ..runs import load

    found = load(path, trusted=check_trust(trusted))
    if not isinstance(found, kind):
        what = {"Run": "run", "TableModel": "model"}.get(type(found).__name__, "frontier")
        raise InputError(f"{path} holds a {what}, expected {expected}.")
    return found


def check_trust(trusted: list[str] | None) -> list[str]:
    for name in trusted or ():
        if "." not in name or not all(part.isidentifier() for part in name.split(".")):
            raise InputError(f"--trust is {name!r}, expected the full name of a type such as package.module.Type.")
    return trusted or []


def champion_at(path: Path | None, trusted: list[str] | None) -> Champion | None:
    """Return the model in use that is given as a file or folder."""
    from ..runs.champion import read_champion

    known = check_trust(trusted)
    return None if path is None else read_champion(path, known)


def run_at(path: Path, trusted: list[str] | None = None) -> Run:
    from ..runs import Run

    found: Run = stored_at(path, Run, "a run written by fairfront trace", trusted)
    return found


def table_of(title: str, heads: Iterable[str], left: Iterable[str] = ("",), pad: int = 1) -> Table:
    """Return a table without rows; columns of text are those on the ``left``, the others are of numbers."""
    found = Table(title=escape(title), box=SIMPLE_HEAD, pad_edge=False, padding=(0, pad, 0, 0), title_justify="left")
    for head in heads:
        found.add_column(escape(head), justify="left" if head in left else "right", overflow="fold")
    return found


def print_table(console: Console, table: Table) -> None:
    """Print a table; one that is too wide has headings of several lines and no space to spare: figures stay whole.

    Where that is not enough, columns that have no room are below the others, each time beside the first column. Control
    characters of names are written out.
    """
    for column in table.columns:
        column._cells = [printable(cell) if isinstance(cell, str) else cell for cell in column._cells]
    if _width(console, table) > console.width:
        table.padding, table.show_edge = (0, 0, 0, 0), False
        for column in table.columns:
            column.header = str(column.header).replace(" ", "\n")
    first, *rest = table.columns
    while rest:
        n = len(rest)
        while n > 1 and _width(console, _part(table, first, *rest[:n])) > console.width:
            n -= 1
        console.print(_part(table, first, *rest[:n]))
        rest, table.title = rest[n:], None


def _width(console: Console, table: Table) -> int:
    return console.measure(table, options=console.options.update(max_width=1_000)).maximum


def _part(table: Table, *columns: Any) -> Table:
    """Return a table of some columns of another."""
    found = copy(table)
    found.columns = [replace(column, _index=i) for i, column in enumerate(columns)]
    return found
