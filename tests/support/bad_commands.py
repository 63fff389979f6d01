"""Every command with one good call, and words that each of its options has to refuse.

`BAD` are bad for nearly every option. `ACCEPTED` lists, with a reason, those that an option takes all the same.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import signal
import stat
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np
import typer

import fairfront as ff
from fairfront.cli import app
from tests.support.cli import command
from tests.support.waiting import PATIENCE

Given = Mapping[str, tuple[str, ...]]

BAD = {
    "empty": "",
    "blank": " ",
    "unknown name": "nonsense",
    "nearly known": "outcom",
    "zero": "0",
    "minus one": "-1",
    "half": "0.5",
    "two": "2",
    "nan": "nan",
    "infinity": "inf",
    "minus infinity": "-inf",
    "beyond floats": "1e309",
    "huge": "1000000000",
    "beyond integers": "9" * 30,
    "long": "x" * 300,
    "very long": "y" * 5000,
    "unicode": "naïve-😀-\u202e",
    "undecodable": "a\udcffb",
    "lines": "a\nb",
    "escape": "\x1b[31mred",
    "dashes": "--",
    "dashed": "--nonsense",
    "dash": "-",
    "equals": "=",
    "pair": "error=nan",
    "negative pair": "error=-1",
    "commas": ",,",
    "colons": "::",
    "markup": "[/bold]",
    "climbing": "../../x/y",
    "missing file": "nowhere/file.csv",
    "folder": "folder",
    "FIFO": "fifo.csv",
    "empty file": "empty.csv",
    "bytes": "bytes.csv",
    "not gzip": "text.csv.gz",
    "not parquet": "text.parquet",
    "JSON": "thing.json",
    "deep JSON": "deep.json",
    "other table": "other.csv",
    "other run": "frontier",
    "link to nothing": "dangling",
}

GOOD: dict[str, dict[str, tuple[str, ...]]] = {
    "trace": {
        "file": ("loans.csv",),
        "target": ("outcome",),
        "output": ("out",),
        "groups": ("sex",),
        "favourable": ("repaid",),
        "drop": ("applied", "group"),
        "n_points": ("3",),
    },
    "show": {"run": ("run",)},
    "report": {"run": ("run",), "output": ("out.html",)},
    "select": {"run": ("run",), "output": ("out",), "least_gap": ("tpr",)},
    "predict": {"model": ("model",), "file": ("loans.csv",), "output": ("out.csv",)},
    "evaluate": {"run": ("run",), "file": ("loans.csv",), "name": ("oot",)},
    "verify": {"folder": ("run",), "source": ("loans.csv",)},
    "audit": {
        "file": ("loans.csv",),
        "label": ("outcome",),
        "favourable": ("repaid",),
        "decision": ("decided",),
        "groups": ("sex",),
    },
    "alternatives": {
        "file": ("scored.csv",),
        "target": ("outcome",),
        "favourable": ("repaid",),
        "groups": ("sex",),
        "output": ("out",),
        "score": ("champion",),
        "improve": ("selection_gap",),
        "drop": ("applied", "group", "p", "decided"),
        "families": ("linear",),
        "n_splits": ("2",),
    },
    "demo": {"output": ("out",), "rows": ("600",)},
    "data list": {},
    "data path": {"name": ("loans",)},
    "data fetch": {"name": ("loans",)},
}
NOT_WALKED = {("version", "shows the version and ends"), ("help", "shows the help and ends")}


@dataclass(frozen=True)
class Option:
    """One option or argument of a command."""

    command: str
    name: str
    flag: str
    is_flag: bool
    is_argument: bool
    required: bool


def commands(group: Any = None, path: str = "") -> Iterator[tuple[str, Any]]:
    """Return every command with its path, as the app has them."""
    for name, each in (group or typer.main.get_command(app)).commands.items():
        here = f"{path} {name}".strip()
        if hasattr(each, "commands"):
            yield from commands(each, here)
        else:
            yield here, each


def options(path: str, command: Any) -> list[Option]:
    """Return the options and arguments of a command, in order."""
    return [
        Option(
            path,
            param.name,
            param.opts[0],
            bool(getattr(param, "is_flag", False)),
            param.param_type_name == "argument",
            bool(param.required),
        )
        for param in command.params
        if param.name not in {name for name, _ in NOT_WALKED}
    ]


ALL = {path: options(path, command) for path, command in commands()}


def words(path: str, given: Given) -> list[str]:
    """Return the words of a call: arguments first, then options with their values."""
    known = {option.name: option for option in ALL[path]}
    found = path.split()
    for name, option in known.items():
        if option.is_argument:
            found += (
                ["--", *given[name]] if any(v.startswith("-") for v in given.get(name, ())) else given.get(name, ())
            )
    spoken: list[str] = []
    for name, values in given.items():
        option = known[name]
        if not option.is_argument:
            spoken += (
                [option.flag] * max(len(values), 1)
                if option.is_flag
                else [word for value in values for word in (option.flag, value)]
            )
    end = found.index("--") if "--" in found else len(found)
    return [*found[:end], *spoken, *found[end:]]


@dataclass(frozen=True)
class Call:
    """A call that should be refused: what was changed in the good one, and its words."""

    path: str
    changed: str
    kind: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.path} {self.changed} {self.kind}"


def bad_calls(path: str) -> Iterator[Call]:
    """Return the good call with one option missing, or with a bad value in it."""
    good = GOOD[path]
    for option in ALL[path]:
        if option.required:
            rest = {name: values for name, values in good.items() if name != option.name}
            yield Call(path, option.name, "missing", tuple(words(path, rest)))
        if option.is_flag:
            glued = [*words(path, good), f"{option.flag}=nonsense"]
            yield Call(path, option.name, "value for a flag", tuple(glued))
            continue
        for kind, value in BAD.items():
            yield Call(path, option.name, kind, tuple(words(path, {**good, option.name: (value,)})))
    for kind, more in (("unknown option", "--nonsense"), ("unknown short option", "-z"), ("extra word", "extra")):
        yield Call(path, "call", kind, (*words(path, good), more, "3"))


def clashes() -> Iterator[Call]:
    """Return calls whose options are good each by itself and do not go together."""
    for path, more in (
        ("trace", {"group_probabilities": ("p,w",)}),
        ("trace", {"cutoff": ("0.4",), "approval_rate": ("0.4",)}),
        ("trace", {"approval_rate": ("0.4",), "costs": ("5,1",)}),
        ("trace", {"max_fits": ("4",)}),
        ("trace", {"model": ("boosting",)}),
        ("trace", {"text": ("p",), "numbers": ("p",)}),
        ("trace", {"drop": ("outcome",)}),
        ("trace", {"drop": ("sex",)}),
        ("trace", {"weight": ("outcome",)}),
        ("trace", {"person": ("outcome",)}),
        ("trace", {"person": ("p",), "split": ("by:sex",)}),
        ("trace", {"target": ("sex",)}),
        ("trace", {"loss": ("squared",), "cutoff": ("0.4",)}),
        ("trace", {"output": ("run",)}),
        ("trace", {"output": ("folder",)}),
        ("trace", {"output": ("loans.csv",), "overwrite": ()}),
        ("trace", {"output": ("fifo.csv",), "overwrite": ()}),
        ("select", {"id": ("0",)}),
        ("select", {"knee": ()}),
        ("select", {"most": ("auc",)}),
        ("select", {"least_gap": (), "within": ("error=0.1",)}),
        ("select", {"output": ("loans.csv",), "overwrite": ()}),
        ("report", {"output": ("fifo.csv",), "overwrite": ()}),
        ("report", {"output": ("folder",), "overwrite": ()}),
        ("predict", {"output": ("fifo.csv",), "overwrite": ()}),
        ("predict", {"output": ("folder",), "overwrite": ()}),
        ("predict", {"output": ("loans.csv",)}),
        ("evaluate", {"name": ("test",)}),
        ("evaluate", {"file": ("fifo.csv",)}),
        ("verify", {"source": ("fifo.csv",)}),
        ("alternatives", {"decision": ("decided",)}),
        ("alternatives", {"cutoff": ("0.4",), "approval_rate": ("0.4",)}),
        ("alternatives", {"keep": ("cost=0.1",)}),
        ("alternatives", {"score": ("outcome",)}),
        ("alternatives", {"score": (), "decision": ("p",)}),
        ("alternatives", {"score": (), "decision": ("decided",), "keep": ("auc=0.1",)}),
        ("alternatives", {"labelled_only_if": ("decided=repaid",), "keep": ("error=0.1",)}),
        ("alternatives", {"output": ("run",), "overwrite": ()}),
        ("audit", {"score": ("p",)}),
        ("audit", {"cutoff": ("0.5",)}),
        ("audit", {"group_probabilities": ("p,w",)}),
        ("audit", {"favourable": ("repaid", "above")}),
        ("audit", {"decision": (), "score": ("p",), "cutoff": ("0.4",), "approval_rate": ("0.4",)}),
    ):
        given = {name: values for name, values in {**GOOD[path], **more}.items() if values or _is_flag(path, name)}
        yield Call(path, " and ".join(more), "clash", tuple(words(path, given)))


def _is_flag(path: str, name: str) -> bool:
    return any(option.is_flag for option in ALL[path] if option.name == name)


class Sandbox:
    """A folder with the files that calls name; what a call changed can be seen and put back."""

    def __init__(self, place: Path, pristine: Path) -> None:
        self.place, self.pristine = place, pristine
        self.restore()
        self.before = self.seen()

    def restore(self) -> None:
        """Put every file back as it was, and remove what is new."""
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.pristine, self.place)
        os.mkfifo(self.place / "fifo.csv")
        (self.place / "dangling").symlink_to("nothing")

    def seen(self) -> dict[str, tuple[int, int, int]]:
        """Return kind, size and time of every path, hidden ones too."""
        found = {}
        for path in sorted(self.place.rglob("*")):
            about = path.lstat()
            size = about.st_size if stat.S_ISREG(about.st_mode) else 0
            found[str(path.relative_to(self.place))] = (stat.S_IFMT(about.st_mode), size, about.st_mtime_ns)
        return found

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Work inside, so that names without a folder are here."""
        with chdir(self.place):
            yield

    def changed(self) -> list[str]:
        """Return what is new, gone or other than before, and put it back."""
        now = self.seen()
        names = sorted(name for name in {*now, *self.before} if now.get(name) != self.before.get(name))
        if names:
            self.restore()
            self.before = self.seen()
        return names


def make_files(folder: Path) -> None:
    """Write the files that good and bad calls name; a run and a model are made by the commands."""
    data = ff.datasets.load_loans(n=600, seed=0)
    rng = np.random.default_rng(0)
    names, scored = [*data.features, "applied", "sex", "group", "outcome"], list[list[Any]]()
    with (folder / "loans.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow([*names, "decided", "p", "w"])
        for i in range(600):
            row = ["" if (v := data.columns[name][i]) is None else v for name in names]
            p = round(float(rng.uniform(0.01, 0.99)), 3)
            writer.writerow([*row, "repaid" if p > 0.4 else "defaulted", p, 1 + i % 3])
            scored.append([*row, "repaid" if p > 0.4 else "defaulted", p, 1 + i % 3, _champion(row, p)])
    with (folder / "scored.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([[*names, "decided", "p", "w", "champion"], *scored])
    (folder / "folder").mkdir()
    (folder / "empty.csv").write_bytes(b"")
    (folder / "bytes.csv").write_bytes(bytes(range(256)) * 4)
    (folder / "text.csv.gz").write_text("a,b\n1,2\n")
    (folder / "text.parquet").write_text("a,b\n1,2\n")
    (folder / "thing.json").write_text('{"a": 1}')
    (folder / "deep.json").write_text("[" * 100_000 + "]" * 100_000)
    (folder / "other.csv").write_text("a,b\n" + "1,2\n" * 40)
    X = rng.normal(size=(200, 2))
    front = ff.trace(X, X[:, 0] + X[:, 1] > 0, sensitive_features=np.tile(["a", "b"], 100), n_points=2)
    front.save(folder / "frontier")


def _champion(row: list[Any], p: float) -> float:
    """Return a score that knows nothing of outcomes and treats one sex worse."""
    return round(0.6 * p + 0.4 * (row[-3] == "F"), 3)


class TooLongError(BaseException):
    """A call did not end."""


@contextmanager
def patience() -> Iterator[None]:
    """Interrupt what would never end; no handler of the command can catch it."""

    def ring(*_: Any) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(int(PATIENCE))
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


CODES = {"verify": (0, 2, 3), "audit": (0, 2, 3, 4), "alternatives": (0, 2, 4)}
"""Exit codes of commands that have more than 0 and 2; their help says so."""
SEVERAL = re.compile(r"[.!?] +[A-Z]")
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
PYTHON = re.compile(
    r"\b(overwrite|confidence|least|most|trusted|cutoff|costs|groups|on)=(?!NUMBER)|\bTrue\b|\bNone\b|Groups\("
    r"|\b(n_points|max_fits|min_size|group_probabilities|use_sensitive|sensitive_features|sample_weight|at_most|at_least"
    r"|scores_or_labels|y_true|control_features|n_resamples)\b"
    r"|^fairfront: (cutoff|costs|confidence|approval_rate|target|drop|allow|text|numbers|keep|id|n) "
)


def faults(call: Call, sandbox: Sandbox) -> list[str]:
    """Make a bad call and return what is wrong with the answer."""
    try:
        with patience(), sandbox.entered():
            done = command(*call.words)
    except TooLongError:
        sandbox.changed()
        return ["does not end"]
    changed = sandbox.changed()
    return list(_faults(call, done, changed))


def _faults(call: Call, done: CompletedProcess[str], changed: list[str]) -> Iterator[str]:
    if "Traceback" in done.stderr:
        yield f"traceback: {done.stderr.strip().splitlines()[-1][:200]}"
        return
    if done.returncode not in CODES.get(call.path.split()[0], (0, 2)):
        yield f"exit code {done.returncode}"
    if done.returncode == 0:
        if not reason(call):
            yield f"accepted: {(done.stdout or done.stderr).strip()[:200]!r}"
        return
    if done.returncode == 2:
        if changed:
            yield f"refused, but changed {changed}"
        yield from _unclear(done.stderr)


def _unclear(said: str) -> Iterator[str]:
    lines = [line for line in said.splitlines() if not line.startswith("note: ")]
    if len(lines) != 1 or not lines[0].startswith("fairfront: "):
        yield f"not one line: {lines}"
    bare = QUOTED.sub("''", " ".join(lines))
    if SEVERAL.search(bare):
        yield f"several sentences: {bare}"
    if PYTHON.search(bare):
        yield f"words of Python: {bare}"


def reason(call: Call) -> str:
    """Return why a call is accepted although its value is bad elsewhere; empty where there is no reason."""
    for (path, option), (kinds, why) in ACCEPTED.items():
        if path in (call.path, "*") and option in (call.changed, "*") and (call.kind in kinds or "*" in kinds):
            return why
    return ""


NAMES = tuple(kind for kind in BAD if kind not in ("empty", "long", "very long", "climbing", "missing file"))
NAMED = tuple(kind for kind, word in BAD.items() if re.fullmatch(r"[a-z0-9]{1,40}", word))
ACCEPTED: dict[tuple[str, str], tuple[tuple[str, ...], str]] = {
    ("report", "title"): (("*",), "free text"),
    ("select", "reason"): (("*",), "free text"),
    ("select", "by"): (("*",), "free text"),
    ("*", "output"): (NAMES, "any new name is a name"),
    ("*", "id"): (("zero", "two"), "the run has points with these ids"),
    ("*", "missing"): (("*",), "any text may stand for a missing value"),
    ("evaluate", "name"): (NAMED, "short words of letters and digits are names"),
    ("*", "trust"): (
        ("FIFO", "empty file", "bytes", "not parquet", "JSON", "deep JSON", "other table", "not gzip"),
        "the form of a name of a type",
    ),
    ("select", "confidence"): (("zero", "half"), "0 takes gaps as observed"),
    ("audit", "confidence"): (("half",), "a confidence"),
    ("audit", "min_size"): (("two",), "decisions that stay in the terminal may be of few rows"),
    ("predict", "reasons"): (("two",), "numbers of reasons"),
    ("alternatives", "confidence"): (("half",), "a confidence"),
    ("alternatives", "cutoff"): (("half",), "a cut-off among the scores"),
    ("alternatives", "approval_rate"): (("half",), "a share of people"),
    ("alternatives", "nobody_worse"): (("zero", "half", "two", "huge", "beyond integers"), "a number of at least 0"),
    ("alternatives", "n_splits"): (("two",), "numbers of splits"),
    ("alternatives", "max_fits"): (("two", "huge", "beyond integers"), "numbers of fits"),
    ("alternatives", "max_seconds"): (("half", "two", "huge", "beyond integers"), "numbers of seconds"),
    ("trace", "n_points"): (("two",), "two points are the fewest"),
    ("trace", "cutoff"): (("half",), "a cut-off among the scores"),
    ("trace", "approval_rate"): (("half",), "a share of people"),
    ("trace", "ridge"): (("zero", "half", "two", "huge", "beyond integers"), "any finite number of at least 0"),
    ("*", "seed"): (("zero", "two", "huge", "beyond integers"), "any whole number of at least 0"),
}
