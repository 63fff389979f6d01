"""``fairfront predict``: labels and probabilities for the rows of a file, whatever its size."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .screen import checked


def predict(
    model: Annotated[Path, typer.Argument(help="Folder written by fairfront select.", callback=checked)],
    file: Annotated[
        Path, typer.Argument(help="CSV, TSV, Parquet or Feather with the columns of training.", callback=checked)
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="CSV file to write.", callback=checked)],
    keep: Annotated[list[str] | None, typer.Option(help="Column of the input to copy; may be repeated.")] = None,
    delimiter: Annotated[str | None, typer.Option(help="Field delimiter (default: comma).")] = None,
    missing: Annotated[list[str] | None, typer.Option(help="Further mark of a missing value.")] = None,
    trust: Annotated[list[str] | None, typer.Option(help="Type inside an estimator that may be loaded.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output file.")] = False,
) -> None:
    """Write labels and probabilities for the rows of a file.

    They are in the order of the rows; group columns are not needed. Files larger than memory are read in chunks.

    Example: fairfront predict model new.csv --keep id -o decided.csv
    """
    from ..runs import predict_file
    from ..validation import counted
    from .files import model_at

    found = model_at(model, trust)
    n = predict_file(
        found,
        file,
        output,
        keep=keep or (),
        overwrite=overwrite,
        delimiter=delimiter,
        missing=missing or (),
        progress="auto",
    )
    typer.echo(f"{counted(n, 'row')}: {output}")
