"""``fairfront data``: which data sets there are, where they lie, and fetching them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from ..exceptions import InputError
from . import words
from .screen import interruptible, say, screen, table_of

if TYPE_CHECKING:
    from ..datasets import Origin

data_app = typer.Typer(help="List, find and fetch data sets.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="Name of the data set, as in the list.", show_default=False)]


@data_app.command("list")
def list_data(json_output: words.AsJson = False) -> None:
    """List the data sets, their terms, targets and groups.

    Example: fairfront data list --json
    """
    from ..datasets import ORIGINS
    from ..datasets.origin import ENVIRONMENT

    found = [_summary(ORIGINS[name]) for name in ORIGINS]
    if json_output:
        typer.echo(json.dumps({"format": "fairfront data 1", "data": found}, indent=1))
        return
    heads = ("name", "rows", "terms", "target by groups", "where")
    table = table_of("", heads, left={*heads} - {"rows"})
    for row in found:
        where = "own folder" if row["where"] == ENVIRONMENT else row["where"]
        cells = (row["name"], row["rows"], row["terms"], f"{row['target']}\nby {', '.join(row['groups'])}", where)
        table.add_row(*(escape(str(cell)) for cell in cells))
    console = screen()
    console.print(table)
    say(console, "fetch one with: fairfront data fetch NAME")


@data_app.command("path")
def data_path(
    name: Name,
    csv: Annotated[
        bool,
        typer.Option("--csv", help="One CSV file with a header, written into the cache: features, groups, target."),
    ] = False,
) -> None:
    """Print the path of a data set: its folder, or one CSV file.

    Embedded data have no folder and are always written as a file.

    Example: fairfront trace "$(fairfront data path loans)" --target outcome --favourable repaid --groups group -o run/
    """
    from ..datasets import ORIGINS
    from ..datasets.cache import csv_path

    origin = ORIGINS[name]
    place = origin.place()
    if not origin.embedded and place is None:
        raise InputError(f"{name} is not on this computer, expected it fetched: run fairfront data fetch {name}.")
    typer.echo(csv_path(name) if csv or place is None else place.folder)


@data_app.command("fetch")
@interruptible
def fetch_data(name: Name) -> None:
    """Fetch a data set from its public origin into the cache.

    An interrupted fetch continues where it stopped.

    Example: fairfront data fetch adult
    """
    from ..datasets import ORIGINS, fetch
    from ..datasets.cache import megabytes

    origin = ORIGINS[name]
    if origin.embedded:
        typer.echo(f"{name} is part of fairfront: nothing to fetch.")
        return
    if origin.place() is None:
        size = megabytes(sum(file.size for file in origin.downloads))
        typer.echo(f"{name}: {size}, see {origin.page}. Terms: {origin.terms}.", err=True)
    try:
        done = fetch(name)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"what came is kept: go on with fairfront data fetch {name}") from None
    said = f"{', '.join(done.new)} fetched and checked" if done.new else "already there and complete, nothing to do"
    typer.echo(f"{name}: {said}, in {done.folder}")


def _summary(origin: Origin) -> dict[str, Any]:
    place = origin.place()
    return {
        "name": origin.name,
        "rows": origin.rows,
        "terms": origin.terms,
        "target": origin.target,
        "groups": list(origin.groups),
        "where": "embedded" if origin.embedded else place.label if place else "not fetched",
        "folder": str(place.folder) if place else None,
    }
