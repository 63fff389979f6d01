"""The hostile lane itself: its independent optimum is right, its faults are faults, and a little of it passes."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from fairfront import InputError
from tests.support.cases import central
from tests.support.places import ROOT

pytest.importorskip("resource", reason="the lane limits its processes")
from benchmarks.hostile import certificates, edits, packages
from benchmarks.hostile.__main__ import LANES
from benchmarks.hostile.children import CRASHED, DONE, REFUSED, Limits, end_of
from benchmarks.hostile.forgery import Package
from benchmarks.hostile.material import frontier
from benchmarks.hostile.optimum import Capped
from benchmarks.hostile.problems import NOTIONS, draw_problem

KINDS = ("binary", "multiclass", "regression")


def first_of(kind: str, notion: str) -> int:
    """Return the number of the first problem of a kind with a notion."""
    drawn = (draw_problem(seed) for seed in range(10_000))
    return next(draw.seed for draw in drawn if (draw.kind, draw.notion) == (kind, notion))


@pytest.mark.parametrize(("kind", "notion"), [(kind, notion) for kind in KINDS for notion in NOTIONS[kind]])
def test_the_independent_slopes_are_right(kind: str, notion: str) -> None:
    problem = Capped(draw_problem(first_of(kind, notion)))
    theta = np.random.default_rng(0).normal(size=(problem.K, problem.X.shape[1]))
    loss = central(lambda at: problem.loss(at)[0], theta)
    np.testing.assert_allclose(problem.loss(theta)[1].reshape(-1), loss, rtol=1e-5, atol=1e-6)
    means = central(lambda at: np.concatenate(problem.means(at)[0]), theta)
    slopes = np.concatenate(problem.means(theta)[1])
    np.testing.assert_allclose(slopes.reshape(len(slopes), -1), means, rtol=1e-5, atol=1e-6)


def test_units_are_exact() -> None:
    for seed in range(60):
        draw = draw_problem(seed)
        given = (draw.X + draw.offset) * draw.scale
        np.testing.assert_array_equal(given / draw.scale - draw.offset, draw.X)


def test_a_separable_problem_is_seen() -> None:
    shapes = [draw for draw in map(draw_problem, range(200)) if draw.shape in ("separable", "ordinary")]
    found = {draw.shape: Capped(draw).separable() for draw in shapes if draw.loss == "logistic" and draw.intercept}
    assert found == {"separable": "yes", "ordinary": "no"}


def test_figures_of_problems_are_those_that_are_stated() -> None:
    for seed in range(3):
        found = certificates.judged(seed)
        assert "error" not in found
        assert found["misstated"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1137, 1161])
def test_caps_that_a_constant_meets_are_not_said_to_be_the_smallest(seed: int) -> None:
    assert certificates.judged(seed)["untrue_floors"] == 0


def test_jobs_end_as_they_should() -> None:
    def refuse() -> None:
        raise InputError("x is 3, expected 4.")

    assert end_of(lambda: None).code == DONE
    ended = end_of(refuse)
    assert (ended.code, ended.fault) == (REFUSED, None)
    crashed = end_of(lambda: 1 / 0)
    assert crashed.code == CRASHED
    assert "ZeroDivisionError" in str(crashed.fault)
    if sys.platform == "linux":
        assert end_of(lambda: np.ones(10**9), Limits(memory=10**8)).code == CRASHED


def test_an_edit_changes_one_byte(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(100))
    edits.edited(tmp_path, np.random.default_rng(0))
    assert sum(byte != 0 for byte in (tmp_path / "a").read_bytes()) == 1


def test_every_forgery_changes_what_is_there(tmp_path: Path) -> None:
    folder = frontier(0).save(tmp_path / "whole")
    for forge in packages.FORGED.values():
        forge(Package(folder))


def test_the_page_names_every_lane() -> None:
    page = (ROOT / "docs" / "reliability.md").read_text()
    assert not [lane for lane in LANES if f"| `{lane}` |" not in page]
