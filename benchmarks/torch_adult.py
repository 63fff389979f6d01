"""A network on Adult: test error at equal gap against weighted sums, the last layer alone, and linear models.

python -m benchmarks.torch_adult [--quick]

Gender, equal opportunity, sensitive columns not among the features. Every method gets the same number of runs; models
are chosen on validation rows (least error among those whose TPR gap there is at most the cap) and judged on the test
rows. Differences to the traced network are paired over seeds.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.stats import t as student
from torch import nn

import fairfront as ff
import fairfront.torch as fft

from .adult import adult
from .report import table, write_section

CAPS = (0.10, 0.05, 0.02)


@dataclass(frozen=True)
class Case:
    """Training, validation and test rows of one seed, and how long to train."""

    train: tuple[np.ndarray, np.ndarray, np.ndarray]
    held: tuple[np.ndarray, np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray, np.ndarray]
    runs: int
    how: fft.Training

    def network(self) -> nn.Module:
        """Return a network with two hidden layers, drawn from the seed."""
        torch.manual_seed(self.how.seed)
        d = self.train[0].shape[1]
        return nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))


def traced(case: Case) -> ff.Frontier:
    """Slide along the frontier of the network."""
    X, y, group = case.train
    return fft.trace(
        case.network(), X, y, sensitive_features=group, preferences=case.runs, training=case.how, progress=False
    )


def sums(case: Case) -> ff.Frontier:
    """Train with a penalty on the squared gap, once for each of as many weights."""
    X, y, group = case.train
    weights = np.concatenate([[0.0], np.geomspace(0.1, 100.0, case.runs - 1)])
    models: dict[str, Any] = {}
    for weight in weights:
        rule = fft.SumRule(float(weight))
        fitted = fft.fit(case.network(), X, y, sensitive_features=group, rule=rule, training=case.how, progress=False)
        models[f"{weight:g}"] = _decision(fitted.module)
    held = case.held
    return ff.Frontier.from_models(models, held[0], held[1], sensitive_features=held[2], cutoff=0.0)


def _decision(module: nn.Module) -> Callable[[np.ndarray], np.ndarray]:
    def scores(X: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return module(torch.as_tensor(X, dtype=torch.float32))[:, 0].double().numpy()

    return scores


def head(case: Case) -> ff.Frontier:
    """Train the network plainly, then solve the frontier of its last layer."""
    X, y, group = case.train
    module = case.network()
    fft.fit(module, X, y, sensitive_features=group, rule=fft.PlainRule(), training=case.how, progress=False)
    return fft.trace_head(module, X, y, sensitive_features=group, n_points=case.runs, progress=False)


def linear(case: Case) -> ff.Frontier:
    """Solve the frontier of linear models."""
    X, y, group = case.train
    return ff.trace(X, y, sensitive_features=group, n_points=case.runs, progress=False)


METHODS = {"network, traced": traced, "network, weighted sums": sums, "last layer, Newton": head, "linear": linear}


def figures(front: ff.Frontier, case: Case) -> list[tuple[float, float]]:
    """Return test error and test gap of the model chosen for every cap."""
    for name, (X, y, group) in {"held": case.held, "judged": case.test}.items():
        front = front.evaluate(X, y, sensitive_features=group, name=name)
    error, gap = front.column("error", "held"), front.column("tpr_gap", "held")
    found = []
    for cap in CAPS:
        good = np.flatnonzero(gap <= cap) if (gap <= cap).any() else np.array([gap.argmin()])
        place = good[error[good].argmin()]
        found.append(tuple(float(front.column(c, "judged")[place]) for c in ("error", "tpr_gap")))
    return found


def cases(seeds: int, rows: int | None, runs: int, how: dict[str, Any]) -> list[Case]:
    """Split Adult's training rows three to one for every seed."""
    data = adult("sex")
    found = []
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(data.y))[:rows]
        cut = 3 * len(order) // 4
        train, held = order[:cut], order[cut:]
        parts = [(data.X[i], data.y[i], data.groups[i]) for i in (train, held)]
        test = (data.X_test, data.y_test, data.groups_test)
        found.append(Case(parts[0], parts[1], test, runs, fft.Training(seed=seed, **how)))
    return found


def paired(difference: np.ndarray) -> str:
    """Say a mean difference with its 95 % interval over seeds."""
    if len(difference) < 2:
        return f"{difference.mean():+.4f}"
    half = student.ppf(0.975, len(difference) - 1) * difference.std(ddof=1) / np.sqrt(len(difference))
    return f"{difference.mean():+.4f} ± {half:.4f}"


def main(quick: bool = False) -> None:
    """Measure and write the section of the report; ``--quick`` prints it instead."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", ff.GroupWarning)
    long = {"epochs": 2 if quick else 20, "batch_size": 256, "lr": 1e-3}
    drawn = cases(1, 1500, 3, long) if quick else cases(5, None, 12, long)
    found = {name: np.array([figures(method(case), case) for case in drawn]) for name, method in METHODS.items()}
    first, rows = found["network, traced"], []
    for name, figure in found.items():
        for i, cap in enumerate(CAPS):
            mean = figure[:, i].mean(axis=0)
            against = "" if figure is first else paired(figure[:, i, 0] - first[:, i, 0])
            rows.append([name, f"{cap:g}", f"{mean[0]:.4f}", f"{mean[1]:.3f}", against])
    body = table(
        ["method", "cap on the TPR gap (validation)", "test error", "test TPR gap", "error, minus traced"], rows
    )
    if quick:
        print(body)
        return
    write_section("Modules: a network on Adult", "python -m benchmarks.torch_adult", body)


if __name__ == "__main__":
    main("--quick" in sys.argv)
