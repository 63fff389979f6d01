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

from benchmarks.cases import folder
from benchmarks.paper import (
    ablations,
    appendix,
    bars,
    convergence,
    extraction,
    frontiers,
    geometry,
    named_methods,
    race,
    reproduction,
    splits,
    summary,
    table1,
)
from benchmarks.paper.__main__ import EXPERIMENTS
from benchmarks.paper.choices import NEAREST, PRINTED, WORST
from benchmarks.paper.data import Spec
from benchmarks.paper.experiment import Claim, Experiment, Made, Store, rounded, write_index, write_page
from benchmarks.paper.trial import CAPS, gather
from benchmarks.report import RESULTS
from tests.support.places import ROOT


def made_up(spec: Spec, loss: str, levels: list[str], methods: tuple[str, ...], seed: int) -> dict[str, Any]:
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
            "train": chosen.tolist(),
            "own": {"test": chosen.tolist(), "train": chosen.tolist(), "deo": 0.0},
            "deo": float(chosen[1, 0] - chosen[1, 1]),
            "deo_large": 0.1,
            "validation_deo": 0.0,
            "best_on_test": {"accuracy": 0.8, "deo": -0.01},
            "at_gap": at,
        }
    return {
        "spec": asdict(spec),
        "loss": loss,
        "levels": levels,
        "rows": [100, 50, 40],
        "positives": [30] * g,
        "negatives": [50] * g,
        "large": [True] * g,
        "methods": judged,
    }


def results_of(experiment: Experiment) -> dict[str, Any]:
    """Return made-up results of all full tasks of an experiment whose tasks are trials, and of the one beside it."""
    found = {}
    for key, task in experiment.tasks(False).items():
        spec, loss = Spec(**task.arguments["spec"]), task.arguments["loss"]
        levels = list("abcde") if spec.attribute == "race" and spec.data == "adult" else ["a", "b"]
        found[key] = made_up(spec, loss, levels, tuple(task.arguments["methods"]), task.arguments["seed"])
    if experiment.beside is None:
        return found
    return found | {f"{experiment.beside.name}: {k}": v for k, v in results_of(experiment.beside).items()}


@pytest.mark.parametrize("part", [bars, race, table1, splits, appendix], ids=lambda p: p.EXPERIMENT.name)
def test_pages_of_trials_are_drawn(part: Any, tmp_path: Path) -> None:
    results = results_of(part.EXPERIMENT)
    body = part.EXPERIMENT.page(results, tmp_path)
    write_page(part.EXPERIMENT, body, 60.0, "a machine", tmp_path)
    text = (tmp_path / f"{part.EXPERIMENT.name}.md").read_text()
    assert "| Newton (fairfront) |" in text
    check_page(tmp_path / f"{part.EXPERIMENT.name}.md")
    for claim in part.EXPERIMENT.claims(results):
        assert all(asdict(claim).values())


def test_table_has_the_mean_of_its_splits(tmp_path: Path) -> None:
    results = results_of(table1.EXPERIMENT)
    trials = gather(results, Spec("adult", "sex"), NEAREST.loss)
    assert len(trials) == len([key for key in table1.EXPERIMENT.tasks(False) if key.startswith("adult sex ")])
    mean = np.mean([t["methods"]["Normal"]["chosen"][0][-1] for t in trials])
    body = table1.EXPERIMENT.page(results, tmp_path)
    line = next(line for line in body.splitlines() if line.startswith("| Normal | .8123 / .2615 |"))
    assert f"{mean:.4f} ±" in line
    far = gather(results, Spec("adult", "sex"), WORST.loss, "choices")
    worst = np.mean([t["methods"][WORST.method]["chosen"][0][-1] for t in far])
    line = next(line for line in body.splitlines() if line.startswith("| Adult (gender) | PDO |"))
    assert line.split("|")[5].strip().startswith(f"{worst:.4f} ±")


def test_distance_is_the_mean_over_all_printed_cells() -> None:
    results = results_of(appendix.EXPERIMENT)
    ways = []
    for setting, rows in PRINTED.items():
        trials = gather(results, Spec(*setting), WORST.loss)
        for row, (accuracy, deo, _) in rows.items():
            made = [t["methods"][WORST.method if row == "PDO" else row] for t in trials]
            ways.append(abs(np.mean([m["chosen"][0][-1] for m in made]) - accuracy))
            ways.append(abs(np.mean([abs(m["deo"]) for m in made]) - deo))
    assert len(ways) == 24
    found = {choice: far for far, choice in appendix.ranked(results)}
    assert found[WORST] == pytest.approx(np.mean(ways))


def test_the_main_text_shows_the_nearest_combination_and_the_farthest() -> None:
    known = appendix.EXPERIMENT.known(RESULTS / "paper", quick=False)
    assert known is not None, "run: make paper-appendix"
    order = [choice for _, choice in appendix.ranked(known)]
    assert (order[0], order[-1]) == (NEAREST, WORST)


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


def test_page_of_frontiers_is_drawn(tmp_path: Path) -> None:
    points = [[0.1 * i, 0.5 - 0.1 * i] for i in range(5)]
    share = {"points": 5, "wins": 0.25, "loses": 0.5}
    both = {"train": share, "test": share}
    ends = {"on_line": 1, "on_front": 2, "both": 1}
    one = {"seconds": 1.0, "models": 9, "kept": 5, "excess": None, "loss": share, "all": both, "mapped": both, **ends}
    one["box"] = {"train": 0.5, "test": 0.5}
    drawn = {"loss": points, "train": points, "test": points}
    found = {
        "methods": dict.fromkeys(frontiers.METHODS, one),
        "drawn": dict.fromkeys(frontiers.METHODS, drawn),
        "share": 0.3,
    }
    results = {
        key: found | {name: task.arguments[name] for name in ("spec", "loss")}
        for key, task in frontiers.EXPERIMENT.tasks(False).items()
    }
    body = frontiers.EXPERIMENT.page(results, tmp_path)
    assert "| 5.0 / 5.0 | 25% (25% to 25%) | 50% (50% to 50%) |" in body
    assert (tmp_path / "frontiers-hinge.png").stat().st_size < 150_000
    assert len(frontiers.EXPERIMENT.claims(results)) == 2


def test_page_of_extraction_is_drawn(tmp_path: Path) -> None:
    points = [[0.1 * i, 0.5 - 0.1 * i] for i in range(5)]
    one = {"seen": 50_010, "kept": 16_000, "excess": None, "hole": 0.1, "on_line": 1, "on_front": 2, "both": 1}
    one |= {"ends": points, "points": points, "eta": 0.1}
    results = {
        key: {"front": points, "steps": {f"{share:g}": one for share in extraction.SETTINGS[key.split()[1]]}}
        for key in extraction.EXPERIMENT.tasks(False)
    }
    body = extraction.EXPERIMENT.page(results, tmp_path)
    assert "| 50 010 | 16 000 |" in body
    assert (tmp_path / "extraction.png").stat().st_size < 150_000
    assert extraction.EXPERIMENT.claims(results)[0].verdict.startswith("holds")


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
    if part is convergence and not (folder() / "compas").exists():
        pytest.skip("the file of COMPAS is not there: set FAIRFRONT_DATA")
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
    claim = Claim("a claim", "its figure", "ours", "holds")
    write_index([Made(experiment, 60.0, 3, [claim]) for experiment in EXPERIMENTS], tmp_path)
    text = (tmp_path / "README.md").read_text()
    for experiment in EXPERIMENTS:
        assert f"| a claim | its figure | ours | holds | [{experiment.name}]({experiment.name}.md) |" in text


def test_results_that_were_stored_are_compared_by_the_standard_error_of_their_splits(tmp_path: Path) -> None:
    def kept(*values: float, seconds: float = 1.0, rates: int = 2) -> dict[str, Any]:
        return {
            str(seed): {
                "mark": f'["run", {{"seed": {seed}, "loss": "hinge"}}]',
                "result": {"accuracy": value, "seconds": seconds, "rates": [0.1] * rates, "points": [[seconds]]},
            }
            for seed, value in enumerate(values)
        }

    before = kept(0.7, 0.8)
    assert reproduction.agreement(before, kept(0.7, 0.8, seconds=9.0)) == reproduction.Agreement(2, 3, 3, 0)
    near, far = (reproduction.agreement(before, kept(0.7, 0.8 + 0.1 * f)) for f in (0.9, 1.1))  # the error is .05
    assert (near.within, near.beyond, far.within, far.beyond) == (1, 0, 0, 1)
    assert reproduction.agreement(before, kept(0.7, 0.8, rates=3)).beyond == 1
    assert reproduction.agreement({}, before) == reproduction.Agreement(0, 0, 0, 0)
    assert reproduction.section(tmp_path) == ""
    reproduction.keep("main text", {"bars": near}, "commit 0", reproduction.Took(7.0, 12.0, 2), tmp_path, True)
    reproduction.keep("appendix", {"choices": far}, "commit 1", reproduction.Took(5.0, 4.9, 3), tmp_path, False)
    text = reproduction.section(tmp_path)
    assert "| bars | 2 | 3 | 2 | 1 | 0 |\n| choices | 2 | 3 | 2 | 0 | 1 |" in text
    assert "- main text: commit 0; 7 minutes with 2 processes, 12 minutes of one core\n" in text
    assert "- appendix, stopped before its end: commit 1; 5 minutes with 3 processes, 5 minutes of one core\n" in text


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
        tasks, store = experiment.tasks(False), Store(RESULTS / "paper" / experiment.file)
        assert len(store.results(tasks)) == len(tasks), "run: make paper"
        text = (ROOT / "docs" / "paper" / f"{experiment.name}.md").read_text()
        assert f"{store.made}." in text, "run: python -m benchmarks.paper --draw"
        assert f"({experiment.name}.md) | {len(tasks)} |" in index
