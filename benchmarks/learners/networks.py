"""Networks: traced, trained with weighted sums, their last layer alone, and linear models; all with as many models."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import fairfront as ff

from ..cases import Rows
from ..peers.base import Candidates, Fitting, Peer

RUNS, QUICK_RUNS = 12, 3
EPOCHS, QUICK_EPOCHS = 10, 2
RATE, SLOWER = 5e-3, 0.4
"""Learning rate, and what it is multiplied with in the second half of training."""
REFERENCE = "traced"
CASES = (
    ("networks_adult", "adult", (0.10, 0.05, 0.02)),
    ("networks_oulad", "oulad_outcomes", (0.05, 0.03, 0.01)),
)
INTRODUCTION = (
    "Equal opportunity; Adult by gender, OULAD with its four outcomes by disability; sensitive columns are not among the "
    "features. Every method gets the same number of models; those are chosen on validation rows (least error among those "
    "whose gap there is at most the cap) and judged on test rows. Differences to the traced network are paired over "
    "splits, with 95 % intervals that allow for splits sharing rows (Nadeau and Bengio)."
)


def runs(fitting: Fitting) -> int:
    return QUICK_RUNS if fitting.quick else RUNS


def training(fitting: Fitting) -> Any:
    import fairfront.torch as fft

    return fft.Training(epochs=QUICK_EPOCHS if fitting.quick else EPOCHS, lr=RATE, seed=fitting.seed)


def asked(rows: Rows) -> dict[str, Any]:
    """Return groups, and what several labels need: the favourable one and the loss."""
    several = {"favourable": rows.favourable, "loss": "softmax"} if len(np.unique(rows.y)) > 2 else {}
    return {"sensitive_features": rows.groups, "progress": False, **several}


def network(fitting: Fitting) -> Any:
    """Return a network with two hidden layers, drawn from the seed."""
    import torch
    from torch import nn

    torch.manual_seed(fitting.seed)
    d, classes = fitting.train.X.shape[1], len(np.unique(fitting.train.y))
    outputs = 1 if classes == 2 else classes
    return nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, outputs))


def candidates(scores: Callable[[np.ndarray], np.ndarray], rows: Rows, models: int) -> Candidates:
    """Return models by their scores (N, outputs, n); of several labels the largest score decides."""
    if len(np.unique(rows.y)) > 2:
        return Candidates(lambda X, groups: scores(X)[:, 0], labels=lambda X: scores(X).argmax(axis=1), solved=models)
    return Candidates(
        lambda X, groups: (scores(X)[:, 0] > 0).astype(float), scores=lambda X: scores(X)[:, 0], solved=models
    )


def from_frontier(front: ff.Frontier, rows: Rows) -> Candidates:
    return candidates(front.models.scores, rows, len(front))


def traced(fitting: Fitting) -> Candidates:
    """Train plainly, then slide along the frontier of the network."""
    import fairfront.torch as fft

    rows, how = fitting.train, training(fitting)
    slide = {"training": how, "slide": replace(how, lr=SLOWER * how.lr), "preferences": runs(fitting) - 1}
    return from_frontier(fft.trace(network(fitting), rows.X, rows.y, **slide, **asked(rows)), rows)


def sums(fitting: Fitting) -> Candidates:
    """Train with a penalty on the squared gap, once for each of as many weights, for as long as a traced model."""
    import torch

    import fairfront.torch as fft

    rows, how = fitting.train, training(fitting)
    modules = [
        fft.fit(
            network(fitting), rows.X, rows.y, rule=fft.SumRule(float(weight)),
            training=replace(how, epochs=2 * how.epochs),
            scheduler=lambda o: torch.optim.lr_scheduler.MultiStepLR(o, [how.epochs], SLOWER), **asked(rows),
        ).module
        for weight in (0.0, *np.geomspace(0.1, 100.0, runs(fitting) - 1))
    ]  # fmt: skip

    def scores(X: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            given = torch.as_tensor(X, dtype=torch.float32)
            return np.stack([module(given).double().numpy().T for module in modules])

    return candidates(scores, rows, len(modules))


def head(fitting: Fitting) -> Candidates:
    """Train the network plainly, then solve the frontier of its last layer."""
    import fairfront.torch as fft

    rows, module = fitting.train, network(fitting)
    fft.fit(module, rows.X, rows.y, rule=fft.PlainRule(), training=training(fitting), **asked(rows))
    return from_frontier(fft.trace_head(module, rows.X, rows.y, n_points=runs(fitting), **asked(rows)), rows)


def linear(fitting: Fitting) -> Candidates:
    rows = fitting.train
    return from_frontier(ff.trace(rows.X, rows.y, n_points=runs(fitting), **asked(rows)), rows)


def quiet(fit: Callable[[Fitting], Candidates]) -> Callable[[Fitting], Candidates]:
    """Return a fit with one thread that says nothing of small groups."""

    def fitted(fitting: Fitting) -> Candidates:
        import torch

        torch.set_num_threads(1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ff.GroupWarning)
            return fit(fitting)

    return fitted


PEERS = {
    "traced": Peer("network, traced", quiet(traced), packages=("torch",)),
    "sums": Peer("network, weighted sums", quiet(sums), packages=("torch",)),
    "head": Peer("last layer, Newton", quiet(head), packages=("torch",)),
    "linear": Peer("linear", quiet(linear), packages=("torch",)),
}
