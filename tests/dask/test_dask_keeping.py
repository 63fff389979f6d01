"""Where rows on Dask stay between passes: in memory, in files or where they come from, with the same numbers."""

from __future__ import annotations

import logging
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fairfront.exceptions import FairfrontWarning, InputError
from fairfront.problems.dask.partition import Spooled
from tests.support.dask_rows import both, dask
from tests.support.places import environment

pytestmark = pytest.mark.usefixtures("on_dask")

KEEP = ("memory", "disk", "source")


@pytest.mark.parametrize("keep", KEEP)
@pytest.mark.parametrize("name", ["weights", "classes", "mean predictions"])
def test_rows_may_be_kept_anywhere(name: str, keep: str) -> None:
    near, away = both(name, keep=keep)
    parts = away.rows.parts
    assert [len(part) for part in parts] == [3 if keep == "source" else 1] * 4
    W = np.random.default_rng(1).normal(size=(1, near.K, near.d))
    omega = np.abs(np.random.default_rng(2).normal(size=near.layout.k))
    np.testing.assert_allclose(away.cells(W).D, near.cells(W).D, rtol=1e-11, atol=1e-11)
    first = away.passes
    found, expected = away.hessian(W[0], omega), near.hessian(W[0], omega)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    assert away.passes - first == (keep != "source")  # what reads its rows each time brings Hessians along
    again = away.cells(W)
    assert away.passes - first == (keep != "source")
    np.testing.assert_array_equal(again.D, away.cells(W).D)


def test_files_on_disk_go_with_the_problem(tmp_path: Path) -> None:
    with dask.config.set({"temporary_directory": str(tmp_path)}):
        _, away = both("equal opportunity", keep="disk")
    (part,) = away.rows.parts[0]
    assert isinstance(part.compute() if hasattr(part, "compute") else part, Spooled)
    (folder,) = tmp_path.iterdir()
    assert len(list(folder.iterdir())) == 8
    del away, part
    assert not list(tmp_path.iterdir())


FULL_DISK = """
import os, resource, sys
import dask, dask.array as da, numpy as np
from fairfront.exceptions import InputError
from fairfront.problems import linear_problem

rng = np.random.default_rng(0)
X, y, groups = rng.normal(size=(3000, 8)), rng.integers(0, 2, 3000), rng.choice(["a", "b"], 3000)
far = [da.from_array(values, chunks=(1000, *values.shape[1:])) for values in (X, y, groups)]
dask.config.set({"fairfront.small_bytes": 0, "fairfront.memory_share": 1e-9, "temporary_directory": sys.argv[1]})
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
for keep in ("disk", "auto"):
    with dask.config.set({"fairfront.keep": keep}):
        try:
            rows = linear_problem(far[0], far[1], sensitive_features=far[2]).rows
            sys.stdout.write(f"{len(rows.parts[0])} things to a part\\n")
        except InputError as error:
            sys.stdout.write(f"{error}\\n")
sys.stdout.write(f"{os.listdir(sys.argv[1])}\\n")
"""


@pytest.mark.slow
def test_a_disk_that_fills_up_ends_with_a_sentence_or_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("resource", reason="files of limited size stand in for a full disk")
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path)]
    said = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    asked, chosen, left = said.stdout.splitlines()
    assert "was not written because the disk is full" in asked
    assert (chosen, left) == ("3 things to a part", "[]")


NO_ROOM = (
    r"at every pass, because they take up to .* GB, expected at most 80% of the disk's free space, found 0 GB free"
)


def test_a_disk_without_room_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=0))
    with dask.config.set({"temporary_directory": str(tmp_path), "fairfront.memory_share": 1e-9}):
        with pytest.warns(FairfrontWarning, match=f"^fairfront.keep is 'disk', but rows are read from .* {NO_ROOM}"):
            near, away = both("equal opportunity", keep="disk")
        with caplog.at_level(logging.INFO, logger="fairfront"):  # nobody asked for files here
            both("equal opportunity", keep="auto")
    assert re.search(NO_ROOM, caplog.text)
    assert len(away.rows.parts[0]) == 3
    assert not list(tmp_path.iterdir())
    W = np.ones((1, 1, 4))
    np.testing.assert_allclose(away.values(W), near.values(W), rtol=1e-12)


def test_a_temporary_folder_that_is_not_there(tmp_path: Path) -> None:
    with (
        dask.config.set({"temporary_directory": str(tmp_path / "nowhere")}),
        pytest.raises(InputError, match=r"temporary_directory is '.*nowhere', expected a folder"),
    ):
        both("equal opportunity", keep="disk")


@pytest.mark.parametrize("keep", KEEP)
@pytest.mark.parametrize("name", ["weights", "classes"])
def test_no_number_depends_on_what_is_remembered(name: str, keep: str) -> None:
    (_, one), (_, two), (_, three) = (both(name, keep=keep) for _ in range(3))
    W = np.random.default_rng(1).normal(size=(1, one.K, one.d))
    omega = np.abs(np.random.default_rng(2).normal(size=one.layout.k))
    found = one.cells(W)  # brings Hessians along where rows are read anew
    values = two.values(W)
    assert found.L.tobytes() == one.values(W).tobytes() == values.tobytes()
    assert found.D.tobytes() == two.cells(W).D.tobytes()
    for float32 in (False, True):
        hessians = [s.hessian(W[0], omega, float32=float32).tobytes() for s in (one, two, three)]
        assert hessians[0] == hessians[1] == hessians[2]
    assert found.D.tobytes() == three.cells(W).D.tobytes()
