"""The screen and the words of a command: what people type is checked, and names and sentences appear as they are."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

SMALL = "Counts below it are rounded: 10, or 0 for exact counts, for use where the rows are kept."
SIGN = "PEM file of an Ed25519 private key that signs what is written (extra sign)."
DATA = "With --small 0: the file that the run was traced from."
Mistake: type[Exception] = typer.BadParameter.__mro__[2]
"""What typer raises where words cannot be read as a command; it has no public name of its own."""
SHOWN = 60
NAMES = (
    "approval_rate at_least at_most checkpoint confidence costs cutoff delimiter favourable group_probabilities groups "
    "max_fits min_size overwrite resume ridge split use_sensitive weight within"
)
OPTIONS = {name: f"--{name.replace('_', '-')}" for name in NAMES.split()} | {
    "n_points": "--points",
    "trusted": "--trust",
    "confidence=None (0)": "--confidence 0",
    "cutoff=, approval_rate= or costs=": "--cutoff, --approval-rate or --costs",
    "None": "none",
}
"""How the command spells what the functions that it calls name in their errors and warnings."""


def screen(**options: Any) -> Console:
    """Return a console without emoji, so that a group or path with ``:id:`` in it is printed so."""
    return Console(emoji=False, **options)


def say(console: Console, text: str) -> None:
    """Print text as it is, without markup and without breaking lines that people copy."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def printable(text: str) -> str:
    """Return text in one line: control characters of a name or path are written as Python does."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def asks_for_help(error: Any) -> bool:
    """Tell whether no words were given, so that the error is the help text and shows itself."""
    return type(error).show is not typer.BadParameter.show


def sentence(error: Any) -> str:
    """Say what is wrong with the words of a command, and where to read what they may be."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "fairfront"
    return f"{_what(error, path)}; see {path} --help."


def _what(error: Any, path: str) -> str:
    option, param = getattr(error, "option_name", None), getattr(error, "param", None)
    if option is not None and hasattr(error, "possibilities"):
        near = difflib.get_close_matches(option, error.possibilities or (), n=1, cutoff=0.0)
        return f"there is no option {short(option)} of {path}" + (f", did you mean {near[0]}?" if near else "")
    if param is None:
        return _joined(error.format_message())
    name = name_of(param)
    if hasattr(error, "param_type"):
        return f"{name} is missing, expected: {_joined(param.help or 'a value')}"
    return f"{name}{_found(error)}: {_joined(error.message)}"


def name_of(param: Any) -> str:
    """Return what people call an option or an argument."""
    return str(param.opts[0] if param.param_type_name == "option" else param.name.upper())


def _found(error: Any) -> str:
    """Quote the value that could not be read, where the error knows it."""
    reading = getattr(error.__cause__, "errors", None)
    return f" is {short(repr(reading()[0]['input']))}" if reading is not None else ""


def _joined(text: str) -> str:
    """Return sentences as one, without the capital and the full stop."""
    parts = " ".join(text.split()).rstrip(".").split(". ")
    return "; ".join(part[:1].lower() + part[1:] for part in parts)


def short(text: str) -> str:
    """Return the beginning and the end of a text that is too long to be read."""
    return text if len(text) <= SHOWN else f"{text[: SHOWN // 2]}...{text[-SHOWN // 4 :]}"


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
