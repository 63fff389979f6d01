"""Claims that the paper makes in passing, and whether its page of statements leaves none of the numbered ones out."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed: nothing can be drawn")

from benchmarks.paper import comparators, extraction, frontiers, race, splits, table1
from benchmarks.paper.choices import FERM, GRID, NEAREST, NORMAL
from benchmarks.paper.experiment import Experiment, Store
from benchmarks.report import RESULTS
from fairfront.pareto import is_efficient
from fairfront.solvers.simplex import min_norm
from tests.support.places import ROOT

CENTRES = np.random.default_rng(3).normal(size=(3, 4))


def bowls(w: np.ndarray) -> np.ndarray:
    """Return three convex functions |w - c_i|^4."""
    return ((w - CENTRES) ** 2).sum(axis=1) ** 2


def test_convex_objectives_have_a_convex_front() -> None:
    """Between any two points of the objective space lies one that is at least as good as their mean."""
    rng = np.random.default_rng(0)
    for w, v in rng.normal(size=(50, 2, 4)):
        for t in (0.2, 0.5, 0.9):
            assert (bowls(t * w + (1 - t) * v) <= t * bowls(w) + (1 - t) * bowls(v) + 1e-12).all()


@pytest.mark.parametrize("cap", [0.3, 1.0, 3.0])
def test_the_optimum_under_a_cap_is_efficient(cap: float) -> None:
    """Min h_1 with h_2 <= cap has one solution here; a point that dominates it would be another."""

    def both(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        away = w - CENTRES[:2]
        square = (away**2).sum(axis=1)
        return square**2, 4.0 * square[:, None] * away

    assert bowls(CENTRES[0])[1] > cap
    found = comparators.epsilon_constraint(both, np.array([cap]), np.zeros(4))
    assert is_efficient(lambda w: both(w)[0], found.w, jac=lambda w: both(w)[1])


def test_psi_of_convex_objectives_jumps() -> None:
    """h = (w^2 / 2, (w + 1)^2 / 200): where the shorter gradient changes, Psi changes from one to the other."""

    def psi(w: float) -> float:
        h, J = np.array([w**2 / 2, (w + 1) ** 2 / 200]), np.array([[w], [(w + 1) / 100]])
        return float(min_norm(J[None])[0] @ h)

    at = 1 / 99
    below, above = psi(at - 1e-6), psi(at + 1e-6)
    np.testing.assert_allclose([below, above], [at**2 / 2, (at + 1) ** 2 / 200], rtol=1e-3)
    assert above > 90 * below
    assert psi(at + 1e-6) > (psi(at - 1e-3) + psi(at + 1e-3 + 2e-6)) / 2, "a convex function lies below its chords"


class TestWeightsOfThreeObjectives:
    def at(self, alpha: np.ndarray, centres: np.ndarray) -> np.ndarray:
        """Return the objectives |w - c_i|^2 where their weighted sum is smallest."""
        return ((alpha @ centres - centres) ** 2).sum(axis=1)

    def test_a_weight_may_rise_together_with_its_objective(self) -> None:
        """The first and the third want the same; the third's weight goes to the second."""
        centres = np.array([[1.0], [-1.0], [1.0]])
        before, after = np.array([0.3, 0.3, 0.4]), np.array([0.4, 0.6, 0.0])
        assert self.at(after, centres)[0] > self.at(before, centres)[0] + 1.0

    def test_weights_and_objectives_change_against_each_other(self) -> None:
        rng = np.random.default_rng(1)
        for a, b in rng.dirichlet(np.ones(3), size=(50, 2)):
            assert (a - b) @ (self.at(a, CENTRES) - self.at(b, CENTRES)) <= 1e-12
            more = np.append(a[0] + 0.5 * (1 - a[0]), 0.5 * a[1:])  # of the first, and less of the others in proportion
            assert self.at(more, CENTRES)[0] <= self.at(a, CENTRES)[0]


@cache
def stored(experiment: Experiment) -> dict[str, Any]:
    return Store(RESULTS / "paper" / experiment.file).results(experiment.tasks(False))


def mean(start: str, method: str, experiment: Experiment = table1.EXPERIMENT) -> np.ndarray:
    """Return accuracy, true and false positive rates, of each group and of all, of the models chosen on all splits."""
    found = [each for key, each in stored(experiment).items() if key.startswith(start)]
    return np.mean([each["methods"][method]["chosen"] for each in found], axis=0)


PAIRS = ("adult sex ", "compas sex ", "compas race ")


class TestFiguresOfTheExperiments:
    """What the page says of section 5 is what the stored results say."""

    def test_figure_6(self) -> None:
        steps = stored(extraction.EXPERIMENT)["squared raw"]["steps"]
        assert [steps[step]["kept"] > 15_000 for step in ("0.25", "1", "2")] == [False, True, True]

    def test_figure_7(self) -> None:
        plain, pdo = (np.array([mean(start, name) for start in PAIRS]) for name in (NORMAL, NEAREST.method))
        assert (plain - pdo)[:, 0, -1] == pytest.approx(0.01, abs=0.004)
        np.testing.assert_array_equal(np.round([plain[0, 1, -1], pdo[0, 1, -1]], 2), [0.42, 0.36])
        np.testing.assert_array_equal(np.round([plain[0, 2, -1], pdo[0, 2, -1]], 3), [0.051, 0.047])
        assert (np.abs(plain - pdo)[1:, 1, -1] < 0.03).all()
        apart = [np.round(np.abs(each[:, 2, 0] - each[:, 2, 1]), 2) for each in (plain, pdo)]
        np.testing.assert_array_equal(apart, [[0.06, 0.34, 0.32], [0.01, 0.10, 0.10]])

    def test_figure_8(self) -> None:
        plain, pdo = (mean("split ", name, race.EXPERIMENT)[1:, -1] for name in (NORMAL, NEAREST.method))
        assert (pdo < plain).all()
        methods = [each["methods"] for each in stored(race.EXPERIMENT).values()]
        assert all(each[race.EXPONENTIATED]["seconds"] < each[NEAREST.method]["seconds"] for each in methods)

    def test_table_1(self) -> None:
        ahead = []
        for start in PAIRS:
            found = [each["methods"] for key, each in stored(table1.EXPERIMENT).items() if key.startswith(start)]
            scores = {
                name: np.mean([[each[name]["chosen"][0][-1], -abs(each[name]["deo"])] for each in found], axis=0)
                for name in (NEAREST.method, FERM, GRID)
            }
            ahead.append(all((scores[NEAREST.method] > scores[name]).all() for name in (FERM, GRID)))
        assert ahead == [True, False, False]
        known = [
            [each for key, each in stored(table1.EXPERIMENT).items() if key.startswith(start)] for start in PAIRS[1:]
        ]
        for trials in (*known, list(stored(splits.EXPERIMENT).values())):
            for row in table1.compared(trials):
                for cell in row[1:] if row[0] in (FERM, GRID) else []:
                    low, high = map(float, re.findall(r"\((\S+) to (\S+)\)", cell)[0])
                    assert low < 0.0 < high

    def test_figures_9_and_10(self) -> None:
        results = stored(frontiers.EXPERIMENT)
        shares = {
            loss: [
                max(
                    np.mean([each["methods"][name]["all"]["train"]["wins"] for each in found])
                    for name in frontiers.PRINTED
                )
                for found in (frontiers.splits_of(results, loss, spec) for spec in frontiers.SETTINGS)
            ]
            for loss in frontiers.LOSSES
        }
        assert shares["hinge"][2] == max(map(max, shares.values())) == pytest.approx(0.98)
        assert max(each[0] for each in shares.values()) < 0.5
        drawn = results["hinge compas race paper 0 drawn"]["drawn"]["PB-PDO as printed, raw gradients"]["train"]
        error, deo = np.array(drawn).T
        np.testing.assert_array_equal(np.round([error.min(), error[deo <= 0.05].min()], 3), [0.333, 0.343])


STATEMENTS = (ROOT / "docs" / "paper" / "statements.md").read_text()
VERDICTS = {"holds", "holds with a condition", "does not hold", "not testable"}
NUMBERED = [
    *(f"Definition {i}" for i in (1, 2)),
    *(f"Lemma {i}" for i in range(1, 5)),
    *(f"Theorem {i}" for i in range(1, 5)),
    *(f"Proposition {i}" for i in (1, 2)),
    *(f"Remark {i}" for i in range(1, 6)),
    *("Assumptions 1a to 1c", "Assumption 2a", "Assumption 2b", "Assumption 2c"),
    *(f"Algorithm {i}" for i in (1, 2)),
    *(f"Example {i}" for i in (1, 2)),
]


@pytest.mark.parametrize("name", NUMBERED)
def test_every_numbered_statement_has_its_row(name: str) -> None:
    rows = [line.split(" | ")[0] for line in STATEMENTS.splitlines() if line.startswith("| ")]
    assert any(re.search(rf"\b{name}\b", row) for row in rows)


def test_every_row_has_a_verdict() -> None:
    rows = [line.strip("| ").split(" | ") for line in STATEMENTS.splitlines() if line.startswith("| ")]
    rows = [row for row in rows if row[0] not in ("statement", "---")]
    assert len(rows) > 60
    for row in rows:
        assert row[1] in VERDICTS, row[0]
