"""The scikit-learn shell, the bridge to TorchJD, and how the room is entered."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra torch)")
from torch import nn

import fairfront as ff
import fairfront.torch as fft
from tests.support.people import people

torch.set_num_threads(1)


def test_the_shell_fits_predicts_and_clones() -> None:
    X, y, group = people(400)
    labels = np.where(y == 1, "good", "bad")
    shell = fft.TorchFairClassifier(max_loss_gap=0.05, epochs=8, lr=1e-2, batch_size=64, random_state=3)
    shell.fit(X, labels, sensitive_features=group)
    again = clone(shell).fit(X, labels, sensitive_features=group)
    np.testing.assert_array_equal(shell.decision_function(X), again.decision_function(X))
    assert shell.score(X, labels) > 0.6
    np.testing.assert_allclose(shell.predict_proba(X).sum(axis=1), 1.0)
    assert (shell.predict(X) == shell.classes_[shell.predict_proba(X).argmax(axis=1)]).all()
    with pytest.raises(ff.InputError, match="needs sensitive_features"):
        shell.fit(X, labels)


def test_the_shell_takes_modules_and_makers_and_several_classes() -> None:
    X, _, group = people(400)
    y = np.digitize(X[:, 0], [-0.4, 0.4])
    given = nn.Linear(4, 3)
    kept = given.weight.detach().clone()
    shell = fft.TorchFairClassifier(given, epochs=5, lr=0.05).fit(X, y, sensitive_features=group)
    assert torch.equal(given.weight, kept)
    assert shell.predict_proba(X).shape == (400, 3)
    made = fft.TorchFairClassifier(lambda d, k: nn.Linear(d, k), epochs=5, lr=0.05).fit(X, y, sensitive_features=group)
    assert made.score(X, y) > 0.6


def test_the_shell_stands_in_cross_validation() -> None:
    X, y, group = people(400)
    shell = fft.TorchFairClassifier(epochs=2, lr=1e-2)
    found = cross_val_predict(shell, X, y, cv=2, params={"sensitive_features": group})
    assert set(found) <= {0, 1}


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
