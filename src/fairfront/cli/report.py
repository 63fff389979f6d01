"""``fairfront report``: the explorer of a run, one page in which a person chooses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .paths import checked
from .screen import DATA, SMALL


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
    from .reading_runs import run_at

    check_new_file(output, overwrite, is_page)
    written = run_at(run, trust, small, data).to_html(output, chosen=id, title=title, overwrite=overwrite)
    typer.echo(f"{written} ({written.stat().st_size / 1e3:.0f} KB): open it in a browser.")
