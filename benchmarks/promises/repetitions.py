"""Samples of a population, fitted, judged and chosen on in several ways, and what each choice truly delivers.

What is asked for and promised was fixed before any run was looked at: expected gaps of 0.02 and 0.05, and promises at
95 % of 0.03, 0.05, 0.08 and 0.10. Results are added to a file after every run:

python -m benchmarks.promises.repetitions compas linear 1000
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

import fairfront as ff
from fairfront.exceptions import InputError
from fairfront.frontier.frontier_figures import BOTH
from fairfront.measures.intervals import bonferroni, gap_interval
from fairfront.measures.promises import expected, together
from fairfront.measures.rates import SampleRates
from fairfront.solvers import Status, Weighting

from .. import report
from ..cases import Rows
from ..judge import Figures, chosen
from ..peers import PEERS
from ..peers.base import Fitting
from .populations import Population, population_of

ASKED, PROMISED = (0.02, 0.05), (0.03, 0.05, 0.08, 0.10)
GAP, POINTS, OVERSHOOT, HELD = "tpr_gap", 30, 0.5, 0.25
"""A quarter of the sample is for validation where rows are set aside for it."""
TIMED = 20  # runs that also take the time of a trace without held-out figures
HOME = report.ROOT / "build" / "promises"
PEER_NAMES = ("fairlearn_grid_search", "fairlearn_exponentiated_gradient", "fairlearn_threshold_optimizer")


def parts_of(rows: Rows, seed: int) -> tuple[Rows, Rows]:
    """Cut a sample into rows to train on and rows for validation."""
    order = np.random.default_rng([21, seed]).permutation(len(rows.y))
    cut = int((1.0 - HELD) * len(order))
    return rows.take(np.sort(order[:cut])), rows.take(np.sort(order[cut:]))


def linear(rows: Rows, held_out: bool = True) -> ff.Frontier:
    known: dict[str, Any] = {"sensitive_features": rows.groups, "n_points": POINTS, "progress": False}
    return ff.trace(rows.X, rows.y, solver=ff.Newton(overshoot=OVERSHOOT), held_out=held_out, **known)


def timed(made: Callable[[], object]) -> float:
    """Return the processor seconds of a call."""
    start = time.process_time()
    made()
    return time.process_time() - start


def learned(**how: Any) -> Callable[[Rows], ff.Frontier]:
    """Return a trace of boosted trees, whose folds judge all rows."""

    def fit(rows: Rows) -> ff.Frontier:
        trees = HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=8, random_state=0)
        known: dict[str, Any] = {"sensitive_features": rows.groups, "random_state": 0, "progress": False}
        return ff.trace(rows.X, rows.y, estimator=trees, held_out=True, **how, **known)

    return fit


LEARNERS: dict[str, Callable[[Rows], ff.Frontier]] = {
    "linear": linear,
    "trees": learned(solver=Weighting(cv=10)),
    "posteriors": learned(units=ff.Rates(cv=10)),
}


def decisions(front: ff.Frontier, X: np.ndarray) -> np.ndarray:
    """Return decisions of all points, (N, n), as numbers."""
    return front.models.decisions(X, None)[1].astype(np.float32)


def judged(front: ff.Frontier, on: str, truth: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
    """Say what rows of an evaluation tell of a frontier, what is chosen on them, and what that truly is."""
    record, (rates, error) = front.record(on), truth
    groups = next(iter(record.groups.values()))
    order = np.argsort([int(level) for level in groups.levels])
    gap, known, size = np.ptp(rates, axis=1), groups.tpr[:, order], groups.positives[order]
    one, other = np.triu_indices(rates.shape[1], 1)
    away = (known[:, one] - known[:, other]) - (rates[:, one] - rates[:, other])
    variance = (known * (1.0 - known) / size)[:, one] + (known * (1.0 - known) / size)[:, other]
    upper, every = record.figure(GAP, 0.95), together(record, GAP, 0.95)
    solved = front.solved
    near = np.array([i for i in solved if front.status[i] is not Status.PAST])
    found: dict[str, Any] = {
        "to_zero": [float(np.mean(away[near] ** 2)), float(np.mean(variance[near]))],
        "rms": float(np.mean(away[solved] ** 2)),
        "se": float(np.mean(variance[solved])),
        "away": float(np.mean(away[solved])),
        "some": bool((gap[solved] > upper[solved]).any()),
        "some_together": bool((gap[solved] > every[solved]).any()),
    }

    def of(place: int) -> list[float]:
        return [float(gap[place]), float(error[place])]

    low, high = gap_interval(SampleRates(rates, size), one, other, 0.95)
    true_end = np.maximum(high, -low).max(axis=1)
    found["foreseen"] = float(upper[solved[np.argmin(true_end[solved])]])  # its end on these rows, known beforehand
    for name, ends in (("least", upper), ("least_together", every)):
        place = int(solved[np.argmin(ends[solved])])
        found[name] = [float(ends[place]), *of(place)]
    for cap in ASKED:
        found[f"asked {cap}"] = of(as_place(front, on, cap))
    for u in PROMISED:
        place = _promised(front, {"at_most": {GAP: u}, "on": on})
        found[f"promise {u}"] = None if place is None else of(place)
    return found


def as_place(front: ff.Frontier, on: str, cap: float) -> int:
    """Return the point within a cap on the expected gap, or that of the smallest where none is."""
    found = _promised(front, {"at_most": {GAP: cap}, "on": on, "confidence": None})
    if found is not None:
        return found
    return int(front.solved[np.argmin(expected(front.record(on), GAP)[front.solved])])


def _promised(front: ff.Frontier, rule: dict[str, Any]) -> int | None:
    try:
        return front.place(front.choose(**rule))
    except InputError:
        return None


def as_before(front: ff.Frontier, truth: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
    """Choose on validation rows as observed, or by ends of single points corrected for pairs of groups."""
    record, (rates, error), solved = front.evaluations["validation"], truth, front.solved
    gap, seen = np.ptp(rates, axis=1), Figures(record["error"][solved], record[GAP][solved], record["error"][solved])
    groups = rates.shape[1]
    upper = record.figure(GAP, bonferroni(0.95, groups * (groups - 1) // 2))[solved]
    found: dict[str, Any] = {}
    for cap in ASKED:
        place = int(solved[chosen(seen, cap)])
        found[f"asked {cap}"] = [float(gap[place]), float(error[place])]
    place = int(solved[np.argmin(upper)])
    found["least"] = [float(upper.min()), float(gap[place]), float(error[place])]
    for u in PROMISED:
        held = np.flatnonzero(upper <= u)
        place = int(solved[held[np.argmin(seen.error[held])]]) if len(held) else -1
        found[f"promise {u}"] = None if place < 0 else [float(gap[place]), float(error[place])]
    return found


def truth_of(population: Population, front: ff.Frontier) -> tuple[np.ndarray, np.ndarray]:
    return population.truth(lambda X, groups: decisions(front, X))


def repetition(population: Population, learner: str, seed: int, whole_only: bool = False) -> dict[str, Any]:
    """Draw one sample, and choose on all its rows, and unless these are all, on a validation part and on both."""
    rows, fit = population.sample(seed), LEARNERS[learner]
    whole = fit(rows)
    found: dict[str, Any] = {"seed": seed, "points": len(whole)}
    if learner == "linear" and seed < TIMED:
        found["trace"] = timed(lambda: linear(rows, held_out=False))
        found["seconds"] = timed(lambda: linear(rows))
    found["held_out"] = judged(whole, "held_out", truth_of(population, whole))
    if whole_only:
        return found
    train, held = parts_of(rows, seed)
    front = fit(train).evaluate(held.X, held.y, sensitive_features=held.groups)
    truth = truth_of(population, front)
    found["validation"], found["before"] = judged(front, "validation", truth), as_before(front, truth)
    if front.judged().name == BOTH:
        found["both"] = judged(front, BOTH, truth)
    return found


def peers(population: Population, seed: int, names: tuple[str, ...] = PEER_NAMES) -> dict[str, Any]:
    """Fit peers on the same rows; their candidates are chosen among on validation rows, as observed."""
    train, held = parts_of(population.sample(seed), seed)
    fitting = Fitting(train, held, tuple(f"x{j}" for j in range(train.X.shape[1])), POINTS, seed)
    found: dict[str, Any] = {"seed": seed}
    for name in names:
        candidates = PEERS[name].fit(fitting)
        there = candidates.approve(held.X, held.groups)
        rates = np.stack([there[:, (held.groups == g) & held.good].mean(axis=1) for g in range(fitting.n_groups)], 1)
        error = np.where(held.good, 1.0 - there, there).mean(axis=1)
        seen = Figures(error, np.ptp(rates, axis=1), error)
        rates, error = population.truth(candidates.approve)
        gap = np.ptp(rates, axis=1)
        found[name] = {f"asked {cap}": [float(gap[i]), float(error[i])] for cap in ASKED for i in [chosen(seen, cap)]}
    return found


def results(case: str, what: str) -> list[dict[str, Any]]:
    """Return the runs that were made so far, the last of each seed."""
    path = HOME / f"{case}-{what}.jsonl"
    found = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return list({each["seed"]: each for each in found}.values())


def splits_of(case: str) -> list[dict[str, Any]]:
    """Return the real splits that were made so far."""
    return results(case, "splits")


def run(case: str, what: str, runs: int, whole_only: bool = False) -> None:
    """Make runs until there are so many; only those of all rows where the others have been run often enough."""
    HOME.mkdir(parents=True, exist_ok=True)
    path, population = HOME / f"{case}-{what}.jsonl", population_of(case)
    enough = [each for each in results(case, what) if whole_only or what == "peers" or "before" in each]
    done = {each["seed"] for each in enough}
    for seed in (seed for seed in range(runs) if seed not in done):
        found = peers(population, seed) if what == "peers" else repetition(population, what, seed, whole_only)
        with Path(path).open("a") as file:
            file.write(json.dumps({**found, "commit": report.commit()}) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.promises.repetitions")
    parser.add_argument("case")
    parser.add_argument("what", choices=[*LEARNERS, "peers"])
    parser.add_argument("runs", type=int)
    parser.add_argument("--whole", action="store_true", help="judge on all rows only")
    given = parser.parse_args()
    run(given.case, given.what, given.runs, given.whole)
