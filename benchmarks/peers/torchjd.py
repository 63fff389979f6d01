"""TorchJD's UPGrad and MGDA on the paper's objectives of the same linear model, with Adam.

UPGrad runs once per preference weight from the plain fit; MGDA takes no preference and runs from random starts.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from ..cases import Rows
from .base import Candidates, Fitting, Peer, linear_candidates, plain_model, weights_of

STEPS, RATE = 200, 0.02
STARTS = 5
RATIOS = (0.3, 1.0, 3.0, 10.0, 100.0)


def objectives(rows: Rows) -> Callable[[Any], Any]:
    """Return w -> h(w) = [logistic loss with ridge 1/n, z_ij^2 / 2 of every pair of groups]."""
    import torch

    n, c = len(rows.y), int(rows.groups.max()) + 1
    Z = torch.from_numpy(np.column_stack([rows.X, np.ones(n)]))
    sign = torch.from_numpy(2.0 * rows.y - 1.0)
    cells = [torch.from_numpy(np.flatnonzero((rows.groups == g) & (rows.y == 1))) for g in range(c)]

    def h(w: Any) -> Any:
        value = torch.nn.functional.softplus(-sign * (Z @ w))
        each = [value[cell].mean() for cell in cells]
        gaps = [(each[i] - each[j]) ** 2 / 2 for i, j in combinations(range(c), 2)]
        return torch.stack([value.mean() + (w[:-1] ** 2).sum() / (2 * n), *gaps])

    return h


def descend(h: Callable[[Any], Any], start: Any, aggregator: Any) -> tuple[np.ndarray, float]:
    """Run Adam on the aggregated Jacobian; return the weights and the share of steps that raised an objective."""
    import torch
    from torchjd.autojac import backward, jac_to_grad

    w = start.clone().requires_grad_(True)
    adam = torch.optim.Adam([w], lr=RATE)
    seen = []
    for _ in range(STEPS):
        values = h(w)
        seen.append(values.detach().numpy().copy())
        adam.zero_grad()
        backward(values)
        jac_to_grad([w], aggregator)
        adam.step()
    seen.append(h(w).detach().numpy().copy())
    rose = np.diff(np.array(seen), axis=0) > 1e-12
    return w.detach().numpy().copy(), float(rose.any(axis=1).mean())


def upgrad(fitting: Fitting) -> Candidates:
    import torch
    from torchjd.aggregation import UPGrad

    h = objectives(fitting.train)
    start = torch.from_numpy(weights_of([plain_model(fitting.train)])[0])
    pairs = fitting.n_groups * (fitting.n_groups - 1) // 2
    runs = []
    for ratio in RATIOS:
        prefer = torch.tensor([1.0, *[ratio] * pairs], dtype=torch.float64)
        runs.append(descend(h, start, UPGrad(pref_vector=prefer)))
    return _candidates(runs)


def mgda(fitting: Fitting) -> Candidates:
    import torch
    from torchjd.aggregation import MGDA

    h = objectives(fitting.train)
    random = np.random.default_rng(fitting.seed)
    d = fitting.train.X.shape[1] + 1
    starts = [torch.from_numpy(random.normal(size=d) * 0.1) for _ in range(STARTS)]
    runs = [descend(h, start, MGDA()) for start in starts]
    return _candidates(runs)


def _candidates(runs: list[tuple[np.ndarray, float]]) -> Candidates:
    W = np.stack([w for w, _ in runs])
    return linear_candidates(W, raised=lambda: float(np.mean([share for _, share in runs])))


PEERS = {
    "torchjd_upgrad": Peer(
        "TorchJD UPGrad",
        upgrad,
        packages=("torch", "torchjd", "quadprog"),
        note="from the plain fit, 200 steps of Adam",
        most_splits=5,
    ),
    "torchjd_mgda": Peer(
        "TorchJD MGDA",
        mgda,
        packages=("torch", "torchjd"),
        note="five random starts, 200 steps of Adam",
        most_splits=5,
    ),
}
