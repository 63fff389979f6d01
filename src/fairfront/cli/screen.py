"""What all commands share: options, the screen, and errors as one sentence."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Callable
from functools import partial, wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer
from rich.console import Console

from .. import __version__
from ..exceptions import FairfrontError, InputError, spelling
from .words import OPTIONS

if TYPE_CHECKING:
    from ..runs import Run
    from ..runs.champion import Champion

Mistake: type[Exception] = typer.BadParameter.__mro__[2]
"""What typer raises where words cannot be read as a command; it has no public name of its own."""
SHOWN = 60
INTERRUPTED = 130
"""Exit code of a command that got SIGINT: 128 and its number."""


def checked(param: typer.CallbackParam, path: Path | None) -> Path | None:
    """Return a path as it was given; what the system does not take is refused under the name of its option."""
    if path is not None:
        try:
            path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError:
            from ..validation import check_path

            check_path(path, _name_of(param))
    return path


def path_option(help: str, *names: str) -> Any:
    """Return an option that names a file or folder."""
    return typer.Option(*names, metavar="PATH", help=help, callback=checked)


TableFile = Annotated[
    Path, typer.Argument(help="CSV, TSV, Parquet or Feather; CSV and TSV may be gzipped.", callback=checked)
]
RunFolder = Annotated[Path, typer.Argument(help="Folder written by fairfront trace.", callback=checked)]
GROUPED = typer.Option(metavar="COLUMNS", help="Sensitive features, such as sex,race:ref=White or age:bands=25,40,65.")
Groups = Annotated[str | None, GROUPED]
Reference = Annotated[
    str | None,
    typer.Option("--ref", metavar="GROUP", help='Reference group of one column, or with --cross, such as "White & M".'),
]
Proxies = Annotated[
    str | None,
    typer.Option(metavar="COLUMNS", help="Instead of groups: their probabilities, such as p_black,p_white:ref."),
]
Weight = Annotated[str | None, typer.Option(metavar="COLUMN", help="Sample weights.")]
Trust = Annotated[
    list[str] | None, typer.Option(metavar="TYPE", help="Type inside an estimator that may be loaded; may be repeated.")
]
Cross = Annotated[bool, typer.Option("--cross", help="Compare combinations of the group columns (intersections).")]
Columns = list[str] | None
Drop = Annotated[Columns, typer.Option(metavar="COLUMN", help="Column to leave out; may be repeated.")]
Allow = Annotated[
    Columns, typer.Option(metavar="COLUMN", help="Column to keep although it would be refused; may be repeated.")
]
AsText = Annotated[Columns, typer.Option(metavar="COLUMN", help="Column to read as categories; may be repeated.")]
AsNumbers = Annotated[
    Columns, typer.Option("--number", metavar="COLUMN", help="Column to read as numbers; may be repeated.")
]
AsDates = Annotated[
    Columns,
    typer.Option("--date", metavar="COLUMN=FORMAT", help="Dates, such as applied=%d.%m.%Y; may be repeated."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what this command wrote there before.")]
Small = Annotated[
    int,
    typer.Option(
        metavar="N", help="Round counts below this: 10, or 0 for exact counts, where the rows may be seen anyway."
    ),
]
Data = Annotated[
    Path | None, path_option("With --small 0: the file that the run was traced from; of a dossier, the one searched.")
]
Incumbent = Annotated[
    Path | None, path_option("Of a dossier: the model in use, where it was given to alternatives as a file or folder.")
]
Sign = Annotated[Path | None, path_option("PEM file of the Ed25519 private key to sign with (extra sign).")]

READING: dict[str, Any] = {
    "missing": Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="Additional string read as missing; may be repeated.")
    ],
    "delimiter": Annotated[
        str | None, typer.Option(metavar="CHARACTER", help="Field delimiter (default: comma, or as the header).")
    ],
    "encoding": Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Encoding of a text file (default: utf-8), such as cp1252, latin-1 or utf-16."
        ),
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


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"fairfront {__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
]


def options(version: Version = False) -> None:
    """Take what goes before the name of a command."""


def run_app(app: typer.Typer) -> None:
    """Run the command; an error that fairfront foresaw is one sentence and exit code 2."""
    told: set[str] = set()

    def note(message: Warning | str, *where: Any, **more: Any) -> None:
        """Show a warning as one line without the place in the code, and the same words only once."""
        if str(message) not in told:
            told.add(str(message))
            typer.echo(f"note: {printable(str(message))}", err=True)

    warnings.showwarning = note
    try:
        for word in sys.argv[1:]:  # bytes that are not text could be neither shown nor written
            if not word.isascii() and any("\ud800" <= letter <= "\udfff" for letter in word):
                raise InputError(
                    f"{word!r} is not text in UTF-8, expected words that are; rename the file, or retype it."
                )
        with spelling(OPTIONS):
            sys.exit(app(standalone_mode=False, prog_name="fairfront"))
    except typer.Abort:  # while words were read
        raise KeyboardInterrupt from None
    except FairfrontError as error:
        _fail(str(error))
    except Mistake as error:
        if type(error).show is not typer.BadParameter.show:  # type: ignore[attr-defined]  # no words: the help itself
            error.show()  # type: ignore[attr-defined]
            sys.exit(2)
        _fail(_sentence(error))


def interruptible(command: Callable[..., None]) -> Callable[..., None]:
    """Say what became of work that a person interrupts: what the interrupt says, or that nothing was written."""

    @wraps(command)
    def run(*args: Any, **given: Any) -> None:
        try:
            command(*args, **given)
        except KeyboardInterrupt as stop:
            typer.echo(f"Interrupted; {stop if stop.args else 'nothing was written'}.", err=True)
            raise typer.Exit(INTERRUPTED) from None

    return run


def _fail(text: str) -> NoReturn:
    typer.echo(f"fairfront: {printable(text)}", err=True)
    sys.exit(2)


def screen(**options: Any) -> Console:
    """Return a console without emoji, so that a group or path with ``:id:`` in it is printed so."""
    return Console(emoji=False, **options)


def say(console: Console, *lines: str, whole: bool = True) -> None:
    """Print lines without markup and control characters; those that people copy stay ``whole`` on a terminal too."""
    for line in lines:
        console.print(printable(line), markup=False, highlight=False, soft_wrap=whole or not console.is_terminal)


tell = partial(say, whole=False)


def printable(text: str) -> str:
    """Return text in one line: control characters of a name or path are written as Python does."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def _sentence(error: Any) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "fairfront"
    option, param = getattr(error, "option_name", None), getattr(error, "param", None)
    if option is not None and hasattr(error, "possibilities"):
        near = difflib.get_close_matches(option, error.possibilities or (), n=1, cutoff=0.0)
        what = f"there is no option {_short(option)} of {path}" + (f", did you mean {near[0]}?" if near else "")
    elif param is None:
        what = _joined(error.format_message())
    elif hasattr(error, "param_type"):
        what = f"{_name_of(param)} is missing, expected: {_joined(param.help or 'a value')}"
    else:
        reading = getattr(error.__cause__, "errors", None)  # knows the value that could not be read
        found = f" is {_short(repr(reading()[0]['input']))}" if reading is not None else ""
        expected = _joined(error.message).removeprefix("value error, ").partition(", unable to parse")[0]
        what = f"{_name_of(param)}{found}: {expected}"
    return f"{what}; see {path} --help."


def _name_of(param: Any) -> str:
    return str(param.opts[0] if param.param_type_name == "option" else param.name.upper())


def _joined(text: str) -> str:
    parts = " ".join(text.split()).rstrip(".").split(". ")
    return "; ".join(part if part[:2].isupper() else part[:1].lower() + part[1:] for part in parts)


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN // 2]}...{text[-SHOWN // 4 :]}"


def stored_at(path: Path, kind: Any, expected: str, trusted: list[str] | None) -> Any:
    """Return what a folder holds if it is of a kind; types of estimators that others wrote are confirmed by name."""
    from ..runs import load

    found = load(path, trusted=check_trust(trusted))
    if not isinstance(found, kind):
        what = {"Run": "run", "TableModel": "model"}.get(type(found).__name__, "frontier")
        raise InputError(f"{path} holds a {what}, expected {expected}.")
    return found


def check_trust(trusted: list[str] | None) -> list[str]:
    for name in trusted or ():
        if "." not in name or not all(part.isidentifier() for part in name.split(".")):
            raise InputError(f"--trust is {name!r}, expected the full name of a type such as package.module.Type.")
    return trusted or []


def champion_at(path: Path | None, trusted: list[str] | None) -> Champion | None:
    """Return the model in use that is given as a file or folder."""
    from ..runs.champion import read_champion

    known = check_trust(trusted)
    return None if path is None else read_champion(path, known)


def run_at(path: Path, trusted: list[str] | None = None, small: int = 10, data: Path | None = None) -> Run:
    from ..runs import Run
    from ..runs.pipeline import with_exact_counts

    check_data(small, data)
    found: Run = stored_at(path, Run, "a run written by fairfront trace", trusted)
    return found if small else with_exact_counts(found, data)


def check_data(small: int, data: Path | None) -> None:
    from ..measures.disclosure import check_small

    if check_small(small) == 0 and data is None:
        raise InputError(
            "--small 0 needs the rows, because files of a run have rounded counts only; add --data FILE, the file that "
            "the run was traced from."
        )
    if small and data is not None:
        raise InputError("--data goes with --small 0: the rows are read for exact counts only; leave it out.")
