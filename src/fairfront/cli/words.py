"""The words of the shell: options that commands share, and how they spell what the functions that they call name."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

NAMES = (
    "allow approval_rate at_least at_most confidence costs cross cutoff decimal delimiter drop encoding "
    "favourable group_probabilities groups id improve incumbent incumbent_decision incumbent_score keep "
    "labelled_only_if loss max_fits max_seconds nobody_worse min_size notion overwrite part ridge split "
    "compare control person reasons strata surrogate target text units use_sensitive "
    "weight within"
)
OPTIONS = {name: f"--{name.replace('_', '-')}" for name in NAMES.split()} | {
    "favourable_side='above'": "--favourable above",
    "favourable_side='below'": "--favourable below",
    "least": "--least-gap",
    "most": "--most",
    "n_points": "--points",
    "reference": "--ref",
    "signs": "--monotone",
    "dates": "--date",
    "numbers": "--number",
    "families": "--family",
    "prices": "--cost",
    "candidates": "--candidate",
    "person": "--person",
    "n_splits": "--splits",
    "approval_rate=": "--approval-rate",
    "cutoff= or approval_rate=": "--cutoff or --approval-rate",
    "costs=": "--costs",
    "trusted": "--trust",
    "confidence=None": "--confidence 0",
    "evaluate on more rows": "judge on more rows (--split 80/20 judges on all but test)",
    "cutoff=, approval_rate= or costs=": "--cutoff, --approval-rate or --costs",
    "units='rates'": "--units rates",
    "units='losses'": "--units losses",
    "estimator": "--model",
    "held_out=True": "a split without validation rows, such as 80/20,",
    "None": "none",
}


def checked(param: typer.CallbackParam, path: Path | None) -> Path | None:
    """Return a path as it was given; what the system does not take is refused under the name of its option."""
    if path is not None:
        try:
            path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError:
            from ..validation import check_path

            check_path(path, name_of(param))
    return path


def option(metavar: str, help: str, *names: str, **more: Any) -> Any:
    """Return an option that takes a value."""
    return typer.Option(*names, metavar=metavar, help=help, **more)


def path_option(help: str, *names: str) -> Any:
    """Return an option that names a file or folder."""
    return typer.Option(*names, metavar="PATH", help=help, callback=checked)


Text = str | None
Texts = list[str] | None
Number = float | None

TableFile = Annotated[
    Path, typer.Argument(help="CSV, TSV, Parquet or Feather; CSV and TSV may be gzipped.", callback=checked)
]
RunFolder = Annotated[Path, typer.Argument(help="Folder written by fairfront trace.", callback=checked)]
GROUPED = typer.Option(metavar="COLUMNS", help="Sensitive features, such as sex,race:ref=White.")
Groups = Annotated[Text, GROUPED]
Reference = Annotated[
    Text, option("GROUP", 'Reference group of one column, or with --cross, such as "White & M".', "--ref")
]
Proxies = Annotated[Text, option("COLUMNS", "Instead of groups: their probabilities, such as p_black,p_white:ref.")]
Weight = Annotated[Text, option("COLUMN", "Sample weights.")]
Trust = Annotated[Texts, option("TYPE", "Type inside an estimator that may be loaded; may be repeated.")]
Cross = Annotated[bool, typer.Option("--cross", help="Compare combinations of the group columns (intersections).")]
Drop = Annotated[Texts, option("COLUMN", "Column to leave out; may be repeated.")]
Allow = Annotated[Texts, option("COLUMN", "Column to keep although it would be refused; may be repeated.")]
AsText = Annotated[Texts, option("COLUMN", "Column to read as categories; may be repeated.")]
AsNumbers = Annotated[Texts, option("COLUMN", "Column to read as numbers; may be repeated.", "--number")]
AsDates = Annotated[Texts, option("COLUMN=FORMAT", "Dates, such as applied=%d.%m.%Y; may be repeated.", "--date")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what this command wrote there before.")]
Seed = Annotated[int, option("N", "Random seed.", min=0)]
Approved = Annotated[Number, option("NUMBER", "Share of favourable decisions; the cut-off follows.")]

READING: dict[str, Any] = {
    "missing": Annotated[Texts, option("TEXT", "Additional string read as missing; may be repeated.")],
    "delimiter": Annotated[Text, option("CHARACTER", "Field delimiter (default: comma, or as the header).")],
    "encoding": Annotated[
        Text, option("NAME", "Encoding of a text file (default: utf-8), such as cp1252, latin-1 or utf-16.")
    ],
    "decimal": Annotated[
        Literal["point", "comma"] | None,
        typer.Option(help="Decimal mark of numbers that can be read in two ways: 1,234."),
    ],
}
"""How files are read: the options of every command that reads one."""


def reads(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command, which takes them as the mapping ``reading``, the options of how files are read."""
    own = signature(command, eval_str=True)
    more = [Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind) for name, kind in READING.items()]
    known = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in own.parameters.values() if each.name != "reading"]

    @wraps(command)
    def run(**given: Any) -> None:
        reading = {name: given.pop(name) for name in READING}
        command(**given, reading={**reading, "missing": tuple(reading["missing"] or ())})

    run.__signature__ = own.replace(parameters=[*known, *more])  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in (*known, *more)}
    return run


def name_of(param: Any) -> str:
    return str(param.opts[0] if param.param_type_name == "option" else param.name.upper())
