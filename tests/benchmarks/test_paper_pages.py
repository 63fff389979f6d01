"""The pages of the paper's experiments, drawn from made-up results, and those in the documentation."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_1samp

pytest.importorskip("matplotlib", reason="matplotlib is not installed: nothing can be drawn")

from benchmarks.paper import (
    ablations,
    bars,
    convergence,
    frontiers,
    geometry,
    named_methods,
    race,
    splits,
    summary,
    table1,
)
from benchmarks.paper.__main__ import EXPERIMENTS
from benchmarks.paper.data import Spec
from benchmarks.paper.experiment import Experiment, Store, rounded, write_index, write_page
from benchmarks.paper.trial import CAPS
from benchmarks.report import RESULTS
from tests.support.places import ROOT


def made_up(spec: Spec, levels: list[str], methods: tuple[str, ...], seed: int) -> dict[str, Any]:
    """Return what a trial returns, with random figures."""
    rng, g = np.random.default_rng(seed), len(levels)
    judged = {}
    for name in methods:
        chosen = rng.uniform(0.2, 0.8, size=(3, g + 1))
        at = {f"{cap:g}": {"error": float(rng.uniform(0.1, 0.3)), "deo": float(rng.normal(scale=0.1))} for cap in CAPS}
        judged[name] = {
            "seconds": 1.0,
            "candidates": 3,
            "chosen": chosen.tolist(),
            "deo": float(chosen[1, 0] - chosen[1, 1]),
            "deo_large": 0.1,
            "validation_deo": 0.0,
            "best_on_test": {"accuracy": 0.8, "deo": -0.01},
            "at_gap": at,
        }
    return {
        "spec": asdict(spec),
        "levels": levels,
        "rows": [100, 50, 40],
        "positives": [30] * g,
        "negatives": [50] * g,
        "large": [True] * g,
        "methods": judged,
    }


def results_of(experiment: Experiment) -> dict[str, Any]:
    """Return made-up results of all full tasks of an experiment whose tasks are trials."""
    found = {}
    for key, task in experiment.tasks(False).items():
        spec = Spec(**task.arguments["spec"])
        levels = list("abcde") if spec.attribute == "race" and spec.data == "adult" else ["a", "b"]
        found[key] = made_up(spec, levels, tuple(task.arguments["methods"]), task.arguments["seed"])
    return found


@pytest.mark.parametrize("part", [bars, race, table1, splits], ids=lambda p: p.EXPERIMENT.name)
def test_pages_of_trials_are_drawn(part: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "PANELS", {"two-year": (("adult", "sex"),)})
    for module in (bars, race):
        monkeypatch.setattr(module, "ENCODINGS", {"paper": "the paper's encoding"})
    results = results_of(part.EXPERIMENT)
    body = part.EXPERIMENT.page(results, tmp_path)
    write_page(part.EXPERIMENT, body, 60.0, "a machine", tmp_path)
    text = (tmp_path / f"{part.EXPERIMENT.name}.md").read_text()
    assert "| Newton (fairfront) |" in text
    check_page(tmp_path / f"{part.EXPERIMENT.name}.md")


def test_table_has_the_mean_of_its_splits(tmp_path: Path) -> None:
    results = results_of(table1.EXPERIMENT)
    trials = bars.gather(results, "adult", "sex", "paper")
    mean = np.mean([t["methods"]["Normal"]["chosen"][0][-1] for t in trials])
    body = table1.EXPERIMENT.page(results, tmp_path)
    line = next(line for line in body.splitlines() if line.startswith("| Normal | .8123 / .2615 |"))
    assert f"{mean:.4f} ±" in line


def test_paired_intervals_are_those_of_the_judge() -> None:
    results = results_of(splits.EXPERIMENT)
    cap = f"{CAPS[0]:g}"
    mean, low, high = splits.paired(results, cap, "Normal")
    given = [
        t["methods"][splits.OURS]["at_gap"][cap]["error"] - t["methods"]["Normal"]["at_gap"][cap]["error"]
        for t in results.values()
    ]
    between = ttest_1samp(given, 0.0).confidence_interval(0.95)
    wider = np.sqrt(1.0 + len(given) / 3.0)
    np.testing.assert_allclose([low, high], mean + wider * (np.array(between) - mean), atol=1e-12)


def test_page_of_frontiers_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontiers, "LOSSES", {"hinge": "linear SVM"})
    monkeypatch.setattr(frontiers, "SETTINGS", (("adult", "sex"),))
    points = [[0.1 * i, 0.5 - 0.1 * i] for i in range(5)]
    cost = {"kept": 5, "models": 9, "seconds": 1.0, "eta": 0.1, "excess": None}
    front = {"loss": points, "train": points, "test": points, **cost}
    names = ("Newton (fairfront)", "PB-PDO (fairfront)", *frontiers.PRINTED, frontiers.GRID)
    results = {key: {"fronts": dict.fromkeys(names, front)} for key in frontiers.EXPERIMENT.tasks(False)}
    body = frontiers.EXPERIMENT.page(results, tmp_path)
    assert "0% / 0%" in body
    assert (tmp_path / "frontiers-hinge.png").stat().st_size < 150_000


def test_page_of_named_methods_is_drawn(tmp_path: Path) -> None:
    cost = {"eta": None, "evaluations": [3, 5], "hessians": [0, 2], "seconds": [0.1, 0.2]}
    spread = {"points": [1, 1], "median": [0.02, 0.02], "largest": [0.01, 0.03], "near": [1, 0], "hole": [0.5, 0.5]}
    answer = {"h": [[0.2, 0.3]], **spread, **cost}
    walks = ("homotopy (Hillermeier)", "continuous exploration (Ma et al.)", "PB-PDO (fairfront)", "Newton (fairfront)")
    front = {"title": "A", "front": [[0, 1], [1, 0]], "near": 0.01, "measure": "m", "axes": ["a", "b"],
             "methods": dict.fromkeys(("EPO", *walks), answer), "plain": {"evaluations": 5, "hessians": 4}}  # fmt: skip
    point = {"aim": "x", "losses": [0.1, 0.2], "regret": 0.1, "accuracy": 0.8, "deo": 0.0}
    minimax = {"title": "B", "levels": ["a", "b"], "methods": {"ALMO": [point, point]}, "deo_words": "DEO"}
    body = named_methods.EXPERIMENT.page({"example": front, "minimax adult sex": minimax}, tmp_path)
    assert "| ALMO | x | 0.2000 ± 0.0000 |" in body
    assert "| EPO | 1 of 2 | 2e-02 | 3e-02 | 0.50 | 4 (3 to 5) | 1 (0 to 2) |" in body
    assert "| A | Newton (fairfront) | 1 | 4 | 1 | 3e-02 |" in body
    assert "| A | homotopy (Hillermeier) | 1 | 9 | 5 | 3e-02 |" in body
    assert (tmp_path / "named-methods-example.png").exists()


@pytest.mark.parametrize("part", [geometry, convergence], ids=lambda p: p.EXPERIMENT.name)
def test_pages_of_quick_results_are_drawn(part: Any, tmp_path: Path) -> None:
    results = {
        key: rounded(task.run(**task.arguments))
        for key, task in part.EXPERIMENT.tasks(True).items()
        if "spec" not in task.arguments
    }
    if part is geometry:
        shares = np.linspace(1.0, 0.0, 9)
        results["order"] = {"title": "A", "loss": 1 - shares, "gap": shares, "price": 1 - shares, "weight": 1 - shares,
                            "example weight": np.sin(7 * shares)}  # fmt: skip
    write_page(part.EXPERIMENT, part.EXPERIMENT.page(results, tmp_path), 60.0, "a machine", tmp_path)
    check_page(tmp_path / f"{part.EXPERIMENT.name}.md")


def test_page_of_ablations_is_drawn(tmp_path: Path) -> None:
    toy = {"aim": 0.5, "front": 1.0, "steps": 100.0}
    data = {"runs": 10, "near": 7, "hole": 0.25, "front": 3, "line": 2}
    results = {key: toy if key.startswith("example") else data for key in ablations.EXPERIMENT.tasks(False)}
    body = ablations.EXPERIMENT.page(results, tmp_path)
    assert "| K = 1 | 50% / 50% | 100% / 100% | 100 / 100 | 7 / 7 | 0.25 / 0.25 | 3 of 10 / 3 of 10 |" in body
    assert (tmp_path / "ablations.png").stat().st_size < 150_000


def test_summary_of_the_theory_ends_the_index(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Index\n")
    summary.append(tmp_path)
    text = (tmp_path / "README.md").read_text()
    assert text.startswith("# Index\n\n## Theory")
    assert all((ROOT / "docs" / "paper" / name).exists() for name in re.findall(r"\]\((\w[\w-]*\.md)\)", text))


def test_index_names_every_page(tmp_path: Path) -> None:
    write_index([(experiment, 60.0, 3) for experiment in EXPERIMENTS], tmp_path)
    text = (tmp_path / "README.md").read_text()
    assert all(f"({experiment.name}.md)" in text for experiment in EXPERIMENTS)


def check_page(path: Path) -> None:
    """Check that figures exist and are small, and that no path of a machine is in the text."""
    text = path.read_text()
    for line in text.splitlines():
        if line.startswith("!["):
            size = (path.parent / line.split("](")[1].rstrip(")")).stat().st_size
            assert 0 < size <= 150_000
    assert not re.search(r"/home/|/work/|/tmp/|\bnan\b", text)


PAGES = sorted((ROOT / "docs" / "paper").glob("*.md"))


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.stem)
def test_pages_in_the_documentation(path: Path) -> None:
    check_page(path)


def test_index_and_pages_are_those_of_the_stored_results() -> None:
    index = (ROOT / "docs" / "paper" / "README.md").read_text()
    for experiment in EXPERIMENTS:
        tasks, store = experiment.tasks(False), Store(RESULTS / "paper" / f"{experiment.name}.json")
        assert len(store.results(tasks)) == len(tasks), "run: make paper"
        text = (ROOT / "docs" / "paper" / f"{experiment.name}.md").read_text()
        assert f"{store.made}." in text, "run: python -m benchmarks.paper --draw"
        assert f"({experiment.name}.md) | {len(tasks)} |" in index
