"""The gradient of a weighted sum of cells, where the weights follow from the cells' values: one ordinary pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..objectives import Array
from .backend import Tensor, torch
from .blocks import Ints
from .gradients import as_weights, check_graph, check_rows, kept, parted, penalised, penalty
from .layers import Tape, spread
from .layouts import TorchObjectives
from .scoring import Scorer, as_array


@dataclass(frozen=True, eq=False)
class Weighted:
    """Cell values L (R, k), their weights beta (R, k), and the gradient of beta.L by every parameter."""

    L: Array
    beta: Array
    gradients: list[Tensor]


def read_weighted(
    scorer: Scorer, objectives: TorchObjectives, inputs: Any, rows: Ints, decide: Callable[[Array], Array]
) -> Weighted:
    """Send all rows forward, let ``decide`` weigh the cells by their values, and go back once with these weights."""
    check_rows(inputs, rows)
    with torch.enable_grad():
        tape = scorer.tape(inputs) if scorer.stacked else None  # of one run, autograd adds up all rows the cheapest
        scores = scorer.scores(inputs) if tape is None else tape.scores
    values = as_array(scores, "the module")
    L, slopes = np.zeros((scorer.runs, objectives.k)), []
    for block in objectives.blocks:
        inside, targets = block.membership(rows), block.targets[rows]
        for bound, where in block.measures:
            value, slope = bound.value_slope(values[:, block.columns], targets)
            need = where >= 0
            L[:, where[need]] = inside.means(value)[:, need]
            slopes.append((block.columns, where, inside, slope))
    if penalised(objectives):
        L[:, -1] = penalty(scorer)
    beta = decide(L)
    whole = np.zeros_like(values)
    for columns, where, inside, slope in slopes:
        whole[:, columns] += slope * inside.back(np.where(where >= 0, beta[:, where], 0.0))[:, None]
    if tape is None:
        gradients = _backward(scorer, scores, as_weights(whole, scores))
    else:
        gradients = parted(scorer, _all_rows(tape, scorer, as_weights(whole, scores)))
    if penalised(objectives):
        weights = torch.as_tensor(beta[:, -1:], dtype=scores.dtype, device=scores.device)
        gradients = [
            g + (weights * kept(p, scorer)).view(p.shape) for g, p in zip(gradients, scorer.parameters, strict=True)
        ]
    return Weighted(L, beta, gradients)


def _backward(scorer: Scorer, scores: Tensor, weights: Tensor) -> list[Tensor]:
    """Return the gradients of weights * scores as an ordinary backward pass leaves them."""
    check_graph(scores)
    for parameter in scorer.parameters:
        parameter.grad = None
    torch.autograd.backward(scores, weights, inputs=scorer.parameters)
    return [torch.zeros_like(p) if p.grad is None else p.grad for p in scorer.parameters]


def _all_rows(tape: Tape, scorer: Scorer, weights: Tensor) -> Tensor:
    """Return the gradient (R, P) of weights * scores: all rows as one cell."""
    size = sum(p.numel() for p in scorer.parameters) // scorer.runs
    G = weights.new_empty(scorer.runs, 1, size)
    spread(tape, weights, np.array([weights.shape[1]]), G, keep=False)
    return G[:, 0]
