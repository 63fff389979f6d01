"""Training that is killed goes on to the same result; checkpoints of other runs are refused."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.places import environment

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra torch)")
pytest.importorskip("safetensors", reason="safetensors is not installed (extra torch)")
from torch import nn

import fairfront as ff
import fairfront.torch as fft
from tests.support.people import people

torch.set_num_threads(1)


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Tanh(), nn.Linear(8, 1))


def fitted(checkpoint: Any, on_epoch: Any = None, **changed: Any) -> fft.FitResult:
    X, y, group = people(300)
    settings: dict[str, Any] = {
        "sensitive_features": group,
        "max_gap": 0.05,
        "training": fft.Training(epochs=8, lr=1e-2, batch_size=64),
        "progress": False,
    }
    return fft.fit(net(), X, y, checkpoint=checkpoint, on_epoch=on_epoch, **{**settings, **changed})


def traced(checkpoint: Any, stack: bool | None = None, epochs: int = 4) -> ff.Frontier:
    X, y, group = people(300)
    how = fft.Training(epochs=epochs, lr=1e-2, batch_size=64)
    common: dict[str, Any] = {"sensitive_features": group, "preferences": 2, "stack": stack, "progress": False}
    return fft.trace(net(), X, y, training=how, slide=how, checkpoint=checkpoint, **common)


def killed(what: str, path: Path) -> None:
    """Run something in a process of its own, which kills itself on the way."""
    code = (
        "import os, signal, sys\n"
        "import test_torch_resume as here\n"
        "def kill(*_):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        f"{what}\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        check=False,
        capture_output=True,
        env=environment(Path(__file__).parent),
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


@pytest.mark.slow
def test_killed_training_ends_with_the_same_weights(tmp_path) -> None:
    file = tmp_path / "run.safetensors"
    for epoch in (2, 5):
        killed(f"here.fitted(sys.argv[1], lambda epoch, step: kill() if epoch == {epoch} else None)", file)
    (tmp_path / ".run.safetensors.partial-1").write_bytes(b"torn")
    torch.rand(7)
    continued, whole = fitted(file), fitted(None)
    for name, value in whole.module.state_dict().items():
        assert torch.equal(value, continued.module.state_dict()[name])
    np.testing.assert_array_equal(whole.history, continued.history)
    assert not list(tmp_path.glob(".run*"))


def by_milestones(optimizer: Any) -> Any:
    """Return a scheduler whose state has numbers for keys, also inside that of another one."""
    plan = torch.optim.lr_scheduler
    first, then = plan.ConstantLR(optimizer, 0.5, 2), plan.MultiStepLR(optimizer, [1, 2, 3], 0.1)
    return plan.SequentialLR(optimizer, [first, then], [2])


@pytest.mark.parametrize("nested", [True, False])
def test_schedulers_with_milestones_go_on_where_they_were(tmp_path, nested: bool) -> None:
    how: dict[str, Any] = {"scheduler": lambda o: torch.optim.lr_scheduler.MultiStepLR(o, [3, 4, 5], 0.1)}
    how = {"scheduler": by_milestones} if nested else how
    file = tmp_path / "run.safetensors"
    fitted(file, training=fft.Training(epochs=2, lr=1e-2, batch_size=64), **how)
    continued, whole = fitted(file, **how), fitted(None, **how)
    for name, value in whole.module.state_dict().items():
        assert torch.equal(value, continued.module.state_dict()[name])


def test_checkpoints_of_other_runs_are_refused(tmp_path) -> None:
    file = tmp_path / "run.safetensors"
    fitted(file, training=fft.Training(epochs=1, lr=1e-2, batch_size=64))
    group = people(300)[2]
    for changed, words in (
        ({"max_gap": 0.1}, "target"),
        ({"max_gap": None, "preference": [1.0, 5.0]}, "target"),
        ({"max_gap": None}, "rule"),
        ({"training": fft.Training(epochs=8, lr=2e-2, batch_size=64)}, "training"),
        ({"optimizer": lambda p: torch.optim.Adam(p, lr=2e-2)}, "optimizer"),
        ({"notion": "demographic_parity"}, "objectives"),
        ({"loss": "squared_hinge"}, "objectives"),
        ({"surrogate": "rate"}, "objectives"),
        ({"gap": "absolute"}, "objectives"),
        ({"ridge": 0.1}, "objectives"),
        ({"scheduler": lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.9)}, "scheduler"),
        ({"validation": people(300)}, "of other data"),
        ({"sensitive_features": group[::-1].copy()}, "of other data"),
    ):
        with pytest.raises(ff.InputError, match=words):
            fitted(file, **changed)
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(ff.InputError, match="not a checkpoint or is damaged"):
        fitted(file)


@pytest.mark.parametrize("stack", [True, False])
def test_an_interrupted_trace_goes_on(tmp_path, monkeypatch, stack: bool) -> None:
    from fairfront.torch import module_trace

    whole, calls = traced(None, stack), []
    train = module_trace.train

    def interrupted(step: Any, inputs: Any, config: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == (2 if stack else 3):  # after plain training
            options["on_epoch"] = lambda epoch, step: 1 / 0 if epoch == 2 else None
        return train(step, inputs, config, **options)

    monkeypatch.setattr(module_trace, "train", interrupted)
    with pytest.raises(ZeroDivisionError):
        traced(tmp_path / "trace", stack)
    monkeypatch.undo()
    continued = traced(tmp_path / "trace", stack)
    np.testing.assert_array_equal(whole.objectives, continued.objectives)
    (tmp_path / "file").write_text("")
    with pytest.raises(ff.InputError, match="is a file, expected a folder"):
        traced(tmp_path / "file", stack)
