"""Contests: every method of every contest is in the same world, and what one finds is kept, read and compared."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import cases, contest, judge
from benchmarks.comparison import Comparison
from benchmarks.contests import CONTESTS
from benchmarks.optimum import Logistic
from benchmarks.peers import PEERS, Candidates, Fitting, Peer
from benchmarks.peers.base import linear_candidates
from tests.support.places import ROOT


def split(seed: int) -> cases.Split:
    rows = [cases.synthetic(1000, 6, seed=3 * seed + part) for part in range(3)]
    return cases.Split(*rows, columns=tuple("abcdef"), levels=("0", "1"))


@pytest.mark.parametrize("name", CONTESTS)
def test_a_contest_has_its_reference_and_known_cases(name: str) -> None:
    made = CONTESTS[name]
    assert made.reference in made.peers
    assert set(made.cases) <= set(cases.CASES)
    assert not made.relative or "plain" in made.peers


def test_results_are_kept_read_and_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contest.report, "RESULTS", tmp_path)
    monkeypatch.setattr(contest.Contest, "split", lambda self, case, seed, quick: split(seed))
    three = {name: PEERS[name] for name in ("plain", "fairfront_newton", "fairfront_overshoot")}
    small = replace(CONTESTS["peers"], peers=three, splits=3, points=5)
    for name in three:
        small.fit("adult", name, quick=False)
    made = Comparison(small, "adult")
    assert made.complete
    answer = made.answer("fairfront_newton", 0.05)
    assert answer is not None
    assert answer.seeds == ("0", "1", "2")
    mean, low, high = made.difference("plain", 0.05) or (0.0, 0.0, 0.0)
    assert low <= mean <= high
    assert len(made.answers(needs_group=False).rows) == 3
    assert made.time_to_equal("fairfront_newton") is not None
    before = small.place("adult", "plain", quick=False).read_bytes()
    small.fit("adult", "plain", quick=False)
    assert small.place("adult", "plain", quick=False).read_bytes() == before


def test_a_peer_of_ones_own_is_one_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def constant(fitting: Fitting) -> Candidates:
        return linear_candidates(np.eye(1, fitting.train.X.shape[1] + 1))

    monkeypatch.setattr(contest.report, "RESULTS", tmp_path)
    monkeypatch.setattr(contest.Contest, "split", lambda self, case, seed, quick: split(seed))
    pair = {"own": Peer("of one's own", constant), "fairfront_overshoot": PEERS["fairfront_overshoot"]}
    small = replace(CONTESTS["peers"], peers=pair, splits=2, points=3)
    for name in pair:
        small.fit("adult", name, quick=False)
    assert Comparison(small, "adult").done(needs_group=False) == list(pair)


def test_the_independent_optimum_has_the_gap_it_was_given() -> None:
    logistic = Logistic(split(0).train)
    v = np.zeros(logistic.Z.shape[1])
    tight, loose = (logistic.at_gap(cap, v) for cap in (0.0, 0.05))
    _, first, second = logistic(tight.x)[0]
    assert abs(first - second) < 1e-6
    assert loose.fun <= tight.fun


def test_several_labels_and_amounts_are_judged_too() -> None:
    rows = cases.Rows(np.zeros((4, 1)), np.array([0, 1, 2, 2]), np.array([0, 0, 1, 1]), favourable=2)
    labels = np.array([[0, 1, 2, 0]])
    found = judge.figures((labels == 2).astype(float), rows, labels)
    assert found.error[0] == pytest.approx(0.25)
    amounts = cases.Rows(np.zeros((4, 1)), np.array([0.0, 1.0, 2.0, 3.0]), np.array([0, 0, 1, 1]))
    squared = judge.figures(np.array([[0.0, 0.0, 2.0, 3.0]]), amounts)
    assert (squared.error[0], squared.gap[0]) == (0.25, 0.5)


MODULES = [path.relative_to(ROOT).with_suffix("") for path in sorted(ROOT.glob("benchmarks/**/*.py"))]


@pytest.mark.parametrize("name", [".".join(path.parts) for path in MODULES if path.name != "__main__"])
def test_every_module_can_be_imported(name: str) -> None:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if str(missing.name).startswith(("benchmarks", "fairfront")):
            raise
        pytest.skip(f"{missing.name} is not installed")
