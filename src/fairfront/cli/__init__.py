"""The command ``fairfront``: one file per command.

A command imports the rooms that it works with when it runs, so that help and mistakes in options are answered at once.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any, NoReturn

import typer

from .. import __version__
from ..exceptions import FairfrontError, InputError, spelling
from .audit import audit
from .data import data_app
from .demo import demo
from .screen import OPTIONS, Mistake, printable, sentence
from .select import predict, select
from .show import report, show, verify
from .trace import trace

app = typer.Typer(
    name="fairfront",
    help="Models that are Pareto efficient between accuracy and fairness.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # help is text: markup would turn "by:ID:" into a picture
    context_settings={"default_map": {"help": False, "data": {"help": False}}},  # typer loads pydantic to read None
)
for command in (trace, show, report, select, predict, verify, audit, demo):
    app.command()(command)
app.add_typer(data_app, name="data")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"fairfront {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Models that are Pareto efficient between accuracy and fairness."""


def _notes() -> Callable[..., None]:
    """Return what shows a warning as one line without the place in the code, and the same words only once."""
    told: set[str] = set()

    def note(message: Warning | str, *where: Any, **more: Any) -> None:
        if str(message) not in told:
            told.add(str(message))
            typer.echo(f"note: {printable(str(message))}", err=True)

    return note


def main() -> None:
    """Run the command; an error that fairfront foresaw is one sentence and exit code 2."""
    warnings.showwarning = _notes()
    try:
        _check_text(sys.argv[1:])
        with spelling(OPTIONS):
            sys.exit(app(standalone_mode=False))
    except FairfrontError as error:
        _fail(str(error))
    except Mistake as error:
        if type(error).show is not typer.BadParameter.show:  # type: ignore[attr-defined]  # no words: the help itself
            error.show()  # type: ignore[attr-defined]
            sys.exit(2)
        _fail(sentence(error))


def _check_text(words: list[str]) -> None:
    """Refuse bytes that are not text: they could be neither shown nor written."""
    for word in words:
        if not word.isascii() and any("\ud800" <= letter <= "\udfff" for letter in word):
            raise InputError(f"{word!r} is not text in UTF-8, expected words that are; rename the file, or retype it.")


def _fail(text: str) -> NoReturn:
    typer.echo(f"fairfront: {printable(text)}", err=True)
    sys.exit(2)
