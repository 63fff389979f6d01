"""Modules as problems: nn.Linear has the numbers of linear models, and other modules those of plain autograd."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.cases import Case

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra torch)")
from torch import nn

import fairfront as ff
import fairfront.torch as fft
from fairfront.solvers import PBPDO, PDO, PaperPBPDO, PaperPDO, Target, descend
from tests.support.people import people

torch.set_num_threads(1)


def linear(case: Case) -> nn.Linear:
    return nn.Linear(case.X.shape[1], case.problem.K, bias=case.problem.fit_intercept).double()


def flattened(case: Case, W: np.ndarray) -> np.ndarray:
    """Return linear weights (R, K, d) in the order of nn.Linear: all coefficients, then all intercepts."""
    if not case.problem.fit_intercept:
        return W.reshape(len(W), 1, -1)
    return np.concatenate([W[:, :, :-1].reshape(len(W), 1, -1), W[:, :, -1].reshape(len(W), 1, -1)], axis=2)


def test_a_linear_module_has_the_cells_of_the_linear_problem(case: Case) -> None:
    problem = fft.TorchProblem(linear(case), case.X, case.problem, chunk=57)
    for runs in (1, 3):
        W = case.weights(runs)
        mine, known = problem.cells(flattened(case, W)), case.problem.cells(W)
        np.testing.assert_allclose(mine.L, known.L, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(mine.Q, known.Q, rtol=1e-9, atol=1e-12)
        beta = np.random.default_rng(0).normal(size=known.L.shape)
        np.testing.assert_allclose(
            problem.move(mine, beta), flattened(case, case.problem.move(known, beta)), rtol=1e-9, atol=1e-12
        )
        np.testing.assert_allclose(problem.values(flattened(case, W)), known.L, rtol=1e-9, atol=1e-12)


PRINTED = [kind(T=25, gradients=way) for kind in (PaperPDO, PaperPBPDO) for way in ("raw", "normalised")]


@pytest.mark.parametrize("solver", PRINTED, ids=lambda s: f"{s.name}-{s.gradients}")
def test_printed_algorithms_run_on_modules(solver: PaperPDO) -> None:
    """On nn.Linear they take the way of a linear model; a network of two layers takes the step that autograd says."""
    X, y, group = people(n=300)
    known = ff.linear_problem(X, y, sensitive_features=group)
    m, pi = known.algebra.m, np.ones((1, known.algebra.m))
    start = 0.3 * np.random.default_rng(1).normal(size=(1, 1, X.shape[1] + 1))
    target = Target.from_preferences(pi) if isinstance(solver, PaperPBPDO) else None
    mine = descend(fft.TorchProblem(nn.Linear(X.shape[1], 1).double(), X, known), solver, start, target)
    its = descend(known, solver, start, target)
    np.testing.assert_allclose(mine.history[0].objectives, its.history[0].objectives, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(mine.W, its.W, rtol=1e-8, atol=1e-10)

    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(X.shape[1], 4), nn.Tanh(), nn.Linear(4, 1)).double()
    deep = fft.TorchProblem(module, X, known)
    begun = deep.cells(np.concatenate([p.detach().numpy().ravel() for p in module.parameters()])[None, None])
    ended = descend(deep, solver, begun.W, target)
    assert ended.history[0].objectives.shape == (26, m)
    assert np.isfinite(ended.history[0].objectives).all()
    assert (pi * ended.objectives)[0].max() < (pi * known.algebra.objectives(begun.L))[0].max()


@pytest.mark.parametrize("solver", [PDO(max_iter=12), PBPDO(max_iter=12)], ids=lambda s: s.name)
def test_solvers_take_the_same_way(case: Case, solver: PDO | PBPDO) -> None:
    known = case.problem.without_metric()
    plain = type("Plain", (), {"cells": known.cells, "move": known.move, "algebra": known.algebra, "K": 1, "d": 1})()
    problem = fft.TorchProblem(linear(case), case.X, known)
    start = 0.1 * case.weights(1, seed=3)
    pi = np.append(1.0, np.full(len(known.algebra.b), 50.0))[None]
    target = Target.from_preferences(pi) if isinstance(solver, PBPDO) else None
    mine = descend(problem, solver, flattened(case, start), target)
    its = descend(plain, solver, start, target)
    np.testing.assert_allclose(mine.history[0].objectives[0], its.history[0].objectives[0], rtol=1e-6, atol=1e-6)
    if len(known.algebra.b) <= known.d:  # otherwise caps contradict each other, and rounding decides between ways
        np.testing.assert_allclose(mine.objectives, its.objectives, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(mine.W, flattened(case, its.W), rtol=1e-5, atol=1e-5)


class Net(nn.Module):
    def __init__(self, d: int, outputs: int, norm: bool = False) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d, 5), nn.BatchNorm1d(5) if norm else nn.Tanh(), nn.ReLU())
        self.head = nn.Linear(5, outputs)

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(X)).squeeze(-1)


def test_cell_gradients_are_those_of_plain_autograd() -> None:
    X, y, group = people(160)
    torch.manual_seed(0)
    net = Net(4, 1).double()
    given = fft.objectives(y, sensitive_features=group, notion="equalized_odds", surrogate="rate", ridge=0.3)
    problem = fft.TorchProblem(net, X, given)
    h = problem.algebra.objectives(problem.cells(problem.start).L)[0]
    scores, sign = net(torch.as_tensor(X)), torch.as_tensor(2.0 * y - 1.0)
    loss = nn.functional.softplus(-sign * scores).mean() + 0.15 * sum(
        (p**2).sum() for p in net.parameters() if p.dim() > 1
    )
    expected = [loss]
    for label in (1, 0):
        share = [torch.sigmoid(scores[(group == g) & (y == label)]).mean() for g in "01"]
        expected.append(0.5 * (share[0] - share[1]) ** 2)
    np.testing.assert_allclose(h, [value.item() for value in expected], rtol=1e-9)
    for row, value in enumerate(expected):
        value_gradient = torch.autograd.grad(value, list(net.parameters()), retain_graph=True)
        flat = torch.cat([g.reshape(-1) for g in value_gradient]).numpy()
        point = problem.cells(problem.start)
        found = problem.algebra.jacobian(point.L)[0, row] @ point.D[0]
        np.testing.assert_allclose(found, flat, atol=1e-9)


def test_several_inputs_and_frozen_parts() -> None:
    X, y, group = people(160)

    class Two(Net):
        def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
            return super().forward(torch.cat([A, B], dim=1))

    net = Two(4, 1).double()
    net.body.requires_grad_(False)
    problem = fft.TorchProblem(net, (X[:, :1], X[:, 1:]), fft.objectives(y, sensitive_features=group))
    assert problem.d == 6
    moved = problem.start - 0.1
    problem.load(moved[0])
    np.testing.assert_allclose(problem.start, moved, atol=1e-12)


def test_pb_pdo_lowers_the_gap_of_a_network() -> None:
    X, y, group = people(400)
    torch.manual_seed(0)
    net = Net(4, 1).double()
    problem = fft.TorchProblem(net, X, fft.objectives(y, sensitive_features=group, ridge=1e-2))
    plain = descend(problem, PBPDO(max_iter=80), problem.start, Target.from_preferences(np.array([[1.0, 1e-9]])))
    asked = np.array([[1.0, 500.0], [1.0, 1e7]])
    fair = descend(problem, PBPDO(max_iter=80), plain.W, Target.from_preferences(asked))
    gap, before = np.abs(problem.algebra.gaps(fair.L))[:, 0], abs(problem.algebra.gaps(plain.L)[0, 0])
    assert before > 0.1
    assert gap[0] < 0.051
    assert gap[1] < 1e-3
    assert (fair.objectives[:, 0] < plain.history[0].objectives[0, 0]).all()


def test_wrong_input_is_told() -> None:
    X, y, group = people(160)
    given = fft.objectives(y, sensitive_features=group)
    with pytest.raises(ff.InputError, match=r"gives the shape \(\d+, 3\) for \d+ rows, expected \(\d+,\) or"):
        fft.TorchProblem(Net(4, 3).double(), X, given, chunk=1000).values(np.zeros((1, 1, 43)))
    with pytest.raises(ff.InputError, match="no parameter that takes a gradient"):
        fft.TorchProblem(Net(4, 1).requires_grad_(False), X, given)
    with pytest.raises(ff.InputError, match="X has 159 rows, expected 160"):
        fft.TorchProblem(Net(4, 1), X[1:], given)
    with pytest.raises(ff.InputError, match="rows of weight 0"):
        fft.objectives(y, sensitive_features=group, sample_weight=np.r_[0.0, np.ones(159)])
    with pytest.raises(ff.InputError, match=r"y is .*, expected one label per row"):
        fft.objectives(np.column_stack([y, 1 - y]), sensitive_features=group)
    torn = Net(4, 1)
    torn.head.to("meta")
    with pytest.raises(ff.InputError, match=r"several devices \(cpu, meta\)"):
        fft.TorchProblem(torn, X, given)
