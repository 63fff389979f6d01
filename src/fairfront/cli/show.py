"""``fairfront show`` and ``fairfront report``: a run in the terminal, and as a page in which a person chooses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from .screen import DATA, SMALL, checked, screen


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
    from .files import run_at
    from .summary import options_json, print_compared, print_next, print_options, print_picture, print_rates

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


def report(
    run: Annotated[Path, typer.Argument(help="Folder written by fairfront trace.", callback=checked)],
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.", callback=checked)],
    id: Annotated[int | None, typer.Option(help="Point to open on; by default the suggested one.")] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    trust: Annotated[list[str] | None, typer.Option(help="Type inside an estimator that may be loaded.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output file.")] = False,
    small: Annotated[int, typer.Option(help=SMALL)] = 10,
    data: Annotated[Path | None, typer.Option(help=DATA, callback=checked)] = None,
) -> None:
    """Write the explorer of a run: one page in which a person chooses.

    The page is self-contained and shows the frontier, rates per group, and who gains and who loses.
    Figures are those of validation; the test part is not in the file.

    Example: fairfront report run -o report.html
    """
    from ..explorer.page import is_page
    from ..storage.places import check_new_file
    from .files import run_at

    check_new_file(output, overwrite, is_page)
    written = run_at(run, trust, small, data).to_html(output, chosen=id, title=title, overwrite=overwrite)
    typer.echo(f"{written} ({written.stat().st_size / 1e3:.0f} KB): open it in a browser.")
