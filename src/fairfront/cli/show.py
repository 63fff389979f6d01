"""``fairfront show``: the options of a run, its picture, and rates per group."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from .paths import checked
from .screen import DATA, SMALL, screen


def show(
    run: Annotated[Path, typer.Argument(help="Folder written by fairfront trace.", callback=checked)],
    id: Annotated[list[int] | None, typer.Option(help="Point whose rates are shown; may be repeated.")] = None,
    trust: Annotated[list[str] | None, typer.Option(help="Type inside an estimator that may be loaded.")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Write the options as JSON.")] = False,
    small: Annotated[int, typer.Option(help=SMALL)] = 10,
    data: Annotated[Path | None, typer.Option(help=DATA, callback=checked)] = None,
) -> None:
    """Show a run: its options, a picture, and rates per group.

    Figures are those of validation.

    Example: fairfront show run --id 3
    """
    from ..runs.options import plain_id, suggested_id
    from .reading_runs import run_at
    from .showing import options_json, print_compared, print_next, print_options, print_picture, print_rates

    found = run_at(run, trust, small, data)
    if json_output:
        typer.echo(json.dumps(options_json(found), indent=1, allow_nan=False))
        return
    console = screen()
    print_compared(console, found)
    print_options(console, found)
    print_picture(console, found)
    front = found.frontier
    suggested = suggested_id(front)
    shown = id or ([] if suggested is None else [suggested])
    print_rates(console, front, list(dict.fromkeys([plain_id(front), *shown])))
    print_next(console, found, run)
