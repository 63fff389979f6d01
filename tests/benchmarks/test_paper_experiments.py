"""The paper's experiments: choosing, judging, resuming and known points."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed: nothing can be drawn")

import fairfront as ff
from benchmarks import judge
from benchmarks.cases import Rows, Split, folder
from benchmarks.paper import bumps, convergence, counts, example, experiment, table1
from benchmarks.paper.__main__ import EXPERIMENTS
from benchmarks.paper.charts import stairs
from benchmarks.paper.data import Spec, parts
from benchmarks.paper.experiment import Experiment, Store, Task, rounded, run_all
from benchmarks.paper.extraction import thinned
from benchmarks.paper.fronts import dominated, error_deo
from benchmarks.paper.ladder import climb, smoothness
from benchmarks.paper.methods import METHODS, PDOS, problem, weights_or_constant
from benchmarks.paper.named_tasks import hole
from benchmarks.paper.trial import least_gap
from benchmarks.peers.base import linear_candidates

RNG = np.random.default_rng(0)


def figures(error: list[float], gap: list[float]) -> judge.Figures:
    return judge.Figures(np.array(error), np.array(gap), np.zeros(len(gap)))


class TestChoosing:
    def test_least_gap_keeps_enough_accuracy(self) -> None:
        assert least_gap(figures([0.20, 0.21, 0.30], [0.10, -0.03, 0.0]), plain_error=0.20) == 1

    def test_least_gap_falls_back_to_the_most_accurate(self) -> None:
        assert least_gap(figures([0.5, 0.4], [0.0, 0.3]), plain_error=0.1) == 1

    def test_least_error_within_the_cap_or_at_the_smallest_gap(self) -> None:
        found = figures([0.20, 0.21, 0.22], [0.10, -0.03, 0.01])
        assert judge.chosen(found, 0.05) == 1
        assert judge.chosen(found, 0.001) == 2


class TestRates:
    rows = Rows(RNG.normal(size=(300, 3)), (RNG.random(300) < 0.4).astype(int), RNG.integers(0, 3, 300))
    W = RNG.normal(size=(5, 4))

    def test_rates_are_plain_shares(self) -> None:
        found = judge.rates(linear_candidates(self.W).approve(self.rows.X, self.rows.groups), self.rows, 3)
        for w, shares in zip(self.W, found, strict=True):
            decided = self.rows.X @ w[:-1] + w[-1] > 0
            for g in range(4):
                rows = np.ones(300, dtype=bool) if g == 3 else self.rows.groups == g
                y, d = self.rows.good[rows], decided[rows]
                np.testing.assert_allclose(shares[:, g], [(d == y).mean(), d[y].mean(), d[~y].mean()])

    def test_deo_is_signed_for_two_groups_and_a_range_for_more(self) -> None:
        found = np.zeros((1, 3, 4))
        found[0, 1] = [0.2, 0.9, 0.5, 0.0]
        assert judge.deo(found)[0] == pytest.approx(0.7)
        assert judge.deo(found, np.array([True, False, True]))[0] == pytest.approx(0.3)
        assert judge.deo(found[:, :, [0, 1, 3]])[0] == pytest.approx(-0.7)

    def test_mixtures_mix_rates(self) -> None:
        approve = linear_candidates(self.W).approve(self.rows.X, self.rows.groups)
        mixed = judge.rates(np.array([[0.5, 0.5, 0, 0, 0]]) @ approve, self.rows, 3)
        np.testing.assert_allclose(mixed[0], judge.rates(approve, self.rows, 3)[:2].mean(axis=0))

    def test_a_model_without_coefficients_is_constant(self) -> None:
        class Same:
            def predict(self, X: np.ndarray) -> np.ndarray:
                return np.ones(len(X))

        np.testing.assert_array_equal(weights_or_constant(Same(), 2), [0.0, 0.0, 1.0])


def double(x: float) -> dict[str, Any]:
    return {"twice": np.float64(2 * x), "list": np.array([1, 2])}


class TestStore:
    def test_a_broken_run_resumes(self, tmp_path: Path) -> None:
        tasks = {f"t{x}": Task(double, {"x": x}) for x in range(3)}
        store, said = Store(tmp_path / "a.json"), []
        run_all({"t0": tasks["t0"]}, store, 1, said.append)
        run_all(tasks, Store(tmp_path / "a.json"), 1, said.append)
        assert said[0].startswith("0 of 1")
        assert [line.split(":")[0] for line in said[2:]] == ["1 of 3 done", "2 of 3 done", "3 of 3 done"]
        kept = Store(tmp_path / "a.json")
        assert kept.results(tasks)["t2"] == {"twice": 4.0, "list": [1, 2]}
        assert kept.seconds(tasks) >= 0.0

    def test_other_arguments_are_another_task(self, tmp_path: Path) -> None:
        store = Store(tmp_path / "a.json")
        store.put("t", Task(double, {"x": 1}), {"twice": 2}, 0.1)
        assert not store.has("t", Task(double, {"x": 2}))
        assert Store(tmp_path / "a.json").made == store.made
        assert "commit " in store.made

    def test_results_of_two_commits_say_so(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for number, key in enumerate(("a", "b", "c")):
            monkeypatch.setattr(experiment, "stamp", lambda number=number: f"commit {min(number, 1)}, today")
            Store(tmp_path / "a.json").put(key, Task(double, {"x": 1}), {"twice": 2}, 0.1)
        assert Store(tmp_path / "a.json").made == "1 of 3 tasks: commit 0, today; 2 of 3 tasks: commit 1, today"

    def test_results_of_other_tasks_are_dropped(self, tmp_path: Path) -> None:
        store, old, new = Store(tmp_path / "a.json"), Task(double, {"x": 1}), Task(double, {"x": 2})
        for key, task in (("a", old), ("b", old), ("c", old)):
            store.put(key, task, {"twice": 2}, 0.1)
        store.prune({"a": old, "b": new})
        assert list(Store(tmp_path / "a.json").kept) == ["a"]

    def test_numbers_are_rounded(self) -> None:
        assert rounded({"a": [1 / 3, np.float64(2 / 3)], "b": (1,)}) == {"a": [0.3333333, 0.6666667], "b": [1]}


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_tasks_can_be_kept_and_the_quick_ones_are_other_tasks(experiment: Experiment) -> None:
    quick, full = experiment.tasks(True), experiment.tasks(False)
    assert quick
    assert len(full) >= len(quick)
    marks = [task.mark for task in (*quick.values(), *full.values())]
    assert json.loads(marks[0])
    assert len({task.mark for task in full.values()}) == len(full)
    if experiment not in (convergence.EXPERIMENT, counts.EXPERIMENT):
        assert not set(marks[: len(quick)]) & {task.mark for task in full.values()}


class TestExample:
    def test_gradients(self) -> None:
        w, step = RNG.normal(size=bumps.D), 1e-6
        for k in range(3):
            shift = step * np.eye(bumps.D)[k]
            slope = (bumps.example(w + shift)[0] - bumps.example(w - shift)[0]) / (2 * step)
            np.testing.assert_allclose(bumps.example(w)[1][:, k], slope, atol=1e-8)

    def test_curvature_of_example_1_is_that_of_its_gradients(self) -> None:
        w, a, step = 0.3 * np.cos(np.arange(bumps.D)), np.array([0.3, 0.7]), 1e-5
        slopes = [a @ (bumps.example(w + e)[1] - bumps.example(w - e)[1]) / (2 * step)
                  for e in step * np.eye(bumps.D)]  # fmt: skip
        np.testing.assert_allclose(bumps.curvature(w, a), slopes, atol=1e-8)

    def test_front_is_the_line_between_the_minima(self) -> None:
        h, J = bumps.example(0.3 * bumps.NU)
        np.testing.assert_allclose(h, bumps.on_front(0.3))
        unit = J / np.linalg.norm(J, axis=1, keepdims=True)
        np.testing.assert_allclose(unit[0], -unit[1], atol=1e-12)

    def test_desired_point_is_on_its_line(self) -> None:
        h = bumps.example(bumps.desired())[0] * bumps.PI
        assert h[0] == pytest.approx(h[1], abs=1e-10)

    def test_default_reaches_it(self) -> None:
        for start in ("case I", "case II"):
            assert example.trajectory("PB-PDO (fairfront)", start, 0, 0.25)["to_aim"] < 1e-6


@pytest.mark.parametrize("run", [convergence.convex, convergence.non_convex])
def test_rates_of_convergence_are_within_their_bounds(run: Any) -> None:
    found = run(T=60)
    for name in set(found) - {"steps", "bound"}:
        assert (np.array(found[name]) <= found["bound"]).all()


def test_inner_level_falls_at_its_rate() -> None:
    found = convergence.inner(K=15)
    assert (np.array(found["squared distance"]) <= np.array(found["bound"]) * (1 + 1e-9)).all()


def test_dominated_counts_points_that_are_no_better_anywhere() -> None:
    theirs, ours = np.array([[1.0, 1.0], [0.0, 2.0], [3.0, 0.0]]), np.array([[0.5, 1.0], [0.0, 2.0]])
    assert dominated(theirs, ours) == pytest.approx(1 / 3)
    assert dominated(ours, theirs) == 0.0
    assert np.isnan(dominated(np.empty((0, 2)), ours))


def test_hole_and_thinning() -> None:
    assert hole(np.array([0.1, 0.4])) == pytest.approx(0.6)
    assert hole(np.empty(0)) == 1.0
    points = np.column_stack([np.arange(10.0)[::-1], np.arange(10.0)])
    np.testing.assert_array_equal(thinned(points, 4)[:, 0], [0, 3, 6, 9])
    crowded = np.concatenate([np.linspace(0.0, 0.1, 1000), np.linspace(0.2, 1.0, 9), [1e4]])
    kept = thinned(np.column_stack([crowded, -np.minimum(crowded, 1.0)]), 100)[:, 0]
    assert len(kept) <= 100
    assert set(crowded[999:]) <= set(kept)


@pytest.mark.skipif(not folder().exists(), reason="the folder of raw data is not there (FAIRFRONT_DATA)")
class TestData:
    @pytest.mark.parametrize(("encoding", "width"), [("paper", 13), ("one_hot", 97)])
    def test_adult_is_the_papers_split(self, encoding: str, width: int) -> None:
        made = parts(Spec("adult", "sex", encoding), 0)
        assert made.levels == ("Female", "Male")
        assert made.train.X.shape[1] == width
        assert len(made.train.y) + len(made.validation.y) == 32_561
        assert int((made.test.good & (made.test.groups == 0)).sum()) == 473

    def test_compas_targets_have_the_counts_of_both_labels(self) -> None:
        for name, expected in (("compas", 2795), ("compas_charge", 1838)):
            made = parts(Spec(name, "race"), 1)
            assert sum(int(p.y.sum()) for p in (made.train, made.validation, made.test)) == expected
            assert made.levels[-1] == "Caucasian"

    def test_random_splits_differ_and_are_scaled_on_training_rows(self) -> None:
        first, second = (parts(Spec("adult", "sex", "paper", "random"), seed) for seed in (0, 1))
        assert not np.array_equal(first.test.y, second.test.y)
        train = np.vstack([first.train.X, first.validation.X])
        np.testing.assert_allclose(train.mean(axis=0), 0.0, atol=1e-9)
        assert abs(first.test.X.mean(axis=0)).max() > 1e-6


def test_every_method_is_a_row_of_the_table() -> None:
    tasks = table1.EXPERIMENT.tasks(False)
    assert {tuple(task.arguments["methods"]) for task in tasks.values()} == {table1.ROWS}
    assert set(METHODS) - set(table1.ROWS) == set(PDOS) - {table1.NEAREST.method}
    assert table1.ROWS[0] == "Normal"


class TestLadder:
    rows = Rows(RNG.normal(size=(200, 3)), (RNG.random(200) < 0.4).astype(int), RNG.integers(0, 2, 200))
    split = Split(rows, rows, rows, levels=("a", "b"))

    @pytest.mark.parametrize("gradients", ["raw", "normalised"])
    @pytest.mark.parametrize("gap", ["absolute", "squared"])
    def test_runs_are_those_of_the_printed_algorithm_at_each_step(self, gradients: Any, gap: str) -> None:
        linear = ff.linear_problem(**problem(self.split, "squared_hinge", gap=gap))
        starts = RNG.normal(size=(3, 1, linear.d))
        found = climb(linear, ff.PaperPDO(gradients=gradients, T=20), [0.02, 0.1], starts)
        alone = [
            ff.solve(linear, ff.PaperPDO(gradients=gradients, T=20, eta=eta), start=starts).W for eta in (0.02, 0.1)
        ]
        np.testing.assert_allclose(found.W, np.concatenate(alone), atol=1e-9)

    def test_either_gap_takes_the_same_steps_once_gradients_have_unit_length(self) -> None:
        starts = RNG.normal(size=(3, 1, 4))
        ends = [
            climb(
                ff.linear_problem(**problem(self.split, "squared_hinge", gap=gap)),
                ff.PaperPDO(gradients="normalised", T=20), [0.1], starts,
            ).W
            for gap in ("absolute", "squared")
        ]  # fmt: skip
        np.testing.assert_allclose(*ends, atol=1e-9)

    def test_preferences_go_with_their_starts(self) -> None:
        linear = ff.linear_problem(**problem(self.split, "logistic"))
        starts, pi = RNG.normal(size=(2, 1, linear.d)), np.array([[1.0, 2.0], [1.0, 50.0]])
        found = climb(linear, ff.PaperPBPDO(T=20), [0.1, 0.5], starts, pi)
        alone = [ff.solve(linear, ff.PaperPBPDO(T=20, eta=eta), preferences=pi, start=starts).W for eta in (0.1, 0.5)]
        np.testing.assert_allclose(found.W, np.concatenate(alone), atol=1e-9)

    @pytest.mark.parametrize(("loss", "ridgeless"), [("logistic", 0.25), ("squared_hinge", 2.0)])
    def test_smoothness_bounds_the_curvature(self, loss: str, ridgeless: float) -> None:
        linear = ff.linear_problem(**problem(self.split, loss, ridge=0.0))
        H = linear.hessian(np.zeros((1, linear.d)), linear.algebra.p)
        largest = float(np.linalg.eigvalsh(H)[-1])
        assert largest <= smoothness(self.rows.X, loss) * (1 + 1e-9)
        assert largest == pytest.approx(smoothness(self.rows.X, loss))  # all margins are 0: the bound is met


def test_errors_and_gaps_by_counts_are_those_of_the_judge() -> None:
    rows = Rows(RNG.normal(size=(300, 3)), (RNG.random(300) < 0.4).astype(int), RNG.integers(0, 2, 300))
    W = RNG.normal(size=(7, 4))
    expected = judge.figures(linear_candidates(W).approve(rows.X, rows.groups), rows)
    np.testing.assert_allclose(error_deo(W, rows, chunk=3), np.column_stack([expected.error, expected.gap]))


def test_stairs_go_down_through_the_points_that_nothing_dominates() -> None:
    corners = stairs(np.array([[3.0, 0.0], [1.0, 2.0], [2.0, 2.5], [2.0, 1.0]]))
    np.testing.assert_array_equal(corners, [[1, 2], [2, 2], [2, 1], [3, 1], [3, 0]])
