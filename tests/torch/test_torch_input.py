"""Input that modules cannot be trained with: a sentence each, before any training where that can be known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra torch)")
pytest.importorskip("safetensors", reason="safetensors is not installed (extra torch)")
from torch import nn

import fairfront as ff
import fairfront.torch as fft

torch.set_num_threads(1)
RNG = np.random.default_rng(0)
X, GROUP = RNG.normal(size=(200, 4)), RNG.integers(0, 2, 200).astype(str)
Y = (X[:, 0] + RNG.logistic(size=200) > 0).astype(int)
ROWS = np.arange(200)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (ROWS + 5, "rows has numbers from 5 to 204, expected 0 to 199"),
        (ROWS - 5, "rows has numbers from -5 to 194"),
        (ROWS + 0.5, "type float64 and the shape"),
        (np.ones(200, bool), "type bool and the shape"),
        (ROWS[:, None], r"shape \(200, 1\), expected row numbers"),
    ],
)
def test_row_numbers_are_checked(rows: Any, words: str) -> None:
    module = nn.Linear(4, 1)
    step = fft.FairStep(module, torch.optim.SGD(module.parameters(), 0.1), fft.objectives(Y, sensitive_features=GROUP))
    with pytest.raises(ff.InputError, match=words):
        step(torch.as_tensor(X), rows)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"max_gap": [0.1, 0.2]}, "for 2 runs, expected 1, one for each module"),
        ({"preference": [[1.0, 2.0], [1.0, 3.0]]}, "for 2 runs, expected 1"),
        ({"max_gap": "small"}, "max_gap has entries that are not numbers"),
        ({"memory": "long"}, "memory is 'long', expected a share between 0 and 1, or 0"),
        ({"optimizer": torch.optim.SGD(nn.Linear(4, 1).parameters(), 0.1)}, "does not have 2 of 2 parameters"),
        ({"optimizer": torch.optim.LBFGS(nn.Linear(4, 1).parameters())}, "LBFGS, expected one of torch.optim"),
        ({"optimizer": None}, "NoneType, expected one of torch.optim"),
    ],
)
def test_steps_check_what_they_are_given(settings: dict[str, Any], words: str) -> None:
    module = nn.Linear(4, 1)
    own = {"optimizer": torch.optim.SGD(module.parameters(), 0.1), **settings}
    with pytest.raises(ff.InputError, match=words):
        fft.FairStep(module, objectives=fft.objectives(Y, sensitive_features=GROUP), **own)


class Keeping(nn.Linear):
    """A module that keeps what its forward computed."""

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        self.kept = super().forward(X)
        return self.kept


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"module": 5}, "module is a int, expected an nn.Module"),
        ({"module": nn.Linear(4, 1, device="meta")}, "on meta, where weights have no values"),
        ({"module": nn.Linear(3, 1)}, r"Linear cannot take X \(mat1"),
        ({"X": np.sign(X).astype(int)}, r"Linear cannot take X \(.*dtype"),
        ({"X": np.where(X > 2.0, np.nan, X)}, "NaN or infinite scores"),
        ({"module": nn.Linear(4, 2)}, r"the shape \(2, 2\) for 2 rows"),
        ({"module": Keeping(4, 1)}, "Keeping cannot be copied"),
        ({"device": "nowhere"}, "device 'nowhere' cannot be used"),
        ({"optimizer": torch.optim.SGD(nn.Linear(4, 1).parameters(), 0.1)}, "optimizer is SGD .*, expected a function"),
        ({"training": {"epochs": 3}}, "training is .*epochs.*, expected a fairfront.torch.Training"),
        ({"scheduler": torch.optim.lr_scheduler.ReduceLROnPlateau}, "ReduceLROnPlateau needs a metric"),
    ],
)
def test_fit_checks_what_it_is_given(settings: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"module": nn.Linear(4, 1), "X": X, "training": fft.Training(epochs=1), **settings}
    with pytest.raises(ff.InputError, match=words):
        fft.fit(y=Y, sensitive_features=GROUP, progress=False, **given)


def test_settings_are_checked() -> None:
    with pytest.raises(ff.InputError, match="seed is -1"):
        fft.Training(seed=-1)
    with pytest.raises(ff.InputError, match="memory is 1"):
        fft.Training(memory=1)
    with pytest.raises(ff.InputError, match="in a trace, expected None"):
        fft.trace(nn.Linear(4, 1), X, Y, sensitive_features=GROUP, training=fft.Training(patience=2))
