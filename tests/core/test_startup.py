"""What is imported when: the package and the command's help load no room that nobody asked for."""

from __future__ import annotations

import ast
import json
import os
import pickle
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import fairfront as ff
from fairfront import names
from fairfront.improvability.families import FAMILIES
from fairfront.objectives import LOSSES, NOTIONS
from tests.support.cli import BELOW_DATA, COMMANDS, fairfront
from tests.support.waiting import PATIENCE

HEAVY = {
    "dask",
    "joblib",
    "matplotlib",
    "narwhals",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "scipy",
    "sklearn",
    "torch",
}
HELP = [["--help"], *([each, "--help"] for each in COMMANDS), *(["data", each, "--help"] for each in BELOW_DATA)]
WRONG = [["nonsense"], ["trace"], ["trace", "rows.csv", "--target", "y"], ["audit", "rows.csv", "--cutoff", "high"]]
LISTED = "import json, sys; json.dump(sorted({name.partition('.')[0] for name in sys.modules}), sys.stderr)"


def imported(code: str, *words: str) -> set[str]:
    """Return the packages that a new interpreter has imported when it has run some code."""
    done = subprocess.run(
        [sys.executable, "-c", f"import atexit\natexit.register(exec, {LISTED!r}, {{}})\n{code}", *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "NO_COLOR": "1"},
        check=False,
    )
    return set(json.loads(done.stderr[done.stderr.rindex("[") :]))


def test_the_import_loads_no_package() -> None:
    found = imported("import fairfront as ff; dir(ff); ff.__version__, ff.InputError")
    assert "fairfront" in found
    assert not found & (HEAVY | {"rich", "typer"})


@pytest.mark.slow
@pytest.mark.parametrize("words", [["--version"], *HELP, *WRONG], ids=" ".join)
def test_help_and_mistakes_in_options_are_answered_before_rooms_are_imported(words: list[str]) -> None:
    found = imported("from fairfront.cli import main; main()", *words)
    assert "typer" in found
    assert not found & HEAVY


@pytest.mark.slow
def test_a_room_is_imported_when_a_name_of_it_is_asked_for() -> None:
    code = "import fairfront as ff; assert not {HEAVY} & set(sys.modules); ff.trace; assert 'sklearn' in sys.modules"
    found = imported("import sys; " + code.replace("{HEAVY}", repr(HEAVY)))
    assert "sklearn" in found
    assert not found & {"dask", "matplotlib", "polars", "torch"}


@pytest.mark.slow
def test_learners_that_few_traces_need_are_imported_late() -> None:
    later = "import sys; from fairfront import *; print(*(m for m in sys.modules if m.startswith('sklearn')))"
    done = subprocess.run([sys.executable, "-c", later], capture_output=True, text=True, check=True)
    assert "sklearn.linear_model" in done.stdout.split()
    assert not {"sklearn.ensemble", "sklearn.tree", "sklearn.neighbors"} & set(done.stdout.split())


def test_every_public_name_is_there_by_all_ways() -> None:
    assert set(ff.__all__) <= set(dir(ff))
    assert {"torch", "runs", "problems"} <= set(dir(ff))
    star: dict[str, object] = {}
    exec("from fairfront import *", star)
    for name in ff.__all__:
        assert getattr(ff, name) is star[name]
    for room in ("datasets", "pareto", "torch", "runs", "problems", "tracing", "exceptions"):
        assert isinstance(getattr(ff, room), ModuleType)
    assert pickle.loads(pickle.dumps(ff.trace)) is ff.trace


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'fairfront' has no attribute 'trase'"):
        _ = ff.trase  # type: ignore[attr-defined]


def test_type_checkers_see_the_names_where_the_package_finds_them() -> None:
    tree = ast.parse(Path(ff.__file__).read_text())
    (typed,) = [node for node in tree.body if isinstance(node, ast.If) and not isinstance(node.test, ast.UnaryOp)]
    seen = {(a.name, node.module) for node in typed.body if isinstance(node, ast.ImportFrom) for a in node.names}
    assert {name for name, _ in seen} == {*ff.__all__, "torch"}
    for name, room in seen:
        home = import_module("fairfront" if room is None else f"fairfront.{room}")
        assert getattr(ff, name) is getattr(home, name)


def test_the_help_lists_what_the_registries_hold() -> None:
    assert tuple(NOTIONS) == names.NOTIONS
    assert tuple(LOSSES) == names.LOSSES
    assert {*FAMILIES} == {*names.FAMILIES, "candidates"}
    said = " ".join(fairfront("trace", "--help").split())
    assert ", ".join(NOTIONS) in said
    assert ", ".join(LOSSES) in said


@pytest.mark.parametrize("words", HELP, ids=" ".join)
def test_help_is_text_without_pictures_and_without_cuts(words: list[str]) -> None:
    said = fairfront(*words)
    assert said.isascii()
    assert "..." not in said.replace("[ARGS]...", "")


def test_all_commands_are_among_those_whose_help_is_tested() -> None:
    from fairfront.cli import app
    from fairfront.cli.data import data_app

    assert [command.callback.__name__ for command in app.registered_commands if command.callback] == [*COMMANDS[:-1]]
    assert [command.name for command in data_app.registered_commands] == [*BELOW_DATA]
