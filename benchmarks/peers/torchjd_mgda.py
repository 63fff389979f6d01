"""TorchJD's MGDA on the paper's objectives of the same linear model, from random starts: it takes no preference."""

from __future__ import annotations

import numpy as np

from .base import Candidates, Fitting, Peer, linear_candidates
from .torch_losses import descend, objectives

STARTS = 5


def fit(fitting: Fitting) -> Candidates:
    import torch
    from torchjd.aggregation import MGDA

    h = objectives(fitting.train)
    random = np.random.default_rng(fitting.seed)
    d = fitting.train.X.shape[1] + 1
    starts = [torch.from_numpy(random.normal(size=d) * 0.1) for _ in range(STARTS)]
    runs = [descend(h, start, MGDA()) for start in starts]
    W = np.stack([w for w, _ in runs])
    return linear_candidates(W, raised=lambda: float(np.mean([share for _, share in runs])))


PEER = Peer(
    "TorchJD MGDA", fit, packages=("torch", "torchjd"), note="five random starts, 200 steps of Adam", most_splits=5
)
