"""Training steps in a user's own loop and by fit: gradients, batches, early stop, sentences."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra torch)")
pytest.importorskip("safetensors", reason="safetensors is not installed (extra torch)")
from torch import nn

import fairfront as ff
import fairfront.torch as fft
from tests.support.people import people

torch.set_num_threads(1)


def net(seed: int = 0, outputs: int = 1, norm: bool = False, dropout: float = 0.0) -> nn.Module:
    torch.manual_seed(seed)
    middle = nn.BatchNorm1d(8) if norm else nn.Dropout(dropout)
    return nn.Sequential(nn.Linear(4, 8), middle, nn.Tanh(), nn.Linear(8, outputs)).double()


def flat_gradient(module: nn.Module) -> np.ndarray:
    return torch.cat([p.grad.reshape(-1) for p in module.parameters()]).numpy()


@pytest.mark.parametrize("norm", [False, True])
def test_a_plain_step_has_the_gradient_of_the_loss(norm: bool) -> None:
    X, y, group = people(200)
    module, inputs, sign = net(norm=norm).train(), torch.as_tensor(X), torch.as_tensor(2.0 * y - 1.0)
    given = fft.objectives(y, sensitive_features=group)
    step = fft.FairStep(module, torch.optim.SGD(module.parameters(), 0.1), given, rule=fft.PlainRule())
    rows = torch.arange(200)
    record = step.backward(inputs, rows)
    found = flat_gradient(module)
    module.zero_grad()
    loss = nn.functional.softplus(-sign * module(inputs)[:, 0]).mean()
    loss.backward()
    np.testing.assert_allclose(found, flat_gradient(module), atol=1e-10)
    np.testing.assert_allclose(record.loss, loss.item(), rtol=1e-9)


def test_the_joint_way_gives_the_same_gradient() -> None:
    X, y, group = people(200)
    given = fft.objectives(y, sensitive_features=group, notion="demographic_parity")
    found = []
    for joint in (False, True):
        module = net()
        step = fft.FairStep(module, torch.optim.SGD(module.parameters(), 0.1), given, max_gap=0.0, joint=joint)
        step.backward(torch.as_tensor(X), np.arange(200))
        found.append(flat_gradient(module))
    np.testing.assert_allclose(found[0], found[1], atol=1e-10)


class Odd(nn.Module):
    """Linear layers used twice, in place, or with a parameter of another kind: no short cut fits them."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.kind = kind
        self.first, self.second, self.last = nn.Linear(4, 6), nn.Linear(6, 6), nn.Linear(6, 1)
        self.first.weight.requires_grad_(kind != "frozen")
        self.scale = nn.Parameter(torch.ones(6)) if kind == "scale" else 1.0

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        hidden = nn.functional.relu(self.first(X), inplace=self.kind == "in place")
        hidden = self.second(hidden) * self.scale
        return self.last(self.second(hidden) if self.kind == "twice" else hidden)


@pytest.mark.parametrize("kind", ["plain", "twice", "in place", "scale", "frozen"])
@pytest.mark.parametrize("notion", ["equal_opportunity", "demographic_parity"])
def test_short_cuts_do_not_change_the_gradient(kind: str, notion: str) -> None:
    X, y, group = people(200)
    given, rows = fft.objectives(y, sensitive_features=group, notion=notion), np.arange(200)
    found = []
    for joint in (False, True):
        module = Odd(kind).double()
        step = fft.FairStep(module, torch.optim.SGD(module.parameters(), 0.1), given, max_gap=0.0, joint=joint)
        step.backward(torch.as_tensor(X), rows)
        found.append(torch.cat([p.grad.reshape(-1) for p in module.parameters() if p.requires_grad]).numpy())
    np.testing.assert_allclose(found[0], found[1], atol=1e-10)


CHAINS = {
    "plain": lambda: nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 1)),
    "nested": lambda: nn.Sequential(nn.Sequential(nn.Linear(4, 6, bias=False), nn.Tanh()), nn.Linear(6, 1), nn.GELU()),
    "layer twice": lambda: (lambda a, b: nn.Sequential(nn.Linear(4, 6), a, b, a, b, nn.Linear(6, 1)))(
        nn.ReLU(), nn.Linear(6, 6)
    ),
    "frozen": lambda: nn.Sequential(nn.Linear(4, 6).requires_grad_(False), nn.ReLU(), nn.Linear(6, 1)),
    "one layer": lambda: nn.Linear(4, 1),
}


@pytest.mark.parametrize("kind", CHAINS)
@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("notion", ["equal_opportunity", "demographic_parity"])
def test_chains_have_the_gradients_of_autograd(kind: str, runs: int, notion: str) -> None:
    X, y, group = people(200)
    given, inputs, rows = fft.objectives(y, sensitive_features=group, notion=notion), torch.as_tensor(X), np.arange(200)
    torch.manual_seed(0)
    module = CHAINS[kind]().double()
    values = {n: p.detach() for n, p in module.named_parameters() if p.requires_grad}
    found = []
    for joint in (False, True):
        torch.manual_seed(1)
        stacked = {n: torch.randn(runs, *p.shape, dtype=p.dtype).requires_grad_() for n, p in values.items()}
        sgd = torch.optim.SGD(list(stacked.values()), 0.1)
        caps = np.linspace(0.1, 0.0, runs)
        step = fft.FairStep(module, sgd, given, max_gap=caps, stacked=stacked, joint=joint)
        record = step.backward(inputs, rows)
        found.append((record, np.concatenate([p.grad.reshape(runs, -1) for p in stacked.values()], axis=1)))
    np.testing.assert_allclose(found[0][0].gaps, found[1][0].gaps, atol=1e-12)
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-9)


def test_a_pdo_step_raises_no_objective() -> None:
    X, y, group = people(300)
    given = fft.objectives(y, sensitive_features=group, notion="equalized_odds")
    module = net()
    problem = fft.TorchProblem(module, X, given)
    before = given.algebra.objectives(problem.values(problem.start))[0]
    step = fft.FairStep(module, torch.optim.SGD(module.parameters(), 1e-4), given, memory=0.0)
    step(torch.as_tensor(X), np.arange(300))
    after = given.algebra.objectives(problem.values(problem.start))[0]
    assert (after < before).all()


def test_every_batch_has_every_cell() -> None:
    rng = np.random.default_rng(0)
    y, group = rng.integers(0, 2, 2000), np.where(rng.random(2000) < 0.02, "few", "many")
    given = fft.objectives(y, sensitive_features=group, groups=ff.Groups(min_size=10))
    sampler = fft.CellSampler(given, 16, least=3)
    batches = list(sampler)
    assert len(batches) == len(sampler) == 125
    assert set(np.concatenate(batches)) == set(range(2000))
    for rows in batches:
        assert len(set(rows)) == len(rows)
        for name in ("few", "many"):
            assert ((group[rows] == name) & (y[rows] == 1)).sum() >= 3
    again = list(fft.CellSampler(given, 16, least=3).batches(0))
    assert all((a == b).all() for a, b in zip(batches, again, strict=True))
    assert any(len(a) != len(b) or (a != b).any() for a, b in zip(batches, sampler, strict=True))


def test_batches_have_many_rows_of_small_cells() -> None:
    rng = np.random.default_rng(0)
    y, group = rng.integers(0, 2, 1980), np.where(rng.random(1980) < 0.02, "few", "many")
    given = fft.objectives(y, sensitive_features=group, groups=ff.Groups(min_size=10))
    small, drawn = (group == "few") & (y == 1), np.zeros(1980)
    for epoch in range(20):
        for rows in fft.CellSampler(given, 90).batches(epoch):
            assert small[rows].sum() >= 90 // 6  # half of a third: there are three cells
            assert len(rows) <= 90 + 45
            drawn[rows] += 1
    assert (drawn[~small] == 20).all()
    assert drawn[small].min() > 40


@pytest.mark.parametrize("optimizer", [None, lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9)], ids=["adam", "sgd"])
def test_fit_reaches_the_cap(optimizer) -> None:
    X, y, group = people(1000)
    how = fft.Training(epochs=25, batch_size=128, lr=1e-2)
    common = {"sensitive_features": group, "training": how, "optimizer": optimizer, "progress": False}
    plain = fft.fit(net(), X, y, rule=fft.PlainRule(), **common)
    fair = fft.fit(net(), X, y, max_gap=0.0, **common)
    assert abs(plain.gaps[0]) > 0.08
    assert abs(fair.gaps[0]) < 0.5 * abs(plain.gaps[0])
    assert fair.objectives[0] < plain.objectives[0] + 0.05
    assert plain.history.shape == (25, 2)
    assert not fair.module.training


@pytest.mark.parametrize(
    ("labels", "outputs", "settings"),
    [
        (lambda X, y: np.digitize(X[:, 0], [-0.5, 0.5]), 3, {"notion": "equal_opportunity"}),
        (lambda X, y: X[:, 0] + y, 1, {"loss": "squared", "notion": "demographic_parity"}),
        (lambda X, y: y, 1, {"notion": "demographic_parity", "surrogate": "rate", "gap": "absolute"}),
        (lambda X, y: y, 1, {"notion": "disparate_mistreatment", "loss": "squared_hinge", "gap": "exponential"}),
    ],
    ids=["classes", "regression", "rates", "hinge"],
)
def test_fit_knows_every_task(labels, outputs: int, settings) -> None:
    X, y, group = people(400)
    how = fft.Training(epochs=3, lr=1e-2)
    found = fft.fit(
        net(outputs=outputs), X, labels(X, y), sensitive_features=group, max_gap=0.1, training=how, **settings
    )
    assert np.isfinite(found.objectives).all()
    assert len(found.names) == len(found.objectives) == len(found.gaps) + 1


def test_held_out_rows_stop_the_training_and_keep_the_best_epoch() -> None:
    X, y, group = people(300)
    seen = []
    found = fft.fit(
        net(),
        X[:200],
        y[:200],
        sensitive_features=group[:200],
        rule=fft.PlainRule(),
        training=fft.Training(epochs=200, lr=0.05, patience=3),
        validation=(X[200:], y[200:], group[200:]),
        scheduler=lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.99),
        on_epoch=lambda epoch, step: seen.append((step.optimizer.param_groups[0]["lr"], step.module.training)),
    )
    rates, training = zip(*seen, strict=True)
    assert all(training)  # held-out rows are judged without it, and the next epoch is trained again
    assert found.stopped_early
    assert found.history[:, 0].argmin() == len(found.history) - 4
    np.testing.assert_allclose(rates[1] / rates[0], 0.99)
    scores = found.module(torch.as_tensor(X[200:]))[:, 0].detach().numpy()
    loss = np.logaddexp(0.0, -(2 * y[200:] - 1) * scores).mean()
    np.testing.assert_allclose(loss, found.history[:, 0].min(), rtol=1e-9)


def test_wrong_batches_are_told() -> None:
    X, y, group = people(200)
    given, module, inputs = fft.objectives(y, sensitive_features=group), net(), torch.as_tensor(X)
    step = fft.FairStep(module, torch.optim.SGD(module.parameters(), 0.1), given)
    rows = np.flatnonzero(~((y == 1) & (group == "1")))
    with pytest.raises(ff.InputError, match=r"the batch has no rows of '1 \| y=1'"):
        step(inputs[rows], rows)
    with pytest.raises(ff.InputError, match="NaN or infinite scores in"):
        step(inputs * np.nan, np.arange(200))
    with pytest.raises(ff.InputError, match="200 inputs and 3 row numbers"):
        step(inputs, np.arange(3))
    with pytest.raises(ff.InputError, match="the inputs are on meta and Sequential on cpu"):
        step(inputs.to("meta"), np.arange(200))
    with pytest.raises(ff.InputError, match="at most one of max_gap, preference and rule"):
        fft.FairStep(module, step.optimizer, given, max_gap=0.1, rule=fft.PlainRule())
    with pytest.raises(ff.InputError, match="patience needs held-out rows"):
        fft.fit(module, X, y, sensitive_features=group, training=fft.Training(patience=2))

    class Cut(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = net()

        def forward(self, X: torch.Tensor) -> torch.Tensor:
            return self.inner(X).detach()

    cut = Cut()
    with pytest.raises(ff.InputError, match="do not depend on any parameter"):
        fft.FairStep(cut, torch.optim.SGD(cut.parameters(), 0.1), given)(inputs, np.arange(200))


@pytest.mark.filterwarnings("ignore::fairfront.exceptions.ProxyWarning")
def test_probable_groups_are_trained_with_a_copy_of_a_row_for_each() -> None:
    X, y, group = people(400)
    rng = np.random.default_rng(0)
    inside = (group == np.unique(group)[0]).astype(float)
    p = np.where(rng.random(400) < 0.3, inside, 0.1 + 0.8 * inside)
    soft = ff.GroupProbabilities({"a": p, "b": 1.0 - p})
    how = fft.Training(epochs=3, batch_size=100)
    found = fft.fit(nn.Linear(X.shape[1], 1).double(), X, y, sensitive_features=soft, training=how, progress=False)
    with torch.no_grad():
        score = found.module(torch.as_tensor(X, dtype=torch.float64))[:, 0].numpy()
    good = np.unique(y)[1]
    loss = np.logaddexp(0.0, -np.where(y == good, score, -score))
    means = [np.average(loss[y == good], weights=each[y == good]) for each in (p, 1.0 - p)]
    assert found.objectives[0] == pytest.approx(loss.mean(), rel=1e-12)
    assert abs(found.gaps[0]) == pytest.approx(abs(means[0] - means[1]), rel=1e-9)
    front = fft.trace(found.module, X, y, sensitive_features=soft, preferences=2, training=how, progress=False)
    assert front.proxies == ("group",)
    assert front.evaluate(X, y, sensitive_features=soft).record().n == 400
    given = fft.objectives(y, sensitive_features=soft)
    assert given.n == 400 + np.count_nonzero((p > 0.0) & (p < 1.0))
    np.testing.assert_array_equal(np.unique(given.copy_of), np.arange(400))


def test_held_out_rows_of_groups_that_training_left_out_are_in_no_gap() -> None:
    X, y, group = people(300)
    some = group.astype(object)
    some[:6] = some[200:220] = "few"
    asked = {"training": fft.Training(epochs=1, patience=1), "rule": fft.PlainRule(), "groups": ff.Groups(min_size=30)}
    with pytest.warns(ff.GroupWarning, match="few"):
        found = fft.fit(
            net(), X[:200], y[:200], sensitive_features=some[:200], validation=(X[200:], y[200:], some[200:]), **asked
        )
    scores = found.module(torch.as_tensor(X[200:]))[:, 0].detach().numpy()
    losses, good = np.logaddexp(0.0, -(2 * y[200:] - 1) * scores), y[200:] == 1
    first, second = (losses[good & (some[200:] == each)].mean() for each in "01")
    np.testing.assert_allclose(found.history[-1, 0], losses.mean(), rtol=1e-9)
    np.testing.assert_allclose(found.history[-1, 1], (first - second) ** 2 / 2, rtol=1e-9)
