"""``fairfront data``: list, path and fetch as a user runs them."""

from __future__ import annotations

import csv
import hashlib
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import fairfront as ff
from fairfront.cli.data import data_app
from fairfront.datasets import ORIGINS, load_loans
from fairfront.datasets.origin import CACHE, ENVIRONMENT
from tests.support.loopback import HONEST, Answer, Loopback, loopback
from tests.support.places import DATA
from tests.support.waiting import PATIENCE, heed_interrupts, until

CONTENT = b"".join(b"row %d\n" % k for k in range(20_000))
# The command with one data set more, "small", which a server on the loopback address offers.
COMMAND = """
import sys, typer
from fairfront.cli.data import data_app
from fairfront.datasets import ORIGINS, Origin
from fairfront.datasets.origin import PublicFile
from fairfront.exceptions import FairfrontError

url, size, digest, *words = sys.argv[1:]
file = PublicFile("small.csv", int(size), digest, (url,))
ORIGINS.add("small", Origin("small", "https://example.org", 1, "none", "y", ("g",), (file,)))
sys.argv = ["fairfront", *words]
try:
    data_app()
except FairfrontError as error:
    typer.echo(f"fairfront: {error}", err=True)
    sys.exit(2)
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    return tmp_path / "cache"


def run(*words: str) -> Any:
    return CliRunner().invoke(data_app, list(words), env={"COLUMNS": "160"})


def start(server: Loopback, *words: str) -> subprocess.Popen[str]:
    facts = [server.url, str(len(CONTENT)), hashlib.sha256(CONTENT).hexdigest()]
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *facts, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    )


def end(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


def test_list() -> None:
    done = run("list")
    assert done.exit_code == 0
    for name in ORIGINS:
        line = next(line for line in done.output.splitlines() if f" {name} " in line)
        assert str(ORIGINS[name].rows) in line
        assert ("embedded" if ORIGINS[name].embedded else "not fetched") in line


def test_list_for_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    found = json.loads(run("list", "--json").stdout)
    assert [row["name"] for row in found["data"]] == list(ORIGINS)
    assert found["data"][0].keys() == {"name", "rows", "terms", "target", "groups", "where", "folder"}
    if not (DATA / "german_credit").is_dir():
        pytest.skip(f"the data files are not here: set {ENVIRONMENT} to the folder that holds them.")
    monkeypatch.setenv(ENVIRONMENT, str(DATA))
    german = next(row for row in json.loads(run("list", "--json").stdout)["data"] if row["name"] == "german_credit")
    assert (german["where"], german["folder"]) == (ENVIRONMENT, str(DATA / "german_credit"))


def test_path_of_loans_is_a_file_like_ones_own(cache: Path) -> None:
    done = run("path", "loans")
    path = Path(done.stdout.strip())
    assert (done.exit_code, path) == (0, cache / "loans" / "loans.csv")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    data = load_loans()
    assert list(rows[0]) == ["applicant_id", *data.features, "applied", "group", "sex", "outcome"]
    assert len({row["applicant_id"] for row in rows}) == len(rows) == 6000
    for name in ("income", "debt_ratio", "region", "group", "outcome"):
        assert [row[name] for row in rows] == ["" if v is None else str(v) for v in data.columns[name].tolist()]


def test_path_of_loans_is_written_once_and_mended(cache: Path) -> None:
    path = Path(run("path", "loans").stdout.strip())
    first, content = path.stat(), path.read_bytes()
    assert run("path", "loans").exit_code == 0
    assert path.stat().st_mtime_ns == first.st_mtime_ns
    path.write_bytes(content[:1000])
    assert run("path", "loans").exit_code == 0
    assert path.read_bytes() == content
    assert [file.name for file in path.parent.iterdir()] == ["loans.csv"]


def test_path_says_what_to_run() -> None:
    done = run("path", "adult")
    assert isinstance(done.exception, ff.InputError)
    assert "fairfront data fetch adult" in str(done.exception)
    assert done.stdout == ""
    assert "did you mean 'adult'" in str(run("path", "adlut").exception)


def test_path_of_a_folder_and_as_csv(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not (DATA / "compas").is_dir():
        pytest.skip(f"the data files are not here: set {ENVIRONMENT} to the folder that holds them.")
    monkeypatch.setenv(ENVIRONMENT, str(DATA))
    assert Path(run("path", "compas").stdout.strip()) == DATA / "compas"
    path = Path(run("path", "compas", "--csv").stdout.strip())
    assert path == cache / "compas" / "compas.csv"
    header = path.read_text().splitlines()[0].split(",")
    assert header[-3:] == ["race", "sex", "two_year_recid"]
    assert not {"name", "first", "last", "dob", "decile_score"} & set(header)


@pytest.mark.slow
def test_fetch_then_nothing_to_do(cache: Path) -> None:
    with loopback(CONTENT) as server:
        code, out, err = end(start(server, "fetch", "small"))
        assert (code, out) == (0, f"small: small.csv fetched and checked, in {cache / 'small'}\n")
        assert "Terms: none." in err
        assert end(start(server, "path", "small"))[:2] == (0, f"{cache / 'small'}\n")
        code, out, err = end(start(server, "fetch", "small"))
        assert (code, err) == (0, "")
        assert "already there and complete, nothing to do" in out
    assert len(server.requests) == 1
    assert run("fetch", "loans").stdout == "loans is part of fairfront: nothing to fetch.\n"


def test_a_lying_server_leaves_nothing(cache: Path) -> None:
    with loopback(CONTENT, Answer(announce=0, body=b"?" * len(CONTENT))) as server:
        code, out, err = end(start(server, "fetch", "small"))
    assert (code, out) == (2, "")
    assert "another file than expected, found sha256" in err
    assert err.count("\n") == 2  # what is fetched, and why it failed
    assert not [path for path in (cache / "small").iterdir() if path.name != ".lock"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_interrupted_then_gone_on_with(cache: Path) -> None:
    with loopback(CONTENT, Answer(announce=0, stall=7000), HONEST) as server:
        process = start(server, "fetch", "small")
        assert server.stalled.wait(PATIENCE)
        part = cache / "small" / "small.csv.partial"
        until(lambda: (part.exists() and part.stat().st_size) or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        code, out, err = end(process)
        assert (code, out) == (130, "")
        assert "go on with fairfront data fetch small" in err
        assert part.read_bytes() == CONTENT[: part.stat().st_size]
        assert end(start(server, "path", "small"))[0] == 2
        assert end(start(server, "fetch", "small"))[0] == 0
    assert (cache / "small" / "small.csv").read_bytes() == CONTENT
    assert server.requests[-1].startswith("bytes=")
    assert not part.exists()


def test_the_commands_have_help_with_examples() -> None:
    app = typer.Typer()
    app.add_typer(data_app, name="data")
    for command in ("list", "path", "fetch"):
        done = CliRunner().invoke(app, ["data", command, "--help"], env={"COLUMNS": "160"})
        assert done.exit_code == 0
        assert "Example: fairfront" in done.output
