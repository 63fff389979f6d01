"""Pace: how far an optimiser moves per unit of gradient, which rules need to foretell what a step does.

An optimiser that divides gradients by their usual size s (Adam and its kin) moves w by -lr g / s: inner products of
gradients are therefore taken in the metric 1 / s, and what rules promise holds for the step that is really taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..objectives import Array
from .backend import Optimizer, Tensor, torch

SQUARES = ("exp_avg_sq", "square_avg", "sum")
"""What Adam and its kin, RMSprop and Adagrad call the squared size of past gradients, which they divide by."""
SHORTEST = 1e-12
"""A warm-up may start at a learning rate of 0, which would leave nothing to divide by."""
FIRST = 10.0
"""Length per learning rate before an optimiser that divides has seen a gradient."""


@dataclass(frozen=True, eq=False)
class Pace:
    """How far a step goes along the gradient, ``length``, and the share ``fresh`` of a batch in the averages.

    For runs that slide, ``size`` (R,) is the usual length of a batch's loss gradient, its noise included, and
    ``missed`` (R, q) by how much they should aim past the caps, as they fell short of them so far.
    """

    length: float
    fresh: float
    size: Array | None = None
    missed: Array | None = None


def check_optimizer(optimizer: Any, parameters: list[Tensor]) -> None:
    """Refuse what is no optimiser, one that calls for the loss itself, and one that does not train all parameters."""
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


def length_of(optimizer: Optimizer, scaled: bool) -> float:
    """Return how far a step goes per unit of gradient, in the metric of `scales` if there is one."""
    group = optimizer.param_groups[0]
    divides = "betas" in group or "alpha" in group or "lr_decay" in group
    ratio = (1.0 if scaled else FIRST) if divides else 1.0 / (1.0 - group.get("momentum", 0.0))
    return max(ratio * float(group["lr"]), SHORTEST)


def scales(optimizer: Optimizer, parameters: list[Tensor], runs: int) -> Tensor | None:
    """Return 1 / s of all parameters, (R, 1, P), or None if the optimiser does not divide or has not begun."""
    states = [optimizer.state.get(parameter, {}) for parameter in parameters]
    name = next((each for each in SQUARES if each in states[0]), None)
    if name is None or any(name not in state for state in states):
        return None
    eps = float(optimizer.param_groups[0].get("eps", 0.0))
    sizes = [(state[name] / _correction(optimizer.param_groups[0], state)).sqrt() for state in states]
    flat = torch.cat([size.reshape(runs, -1) for size in sizes], dim=1)
    return (flat + max(eps, float(np.finfo(np.float32).tiny))).reciprocal_()[:, None]


def _correction(group: dict[str, Any], state: dict[str, Any]) -> float:
    """Return what takes an average's bias towards zero out, as Adam does; other optimisers have none."""
    if "betas" not in group or "step" not in state:
        return 1.0
    return float(max(1.0 - float(group["betas"][1]) ** float(state["step"]), SHORTEST))
