"""The gradient of a weighted sum of cells, where the weights follow from the cells' values: one ordinary pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..objectives import Array
from .backend import Tensor, torch
from .blocks import Ints
from .gradients import as_weights, check_rows, kept, penalised, pull
from .layers import Tape, spread
from .layouts import TorchObjectives
from .scoring import Scorer, as_array


@dataclass(frozen=True, eq=False)
class Weighted:
    """Cell values L (R, k), their weights beta (R, k), and the gradient of beta.L, (R, P)."""

    L: Array
    beta: Array
    gradient: Tensor


def read_weighted(
    scorer: Scorer, objectives: TorchObjectives, inputs: Any, rows: Ints, decide: Callable[[Array], Array]
) -> Weighted:
    """Send all rows forward, let ``decide`` weigh the cells by their values, and go back once with these weights."""
    check_rows(inputs, rows)
    with torch.enable_grad():
        tape = scorer.tape(inputs)
        scores = scorer.scores(inputs) if tape is None else tape.scores
    values = as_array(scores, "the module")
    L, slopes = np.zeros((scorer.runs, objectives.k)), []
    for block in objectives.blocks:
        members, targets = block.members(rows), block.targets[rows]
        for bound, where in block.measures:
            value, slope = bound.value_slope(values[:, block.columns], targets)
            need = where >= 0
            L[:, where[need]] = value @ members[need].T
            slopes.append((block.columns, where[need], members[need], slope))
    flat = torch.cat([kept(p, scorer) for p in scorer.parameters], dim=1) if penalised(objectives) else None
    if flat is not None:
        L[:, -1] = 0.5 * (flat.double() ** 2).sum(dim=1).cpu().numpy()
    beta = decide(L)
    whole = np.zeros_like(values)
    for columns, where, members, slope in slopes:
        whole[:, columns] += slope * (beta[:, where] @ members)[:, None]
    if tape is None:
        gradient = pull(scorer, scores, whole, keep=False)
    else:
        gradient = _all_rows(tape, scorer, as_weights(whole, scores))
    if flat is not None:
        gradient += torch.as_tensor(beta[:, -1:], dtype=flat.dtype, device=flat.device) * flat
    return Weighted(L, beta, gradient)


def _all_rows(tape: Tape, scorer: Scorer, weights: Tensor) -> Tensor:
    """Return the gradient (R, P) of weights * scores: all rows as one cell."""
    size = sum(p.numel() for p in scorer.parameters) // scorer.runs
    G = weights.new_empty(scorer.runs, 1, size)
    spread(tape, weights, np.array([weights.shape[1]]), G, keep=False)
    return G[:, 0]
