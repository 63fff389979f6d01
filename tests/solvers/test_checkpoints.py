"""Checkpoints: what they hold, and that every state they ever had leads to the same end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import fairfront as ff
from fairfront.solvers import journal
from fairfront.solvers.loop import EVERY
from fairfront.storage.checkpoints import Fingerprint, read_checkpoint
from tests.support.killed_runs import collect_states, digest_of, rows
from tests.support.searches import trace

CASES: dict[str, dict[str, Any]] = {
    "where it bends": {},
    "even points past zero": {"solver": ff.Newton(overshoot=0.3), "n_points": 4},
    "preferences": {"preferences": [[1.0, 10.0, 10.0, 10.0], [1.0, 500.0, 500.0, 500.0]]},
    "restarts": {"surrogate": "rate", "solver": ff.Newton(restarts=1), "n_points": 3},
    "a floor": {"notion": "group_loss", "n_points": 5},
    "squared hinge": {"loss": "squared_hinge", "n_points": 3},
    "pb_pdo to a floor": {"solver": ff.PBPDO(slide=0.01), "notion": "group_loss", "preferences": 3},
    "pb_pdo": {"solver": ff.PBPDO(slide=0.005, max_iter=90), "preferences": 3},
    "pdo": {"solver": ff.PDO(max_iter=60), "preferences": 2, "random_state": 4},
    "paper_pdo": {"solver": ff.PaperPDO(T=60, warm_alpha=True), "random_state": 4},
    "paper_pb_pdo": {"solver": ff.PaperPBPDO(T=60), "preferences": 3, "random_state": 4},
    "trees": {"estimator": DecisionTreeClassifier(max_depth=4), "max_fits": 4, "cv": 2},
    "trees of rates": {"estimator": DecisionTreeClassifier(max_depth=4), "max_fits": 4, "criterion": "rate_gap"},
}


def traced(**settings: Any) -> ff.Frontier:
    X, y, group = rows(600, 5)
    return trace(X, y, sensitive_features=group, progress=False, **settings)


def digest(**settings: Any) -> str:
    return digest_of(traced(**settings), rows(600, 5)[0])


@pytest.fixture
def every_state(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    return collect_states(monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_every_state_leads_to_the_same_end(case: str, tmp_path: Path, every_state: list[bytes]) -> None:
    path = tmp_path / "run.checkpoint"
    whole = digest(checkpoint=path, **CASES[case])
    states = list(dict.fromkeys(every_state))
    assert len(states) > 2
    for state in {*states[:: max(1, len(states) // 4)], states[-1]}:
        path.write_bytes(state)
        assert digest(checkpoint=path, resume=True, **CASES[case]) == whole


def test_a_finished_run_is_not_worked_out_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.checkpoint"
    for settings in ({"n_points": 5}, {"solver": "pb_pdo", "preferences": 3}):
        path.unlink(missing_ok=True)
        whole = digest(checkpoint=path, **settings)
        with monkeypatch.context() as patch:
            patch.setattr("fairfront.problems.LinearProblem.fit", None)
            patch.setattr("fairfront.solvers.sqp.KnotSolver._solved", None)
            patch.setattr("fairfront.solvers.pb_pdo.PBPDO.plan", None)
            assert digest(checkpoint=path, resume=True, **settings) == whole


def test_resuming_without_a_file_begins(tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    assert digest(n_points=3, checkpoint=path, resume=True) == digest(n_points=3)
    assert path.exists()


def test_an_error_leaves_what_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when all workers of a cluster are lost: the error passes, and the next run goes on after it."""
    path, count = tmp_path / "run.checkpoint", [0]
    solved = journal.FileJournal.note

    def fails(self: journal.FileJournal, *args: Any, **numbers: Any) -> None:
        solved(self, *args, **numbers)
        count[0] += 1
        if count[0] == 4:
            raise ConnectionError("all workers are lost")

    with monkeypatch.context() as patch:
        patch.setattr(journal, "SHARE", 1e9)
        patch.setattr(journal.FileJournal, "note", fails)
        with pytest.raises(ConnectionError):
            traced(n_points=6, checkpoint=path)
    assert len(read_checkpoint(path)[1]) == 4
    assert digest(n_points=6, checkpoint=path, resume=True) == digest(n_points=6)


def test_an_open_seed_is_drawn_once(tmp_path: Path, every_state: list[bytes]) -> None:
    path = tmp_path / "run.checkpoint"
    settings: dict[str, Any] = {"solver": ff.PaperPDO(T=60), "checkpoint": path}
    whole = digest(**settings)
    path.write_bytes(every_state[-2])
    assert digest(resume=True, **settings) == whole


@pytest.mark.parametrize("solver", ["newton", "pb_pdo", "pdo"])
def test_solve_goes_on(solver: str, tmp_path: Path, every_state: list[bytes]) -> None:
    X, y, group = rows(600, 5)
    problem = ff.linear_problem(X, y, sensitive_features=group)
    settings: dict[str, Any] = {"random_state": 0, "checkpoint": tmp_path / "run.checkpoint"}
    whole = ff.solve(problem, solver, **settings)
    for state in (every_state[1], every_state[-1]):
        settings["checkpoint"].write_bytes(state)
        again = ff.solve(problem, solver, resume=True, **settings)
        assert again.status == whole.status
        assert again.passes == whole.passes
        for mine, its in zip((again.W, again.L, *again.history), (whole.W, whole.L, *whole.history), strict=True):
            np.testing.assert_array_equal(mine, its)


def test_minimize_goes_on(tmp_path: Path, every_state: list[bytes]) -> None:
    def functions(x: np.ndarray) -> np.ndarray:
        return np.array([((x - 1) ** 2).sum() + 1, (x**4 @ np.array([1.0, 30.0])) + 1])

    path = tmp_path / "run.checkpoint"
    settings: dict[str, Any] = {"preference": [1.0, 1.5], "solver": ff.PaperPBPDO(T=3 * EVERY, eta=1e-3)}
    whole = ff.minimize(functions, [3.0, -2.0], checkpoint=path, **settings)
    assert whole.nit > EVERY
    path.write_bytes(every_state[1])
    again = ff.minimize(functions, [3.0, -2.0], checkpoint=path, resume=True, **settings)
    np.testing.assert_array_equal(again.history, whole.history)


def test_a_run_that_went_another_way_is_solved_again(tmp_path: Path) -> None:
    """As on another machine, where rounding leads to other points: the journal is left where it does not fit."""
    path = tmp_path / "run.checkpoint"
    traced(n_points=6, checkpoint=path)
    owner, entries = read_checkpoint(path)
    moved = [*entries[:3], journal.Entry(entries[3].kind, entries[3].asked * 1.1, entries[3].arrays, {}), *entries[4:]]
    journal.write_checkpoint(path, owner, moved)
    with pytest.warns(ff.FairfrontWarning, match="solved again"):
        assert digest(n_points=6, checkpoint=path, resume=True) == digest(n_points=6)


def test_rounding_does_not_make_another_run(tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    traced(n_points=6, checkpoint=path)
    owner, entries = read_checkpoint(path)
    near = [journal.Entry(e.kind, e.asked * (1.0 + 1e-12), e.arrays, e.numbers) for e in entries]
    journal.write_checkpoint(path, owner, near)
    assert digest(n_points=6, checkpoint=path, resume=True) == digest(n_points=6)


def test_no_data_and_no_counts_are_in_the_file(tmp_path: Path) -> None:
    """Nothing grows with rows or cells, no shares of groups, no names; in all, weights and a few numbers per answer."""
    X, y, group = rows(600, 5)
    path = tmp_path / "run.checkpoint"
    ff.trace(X, y, sensitive_features=group, n_points=4, checkpoint=path, progress=False)
    _, entries = read_checkpoint(path)
    problem = ff.linear_problem(X, y, sensitive_features=group)
    counts = problem.layout.cells.weight
    numbers = np.concatenate([a.ravel() for e in entries for a in (e.asked, *e.arrays.values())])
    for secret in (*counts, *(counts / counts.sum()), *problem.algebra.p):
        assert not np.isclose(numbers[numbers != 0.0], secret, rtol=1e-9).any() or secret == 0.0
    assert all(a.size <= max(X.shape[1] + 1, 7) for e in entries for a in e.arrays.values())
    text = path.read_bytes()
    assert not any(word.encode() in text for word in ("equal_opportunity", '"a"', "b - a", "y=1"))
    assert len(text) < 20_000


def test_fits_measured_on_few_people_are_not_kept(tmp_path: Path) -> None:
    X, y, group = rows(600, 5)
    keep = (group != "c") | (y == 0) | (np.cumsum((group == "c") & (y == 1)) <= 8)
    path = tmp_path / "run.checkpoint"
    settings: dict[str, Any] = {"estimator": DecisionTreeClassifier(max_depth=3), "max_fits": 3, "cv": 2}
    settings["groups"] = ff.Groups(min_size=8)
    known = {"sensitive_features": group[keep], "checkpoint": path, "progress": False, **settings}
    with pytest.warns(ff.FairfrontWarning, match="fewer than 10 held-out rows"):
        first = trace(X[keep], y[keep], **known)
    assert read_checkpoint(path)[1] == []
    with pytest.warns(ff.FairfrontWarning, match="a resumed run fits again"):
        assert digest_of(trace(X[keep], y[keep], resume=True, **known), X) == digest_of(first, X)


def test_gaps_of_few_people_are_not_kept(tmp_path: Path, every_state: list[bytes]) -> None:
    """Nine people of a group have the favourable label: neither history nor axes are written, the end is the same."""
    X, y, group = rows(600, 5)
    keep = (group != "c") | (y == 0) | (np.cumsum((group == "c") & (y == 1)) <= 9)
    known: dict[str, Any] = {"sensitive_features": group[keep], "solver": ff.PBPDO(slide=0.005, max_iter=90)}
    known |= {"preferences": 3, "checkpoint": tmp_path / "run.checkpoint", "progress": False}
    known["groups"] = ff.Groups(min_size=9)
    whole = trace(X[keep], y[keep], **known)
    states = list(dict.fromkeys(every_state))
    for state in states[:: max(1, len(states) // 4)]:
        known["checkpoint"].write_bytes(state)
        assert digest_of(trace(X[keep], y[keep], resume=True, **known), X) == digest_of(whole, X)
    names = [name for entry in read_checkpoint(known["checkpoint"])[1] for name in entry.arrays]
    assert "archive.weights" in names
    assert not {"history", "archive.axes"} & set(names)
    problem = ff.linear_problem(X[keep], y[keep], sensitive_features=group[keep], groups=known["groups"])
    path = tmp_path / "solve.checkpoint"
    known = {"random_state": 0, "checkpoint": path}
    first, again = (ff.solve(problem, ff.PDO(max_iter=60), resume=r, **known) for r in (False, True))
    np.testing.assert_array_equal(first.W, again.W)
    assert first.history[0].shape == again.history[0].shape
    assert np.isnan(again.history[0]).all()


def test_every_matter_is_told_once() -> None:
    kept = journal.FileJournal(Path("run.checkpoint"), Fingerprint({}, ""))
    with pytest.warns(ff.FairfrontWarning, match="about the disk"):
        kept._warn("disk", "about the disk")
    with pytest.warns(ff.FairfrontWarning, match="about points"):
        kept._warn("other points", "about points")
    kept._warn("disk", "about the disk again")
