"""Every command answers every bad word with one sentence and exit code 2, and writes nothing."""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.bad_commands import (
    ACCEPTED,
    ALL,
    BAD,
    GOOD,
    Call,
    Sandbox,
    bad_calls,
    clashes,
    faults,
    make_files,
    words,
)
from tests.support.cli import command

FULL = os.environ.get("FAIRFRONT_DRAWS") == "fuzz"
KINDS = 7
"""Bad values of each option in the usual tests, drawn once and for all; `make fuzz` gives it every one."""


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    root = tmp_path_factory.mktemp("bad")
    pristine = root / "pristine"
    pristine.mkdir()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setenv("FAIRFRONT_CACHE", str(root / "cache"))
        warnings.simplefilter("ignore")
        patch.chdir(pristine)
        make_files(pristine)
        for path, made in (("trace", "run"), ("select", "model")):
            done = command(*words(path, {**GOOD[path], "output": (made,)}))
            assert done.returncode == 0, done.stderr
        (root / "deep").mkdir()
        yield Sandbox(root / "deep" / "box", pristine)


def drawn(path: str) -> list[Call]:
    """Return the bad calls of a command: all of them, or some of each option."""
    calls = list(bad_calls(path))
    if FULL:
        return calls
    some = random.Random(path)
    options = dict.fromkeys(call.changed for call in calls)
    of = {name: [call for call in calls if call.changed == name] for name in options}
    return [call for name in options for call in some.sample(of[name], min(KINDS, len(of[name])))]


def test_every_command_and_option_is_walked() -> None:
    assert set(GOOD) == set(ALL), "a command has no good call in tests/support/bad_commands.py"
    for path, options in ALL.items():
        known = {option.name for option in options}
        assert set(GOOD[path]) <= known
        walked = {call.changed for call in bad_calls(path)}
        assert known <= walked, f"{path} has options that no bad value is given to"


def test_every_reason_is_of_an_option_and_of_bad_values() -> None:
    for (path, option), (kinds, reason) in ACCEPTED.items():
        assert reason
        assert set(kinds) <= {*BAD, "*"}, (path, option)
        assert any(option == each.name for where, options in ALL.items() if path in (where, "*") for each in options)


@pytest.mark.slow
@pytest.mark.parametrize("path", GOOD)
def test_the_good_call_is_good(path: str, sandbox: Sandbox) -> None:
    with sandbox.entered():
        done = command(*words(path, GOOD[path]))
    sandbox.changed()
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("path", GOOD)
def test_bad_words_are_refused_in_one_sentence(path: str, sandbox: Sandbox) -> None:
    found = [f"{call}: {fault}" for call in drawn(path) for fault in faults(call, sandbox)]
    assert not found, "\n".join(found)


@pytest.mark.slow
def test_words_that_contradict_each_other(sandbox: Sandbox) -> None:
    found = [f"{call}: {fault}" for call in clashes() for fault in faults(call, sandbox)]
    assert not found, "\n".join(found)


def test_no_words_show_the_help() -> None:
    for words_given in ((), ("data",)):
        done = command(*words_given)
        assert "Usage:" in done.stdout + done.stderr
        assert "Traceback" not in done.stderr


def test_what_a_mistake_is_answered_with(tmp_path: Path) -> None:
    for given, said in {
        ("shw",): "no such command 'shw'; did you mean 'show'?; see fairfront --help.",
        ("show",): "RUN is missing, expected: folder written by fairfront trace; see fairfront show --help.",
        (
            "show",
            "run",
            "--jsn",
        ): "there is no option --jsn of fairfront show, did you mean --json?; see fairfront show --help.",
        ("show", "run", "--id"): "option '--id' requires an argument; see fairfront --help.",
    }.items():
        done = command(*given)
        assert (done.returncode, done.stderr) == (2, f"fairfront: {said}\n")
    done = command("demo", "--rows", "many")
    assert done.stderr.startswith("fairfront: --rows is 'many': ")
    assert len(done.stderr.splitlines()) == 1


def test_the_smallest_demo_is_a_demo(tmp_path: Path) -> None:
    done = command("demo", "--rows", 600, "--output", tmp_path / "out")
    assert done.returncode == 0, done.stderr
