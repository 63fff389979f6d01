"""Networks on Adult and OULAD: test error at equal gap against weighted sums, the last layer alone, and linear models.

python -m benchmarks.torch_adult [--quick]

Equal opportunity; Adult by gender, OULAD with its four outcomes by disability; sensitive columns are not among the
features. Every method gets the same number of models; those are chosen on validation rows (least error among those
whose gap there is at most the cap) and judged on test rows. Differences to the traced network are paired over seeds.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.stats import t as student
from torch import nn

import fairfront as ff
import fairfront.torch as fft

from .adult import adult, folder
from .report import table, write_section

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Case:
    """Training, validation and test rows of one seed, how many models, and how long to train them."""

    train: Rows
    held: Rows
    test: Rows
    runs: int
    how: fft.Training
    settings: dict[str, Any]

    @property
    def outputs(self) -> int:
        """Return how many scores the labels need."""
        classes = len(np.unique(self.train[1]))
        return 1 if classes == 2 else classes

    @property
    def after(self) -> fft.Training:
        """Return the second half of training, at a lower rate."""
        return replace(self.how, lr=0.4 * self.how.lr)

    def network(self) -> nn.Module:
        """Return a network with two hidden layers, drawn from the seed."""
        torch.manual_seed(self.how.seed)
        d = self.train[0].shape[1]
        return nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, self.outputs))


def traced(case: Case) -> ff.Frontier:
    """Train plainly, then slide along the frontier of the network."""
    X, y, group = case.train
    how = {"training": case.how, "slide": case.after, "preferences": case.runs - 1, "progress": False}
    return fft.trace(case.network(), X, y, sensitive_features=group, **how, **case.settings)


def sums(case: Case) -> ff.Frontier:
    """Train with a penalty on the squared gap, once for each of as many weights, for as long as a traced model."""
    X, y, group = case.train
    weights = np.concatenate([[0.0], np.geomspace(0.1, 100.0, case.runs - 1)])
    models: dict[str, Any] = {}
    for weight in weights:
        fitted = fft.fit(
            case.network(),
            X,
            y,
            sensitive_features=group,
            rule=fft.SumRule(float(weight)),
            training=replace(case.how, epochs=2 * case.how.epochs),
            scheduler=lambda o: torch.optim.lr_scheduler.MultiStepLR(o, [case.how.epochs], 0.4),
            progress=False,
            **case.settings,
        )
        models[f"{weight:g}"] = _decision(fitted.module, np.unique(y))
    held = case.held
    how: dict[str, Any] = {"groups": ff.Groups(min_size=1), **favourable(case)}
    how |= {"cutoff": 0.0} if case.outputs == 1 else {}
    return ff.Frontier.from_models(models, held[0], held[1], sensitive_features=held[2], **how)


def favourable(case: Case) -> dict[str, Any]:
    """Return the favourable label if one is set."""
    return {name: value for name, value in case.settings.items() if name == "favourable"}


def _decision(module: nn.Module, classes: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    def scores(X: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            found = module(torch.as_tensor(X, dtype=torch.float32)).double().numpy()
        return found[:, 0] if found.shape[1] == 1 else classes[found.argmax(axis=1)]

    return scores


def head(case: Case) -> ff.Frontier:
    """Train the network plainly, then solve the frontier of its last layer."""
    X, y, group = case.train
    module, how = case.network(), {"training": case.how, "progress": False}
    fft.fit(module, X, y, sensitive_features=group, rule=fft.PlainRule(), **how, **case.settings)
    return fft.trace_head(module, X, y, sensitive_features=group, n_points=case.runs, progress=False, **case.settings)


def linear(case: Case) -> ff.Frontier:
    """Solve the frontier of linear models."""
    X, y, group = case.train
    return ff.trace(X, y, sensitive_features=group, n_points=case.runs, progress=False, **case.settings)


METHODS = {"network, traced": traced, "network, weighted sums": sums, "last layer, Newton": head, "linear": linear}


def figures(front: ff.Frontier, case: Case, caps: tuple[float, ...]) -> list[tuple[float, float]]:
    """Return test error and test gap of the model chosen for every cap."""
    for name, (X, y, group) in {"held": case.held, "judged": case.test}.items():
        front = front.evaluate(X, y, sensitive_features=group, name=name)
    error, gap = front.column("error", "held"), front.column("tpr_gap", "held")
    found = []
    for cap in caps:
        good = np.flatnonzero(gap <= cap) if (gap <= cap).any() else np.array([gap.argmin()])
        place = good[error[good].argmin()]
        found.append(tuple(float(front.column(c, "judged")[place]) for c in ("error", "tpr_gap")))
    return found


def adult_cases(seeds: int, rows: int | None, runs: int, how: dict[str, Any]) -> list[Case]:
    """Split Adult's training rows three to one for every seed; its test rows are always the same."""
    data, found = adult("sex"), []
    test = (data.X_test, data.y_test, data.groups_test)
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(data.y))[:rows]
        train, held = np.split(order, [3 * len(order) // 4])
        parts = [(data.X[i], data.y[i], data.groups[i]) for i in (train, held)]
        found.append(Case(parts[0], parts[1], test, runs, fft.Training(seed=seed, **how), {}))
    return found


def oulad_cases(seeds: int, rows: int | None, runs: int, how: dict[str, Any]) -> list[Case]:
    """Split OULAD by student for every seed: 60 % to train, 20 % to choose, 20 % to judge."""
    data, found = ff.datasets.load_oulad(folder()), []
    group, people = data.columns["disability"], np.asarray(data.split_ids)
    settings = {"favourable": data.favourable, "loss": "softmax"}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        place = rng.random(people.max() + 1)[people]
        used = np.zeros(len(people), dtype=bool)
        used[rng.permutation(len(people))[:rows]] = True
        train, held, test = (
            np.flatnonzero(used & (low <= place) & (place < high)) for low, high in ((0, 0.6), (0.6, 0.8), (0.8, 1))
        )
        X = data.matrix("one_hot", fit_on=train)[0]
        parts = [(X[i], data.y[i], group[i]) for i in (train, held, test)]
        found.append(Case(*parts, runs, fft.Training(seed=seed, **how), settings))
    return found


def paired(difference: np.ndarray) -> str:
    """Say a mean difference with its 95 % interval over seeds."""
    if len(difference) < 2:
        return f"{difference.mean():+.4f}"
    half = student.ppf(0.975, len(difference) - 1) * difference.std(ddof=1) / np.sqrt(len(difference))
    return f"{difference.mean():+.4f} ± {half:.4f}"


def compared(drawn: list[Case], caps: tuple[float, ...]) -> str:
    """Return the table of all methods on these cases."""
    found, seconds = {}, {}
    for name, method in METHODS.items():
        start = time.process_time()
        found[name] = np.array([figures(method(case), case, caps) for case in drawn])
        seconds[name] = (time.process_time() - start) / len(drawn)
    first, rows = found["network, traced"], []
    for name, figure in found.items():
        for i, cap in enumerate(caps):
            mean = figure[:, i].mean(axis=0)
            against = ["", ""] if figure is first else [paired(d) for d in (figure[:, i] - first[:, i]).T]
            rows.append([name, f"{cap:g}", f"{mean[0]:.4f}", f"{mean[1]:.3f}", *against, f"{seconds[name]:.0f} s"])
    names = ["method", "cap on the TPR gap (validation)", "test error", "test TPR gap"]
    return table([*names, "error, minus traced", "gap, minus traced", "CPU time per seed"], rows)


def main(quick: bool = False) -> None:
    """Measure and write the section of the report; ``--quick`` prints it instead."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", ff.GroupWarning)
    how = {"epochs": 2 if quick else 10, "lr": 5e-3}
    size = (1, 1500, 3) if quick else (5, None, 12)
    for place, make, caps in (("Adult", adult_cases, (0.10, 0.05, 0.02)), ("OULAD", oulad_cases, (0.05, 0.03, 0.01))):
        body = compared(make(*size, how), caps)
        if quick:
            print(body)
        else:
            write_section("networks", f"Modules: a network on {place}", "python -m benchmarks.torch_adult", body)


if __name__ == "__main__":
    main("--quick" in sys.argv)
