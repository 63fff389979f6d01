"""``fairfront show``, ``report``, ``evaluate``, ``verify``: a run in the terminal, as a page, on other rows, again."""

from __future__ import annotations

import json
import shlex
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from ..exceptions import ChangedError, FairfrontWarning
from . import words
from .screen import printable, run_at, say, screen, stored_at, table_of
from .words import Text, checked, option, path_option, reads

if TYPE_CHECKING:
    from ..runs.verification import Check


DIFFERS = 3
AGREES = {True: "same", False: "differs", None: ""}


def show(
    run: words.RunFolder,
    id: Annotated[list[int] | None, option("N", "Model whose rates are shown; may be repeated.")] = None,
    on: Annotated[
        Text, option("NAME", "Rows whose figures are shown: validation, held_out, or a name of evaluate.")
    ] = None,
    trust: words.Trust = None,
    json_output: words.AsJson = False,
) -> None:
    """Show a run: candidate models, a picture, rates per group.

    Figures are of the validation part, without one of training rows, each judged without itself; those of other
    files that were evaluated stand beside them.

    Example: fairfront show run --id 3
    """
    from ..runs.options import options_of, plain_id, suggested_id
    from .summary import (
        options_json,
        print_compared,
        print_evaluations,
        print_next,
        print_options,
        print_picture,
        print_rates,
        seen_on,
    )

    whole = run_at(run, trust)
    found = seen_on(whole, on)
    if json_output:
        typer.echo(json.dumps(options_json(found), indent=1, allow_nan=False))
        return
    console, front = screen(), found.frontier
    print_compared(console, found)
    suggested = suggested_id(front)
    shown = id or ([] if suggested is None else [suggested])
    known = dict.fromkeys((*found.listed, *([] if suggested is None else [suggested])))  # that of other rows may be new
    print_options(console, front, options_of(front, known))
    print_picture(console, found)
    print_rates(console, front, list(dict.fromkeys([plain_id(front), *shown])))
    print_evaluations(console, whole, shown)
    print_next(console, found, run, shown=True)


def report(
    run: words.RunFolder,
    output: Annotated[Path, path_option("HTML file to write.", "--output", "-o")],
    id: Annotated[int | None, option("N", "Model to open on (default: the suggested one).")] = None,
    title: Annotated[Text, typer.Option(help="Title of the page.")] = None,
    trust: words.Trust = None,
    overwrite: words.Overwrite = False,
) -> None:
    """Write the explorer of a run: an HTML page to choose in.

    The page is self-contained and shows the frontier, rates per group, and who gains and who loses.
    Figures are of the validation part and of other files that were evaluated; the test part is not in the file.

    Example: fairfront report run -o report.html
    """
    from ..explorer.page import is_page
    from ..storage.places import check_new_file

    check_new_file(output, overwrite, is_page)
    written = run_at(run, trust).to_html(output, chosen=id, title=title, overwrite=overwrite)
    typer.echo(f"{written} ({written.stat().st_size / 1e3:.0f} KB): open it in a browser.")


@reads
def evaluate(
    run: words.RunFolder,
    file: Annotated[
        Path, typer.Argument(help="CSV, TSV, Parquet or Feather with the columns of training.", callback=checked)
    ],
    name: Annotated[str, option("NAME", "What the rows are, such as oot (out of time).")],
    trust: words.Trust = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the evaluation of that name.")] = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Evaluate the models of a run on another file.

    Figures are kept in the run. The file is read as the run's own was, and decisions are made at the cut-offs of
    validation. Nothing is chosen on it: show, report and the cards of later choices have its figures beside those of
    validation and test.

    Example: fairfront evaluate run loans-2024.csv --name oot
    """
    from ..runs.external import check_name
    from ..runs.pipeline import write_evaluation
    from ..runs.run import RUN
    from ..storage.places import check_new_folder
    from .summary import print_evaluations

    stored = run_at(run, trust)
    check_name(stored, name, overwrite)
    check_new_folder(run, RUN, overwrite=True)
    with warnings.catch_warnings(action="ignore", category=FairfrontWarning):  # its notes are printed below
        found = write_evaluation(stored, file, name=name, overwrite=overwrite, **reading)
    console = screen()
    print_evaluations(console, found, [])
    where = f"{shlex.quote(str(run))} --on {shlex.quote(name)}"
    say(console, f"Added to {run}. Rates per group: fairfront show {where}.")


def verify(
    folder: Annotated[Path, typer.Argument(help="Folder written by fairfront trace or select.", callback=checked)],
    source: Annotated[
        Path,
        typer.Argument(
            help="The file that was traced; the run that a model was chosen from.",
            callback=checked,
        ),
    ],
    trust: words.Trust = None,
    json_output: words.AsJson = False,
) -> None:
    """Reproduce a run or model and compare.

    A run is traced again from its rows and manifest; models, figures and the choices of its rules are compared. A model
    is compared with the run that it was chosen from. Numbers may differ by a millionth, all else has to be equal.

    Exit codes: 0 everything agrees, 2 bad input, 3 something differs or was changed after it was written.

    Example: fairfront verify run adult.csv
    """
    from ..runs.verification import Check, agrees

    what = ""
    try:
        what, checks = _compared(folder, source, trust)
    except ChangedError as error:
        checks = [Check("files", False, str(error))]
    if json_output:
        typer.echo(json.dumps({"same": agrees(checks), "checks": [vars(check) for check in checks]}, indent=1))
    elif what:
        _show_checks(what, checks)
    else:
        typer.echo(f"fairfront: {printable(checks[0].found)}", err=True)
    raise typer.Exit(0 if agrees(checks) else DIFFERS)


def _compared(folder: Path, source: Path, trust: list[str] | None) -> tuple[str, list[Check]]:
    """Return what the folder holds, and the comparisons."""
    from ..runs import Run, TableModel, verify_model, verify_run

    found = stored_at(folder, (Run, TableModel), "a run or a model", trust)
    if isinstance(found, TableModel):
        return "model", verify_model(folder, run_at(source, trust), trust or ())
    return "run", verify_run(found, source)


def _show_checks(what: str, checks: list[Check]) -> None:
    from ..runs.verification import agrees

    heads = ["what", "", "found"]
    table = table_of(f"Reproduction check of the {what}", heads, left=heads)
    for check in checks:
        table.add_row(escape(check.what), AGREES[check.same], escape(check.found))
    console = screen()
    console.print(table)
    say(console, f"The {what} was {'reproduced.' if agrees(checks) else 'NOT reproduced: see above.'}")
