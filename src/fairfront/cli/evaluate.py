"""``fairfront evaluate``: the models of a run on rows of another time or branch."""

from __future__ import annotations

import shlex
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from ..exceptions import FairfrontWarning
from . import words
from .screen import run_at, say, screen
from .words import checked, option, reads


@reads
def evaluate(
    run: words.RunFolder,
    file: Annotated[
        Path, typer.Argument(help="CSV, TSV, Parquet or Feather with the columns of training.", callback=checked)
    ],
    name: Annotated[str, option("NAME", "What the rows are, such as oot (out of time).")],
    trust: words.Trust = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the evaluation of that name.")] = False,
    sign: words.Sign = None,
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
    from ..runs.manifest import key_of
    from ..runs.pipeline import write_evaluation
    from ..runs.run import RUN
    from ..storage.places import check_new_folder
    from .summary import print_evaluations

    key = key_of(sign)
    stored = run_at(run, trust)
    check_name(stored, name, overwrite)
    check_new_folder(run, RUN, overwrite=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairfrontWarning)  # the notes of the evaluation, which are printed below
        found = write_evaluation(stored, file, name=name, overwrite=overwrite, key=key, **reading)
    console = screen()
    print_evaluations(console, found, [])
    where = f"{shlex.quote(str(run))} --on {shlex.quote(name)}"
    say(console, f"Added to {run}. Rates per group: fairfront show {where}.")
