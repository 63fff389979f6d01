"""The bridge to TorchJD, and how the room is entered."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra torch)")
from torch import nn

import fairfront.torch as fft
from tests.support.people import people

torch.set_num_threads(1)


def test_pdo_weights_descend_on_all_objectives() -> None:
    rng = np.random.default_rng(0)
    for m in (2, 3, 11):
        J = rng.normal(size=(m, 20)) * rng.uniform(0.01, 10.0, (m, 1))
        alpha = fft.pdo_weights(torch.as_tensor(J @ J.T)).numpy()
        direction = alpha @ J
        assert (alpha >= 0).all()
        assert (J @ direction >= -1e-9 * np.linalg.norm(J, axis=1) * np.linalg.norm(direction)).all()


def test_any_weighting_can_be_the_rule() -> None:
    X, y, group = people(400)
    given = fft.objectives(y, sensitive_features=group)
    found = []
    for rule in (fft.WeightingRule(lambda gramian: torch.tensor([1.0, 7.0])), fft.SumRule(7.0)):
        torch.manual_seed(0)
        module = nn.Linear(4, 1).double()
        step = fft.FairStep(module, torch.optim.SGD(module.parameters(), 0.1), given, rule=rule)
        step(torch.as_tensor(X), np.arange(len(y)))
        found.append(module.weight.detach().numpy())
    np.testing.assert_allclose(found[0], found[1], atol=1e-12)


def test_torchjd_and_fairfront_use_each_other() -> None:
    aggregation = pytest.importorskip("torchjd.aggregation", reason="TorchJD is not installed")
    X, y, group = people(400)
    J = torch.as_tensor(np.random.default_rng(0).normal(size=(4, 9)))
    weighting = fft.pdo_weighting()
    torch.testing.assert_close(weighting(J @ J.T), fft.pdo_weights(J @ J.T))
    given = fft.objectives(y, sensitive_features=group, notion="equalized_odds")
    module = nn.Linear(4, 1).double()
    step = fft.FairStep(
        module,
        torch.optim.SGD(module.parameters(), 0.1),
        given,
        rule=fft.WeightingRule(aggregation.UPGradWeighting()),
        memory=0.0,
    )
    problem = fft.TorchProblem(module, X, given)
    before = given.algebra.objectives(problem.values(problem.start))[0]
    for _ in range(20):
        step(torch.as_tensor(X), np.arange(len(y)))
    assert (given.algebra.objectives(problem.values(problem.start))[0] <= before).all()


def test_fairfront_alone_does_not_import_torch() -> None:
    code = "import sys, fairfront; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
