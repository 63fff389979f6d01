"""What steps foretell: inner products without noise and in the optimiser's metric, and gaps that settle at caps."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra torch)")
from torch import nn

import fairfront.torch as fft
from fairfront.solvers import Target
from tests.support.people import people

torch.set_num_threads(1)


def net(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).double()


@pytest.mark.parametrize("way", ["own batch", "past batches", "two batches"])
def test_noise_stays_out_of_averaged_gram_matrices(way: str) -> None:
    X, y, group = people(600)
    given, module = fft.objectives(y, sensitive_features=group), net()
    problem = fft.TorchProblem(module, X, given)
    exact = np.trace(problem.cells(problem.start).Q[0])
    inputs, sampler = torch.as_tensor(X), fft.CellSampler(given, 30)
    memory = 0.0 if way == "own batch" else 0.99
    step = fft.FairStep(module, torch.optim.SGD(module.parameters(), 0.0), given, max_gap=0.0, memory=memory)
    seen = []
    for epoch in range(8):
        for rows, more in zip(sampler.batches(epoch), sampler.batches(epoch, 1), strict=True):
            step.backward(inputs[rows], rows, (inputs[more], more) if way == "two batches" else None)
            seen.append(np.trace(step.products.value[0]))
    found = np.mean(seen) if way == "own batch" else seen[-1]
    assert found > 1.1 * exact if way == "own batch" else abs(found - exact) < 0.1 * exact


def test_inner_products_are_in_the_metric_of_the_optimiser() -> None:
    X, y, group = people(300)
    given, module, inputs = fft.objectives(y, sensitive_features=group), net(), torch.as_tensor(X)
    step = fft.FairStep(module, torch.optim.Adam(module.parameters(), 1e-3, betas=(0.0, 0.9)), given, memory=0.0)
    rows = np.arange(300)
    for _ in range(16):
        step(inputs, rows)
    problem = fft.TorchProblem(module, X, given)
    start = problem.start
    before = problem.cells(start)
    record = step(inputs, rows)
    moved = (problem.start - start)[0, 0]
    foretold = -1e-3 * step.products.value[0] @ record.beta[0]
    np.testing.assert_allclose(before.D[0] @ moved, foretold, rtol=0.1, atol=1e-7)


def test_a_warm_up_may_start_at_no_learning_rate() -> None:
    X, y, group = people(200)
    given, module = fft.objectives(y, sensitive_features=group), net()
    step = fft.FairStep(module, torch.optim.SGD(module.parameters(), 0.0), given, max_gap=0.0)
    step(torch.as_tensor(X), np.arange(200))
    assert all(bool(torch.isfinite(p).all()) for p in module.parameters())


def test_runs_settle_at_their_cap() -> None:
    X, y, group = people(4000)
    how = fft.Training(epochs=15, batch_size=128, lr=1e-2)
    module = net()
    fft.fit(module, X, y, sensitive_features=group, rule=fft.PlainRule(), training=how, progress=False)
    inputs, given = torch.as_tensor(X), fft.objectives(y, sensitive_features=group)
    step = fft.FairStep(module, torch.optim.Adam(module.parameters(), 3e-3), given, max_gap=0.05)
    sampler, problem, seen = fft.CellSampler(given, 400), fft.TorchProblem(module, X, given), []
    for _ in range(20):
        for rows in sampler:
            step(inputs[rows], rows)
        seen.append(abs(given.algebra.gaps(problem.values(problem.start))[0, 0]))
    assert abs(np.mean(seen[8:]) - 0.05) < 0.01


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("max_gap", [None, 0.0], ids=["common descent", "cap"])
def test_steps_between_measurements_are_ordinary_ones(norm: bool, max_gap: float | None) -> None:
    X, y, group = people(300)
    module = nn.Sequential(net(), nn.BatchNorm1d(1).double()).eval() if norm else net()
    given = fft.objectives(y, sensitive_features=group, ridge=0.1)
    step = fft.FairStep(module, torch.optim.SGD(module.parameters(), 0.01), given, max_gap=max_gap, refresh=3)
    inputs, rows = torch.as_tensor(X), np.arange(300)
    records, products = [], []
    for _ in range(6):
        problem = fft.TorchProblem(module, X, given)
        point = problem.cells(problem.start)
        records.append(step.backward(inputs, rows))
        products.append(step.products.value)
        found = torch.cat([p.grad.reshape(-1) for p in module.parameters()]).numpy()
        np.testing.assert_allclose(found, records[-1].beta[0] @ point.D[0], atol=1e-9)
        step.optimizer.step()
    np.testing.assert_array_equal(products[3], products[5])
    assert not np.array_equal(products[2], products[3])
    assert not np.array_equal(records[2].beta, records[3].beta)
    assert np.array_equal(records[3].beta, records[5].beta) == (max_gap is None)


def test_runs_answer_to_their_gaps_between_measurements() -> None:
    X, y, group = people(300)
    given, module = fft.objectives(y, sensitive_features=group), net()
    rule = fft.SlideRule(Target.from_caps(np.zeros((1, 1))), reach=1e6)
    step = fft.FairStep(module, torch.optim.SGD(module.parameters(), 0.01), given, rule=rule, refresh=4)
    for _ in range(6):
        record = step(torch.as_tensor(X), np.arange(300))
    z, Q, B = record.gaps[0, 0] + step.missed[0, 0], step.products.value[0], given.algebra.B[0]
    moved = -0.01 * B @ Q @ record.beta[0]
    np.testing.assert_allclose(moved, -0.1 * z, rtol=1e-9)  # a tenth of the way, by the products of two steps ago


def test_every_gap_has_its_own_way_to_go() -> None:
    X, y, group = people(300)
    given, module = fft.objectives(y, sensitive_features=group, notion="equalized_odds"), net()
    rule = fft.SlideRule(Target.from_caps(np.zeros((1, 2))), reach=1e6)
    step = fft.FairStep(module, torch.optim.SGD(module.parameters(), 0.01), given, rule=rule)
    for _ in range(6):
        record = step(torch.as_tensor(X), np.arange(300))
        z, Q = record.gaps[0] + step.missed[0], step.products.value[0]
        moved = -0.01 * given.algebra.B @ Q @ record.beta[0]
        assert (np.abs(z + moved) <= 0.9 * np.abs(z) + 1e-9).all()
        assert np.abs(z).min() < 0.8 * np.abs(z).max()
