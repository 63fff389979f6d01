"""Cell values and cell gradients of modules, for the price of about one ordinary pass: on a batch, or on all rows.

Own-label cells are disjoint rows: every cell's rows go forward and backward by themselves, all cells together one
pass; modules of linear layers need no more than one joint pass (`layers`). Where rows depend on each other (batch
normalisation) or are in several cells, there is one joint forward and one vector-Jacobian product per cell. Losses,
rates and their slopes are the NumPy ones: only scores leave torch, and only slopes by the scores come back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..objectives import Array
from ..problems import LinearProblem, Point
from ..validation import check_count
from .layers import Scorer, Tape, cell_gradients
from .module_objectives import Ints, TorchObjectives, check_objectives, copies_of, objectives_of
from .modules import CHUNK, Inputs, Module, Tensor, as_array, copied, inputs_of, mixes_rows, take, torch, trainable

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
        """Return G^T beta (R, P)."""
        weights = torch.as_tensor(beta[:, None, : self.G.shape[1]], dtype=self.G.dtype, device=self.G.device)
        return torch.bmm(weights, self.G)[:, 0]

    def squared(self, beta: Array, scale: Tensor | None) -> Array:
        """Return the squared length of G^T beta, (R,), with this batch's noise in it."""
        g = self.combined(np.tile(beta, (len(self.L), 1)))
        return np.asarray((g * g if scale is None else g * g * scale[:, 0]).sum(dim=1).double().cpu().numpy())


@dataclass(frozen=True, eq=False)
class CellReader:
    """Evaluates the cells of objectives at the scores of R runs."""

    scorer: Scorer
    objectives: TorchObjectives

    def read(
        self, inputs: Inputs, rows: Ints, *, joint: bool = False, chunk: int | None = None, gradients: bool = True
    ) -> Reading:
        """Send all rows forward together if ``joint``; otherwise ``chunk`` bounds those that go through at once."""
        L, first = np.zeros((self.scorer.runs, self.objectives.k)), self.scorer.parameters[0]
        depth = self.objectives.k - (not self.objectives.penalised) if gradients else 0
        G = torch.empty((self.scorer.runs, depth, self.scorer.size), dtype=first.dtype, device=first.device)
        with torch.set_grad_enabled(gradients):
            if joint:
                block = self.objectives.block
                inside = block.membership(rows).back(np.eye(block.classes))
                self._read_part(inputs, rows, dict(enumerate(inside)), L, G.zero_())
            else:
                order = self.objectives.block.order(rows)
                if order is not None:
                    inputs, rows = take(inputs, order), rows[order]
                tape = self.scorer.tape(inputs) if gradients and chunk is None else None
                if tape is not None:
                    self._read_layers(tape, rows, L, G)
                else:
                    self._read_by_cell(inputs, rows, chunk or len(rows), L, G.zero_())
        if self.objectives.penalised:
            L[:, -1] = self.scorer.penalty()
            if gradients:
                G[:, -1] = torch.cat(self.scorer.penalised(), dim=1)
        return Reading(L, G)

    def _read_layers(self, tape: Tape, rows: Ints, L: Array, G: Tensor) -> None:
        """Split the sums of one joint pass over rows sorted by cell (`layers`)."""
        block = self.objectives.block
        inside, values, targets = block.membership(rows), as_array(tape.scores), block.targets[rows]
        sizes, last = np.bincount(np.asarray(inside.cell)), len(block.measures) - 1
        starts = np.cumsum(sizes) - sizes
        for place, (bound, where) in enumerate(block.measures):
            value, slope = bound.value_slope(values, targets)
            need = np.flatnonzero(where >= 0)
            L[:, where[need]] = np.add.reduceat(value * inside.share, starts, axis=1)[:, need]
            straight = len(need) == len(where) and where[-1] - where[0] == len(where) - 1
            into = G[:, int(where[0]) : int(where[-1]) + 1] if straight else G.new_empty(len(G), len(where), G.shape[2])
            cell_gradients(tape, _like(slope * inside.share, tape.scores), sizes, into, keep=place < last)
            if not straight:
                G[:, where[need]] = into[:, need]

    def _read_by_cell(self, inputs: Inputs, rows: Ints, chunk: int, L: Array, G: Tensor) -> None:
        """Send every cell's rows, which are sorted by cell, forward and backward by themselves."""
        inside = self.objectives.block.membership(rows)
        sizes = np.bincount(np.asarray(inside.cell))
        for c, stop in enumerate(np.cumsum(sizes).tolist()):
            for start in range(stop - int(sizes[c]), stop, chunk):
                part = slice(start, min(start + chunk, stop))
                self._read_part(take(inputs, part), rows[part], {c: inside.share[part]}, L, G)

    def _read_part(self, inputs: Inputs, rows: Ints, share: dict[int, Array], L: Array, G: Tensor) -> None:
        """Send rows forward together, and back once per class of rows in which they have shares."""
        scores, parameters = self.scorer.scores(inputs), self.scorer.parameters
        values, block = as_array(scores), self.objectives.block
        for bound, where in block.measures:
            value, slope = bound.value_slope(values, block.targets[rows])
            for c in (c for c in share if where[c] >= 0):
                L[:, where[c]] += value @ share[c]
                if not G.shape[1]:
                    continue
                _check_graph(scores)
                back = _like(slope * share[c], scores)
                found = torch.autograd.grad(scores, parameters, back, retain_graph=True, allow_unused=True)
                pulls = [torch.zeros_like(p) if g is None else g for p, g in zip(parameters, found, strict=True)]
                G[:, int(where[c])] += torch.cat([pull.reshape(len(G), -1) for pull in pulls], dim=1)

    def read_weighted(self, inputs: Inputs, rows: Ints, decide: Callable[[Array], Array]) -> tuple[Array, list[Tensor]]:
        """Return beta (R, k), by which ``decide`` weighs the cells, and the gradient of beta.L: one ordinary pass."""
        scorer, L, slopes = self.scorer, np.zeros((self.scorer.runs, self.objectives.k)), []
        with torch.enable_grad():
            tape = scorer.tape(inputs) if scorer.stacked else None  # of one run, autograd adds up all rows the cheapest
            scores = scorer.scores(inputs) if tape is None else tape.scores
        values, block = as_array(scores), self.objectives.block
        inside, targets = block.membership(rows), block.targets[rows]
        for bound, where in block.measures:
            value, slope = bound.value_slope(values, targets)
            need = where >= 0
            L[:, where[need]] = inside.means(value)[:, need]
            slopes.append((where, slope))
        if self.objectives.penalised:
            L[:, -1] = scorer.penalty()
        beta = decide(L)
        whole = np.zeros_like(values)
        for where, slope in slopes:
            whole += slope * inside.back(np.where(where >= 0, beta[:, where], 0.0))[:, None]
        weights = _like(whole, scores)
        if tape is not None:
            G = weights.new_empty(scorer.runs, 1, scorer.size)
            cell_gradients(tape, weights, np.array([weights.shape[1]]), G, keep=False)
            found = scorer.split(G[:, 0])
        else:
            _check_graph(scores)
            for parameter in scorer.parameters:
                parameter.grad = None
            torch.autograd.backward(scores, weights, inputs=scorer.parameters)
            found = [torch.zeros_like(p) if p.grad is None else p.grad for p in scorer.parameters]
        if self.objectives.penalised:
            share = torch.as_tensor(beta[:, -1:], dtype=scores.dtype, device=scores.device)
            found = [g + (share * each).view(g.shape) for each, g in zip(scorer.penalised(), found, strict=True)]
        return beta, found


def _check_graph(scores: Tensor) -> None:
    if not scores.requires_grad:
        raise InputError(
            "the scores do not depend on any parameter that takes a gradient, expected a module whose forward uses its "
            "parameters without detach() or no_grad(); look at its forward."
        )


def _like(slope: Array, scores: Tensor) -> Tensor:
    """Return slopes (R, K, n) as a tensor (R, n, K)."""
    return torch.as_tensor(slope, dtype=scores.dtype, device=scores.device).transpose(1, 2)


class TorchProblem:
    """Cells of a module on (X, objectives), first order; weights are all trainable parameters in one row.

    Parameters
    ----------
    module : nn.Module
        Gives one score per row, or one per class. It is evaluated as in ``eval()`` (dropout off, batch
        normalisation with its running statistics), so that equal weights have equal objectives.
    X : tensor, array, or tuple of them for several inputs
    objectives : TorchObjectives or LinearProblem
        What the rows of X are labelled and grouped by.
    chunk : int
        Most rows that go through the module at once.
    """

    def __init__(
        self, module: Module, X: Any, objectives: TorchObjectives | LinearProblem, *, chunk: int = CHUNK
    ) -> None:
        self.chunk = check_count(chunk, "chunk")
        given = objectives_of(objectives.objectives) if isinstance(objectives, LinearProblem) else objectives
        self.objectives = check_objectives(given)
        self.algebra = self.objectives.algebra
        self.module, self.blank = module, copied(module).eval()
        self.joint, self.known = mixes_rows(self.blank), trainable(self.blank)
        self.sizes = [value.numel() for value in self.known.values()]
        self.inputs = copies_of(self.objectives, inputs_of(module, X, self.objectives.n_given))
        self.K, self.d = 1, sum(self.sizes)

    @property
    def start(self) -> Array:
        """The module's present weights, (1, 1, d)."""
        flat = torch.cat([value.detach().reshape(-1) for value in trainable(self.module).values()])
        return np.asarray(flat.double().cpu().numpy())[None, None]

    def tensors(self, W: Array) -> dict[str, Tensor]:
        """Return weights as parameters by name that take gradients, with a leading axis of runs.

        Parameters
        ----------
        W : array of shape (R, 1, d)
        """
        first = next(iter(self.known.values()))
        parts = torch.as_tensor(W[:, 0], dtype=first.dtype, device=first.device).split(self.sizes, dim=1)
        return {
            name: part.reshape(len(W), *value.shape).clone().requires_grad_(True)
            for (name, value), part in zip(self.known.items(), parts, strict=True)
        }

    def state(self, W: Array) -> dict[str, Tensor]:
        """Return weights as the module's state dict, what is not trained included.

        Parameters
        ----------
        W : array of shape (1, d)
        """
        trained = {name: value[0].detach() for name, value in self.tensors(W[None]).items()}
        known: dict[int, str] = {}  # parts that share a parameter have it under several names, `trainable` under one
        every = self.module.named_parameters(remove_duplicate=False)
        first = {name: known.setdefault(id(value), name) for name, value in every}
        whole = self.module.state_dict().items()
        return {name: trained.get(first.get(name, name), value.detach()).clone() for name, value in whole}

    def load(self, W: Array) -> None:
        """Write weights into the module.

        Parameters
        ----------
        W : array of shape (1, d)
        """
        self.module.load_state_dict(self.state(W))

    def _read(self, W: Array, gradients: bool = True) -> Reading:
        reader = CellReader(Scorer(self.blank, self.objectives.n_scores, self.tensors(W)), self.objectives)
        rows = np.arange(self.objectives.n)
        return reader.read(self.inputs, rows, joint=self.joint, chunk=self.chunk, gradients=gradients)

    def cells(self, W: Array) -> Point:
        """Evaluate cell values and gradients of R runs in one pass over the data.

        Parameters
        ----------
        W : array of shape (R, 1, d)
        """
        found = self._read(W)
        D = np.zeros((len(W), self.objectives.k, self.d))
        D[:, : found.G.shape[1]] = found.G.double().cpu().numpy()
        return Point(W, found.L, found.gram(), D)

    def values(self, W: Array) -> Array:
        """Return the cell values alone, (R, k).

        Parameters
        ----------
        W : array of shape (R, 1, d)
        """
        return self._read(W, gradients=False).L

    def move(self, point: Point, beta: Array) -> Array:
        """Return the weights w - G^T beta, (R, 1, d).

        Parameters
        ----------
        point : Point, as `cells` returns it
        beta : array of shape (R, k)
        """
        return np.asarray(point.W - np.einsum("rk,rkd->rd", beta, point.D)[:, None])
