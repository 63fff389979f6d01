"""``fairfront verify``: make a run again from its manifest and compare."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from .screen import screen

DIFFERS = 3


def verify(
    run: Annotated[Path, typer.Argument(help="Folder written by fairfront trace.")],
    file: Annotated[Path, typer.Argument(help="The file that the run was traced from.")],
    trust: Annotated[list[str] | None, typer.Option(help="Type inside an estimator that may be loaded.")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Write the comparison as JSON.")] = False,
) -> None:
    """Refit a run from its manifest and say what agrees.

    Exit codes: 0 all agrees, 2 bad input, 3 something differs.

    Example: fairfront verify run adult.csv
    """
    from ..runs import verify_run
    from .reading_runs import run_at

    checks = verify_run(run_at(run, trust), file)
    same = all(check.same for check in checks if check.decisive)
    if json_output:
        typer.echo(json.dumps({"same": same, "checks": [asdict(check) for check in checks]}, indent=1))
    else:
        table = Table(title="The run made again")
        for head in ("what", "", "found"):
            table.add_column(head)
        for check in checks:
            table.add_row(check.what, "same" if check.same else "differs", escape(check.found))
        console = screen()
        console.print(table)
        console.print("The run was reproduced." if same else "The run was NOT reproduced: see above.")
    raise typer.Exit(0 if same else DIFFERS)
