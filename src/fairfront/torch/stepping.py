"""One training step in a user's own loop: cell gradients, their weights, and the sum in ``.grad``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..objectives import Array
from ..validation import check_count, check_flag, refuse
from .averaging import Average, check_memory
from .backend import Module, Optimizer, Tensor, torch
from .blocks import Ints, as_rows
from .gradients import Reading, parted, read_cells
from .layouts import TorchObjectives, check_objectives
from .modules import mixes_rows
from .pacing import Pace, check_optimizer, length_of, scales
from .rules import Rule, SlideRule, check_runs, rule_for
from .scoring import ModuleScorer, Scorer, StackScorer, as_inputs
from .weighted import read_weighted

LOOKED_UP = 16
"""Steps between two looks at the optimiser's metric."""


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
    refresh : int
        Cell gradients are measured in every so many-th step, as their averages change slowly; steps between cost what
        ordinary steps do. Caps and preferences still answer to the gaps of every step, with the inner products of the
        last measurement; other rules keep its weights. With ``memory`` 0 every step measures.

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
        refresh: int = 4,
        stacked: dict[str, Tensor] | None = None,
    ) -> None:
        check_objectives(objectives)
        if joint is not None:
            check_flag(joint, "joint")
        _check_stacked(stacked)
        self.module, self.optimizer, self.objectives = module, optimizer, objectives
        self.rule = rule_for(objectives.algebra, max_gap, preference, rule)
        self.memory, self.joint, self.average = check_memory(memory), joint, Average()
        self.scale: Tensor | None = None
        self.missed: Array | None = None
        self.refresh = check_count(refresh, "refresh")
        self.beta: Array | None = None
        K = objectives.n_scores
        self.scorer: Scorer = ModuleScorer(module, K) if stacked is None else StackScorer(module, K, stacked)
        check_optimizer(optimizer, self.scorer.parameters)
        check_runs(self.rule, self.scorer.runs)

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
            Another batch, drawn independently: the Gram matrix is then that of both, and the gradient the mean of
            both. With ``memory`` 0, where no past batches take the noise's variance out, it is needed for that.
        """
        if second is not None and not (isinstance(second, (tuple, list)) and len(second) == 2):
            raise refuse("second", second, "(inputs, rows) of another batch")
        decide = None if second is not None else self._known()
        if decide is not None:
            simple = read_weighted(self.scorer, self.objectives, *self._given(inputs, rows), decide)
            return self._done(simple.beta, simple.gradients)
        found, other = self._read(inputs, rows), None if second is None else self._read(*second)
        self._look_up()
        self.average = self.average.seen_all(found, self.memory, self.scale, other)
        beta = self._weights(self.average.gram(self.memory), found)
        whole = found if other is None else Reading(found.L, found.G.add_(other.G).mul_(0.5))
        return self._done(beta, parted(self.scorer, whole.combined(beta)))

    def _done(self, beta: Array, gradients: list[Tensor]) -> StepRecord:
        """Hand the gradients over and say what was seen."""
        self.beta = beta
        for parameter, gradient in zip(self.scorer.parameters, gradients, strict=True):
            parameter.grad = gradient
        algebra, seen = self.objectives.algebra, self.average.values(self.memory)
        return StepRecord(algebra.loss(seen), algebra.gaps(seen), beta)

    def _given(self, inputs: Any, rows: Any) -> tuple[Any, Ints]:
        known = as_rows(rows, self.objectives.n)
        return as_inputs(inputs, self.scorer.parameters[0].dtype), known

    def _read(self, inputs: Any, rows: Any) -> Reading:
        joint = mixes_rows(self.module) if self.joint is None else self.joint
        return read_cells(self.scorer, self.objectives, *self._given(inputs, rows), joint=joint)

    def _known(self) -> Callable[[Array], Array] | None:
        """Return how to weigh cells without their gradients, or None if these have to be measured now."""
        if getattr(self.rule, "by_values", False):
            return self._by_values
        count = self.average.steps
        measured = self.beta is None or self.memory == 0.0 or count < self.refresh or count % self.refresh == 0
        return None if measured else self._between

    def _by_values(self, L: Array) -> Array:
        """Return beta of a rule that looks at cell values only."""
        self.average = self.average.seen(L, self.memory)
        return self._weights(np.zeros((*L.shape, L.shape[1])))

    def _between(self, L: Array) -> Array:
        """Return beta without a measurement: runs that slide answer to the gaps of now, others keep their weights."""
        assert self.beta is not None
        self.average = self.average.seen(L, self.memory)
        return self._weights(self.average.gram(self.memory)) if isinstance(self.rule, SlideRule) else self.beta

    def _weights(self, Q: Array, found: Reading | None = None) -> Array:
        """Return beta from averages."""
        algebra, L, fresh, size = self.objectives.algebra, self.average.values(self.memory), 1.0 - self.memory, None
        if isinstance(self.rule, SlideRule):
            self.missed = self.rule.missed(algebra, L, self.missed, fresh)
            if found is not None:
                self.average = self.average.sized(found.squared(algebra.p, self.scale), self.memory)
            size = self.average.length(self.memory)
        length = length_of(self.optimizer, self.scale is not None)
        return self.rule.weights(algebra, L, Q, Pace(length, fresh, size, self.missed))

    def _look_up(self) -> None:
        """Look up the optimiser's metric now and then; it changes slowly."""
        if self.scale is None or self.average.steps % LOOKED_UP == 0:
            before = self.scale
            self.scale = scales(self.optimizer, self.scorer.parameters, self.scorer.runs)
            if before is None and self.scale is not None:
                self.average = self.average.without_products()


def _check_stacked(stacked: Any) -> None:
    """Refuse what is not a stack of parameters, where one was given."""
    named = isinstance(stacked, dict) and len(stacked) > 0
    if stacked is not None and not (named and all(isinstance(each, torch.Tensor) for each in stacked.values())):
        raise refuse("stacked", stacked, "parameters by name, with a leading axis of runs")
