"""Any module on data in memory as a problem for the solvers: the same PDO and PB-PDO code as for linear models."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..objectives import Algebra, Array
from ..problems import LinearProblem, Point
from ..validation import check_count
from .backend import Module, Tensor, copied, mixes_rows, torch, trainable
from .batches import TorchObjectives, check_objectives
from .forward import CHUNK, Scorer, inputs_of
from .gradients import CellReader, Reading
from .module_objectives import objectives_of


class TorchProblem:
    """Cells of a module on (X, objectives), first order; weights are all trainable parameters in one row.

    Parameters
    ----------
    module : nn.Module
        Gives one score per row, or one per class or label. It is evaluated as in ``eval()`` (dropout off, batch
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
        if isinstance(objectives, LinearProblem):
            objectives = objectives_of(objectives.objectives)
        self.objectives = check_objectives(objectives)
        self.module, self.blank = module, copied(module).eval()
        self.joint, known = mixes_rows(self.blank), trainable(module)
        self.shapes = {name: tuple(value.shape) for name, value in known.items()}
        self.sizes = [value.numel() for value in known.values()]
        first = next(iter(known.values()))
        self.dtype, self.device = first.dtype, first.device
        self.inputs = inputs_of(module, X, self.objectives.n)
        self.rows = np.arange(self.objectives.n)
        self.K, self.d = 1, sum(self.sizes)

    @property
    def algebra(self) -> Algebra:
        """Return loss row, contrasts and gap function."""
        return self.objectives.algebra

    @property
    def start(self) -> Array:
        """Return the module's present weights, (1, 1, d)."""
        flat = torch.cat([value.detach().reshape(-1) for value in trainable(self.module).values()])
        return np.asarray(flat.double().cpu().numpy())[None, None]

    def tensors(self, W: Array) -> dict[str, Tensor]:
        """Return weights (R, 1, d) as parameters that take gradients, with a leading axis of runs."""
        parts = torch.as_tensor(W[:, 0], dtype=self.dtype, device=self.device).split(self.sizes, dim=1)
        return {
            name: part.reshape(len(W), *shape).clone().requires_grad_(True)
            for (name, shape), part in zip(self.shapes.items(), parts, strict=True)
        }

    def state(self, W: Array) -> dict[str, Tensor]:
        """Return weights (1, d) as the module's state dict, what is not trained included."""
        trained = {name: value[0].detach() for name, value in self.tensors(W[None]).items()}
        known: dict[int, str] = {}  # parts that share a parameter have it under several names, `trainable` under one
        every = self.module.named_parameters(remove_duplicate=False)
        first = {name: known.setdefault(id(value), name) for name, value in every}
        return {
            name: trained.get(first.get(name, name), value.detach()).clone()
            for name, value in self.module.state_dict().items()
        }

    def load(self, W: Array) -> None:
        """Write weights (1, d) into the module."""
        self.module.load_state_dict(self.state(W))

    def _read(self, W: Array, gradients: bool = True) -> Reading:
        reader = CellReader(Scorer(self.blank, self.objectives.n_scores, self.tensors(W)), self.objectives)
        return reader.read(self.inputs, self.rows, joint=self.joint, chunk=self.chunk, gradients=gradients)

    def cells(self, W: Array) -> Point:
        """Evaluate cell values and gradients of R runs in one pass over the data."""
        found = self._read(W)
        D = np.zeros((len(W), self.objectives.k, self.d))
        D[:, : found.G.shape[1]] = found.G.double().cpu().numpy()
        return Point(W, found.L, found.gram(), D)

    def values(self, W: Array) -> Array:
        """Return the cell values alone, (R, k)."""
        return self._read(W, gradients=False).L

    def move(self, point: Point, beta: Array) -> Array:
        """Return w - G^T beta."""
        return np.asarray(point.W - np.einsum("rk,rkd->rd", beta, point.D)[:, None])
