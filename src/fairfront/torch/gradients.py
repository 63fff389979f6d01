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

from ..exceptions import InputError
from ..objectives import Array
from .backend import Tensor, torch
from .blocks import Ints, Sorted
from .layers import Tape, spread
from .layouts import TorchObjectives
from .scoring import Scorer, as_array, n_rows, take

COLUMNS = 1 << 18
"""Gram matrices are added up over this many numbers of the gradients at a time."""


@dataclass(frozen=True, eq=False)
class Reading:
    """Cells of R runs on a batch: values L (R, k), and gradients G (R, k, P) with the parameters flattened.

    The last row of G, the penalty's gradient, is left out where the penalty does not count.
    """

    L: Array
    G: Tensor

    def gram(self, other: Tensor | None = None, scale: Tensor | None = None) -> Array:
        """Return Q = G G^T (R, k, k) in double precision, or the symmetric part of G G'^T with other gradients G'.

        With ``scale`` (R, 1, P) every parameter counts that much, which is the metric of an optimiser that divides.
        Products with other batches' gradients have their noise, far above the precision of the module, which is kept.
        """
        G, k = self.G, self.L.shape[1]
        Q, wide = np.zeros((len(G), G.shape[1], G.shape[1])), max(COLUMNS // (len(G) * G.shape[1]), 1)
        for start in range(0, G.shape[2], wide):
            part = (slice(None), slice(None), slice(start, start + wide))
            left = G[part].double() if other is None else G[part]
            right = left if other is None else other[part]
            left = left if scale is None else left * scale[part]
            Q += torch.bmm(left, right.transpose(1, 2)).double().cpu().numpy()
        whole = np.zeros((len(G), k, k))
        whole[:, : Q.shape[1], : Q.shape[1]] = 0.5 * (Q + Q.transpose(0, 2, 1))
        return whole

    def combined(self, beta: Array) -> Tensor:
        """Return the weighted sums of the cell gradients, G^T beta (R, P)."""
        weights = torch.as_tensor(beta[:, None, : self.G.shape[1]], dtype=self.G.dtype, device=self.G.device)
        return torch.bmm(weights, self.G)[:, 0]

    def squared(self, beta: Array, scale: Tensor | None) -> Array:
        """Return the squared length of G^T beta, (R,), with this batch's noise in it."""
        g = self.combined(np.tile(beta, (len(self.L), 1)))
        return np.asarray((g * g if scale is None else g * g * scale[:, 0]).sum(dim=1).double().cpu().numpy())


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
    check_rows(inputs, rows)
    L = np.zeros((scorer.runs, objectives.k))
    with torch.set_grad_enabled(gradients):
        if joint or objectives.overlapping:
            G = _joint(scorer, objectives, inputs, rows, L, gradients)
        else:
            batch = objectives.blocks[0].sorted(rows)
            inputs = inputs if batch.order is None else take(inputs, batch.order)
            tape = scorer.tape(inputs) if gradients and chunk is None else None
            if tape is not None:
                G = _layered(tape, scorer, objectives, batch, L)
            else:
                G = _apart(scorer, objectives, inputs, batch, L, chunk or len(rows), gradients)
    if penalised(objectives):
        L[:, -1] = penalty(scorer)
        if gradients:
            G[:, -1] = torch.cat([kept(p, scorer) for p in scorer.parameters], dim=1)
    return Reading(L, G)


def check_rows(inputs: Any, rows: Ints) -> None:
    """Refuse a batch that has more or fewer inputs than row numbers."""
    if n_rows(inputs) != len(rows):
        raise InputError(f"the batch has {n_rows(inputs)} inputs and {len(rows)} row numbers, expected one each.")


def penalised(objectives: TorchObjectives) -> bool:
    """Tell whether the penalty counts, the last cell."""
    return bool(objectives.algebra.p[-1] != 0.0)


def _blank(scorer: Scorer, objectives: TorchObjectives, gradients: bool) -> Tensor:
    """Return gradients that are still to be written, (R, k, P), without the penalty's if it does not count."""
    first, size = scorer.parameters[0], sum(p.numel() for p in scorer.parameters) // scorer.runs
    depth = objectives.k - (not penalised(objectives)) if gradients else 0
    return torch.empty((scorer.runs, depth, size), dtype=first.dtype, device=first.device)


def _layered(tape: Tape, scorer: Scorer, objectives: TorchObjectives, batch: Sorted, L: Array) -> Tensor:
    """Split the sums of one joint pass by cell (`layers`)."""
    block, G = objectives.blocks[0], _blank(scorer, objectives, True)
    values, starts = as_array(tape.scores, "the module"), np.cumsum(batch.sizes) - batch.sizes
    targets, last = block.targets[batch.rows], len(block.measures) - 1
    for place, (bound, where) in enumerate(block.measures):
        value, slope = bound.value_slope(values, targets)
        need = np.flatnonzero(where >= 0)
        L[:, where[need]] = np.add.reduceat(value * batch.share, starts, axis=1)[:, need]
        straight = len(need) == len(where) and where[-1] - where[0] == len(where) - 1
        found = G[:, int(where[0]) : int(where[-1]) + 1] if straight else G.new_empty(len(G), len(where), G.shape[2])
        spread(tape, as_weights(slope * batch.share, tape.scores), batch.sizes, found, keep=place < last)
        if not straight:
            G[:, where[need]] = found[:, need]
    return G


def _apart(
    scorer: Scorer, objectives: TorchObjectives, inputs: Any, batch: Sorted, L: Array, chunk: int, gradients: bool
) -> Tensor:
    """Send every cell's rows forward and backward by themselves."""
    block, G, stops = objectives.blocks[0], _blank(scorer, objectives, gradients).zero_(), np.cumsum(batch.sizes)
    for c, stop in enumerate(stops.tolist()):
        for start in range(stop - int(batch.sizes[c]), stop, chunk):
            part = slice(start, min(start + chunk, stop))
            scores = scorer.scores(take(inputs, part))
            values = as_array(scores, "the module")
            slopes = list(block.slopes(values, batch.rows[part], batch.share[part], c, L))
            for count, (place, slope) in enumerate(slopes):
                if G.shape[1]:
                    G[:, place] += _pull(scorer, scores, slope, keep=count + 1 < len(slopes))
    return G


def _joint(scorer: Scorer, objectives: TorchObjectives, inputs: Any, rows: Ints, L: Array, gradients: bool) -> Tensor:
    """Send all rows forward together, and back once per cell."""
    G = _blank(scorer, objectives, gradients).zero_()
    scores = scorer.scores(inputs)
    values = as_array(scores, "the module")
    for block in objectives.blocks:
        members = block.members(rows)
        for c in range(block.classes):
            for place, slope in block.slopes(values[:, block.columns], rows, members[c], c, L):
                if G.shape[1]:
                    whole = np.zeros_like(values)
                    whole[:, block.columns] = slope
                    G[:, place] += _pull(scorer, scores, whole, keep=True)
    return G


def as_weights(slope: Array, scores: Tensor) -> Tensor:
    """Return slopes (R, K, n) as a tensor like the scores, (R, n, K)."""
    return torch.as_tensor(slope, dtype=scores.dtype, device=scores.device).transpose(1, 2)


def check_graph(scores: Tensor) -> None:
    """Refuse scores that no gradient goes back from."""
    if not scores.requires_grad:
        raise InputError(
            "the scores do not depend on any parameter that takes a gradient, expected a module whose forward uses its "
            "parameters without detach() or no_grad(); look at its forward."
        )


def _pull(scorer: Scorer, scores: Tensor, slope: Array, keep: bool) -> Tensor:
    """Return the gradient (R, P) of sum(slope * scores)."""
    check_graph(scores)
    weights = as_weights(slope, scores)
    found = torch.autograd.grad(scores, scorer.parameters, weights, retain_graph=keep, allow_unused=True)
    parts = [torch.zeros_like(p) if g is None else g for p, g in zip(scorer.parameters, found, strict=True)]
    return torch.cat([part.reshape(scorer.runs, -1) for part in parts], dim=1)


def parted(scorer: Scorer, flat: Tensor) -> list[Tensor]:
    """Return gradients (R, P) as those of every parameter."""
    parts = flat.split([p.numel() // scorer.runs for p in scorer.parameters], dim=1)
    return [part.view(p.shape) for p, part in zip(scorer.parameters, parts, strict=True)]


def penalty(scorer: Scorer) -> Array:
    """Return |w|^2 / 2 over matrices and filters, (R,); biases stay free."""
    squares = [(kept(p, scorer).double() ** 2).sum(dim=1) for p in scorer.parameters]
    return np.asarray(0.5 * sum(squares).cpu().numpy())


def kept(parameter: Tensor, scorer: Scorer) -> Tensor:
    """Return a parameter as (R, p), or zeros if it is a bias: one number per unit."""
    flat = parameter.detach().reshape(scorer.runs, -1)
    return flat if parameter.dim() - scorer.stacked >= 2 else torch.zeros_like(flat)
