"""Frontiers of modules: sliding in stacks or one by one, the last layer alone, saving, selecting."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra torch)")
pytest.importorskip("safetensors", reason="safetensors is not installed (extra torch)")
from torch import nn

import fairfront as ff
import fairfront.torch as fft
from fairfront.solvers import PBPDO
from tests.support.people import people

torch.set_num_threads(1)
HOW = fft.Training(epochs=15, batch_size=128, lr=1e-2)


def net(norm: bool = False, outputs: int = 1) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8) if norm else nn.Tanh(), nn.Linear(8, outputs))


@pytest.fixture(scope="module")
def front() -> ff.Frontier:
    X, y, group = people(800)
    return fft.trace(net(), X, y, sensitive_features=group, preferences=4, training=HOW, progress=False)


def test_gaps_shrink_along_the_frontier(front: ff.Frontier) -> None:
    assert len(front) >= 3
    assert (np.diff(front.loss) >= 0).all()
    assert front.gaps[0, 0] > 0.08
    assert front.gaps[-1, 0] < 0.4 * front.gaps[0, 0]
    assert front.loss[-1] < front.loss[0] + 0.05
    assert not front.certified.any()


def test_a_selected_module_is_ready_to_use(front: ff.Frontier) -> None:
    X, y, group = people(300, seed=1)
    judged = front.evaluate(X, y, sensitive_features=group)
    module = judged.select(least="tpr_gap", within={"error": 0.05}, confidence=None)
    assert isinstance(module, nn.Sequential)
    assert not module.training
    chosen = judged.place(judged.choose(least="tpr_gap", within={"error": 0.05}, confidence=None))
    decided = (module(torch.as_tensor(X, dtype=torch.float32))[:, 0] > 0).numpy()
    np.testing.assert_allclose(np.mean(decided != y), judged.column("error")[chosen], atol=1e-12)


def test_saved_modules_come_back(front: ff.Frontier, tmp_path) -> None:
    front.save(tmp_path / "front")
    back = fft.load(tmp_path / "front", net())
    X = people(50)[0]
    np.testing.assert_array_equal(back.models.scores(X), front.models.scores(X))
    np.testing.assert_array_equal(back.gaps, front.gaps)
    bare = ff.load(tmp_path / "front")
    with pytest.raises(ff.InputError, match=r"fairfront.torch.load\(path, module\)"):
        bare.select(id=0)
    with pytest.raises(ff.InputError, match="another architecture"):
        fft.load(tmp_path / "front", nn.Linear(4, 1))
    names = sorted(file.suffix for file in (tmp_path / "front").rglob("*") if file.is_file())
    assert set(names) == {".json", ".npz", ".safetensors"}


def test_a_stack_is_as_good_as_runs_of_their_own() -> None:
    X, y, group = people(400)
    given = fft.objectives(y, sensitive_features=group)
    module = net().double()
    problem = fft.TorchProblem(module, X, given)
    caps = np.array([0.1, 0.0])
    sgd = lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.5)  # noqa: E731
    stacked = {
        name: value.requires_grad_(True) for name, value in problem.tensors(np.repeat(problem.start, 2, 0)).items()
    }
    together = fft.FairStep(module, sgd(list(stacked.values())), given, max_gap=caps, stacked=stacked)
    for rows in fft.CellSampler(given, 100).batches(0):
        together(X[rows], rows)
    for r, cap in enumerate(caps):
        single = net().double()
        step = fft.FairStep(single, sgd(single.parameters()), given, max_gap=cap)
        for rows in fft.CellSampler(given, 100).batches(0):
            step(X[rows], rows)
        for name, value in single.named_parameters():
            np.testing.assert_allclose(stacked[name][r].detach(), value.detach(), atol=1e-9)


def test_runs_slow_down_while_they_slide() -> None:
    X, y, group = people(200)
    made = []

    def sgd(parameters):
        made.append(torch.optim.SGD(parameters, lr=0.1))
        return made[-1]

    how = {"training": fft.Training(epochs=2), "slide": fft.Training(epochs=4), "progress": False}
    fft.trace(net(), X, y, sensitive_features=group, preferences=2, optimizer=sgd, **how)
    assert [round(each.param_groups[0]["lr"], 9) for each in made] == [0.1, 0.025]


class Picky(nn.Module):
    """A module that looks at its own scores, which stacked copies cannot do."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = net()

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        scores = self.inner(X)
        return scores if scores.abs().sum().item() >= 0.0 else -scores


@pytest.mark.parametrize("module", [Picky(), net(norm=True)], ids=["one by one", "batch normalisation"])
def test_modules_of_other_kinds_have_frontiers_too(module: nn.Module) -> None:
    X, y, group = people(400)
    short = fft.Training(epochs=6, lr=1e-2, batch_size=64)
    front = fft.trace(module, X, y, sensitive_features=group, preferences=2, training=short, progress=False)
    assert front.gaps[-1, 0] < 0.7 * front.gaps[0, 0]
    judged = front.evaluate(X, y, sensitive_features=group, name="train")
    assert judged.column("error")[-1] < 0.45


def test_preferences_and_the_solver_of_linear_models() -> None:
    X, y, group = people(400)
    module = net().double()
    kept = {name: value.clone() for name, value in module.state_dict().items()}
    front = fft.trace(
        module,
        X,
        y,
        sensitive_features=group,
        preferences=[[1.0, 300.0], [1.0, 3000.0]],
        training=HOW,
        solver=PBPDO(max_iter=150),
        ridge=1e-2,
        progress=False,
    )
    asked = ~np.isnan(front.preferences[:, 0])
    assert asked.sum() == 2
    levels = front.preferences[asked] * front.objectives[asked]
    assert (levels.min(axis=1) > 0.9 * levels.max(axis=1)).all()
    for name, value in module.state_dict().items():
        assert torch.equal(value, kept[name])


def test_the_head_has_the_frontier_of_a_linear_model_on_its_features() -> None:
    X, y, group = people(400)
    module = net().double()
    front = fft.trace_head(module, X, y, sensitive_features=group, n_points=4, progress=False)
    features = module[:2](torch.as_tensor(X)).detach().numpy()
    known = ff.trace(features, y, sensitive_features=group, n_points=4, progress=False)
    np.testing.assert_allclose(front.objectives, known.objectives, rtol=1e-9)
    np.testing.assert_allclose(front.models.scores(X), known.models.scores(features), atol=1e-9)
    assert front.certified.any()
    assert torch.equal(front.select(id=0)[0].weight, module[0].weight)
    with pytest.raises(ff.InputError, match="head '1' is Tanh"):
        fft.trace_head(module, X, y, sensitive_features=group, head="1")
    with pytest.raises(ff.InputError, match="are not the output of head '2'"):
        fft.trace_head(nn.Sequential(*net(), nn.Sigmoid()), X, y, sensitive_features=group)
    with pytest.raises(ff.InputError, match="gives 3 scores per row, expected 1"):
        fft.trace_head(net(outputs=3), X, y, sensitive_features=group, n_points=2, progress=False)


def test_images_with_a_group_attribute() -> None:
    rng = np.random.default_rng(0)
    n, group = 300, rng.integers(0, 2, 300)
    y = rng.integers(0, 2, n)
    images = rng.normal(size=(n, 1, 6, 6)).astype(np.float32)
    images[:, :, 1:3, 1:3] += (np.where(group == 1, 1.5, 0.5) * y)[:, None, None, None]
    torch.manual_seed(0)
    conv = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 1))
    how = {"sensitive_features": group.astype(str), "training": fft.Training(20, 64, 5e-3), "progress": False}
    front = fft.trace(conv, images, y, preferences=2, **how)
    plain = fft.fit(conv, images, y, rule=fft.PlainRule(), **how)
    place = int(np.abs(front.loss - plain.objectives[0]).argmin())
    np.testing.assert_allclose(front.objectives[place], plain.objectives, rtol=1e-6)
    np.testing.assert_allclose(front.signed_gaps[place], plain.gaps, rtol=1e-6)
    assert front.gaps.min() < 0.5 * abs(plain.gaps[0])
    assert front.loss[front.gaps[:, 0].argmin()] < plain.objectives[0] + 0.05
    judged = front.evaluate(images, y, sensitive_features=group.astype(str))
    assert judged.column("error")[0] < 0.3


@pytest.mark.slow
def test_a_saved_frontier_is_read_in_a_process_that_did_not_import_the_room(front: ff.Frontier, tmp_path) -> None:
    front.save(tmp_path / "front")
    code = "import sys, fairfront as ff; f = ff.load(sys.argv[1]); print(len(f), f.gaps[-1, 0])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "front")], check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == [str(len(front)), str(front.gaps[-1, 0])]


def test_a_frontier_of_modules_is_drawn_and_explored(front: ff.Frontier, tmp_path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra plot)")
    X, y, group = people(300, seed=1)
    judged = front.evaluate(X, y, sensitive_features=group)
    assert judged.plot() is not None
    page = judged.to_html(tmp_path / "page.html")
    assert page.stat().st_size > 10_000
