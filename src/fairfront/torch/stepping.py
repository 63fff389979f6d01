"""One training step in a user's own loop: cell gradients, their weights, and the sum in ``.grad``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..objectives import Array
from .averaging import Average, positive
from .backend import Module, Optimizer, Tensor
from .gradients import Reading, read_cells
from .layouts import TorchObjectives
from .rules import Pace, Rule, rule_for
from .scoring import ModuleScorer, Scorer, StackScorer, as_inputs, mixes_rows


@dataclass(frozen=True, eq=False)
class StepRecord:
    """What one step saw: averaged loss (R,), signed gaps (R, q), and the weights beta (R, k) of the cells."""

    loss: Array
    gaps: Array
    beta: Array


class FairStep:
    """A step towards a point of the frontier, instead of ``loss.backward(); optimizer.step()``.

    Parameters
    ----------
    module : nn.Module
    optimizer : torch.optim.Optimizer
        Any; it receives the sum of the cell gradients as ``.grad``.
    objectives : TorchObjectives
    max_gap, preference, rule
        Where to go: a cap on every gap, a preference vector, another rule; without any of them PDO's common descent.
    memory : float
        Weight of the past in the moving averages of cell values and Gram matrices; 0 trusts every batch.
    joint : bool, optional
        Send all rows of a batch through the module together. By default only if a layer mixes rows (batch
        normalisation) or cells overlap.

    Examples
    --------
    ::

        step = FairStep(module, optimizer, objectives, max_gap=0.05)
        for rows in CellSampler(objectives, batch_size=256):
            step(X[rows], rows)
    """

    def __init__(
        self,
        module: Module,
        optimizer: Optimizer,
        objectives: TorchObjectives,
        *,
        max_gap: Any = None,
        preference: Any = None,
        rule: Rule | None = None,
        memory: float = 0.9,
        joint: bool | None = None,
        stacked: dict[str, Tensor] | None = None,
    ) -> None:
        if not 0.0 <= memory < 1.0:
            raise InputError(f"memory is {memory!r}, expected a number from 0 to below 1.")
        self.module, self.optimizer, self.objectives = module, optimizer, objectives
        self.rule = rule_for(objectives.algebra, max_gap, preference, rule)
        self.memory, self.joint, self.average = memory, joint, Average()
        K = objectives.n_scores
        self.scorer: Scorer = ModuleScorer(module, K) if stacked is None else StackScorer(module, K, stacked)

    def __call__(self, inputs: Any, rows: Any, second: tuple[Any, Any] | None = None) -> StepRecord:
        """Set the gradient from these rows and let the optimiser take its step."""
        record = self.backward(inputs, rows, second)
        self.optimizer.step()
        return record

    def backward(self, inputs: Any, rows: Any, second: tuple[Any, Any] | None = None) -> StepRecord:
        """Set ``.grad`` of the parameters, in the place of what was there; clip it or look at it before the step.

        Parameters
        ----------
        inputs : tensor, or tuple of tensors
        rows : array of int
            Which rows of the labels these inputs are.
        second : (inputs, rows), optional
            Another batch, drawn independently: the Gram matrix is then that of both, free of the noise's variance,
            and the gradient the mean of both.
        """
        found = self._read(inputs, rows)
        if second is None:
            L, Q, G = found.L, found.gram(), found.G
        else:
            other = self._read(*second)
            L, Q, G = 0.5 * (found.L + other.L), found.gram(other), found.G.add(other.G).mul_(0.5)
        beta = self._weights(L, Q, crossed=second is not None)
        self._hand_over(Reading(L, G).combined(beta))
        algebra, seen = self.objectives.algebra, self.average.corrected(self.average.L, self.memory)
        return StepRecord(algebra.loss(seen), algebra.gaps(seen), beta)

    def _read(self, inputs: Any, rows: Any) -> Reading:
        joint = mixes_rows(self.module) if self.joint is None else self.joint
        known = np.asarray(rows.cpu() if hasattr(rows, "cpu") else rows, dtype=np.intp)
        given = as_inputs(inputs, self.scorer.parameters[0].dtype)
        return read_cells(self.scorer, self.objectives, given, known, joint=joint)

    def _weights(self, L: Array, Q: Array, crossed: bool) -> Array:
        """Return beta from averages."""
        memory = self.memory
        self.average = seen = self.average.seen(L, Q, memory)
        Q = seen.corrected(seen.Q, memory)
        mean = seen.corrected(seen.L, memory), positive(Q) if crossed else Q
        return self.rule.weights(self.objectives.algebra, *mean, self._pace())

    def _pace(self) -> Pace:
        """Return how far the optimiser goes per unit of gradient, and how fast averages follow."""
        group = self.optimizer.param_groups[0]
        length = group["lr"] / (1.0 - group["momentum"]) if "momentum" in group else 10.0 * group["lr"]
        return Pace(float(length), 1.0 - self.memory)

    def _hand_over(self, flat: Tensor) -> None:
        start = 0
        for parameter in self.scorer.parameters:
            size = parameter.numel() // self.scorer.runs
            parameter.grad = flat[:, start : start + size].reshape(parameter.shape).clone()
            start += size
