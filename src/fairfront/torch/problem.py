"""Any module on data in memory as a problem for the solvers: the same PDO and PB-PDO code as for linear models."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..exceptions import InputError
from ..objectives import Algebra, Array
from ..problems import LinearProblem, Point
from ..validation import check_count
from .backend import Module, Tensor, torch
from .gradients import Reading, read_cells
from .layouts import TorchObjectives, check_objectives
from .modules import copied, first_names, mixes_rows, trainable
from .scoring import StackScorer, as_inputs, n_rows


class TorchProblem:
    """Cells of a module on (X, objectives), first order; weights are all trainable parameters in one row.

    Parameters
    ----------
    module : nn.Module
        Gives one score per row, or one per class or label. It is evaluated as in ``eval()`` (dropout off, batch
        normalisation with its running figures), so that equal weights have equal objectives.
    X : tensor, array, or tuple of them for several inputs
    objectives : TorchObjectives or LinearProblem
        What the rows of X are labelled and grouped by.
    chunk : int
        Most rows that go through the module at once.
    """

    def __init__(
        self, module: Module, X: Any, objectives: TorchObjectives | LinearProblem, *, chunk: int = 8192
    ) -> None:
        check_count(chunk, "chunk")
        if not isinstance(objectives, LinearProblem):
            check_objectives(objectives)
        self.module, self.blank = module, copied(module).eval()
        self.joint = mixes_rows(self.blank)
        self.objectives = TorchObjectives.of(objectives) if isinstance(objectives, LinearProblem) else objectives
        self.shapes = {name: tuple(value.shape) for name, value in trainable(module).items()}
        first = next(iter(trainable(module).values()))
        self.dtype, self.device, self.chunk = first.dtype, first.device, chunk
        self.inputs = as_inputs(X, self.dtype, self.device)
        if n_rows(self.inputs) != self.objectives.n:
            raise InputError(
                f"X has {n_rows(self.inputs)} rows, expected {self.objectives.n}, as many as there are labels."
            )
        self.rows = np.arange(self.objectives.n)
        self.K, self.d = 1, sum(int(np.prod(shape)) for shape in self.shapes.values())

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
        """Return weights (R, 1, d) as parameters with a leading axis of runs."""
        flat = torch.as_tensor(W[:, 0], dtype=self.dtype, device=self.device)
        parts = torch.split(flat, [int(np.prod(shape)) for shape in self.shapes.values()], dim=1)
        return {
            name: part.reshape(len(W), *shape).clone()
            for (name, shape), part in zip(self.shapes.items(), parts, strict=True)
        }

    def state(self, W: Array) -> dict[str, Tensor]:
        """Return weights (1, d) as the module's state dict, what is not trained included."""
        trained = {name: value[0] for name, value in self.tensors(W[None]).items()}
        first = first_names(self.module)
        return {
            name: trained.get(first.get(name, name), value.detach()).clone()
            for name, value in self.module.state_dict().items()
        }

    def load(self, W: Array) -> None:
        """Write weights (1, d) into the module."""
        self.module.load_state_dict(self.state(W))

    def _scorer(self, W: Array) -> StackScorer:
        stacked = {name: value.requires_grad_(True) for name, value in self.tensors(W).items()}
        return StackScorer(self.blank, self.objectives.n_scores, stacked)

    def _read(self, W: Array, gradients: bool = True) -> Reading:
        how: dict[str, Any] = {"joint": self.joint, "chunk": self.chunk, "gradients": gradients}
        return read_cells(self._scorer(W), self.objectives, self.inputs, self.rows, **how)

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
