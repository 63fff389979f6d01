"""TorchJD's UPGrad on the paper's objectives of the same linear model, one run per preference weight, with Adam."""

from __future__ import annotations

import numpy as np

from .base import Candidates, Fitting, Peer, linear_candidates, plain_model, weights_of
from .torch_losses import descend, objectives

RATIOS = (0.3, 1.0, 3.0, 10.0, 100.0)


def fit(fitting: Fitting) -> Candidates:
    import torch
    from torchjd.aggregation import UPGrad

    h = objectives(fitting.train)
    start = torch.from_numpy(weights_of([plain_model(fitting.train)])[0])
    pairs = fitting.n_groups * (fitting.n_groups - 1) // 2
    runs = []
    for ratio in RATIOS:
        prefer = torch.tensor([1.0, *[ratio] * pairs], dtype=torch.float64)
        runs.append(descend(h, start, UPGrad(pref_vector=prefer)))
    W = np.stack([w for w, _ in runs])
    return linear_candidates(W, raised=lambda: float(np.mean([share for _, share in runs])))


PEER = Peer(
    "TorchJD UPGrad",
    fit,
    packages=("torch", "torchjd", "quadprog"),
    note="from the plain fit, 200 steps of Adam",
    most_splits=5,
)
