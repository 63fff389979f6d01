"""``fairfront verify``: make a run again from its rows, or a model from its run, and compare."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from ..exceptions import ChangedError, InputError
from .screen import checked, printable, say, screen

if TYPE_CHECKING:
    from ..runs.verification import Check

DIFFERS = 3
LISTED = 40
AGREES = {True: "same", False: "differs", None: ""}


def verify(
    folder: Annotated[Path, typer.Argument(help="Folder written by fairfront trace or select.", callback=checked)],
    source: Annotated[
        Path,
        typer.Argument(
            help="The file that the run was traced from; the run that the model was chosen from.", callback=checked
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(help="The run's file, for a model of --small 0 or of a point that was removed.", callback=checked),
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="PEM file of the public key that must have signed it.", callback=checked)
    ] = None,
    trust: Annotated[list[str] | None, typer.Option(help="Type inside an estimator that may be loaded.")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Write the comparison as JSON.")] = False,
) -> None:
    """Make a run or a model again and compare every field.

    A run is traced again from its rows and manifest, a model is made again from its run, and all files are compared.

    Exit codes: 0 all agrees, 2 bad input, 3 something differs, was changed since it was written, or lacks the signature
    that --key asks for.

    Example: fairfront verify run adult.csv
    """
    from ..runs.verification import Check, agrees

    try:
        what, checks = _made_again(folder, source, data, key, trust)
    except ChangedError as error:
        what, checks = "", [Check("files", False, str(error))]
    if json_output:
        said = [vars(check) | {"differences": [vars(each) for each in check.differences]} for check in checks]
        typer.echo(json.dumps({"same": agrees(checks), "checks": said}, indent=1))
    elif what:
        _show(what, checks)
    else:
        typer.echo(f"fairfront: {printable(checks[0].found)}", err=True)
    raise typer.Exit(0 if agrees(checks) else DIFFERS)


def _made_again(
    folder: Path, source: Path, data: Path | None, key: Path | None, trust: list[str] | None
) -> tuple[str, list[Check]]:
    """Say what a folder holds, and compare it."""
    from ..runs import Run, TableModel, load, verify_model, verify_run
    from .files import run_at, type_names

    found = load(folder, trusted=type_names(trust))
    if isinstance(found, TableModel):
        return "model", verify_model(folder, run_at(source, trust), data, key, trust or ())
    if not isinstance(found, Run):
        raise InputError(f"{folder} holds a {type(found).__name__}, expected a run or a model.")
    if data is not None:
        raise InputError("--data goes with a model; a run is compared with the file in the second place.")
    return "run", verify_run(found, source, key=key)


def _show(what: str, checks: list[Check]) -> None:
    """Print a table of all comparisons, then what differs, then the outcome."""
    table = Table(title=f"The {what} made again")
    for head in ("what", "", "found"):
        table.add_column(head)
    for check in checks:
        table.add_row(escape(check.what), AGREES[check.same], escape(check.found))
    console = screen()
    console.print(table)
    said = [str(each) for check in checks for each in check.differences]
    for line in said[:LISTED]:
        say(console, line)
    if len(said) > LISTED:
        say(console, f"... and {len(said) - LISTED} more; --json lists all.")
    say(console, f"The {what} was {_outcome(checks)}.")


def _outcome(checks: list[Check]) -> str:
    from ..runs.verification import RECORD, SIGNED

    wrong = [check for check in checks if check.decisive and not check.same]
    if any(check.what != SIGNED for check in wrong):
        return "NOT reproduced: see above"
    if wrong:
        return f"reproduced, but not signed as asked for (signature: {wrong[0].found})"
    if any(check.what == RECORD and check.same is None for check in checks):
        return "reproduced; the run has no record of the decision"
    return "reproduced"
