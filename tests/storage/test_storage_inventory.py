"""Runs, models and frontiers are replaced by their own kind when every file in them is ours, and stay otherwise."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import fairfront as ff
from fairfront.runs.pipeline import write_choice
from tests.support.extras import optional
from tests.support.trial import students

pd = optional("pandas")

KINDS = ["run", "model", "frontier", "boosted run", "boosted model", "own models"]
Saved = dict[str, tuple[Path, Callable[..., Path]]]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    """Return a folder of every kind, with all files that it may have, and the function that writes it."""
    home = tmp_path_factory.mktemp("saved")
    table = pd.DataFrame(students(2000))
    known = {"target": "outcome", "groups": "sex", "favourable": "passed", "progress": False}
    run = ff.load(ff.trace_table(table, **known, n_points=3).save(home / "first"))
    model, _ = write_choice(run, home / "chosen", {"id": int(run.frontier.ids[0])})
    run = ff.load(home / "first")
    trees = ff.trace_table(table, **known, model="boosting", max_fits=3)
    X, y = table[["lsat", "ugpa"]].to_numpy(), table["outcome"]
    tree = DecisionTreeClassifier(max_depth=2).fit(X, y)
    own = ff.Frontier.from_models({"tree": tree}, X, y, sensitive_features=np.asarray(table["sex"]))
    writers: dict[str, Callable[..., Path]] = {
        "run": run.save,
        "model": lambda path, **options: model.save(path, **options),
        "frontier": run.frontier.save,
        "boosted run": trees.save,
        "boosted model": trees.select(id=int(trees.frontier.ids[0])).save,
        "own models": own.save,
    }
    return {name: (write(home / name), write) for name, write in writers.items()}


def copied(saved: Saved, kind: str, tmp_path: Path) -> tuple[Path, Callable[..., Path]]:
    source, write = saved[kind]
    return Path(shutil.copytree(source, tmp_path / "there")), write


def contents(folder: Path) -> dict[str, bytes]:
    return {each.relative_to(folder).as_posix(): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


@pytest.mark.parametrize("kind", KINDS)
def test_what_we_wrote_we_replace(saved: Saved, kind: str, tmp_path: Path) -> None:
    folder, write = copied(saved, kind, tmp_path)
    write(folder, overwrite=True)
    assert set(contents(folder)) == set(contents(saved[kind][0]))
    shutil.rmtree(folder)
    folder.mkdir()
    write(folder, overwrite=True)
    assert set(contents(folder)) == set(contents(saved[kind][0]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name", ["thesis.txt", "models/thesis.txt", "decisions/thesis.json", ".git/config", "new.json"]
)
def test_a_file_of_others_keeps_the_folder(saved: Saved, kind: str, name: str, tmp_path: Path) -> None:
    folder, write = copied(saved, kind, tmp_path)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text('{"format": "fairfront decision"}')
    before = contents(folder)
    with pytest.raises(
        ff.InputError, match=r"other things than fairfront writes .*\((\.git|models|decisions|[a-z/.]+)"
    ):
        write(folder, overwrite=True)
    assert contents(folder) == before


def test_what_a_killed_writer_left_in_a_run_does_not_keep_it(saved: Saved, tmp_path: Path) -> None:
    folder, write = copied(saved, "run", tmp_path)
    for name in ("decisions/.0001.json.partial-1-7", ".SHA256SUMS.partial-1-7"):
        (folder / name).write_text("half")
    write(folder, overwrite=True)
    (folder / ".thesis.partial-1-7").write_text("dear")
    with pytest.raises(ff.InputError, match=r"other things than fairfront writes .*\(\.thesis"):
        write(folder, overwrite=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_file_keeps_the_folder(saved: Saved, kind: str, tmp_path: Path) -> None:
    """Somebody may have written into it: a note on the card, another number in a manifest."""
    folder, write = copied(saved, kind, tmp_path)
    for name, data in contents(folder).items():
        (folder / name).write_bytes(b"dear" + data)
        with pytest.raises(ff.InputError, match="other things than fairfront writes"):
            write(folder, overwrite=True)
        assert (folder / name).read_bytes() == b"dear" + data
        (folder / name).write_bytes(data)
    write(folder, overwrite=True)


@pytest.mark.parametrize(
    ("kind", "other"), [("run", "model"), ("model", "run"), ("frontier", "run"), ("run", "frontier")]
)
def test_another_kind_of_folder_is_not_replaced(saved: Saved, kind: str, other: str, tmp_path: Path) -> None:
    folder, _ = copied(saved, kind, tmp_path)
    before = contents(folder)
    with pytest.raises(ff.InputError, match=f"than fairfront writes into a .*{other}"):
        saved[other][1](folder, overwrite=True)
    assert contents(folder) == before


def test_half_a_folder_is_not_replaced(saved: Saved, tmp_path: Path) -> None:
    folder, write = copied(saved, "run", tmp_path)
    shutil.rmtree(folder / "frontier")
    with pytest.raises(ff.InputError, match="is not a whole run, and stays as it is"):
        write(folder, overwrite=True)
