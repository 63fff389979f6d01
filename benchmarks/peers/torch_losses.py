"""The paper's objectives as torch functions, and the descent loop that both TorchJD peers share."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from .base import Rows

STEPS, RATE = 200, 0.02


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
