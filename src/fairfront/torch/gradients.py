"""Cell values and cell gradients of modules on a batch of rows, for the price of about one ordinary pass.

Own-label cells are disjoint rows: every cell's rows go forward and backward by themselves, all cells together one
pass; modules of linear layers need no more than one joint pass (`layers`). Where rows depend on each other (batch
normalisation) or are in several cells, there is one joint forward and one vector-Jacobian product per cell. Losses,
rates and their slopes are the NumPy ones: only scores leave torch, and only slopes by the scores come back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Array
from .backend import Tensor, torch
from .layers import spread, taped
from .layouts import TorchObjectives
from .scoring import Scorer, as_array, n_rows, take

Ints = NDArray[np.intp]
COLUMNS = 1 << 20
"""Gram matrices are added up in double precision over this many parameters at a time."""


@dataclass(frozen=True, eq=False)
class Reading:
    """Cells of R runs on a batch: values L (R, k), and gradients G (k, R, P) with the parameters flattened."""

    L: Array
    G: Tensor

    def gram(self, other: Reading | None = None) -> Array:
        """Return Q = G G^T (R, k, k) in double precision, or the symmetric part of G G'^T with another batch's."""
        k, R, P = self.G.shape
        Q = np.zeros((R, k, k))
        for start in range(0, P, COLUMNS):
            left = self.G[:, :, start : start + COLUMNS].transpose(0, 1).double()
            right = left if other is None else other.G[:, :, start : start + COLUMNS].transpose(0, 1).double()
            Q += torch.bmm(left, right.transpose(1, 2)).cpu().numpy()
        return 0.5 * (Q + Q.transpose(0, 2, 1))

    def combined(self, beta: Array) -> Tensor:
        """Return the weighted sums of the cell gradients, G^T beta (R, P)."""
        weights = torch.as_tensor(beta, dtype=self.G.dtype, device=self.G.device)
        return torch.einsum("rk,krp->rp", weights, self.G)


def read_cells(
    scorer: Scorer,
    objectives: TorchObjectives,
    inputs: Any,
    rows: Ints,
    *,
    joint: bool = False,
    chunk: int | None = None,
    gradients: bool = True,
) -> Reading:
    """Evaluate all cells on these inputs, which are the given rows of the data.

    ``joint`` asks for one forward pass over all rows; ``chunk`` bounds the rows that go through at once otherwise.
    """
    if n_rows(inputs) != len(rows):
        raise InputError(f"the batch has {n_rows(inputs)} inputs and {len(rows)} row numbers, expected one each.")
    L = np.zeros((scorer.runs, objectives.k))
    sizes = [_size(p, scorer) for p in scorer.parameters]
    first = scorer.parameters[0]
    depth = objectives.k if gradients else 0
    G = torch.zeros((depth, scorer.runs, sum(sizes)), dtype=first.dtype, device=first.device)
    with torch.set_grad_enabled(gradients):
        if joint or objectives.overlapping:
            _joint(scorer, objectives, inputs, rows, L, G)
        else:
            sorted_rows = _sorted(objectives, inputs, rows)
            if not (gradients and chunk is None and _layered(scorer, objectives, sorted_rows, L, G)):
                _apart(scorer, objectives, sorted_rows, chunk or len(rows), L, G)
    _penalty(scorer, objectives, L, G)
    return Reading(L, G)


def _size(parameter: Tensor, scorer: Scorer) -> int:
    return int(parameter.numel()) // scorer.runs


def _sorted(objectives: TorchObjectives, inputs: Any, rows: Ints) -> tuple[Any, Ints, Array, Ints]:
    """Return inputs, rows and shares sorted by class of rows, and where each class starts and ends."""
    block = objectives.blocks[0]
    assert block.cell is not None
    share = block.members(rows).sum(axis=0)
    cell = block.cell[rows]
    order = np.argsort(cell, kind="stable")
    ends = np.searchsorted(cell[order], np.arange(block.classes + 1))
    return take(inputs, order), rows[order], share[order], ends


def _layered(scorer: Scorer, objectives: TorchObjectives, sorted_rows: Any, L: Array, G: Tensor) -> bool:
    """Send all rows forward and backward once and split the sums by cell (`layers`); say if that was possible."""
    inputs, rows, share, ends = sorted_rows
    if scorer.layers is None:
        return False
    with taped(scorer.layers) as tape:
        scores = scorer.scores(inputs)
    if not tape.usable(len(rows)) or not scores.requires_grad:
        return False
    block, values = objectives.blocks[0], as_array(scores, "the module")
    starts = np.cumsum([0, *(p.numel() for p in scorer.parameters)])
    places = {id(p): int(start) for p, start in zip(scorer.parameters, starts[:-1], strict=True)}
    for count, (bound, where) in enumerate(block.measures):
        value, slope = bound.value_slope(values, block.targets[rows])
        need = where >= 0
        L[:, where[need]] = np.add.reduceat(value * share, ends[:-1], axis=1)[:, need]
        weights = _as_weights(slope * share, scores)
        deltas = torch.autograd.grad(scores, tape.outputs, weights, retain_graph=count + 1 < len(block.measures))
        found = torch.zeros((block.classes, G.shape[2]), dtype=G.dtype, device=G.device)
        spread(tape, deltas, np.diff(ends).tolist(), places, found)
        G[where[need], 0] = found[np.flatnonzero(need)]
    return True


def _apart(scorer: Scorer, objectives: TorchObjectives, sorted_rows: Any, chunk: int, L: Array, G: Tensor) -> None:
    """Send every cell's rows forward and backward by themselves."""
    block = objectives.blocks[0]
    inputs, rows, share, ends = sorted_rows
    for c in range(block.classes):
        for start in range(int(ends[c]), int(ends[c + 1]), chunk):
            part = slice(start, min(start + chunk, int(ends[c + 1])))
            scores = scorer.scores(take(inputs, part))
            values = as_array(scores, "the module")
            slopes = list(block.slopes(values, rows[part], share[part], c, L))
            for count, (place, slope) in enumerate(slopes):
                if len(G):
                    G[place] += _pull(scorer, scores, slope, keep=count + 1 < len(slopes))


def _joint(scorer: Scorer, objectives: TorchObjectives, inputs: Any, rows: Ints, L: Array, G: Tensor) -> None:
    """Send all rows forward together, and back once per cell."""
    scores = scorer.scores(inputs)
    values = as_array(scores, "the module")
    for block in objectives.blocks:
        members = block.members(rows)
        for c in range(block.classes):
            for place, slope in block.slopes(values[:, block.columns], rows, members[c], c, L):
                if len(G):
                    whole = np.zeros_like(values)
                    whole[:, block.columns] = slope
                    G[place] += _pull(scorer, scores, whole, keep=True)


def _as_weights(slope: Array, scores: Tensor) -> Tensor:
    """Return slopes (R, K, n) as a tensor like the scores, (R, n, K)."""
    return torch.as_tensor(slope, dtype=scores.dtype, device=scores.device).transpose(1, 2)


def _pull(scorer: Scorer, scores: Tensor, slope: Array, keep: bool) -> Tensor:
    """Return the gradient (R, P) of sum(slope * scores)."""
    if not scores.requires_grad:
        raise InputError(
            "the scores do not depend on any parameter that takes a gradient, expected a module whose forward uses its "
            "parameters without detach() or no_grad(); look at its forward."
        )
    weights = _as_weights(slope, scores)
    found = torch.autograd.grad(scores, scorer.parameters, weights, retain_graph=keep, allow_unused=True)
    parts = [torch.zeros_like(p) if g is None else g for p, g in zip(scorer.parameters, found, strict=True)]
    return torch.cat([part.reshape(scorer.runs, -1) for part in parts], dim=1)


def _penalty(scorer: Scorer, objectives: TorchObjectives, L: Array, G: Tensor) -> None:
    """Set the last cell, |w|^2 / 2 over matrices and filters; biases stay free. It is skipped where nothing asks."""
    if objectives.algebra.p[-1] == 0.0:
        return
    flat = torch.cat([_kept(p, scorer) for p in scorer.parameters], dim=1)
    L[:, -1] = 0.5 * (flat.double() ** 2).sum(dim=1).cpu().numpy()
    if len(G):
        G[-1] = flat


def _kept(parameter: Tensor, scorer: Scorer) -> Tensor:
    """Return a parameter as (R, p), or zeros if it is a bias: one number per unit."""
    flat = parameter.detach().reshape(scorer.runs, -1)
    return flat if parameter.dim() - scorer.stacked >= 2 else torch.zeros_like(flat)
