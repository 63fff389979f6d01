"""Modules of unusual make: their gradients are those of autograd, and what is saved of them is what was trained."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra torch)")
pytest.importorskip("safetensors", reason="safetensors is not installed (extra torch)")
from torch import nn

import fairfront as ff
import fairfront.torch as fft
from tests.support.people import people

torch.set_num_threads(1)
HOW = fft.Training(epochs=3, batch_size=64, lr=1e-2)


class Odd(nn.Module):
    """Two linear layers, and something about them that a short cut must not overlook."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.kind = kind
        self.first, self.last, self.side = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 2)
        if kind == "hook":
            self.first.register_forward_hook(lambda layer, given, out: 3.0 * out)
        if kind == "weight norm":
            with warnings.catch_warnings():  # the old way is deprecated, and still in use
                warnings.simplefilter("ignore")
                self.first = nn.utils.weight_norm(self.first)
        if kind == "parametrized":
            self.first = nn.utils.parametrizations.weight_norm(self.first)

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        hidden = torch.tanh(self.first(X))
        other = self.side(hidden).detach()
        if self.kind == "weight used twice":
            hidden = hidden @ self.first.weight
        if self.kind == "without graph":
            hidden = hidden.detach()
        return self.last(hidden).squeeze() + 0.0 * other[:, 0]


KINDS = ["side output", "hook", "weight norm", "parametrized", "weight used twice", "without graph"]


@pytest.mark.parametrize("kind", KINDS)
def test_short_cuts_overlook_nothing(kind: str) -> None:
    X, y, group = people(300)
    given, inputs, rows = fft.objectives(y, sensitive_features=group), torch.as_tensor(X), np.arange(300)
    found = []
    for joint in (False, True):
        module = Odd(kind).double()
        step = fft.FairStep(module, torch.optim.SGD(module.parameters(), 0.1), given, max_gap=0.0, joint=joint)
        for _ in range(4):  # two of them measure, two keep the weights
            step(inputs, rows)
        found.append(torch.cat([p.grad.reshape(-1) for p in module.parameters()]).numpy())
    np.testing.assert_allclose(found[0], found[1], atol=1e-10)


def shared() -> nn.Module:
    """Return a chain with one layer in two places."""
    torch.manual_seed(0)
    layer = nn.Linear(6, 6)
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), layer, nn.ReLU(), layer, nn.Linear(6, 1))


@pytest.mark.parametrize("solver", [None, ff.PBPDO(max_iter=5)], ids=["batches", "solver"])
@pytest.mark.parametrize("make", [shared, lambda: Odd("weight used twice")], ids=["layer twice", "weight twice"])
def test_points_hold_the_weights_that_were_judged(make, solver, tmp_path) -> None:
    X, y, group = people(300)
    front = fft.trace(
        make(), X, y, sensitive_features=group, preferences=2, training=HOW, solver=solver, progress=False
    )
    front.save(tmp_path / "front")
    for each in (front, fft.load(tmp_path / "front", make())):
        loss = np.logaddexp(0.0, -(2 * y - 1) * each.models.scores(X)[:, 0]).mean(axis=1)
        np.testing.assert_allclose(loss, front.loss, rtol=1e-5)


def test_batch_normalisation_without_running_figures_sees_whole_batches() -> None:
    X, y, group = people(300)
    torch.manual_seed(0)
    norm = nn.BatchNorm1d(6, affine=False, track_running_stats=False)
    module = nn.Sequential(nn.Linear(4, 6), norm, nn.ReLU(), nn.Linear(6, 1)).double().eval()
    given = fft.objectives(y, sensitive_features=group)
    problem = fft.TorchProblem(module, X, given, chunk=50)
    scores = module(torch.as_tensor(X))[:, 0].detach().numpy()
    loss = np.logaddexp(0.0, -(2 * y - 1) * scores).mean()
    np.testing.assert_allclose(given.algebra.loss(problem.values(problem.start))[0], loss, rtol=1e-9)


def test_a_module_that_squeezes_a_single_row_is_understood() -> None:
    X, y, group = people(300)
    problem = fft.TorchProblem(Odd("plain").double(), X, fft.objectives(y, sensitive_features=group), chunk=1)
    whole = fft.TorchProblem(Odd("plain").double(), X, problem.objectives)
    np.testing.assert_allclose(problem.values(problem.start), whole.values(whole.start), rtol=1e-9)


def test_a_second_batch_now_and_then_leaves_the_averages_right() -> None:
    X, y, group = people(300)
    given, inputs, rows = fft.objectives(y, sensitive_features=group), torch.as_tensor(X), np.arange(300)
    module = nn.Linear(4, 1).double()
    exact = fft.TorchProblem(module, X, given)
    step = fft.FairStep(module, torch.optim.SGD(module.parameters(), 0.0), given, max_gap=0.0, refresh=1)
    for turn in range(4):
        step.backward(inputs, rows, (inputs, rows) if turn < 3 else None)
        np.testing.assert_allclose(step.products.value[0], exact.cells(exact.start).Q[0], atol=1e-12)


def test_same_seed_same_bytes(tmp_path) -> None:
    X, y, group = people(300)
    seen = []
    for place in ("one", "two"):
        torch.manual_seed(0)
        module = nn.Sequential(nn.Linear(4, 6), nn.Dropout(0.2), nn.ReLU(), nn.Linear(6, 1))
        torch.rand(len(seen) * 3)
        front = fft.trace(module, X, y, sensitive_features=group, preferences=2, training=HOW, progress=False)
        front.save(tmp_path / place)
        files = sorted(file for file in (tmp_path / place).rglob("*") if file.is_file())
        seen.append([(file.name, file.read_bytes()) for file in files])
    assert seen[0] == seen[1]
