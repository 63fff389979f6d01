"""One training step in a user's own loop: cell gradients, their weights, and the sum in ``.grad``.

An optimiser that divides gradients by their usual size s (Adam and its relatives) moves w by -lr g / s: inner products
of gradients are therefore taken in the metric 1 / s, and what rules predict holds for the step that is really taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..objectives import Array
from ..validation import check_count, check_flag, check_share, refuse
from .layers import Scorer
from .module_objectives import Ints, TorchObjectives, check_objectives
from .modules import Module, Optimizer, Tensor, as_inputs, mixes_rows, torch
from .problem import CellReader, Reading
from .rules import Pace, Rule, SlideRule, rule_for

METRIC_EVERY = 16
"""Steps between two looks at the optimiser's metric, which changes slowly."""
SQUARES = ("exp_avg_sq", "square_avg", "sum")
"""What Adam and its relatives, RMSprop and Adagrad call the squared size of past gradients, which they divide by."""
SHORTEST = 1e-12
"""A warm-up may start at a learning rate of 0, which would leave nothing to divide by."""
FIRST = 10.0
"""Length per learning rate before an optimiser that divides has seen a gradient."""


@dataclass(eq=False)
class MovingAverage:
    """Mean of what batches showed, arrays or tensors, in which the past has the weight ``memory``.

    It starts at zero and is divided by 1 - memory^t, as in Adam, which takes its bias towards zero out.
    """

    memory: float
    total: Any = None
    count: int = 0

    def add(self, new: Any) -> None:
        fresh = 1.0 - self.memory
        if self.total is None:
            self.total = fresh * new
        elif isinstance(new, np.ndarray):
            self.total = self.memory * self.total + fresh * new
        else:
            self.total.lerp_(new, fresh)  # gradients are large: in place
        self.count += 1

    @property
    def correction(self) -> float:
        """The share of the batches in the total; the rest is the zero it began with."""
        return float(1.0 - self.memory**self.count)

    @property
    def value(self) -> Any:
        return self.total / self.correction


@dataclass(frozen=True, eq=False)
class StepRecord:
    """What one step saw, in moving averages over batches.

    Attributes
    ----------
    loss : array of shape (R,)
    gaps : array of shape (R, q)
        Signed.
    beta : array of shape (R, k)
        Weights of the cells in the gradient.
    """

    loss: Array
    gaps: Array
    beta: Array


class FairStep:
    """A step towards a point of the frontier, instead of ``loss.backward(); optimizer.step()``.

    Moving averages keep one batch's noise from choosing the direction: ``values`` (R, k) of the cells, ``products``
    (R, k, k) of cell gradients, ``gradients`` (R, k, P) of the cells, and ``squared`` (R,), the squared length of a
    batch's loss gradient with its noise. A Gram matrix of one batch has the noise's variance on its diagonal. Of
    products of this batch's gradients with their moving average only the share 1 - memory has it, as the noise of past
    batches is independent; what is left steadies directions that a few batches know little of.

    Parameters
    ----------
    module : nn.Module
    optimizer : torch.optim.Optimizer
        Any; it receives the sum of the cell gradients as ``.grad``.
    objectives : TorchObjectives
    max_gap, preference, rule
        Where to go: a cap on every gap, a preference vector, another rule; without any of them PDO's common descent.
    memory : float
        Weight of the past in the moving averages; 0 trusts every batch.
    joint : bool, optional
        Send all rows of a batch through the module together. By default only if a layer mixes rows (batch
        normalisation) or cells overlap.
    refresh : int
        Steps from one measurement of cell gradients to the next, as their averages change slowly; steps between cost
        what ordinary steps do. Caps and preferences still answer to the gaps of every step, with the inner products of
        the last measurement; other rules keep its weights. With ``memory`` 0 every step measures.
    stacked : dict of str to tensor, optional
        Parameters with a leading axis of runs, to train R copies of the module at once.

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
        named = isinstance(stacked, dict) and len(stacked) > 0
        if stacked is not None and not (named and all(isinstance(each, torch.Tensor) for each in stacked.values())):
            raise refuse("stacked", stacked, "parameters by name, with a leading axis of runs")
        self.module, self.optimizer, self.objectives, self.joint = module, optimizer, objectives, joint
        self.memory, self.refresh = check_share(memory, "memory"), check_count(refresh, "refresh")
        self.values, self.products = MovingAverage(self.memory), MovingAverage(self.memory)
        self.gradients, self.squared = MovingAverage(self.memory), MovingAverage(self.memory)
        self.scale: Tensor | None = None
        self.missed: Array | None = None
        self.beta: Array | None = None
        self.scorer = Scorer(module, objectives.n_scores, stacked)
        self.reader = CellReader(self.scorer, objectives)
        self.rule = rule_for(objectives.algebra, self.scorer.runs, max_gap, preference, rule)
        self._by_values = bool(getattr(self.rule, "by_values", False))
        _check_optimizer(optimizer, self.scorer.parameters)

    def __call__(self, inputs: Any, rows: Any, second: tuple[Any, Any] | None = None) -> StepRecord:
        """Set the gradient as `backward` does, and let the optimiser take its step."""
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
        count, memory = self.values.count, self.memory
        due = self.beta is None or memory == 0.0 or count < self.refresh or count % self.refresh == 0
        if second is None and (self._by_values or not due):
            self.beta, gradients = self.reader.read_weighted(*self._given(inputs, rows), self._unmeasured)
        else:
            self.beta, gradients = self._measured(inputs, rows, second)
        for parameter, gradient in zip(self.scorer.parameters, gradients, strict=True):
            parameter.grad = gradient
        algebra, seen = self.objectives.algebra, self.values.value
        return StepRecord(algebra.loss(seen), algebra.gaps(seen), self.beta)

    def _measured(self, inputs: Any, rows: Any, second: tuple[Any, Any] | None) -> tuple[Array, list[Tensor]]:
        found, other = self._read(inputs, rows), None if second is None else self._read(*second)
        if self.scale is None or self.values.count % METRIC_EVERY == 0:
            before = self.scale
            self.scale = _inverse_sizes(self.optimizer, self.scorer.parameters, self.scorer.runs)
            if before is None and self.scale is not None:  # products in no metric do not mix with those in one
                self.products, self.squared = MovingAverage(self.memory), MovingAverage(self.memory)
        if other is not None:
            Q = found.gram(other.G, self.scale)
        elif self.memory == 0.0:
            Q = found.gram(None, self.scale)
        else:
            self.gradients.add(found.G)
            Q = found.gram(self.gradients.total, self.scale) / self.gradients.correction
        self.products.add(Q)
        self.values.add(found.L if other is None else 0.5 * (found.L + other.L))
        beta = self._weights(self.products.value, found)
        whole = found if other is None else Reading(found.L, found.G.add_(other.G).mul_(0.5))
        return beta, self.scorer.split(whole.combined(beta))

    def _given(self, inputs: Any, rows: Any) -> tuple[Any, Ints]:
        found, n = np.asarray(rows.cpu() if hasattr(rows, "cpu") else rows), self.objectives.n
        if found.ndim != 1 or (found.dtype.kind not in "iu" and found.size):
            raise InputError(
                f"rows has entries of type {found.dtype} and the shape {found.shape}, expected row numbers."
            )
        if found.size and not 0 <= found.min() <= found.max() < n:
            raise InputError(f"rows has numbers from {found.min()} to {found.max()}, expected 0 to {n - 1}: rows of y.")
        given = as_inputs(inputs, self.scorer.parameters[0].dtype)
        if len(given[0]) != len(found):
            raise InputError(f"the batch has {len(given[0])} inputs and {len(found)} row numbers, expected one each.")
        return given, found.astype(np.intp, copy=False)

    def _read(self, inputs: Any, rows: Any) -> Reading:
        joint = mixes_rows(self.module) if self.joint is None else self.joint
        return self.reader.read(*self._given(inputs, rows), joint=joint)

    def _unmeasured(self, L: Array) -> Array:
        """Return beta without a measurement: runs that slide answer to the gaps of now, others keep their weights."""
        self.values.add(L)
        if self._by_values:
            return self._weights(np.zeros((*L.shape, L.shape[1])))
        assert self.beta is not None
        return self._weights(self.products.value) if isinstance(self.rule, SlideRule) else self.beta

    def _weights(self, Q: Array, found: Reading | None = None) -> Array:
        algebra, L, fresh, size = self.objectives.algebra, self.values.value, 1.0 - self.memory, None
        if isinstance(self.rule, SlideRule):
            self.missed = self.rule.missed(algebra, L, self.missed, fresh)
            if found is not None:
                self.squared.add(found.squared(algebra.p, self.scale))
            size = np.sqrt(self.squared.value)
        group, first = self.optimizer.param_groups[0], FIRST if self.scale is None else 1.0
        divides = "betas" in group or "alpha" in group or "lr_decay" in group
        ratio = first if divides else 1.0 / (1.0 - group.get("momentum", 0.0))
        length = max(ratio * float(group["lr"]), SHORTEST)  # per unit of gradient, in the metric if there is one
        return self.rule.weights(algebra, L, Q, Pace(length, fresh, size, self.missed))


def _check_optimizer(optimizer: Any, parameters: list[Tensor]) -> None:
    if not isinstance(optimizer, torch.optim.Optimizer) or isinstance(optimizer, torch.optim.LBFGS):
        raise InputError(
            f"the optimiser is a {type(optimizer).__name__}, expected one of torch.optim whose step() needs no "
            "closure, such as Adam or SGD."
        )
    held = {id(each) for group in optimizer.param_groups for each in group["params"]}
    lost = sum(id(each) not in held for each in parameters)
    if lost:
        raise InputError(
            f"the optimiser does not have {lost} of {len(parameters)} parameters that take a gradient, expected all; "
            "make it from module.parameters(), or freeze the others with requires_grad_(False)."
        )


def _inverse_sizes(optimizer: Optimizer, parameters: list[Tensor], runs: int) -> Tensor | None:
    """Return 1 / s of all parameters, (R, 1, P), or None if the optimiser does not divide or has not begun.

    Averages of Adam and its relatives began at zero, and are divided by their share of gradients as Adam does.
    """
    states = [optimizer.state.get(parameter, {}) for parameter in parameters]
    name = next((each for each in SQUARES if each in states[0]), None)
    if name is None or any(name not in state for state in states):
        return None
    group = optimizer.param_groups[0]
    eps, biased = float(group.get("eps", 0.0)), "betas" in group and all("step" in state for state in states)
    shares = [1.0 - float(group["betas"][1]) ** float(state["step"]) if biased else 1.0 for state in states]
    sizes = [(state[name] / max(share, SHORTEST)).sqrt() for state, share in zip(states, shares, strict=True)]
    flat = torch.cat([size.reshape(runs, -1) for size in sizes], dim=1)
    return (flat + max(eps, float(np.finfo(np.float32).tiny))).reciprocal_()[:, None]
