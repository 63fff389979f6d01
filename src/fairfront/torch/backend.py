"""PyTorch itself, the only place that imports it, and what the room asks of its modules and optimisers.

An optimiser that divides gradients by their usual size s (Adam and its relatives) moves w by -lr g / s: inner products
of gradients are therefore taken in the metric 1 / s, and what rules predict holds for the step that is really taken.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ..exceptions import InputError, require
from ..validation import refuse

Tensor: TypeAlias = Any
Module: TypeAlias = Any
Optimizer: TypeAlias = Any
MakeOptimizer: TypeAlias = Callable[[Any], Any]
"""From parameters to an optimiser of them."""

torch: Any = require("torch", "torch", "fairfront.torch")

HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
SQUARES = ("exp_avg_sq", "square_avg", "sum")
"""What Adam and its relatives, RMSprop and Adagrad call the squared size of past gradients, which they divide by."""
SHORTEST = 1e-12
"""A warm-up may start at a learning rate of 0, which would leave nothing to divide by."""
FIRST = 10.0
"""Length per learning rate before an optimiser that divides has seen a gradient."""


def safetensors() -> Any:
    """Return safetensors' module for tensors, needed only to write and read files."""
    return require("safetensors.torch", "torch", "writing or reading weights of modules")


def check_module(module: Any) -> None:
    """Refuse what is not a module."""
    if not isinstance(module, torch.nn.Module):
        raise InputError(f"module is a {type(module).__name__}, expected an nn.Module that gives scores.")


def check_devices(module: Any) -> None:
    """Refuse what is not a module, modules on several devices, and those on the device that holds no numbers."""
    check_module(module)
    devices = sorted({str(value.device) for value in module.parameters()})
    if len(devices) > 1:
        raise InputError(
            f"{type(module).__name__} has parameters on several devices ({', '.join(devices)}), expected one; "
            "move it with module.to(device)."
        )
    if devices == ["meta"]:
        raise InputError(f"{type(module).__name__} is on meta, where weights have no values; make it on a device.")


def trainable(module: Module) -> dict[str, Tensor]:
    """Return the parameters that training may change, by name, or say that there are none."""
    check_devices(module)
    found = {name: value for name, value in module.named_parameters() if value.requires_grad}
    if not found:
        raise InputError(
            f"{type(module).__name__} has no parameter that takes a gradient, expected at least one; call "
            "requires_grad_(True) on what is to be trained."
        )
    return found


def copied(module: Module, device: Any = None) -> Module:
    """Return a copy, on another device if one is named."""
    check_module(module)
    try:
        found = copy.deepcopy(module)
    except RuntimeError as error:
        raise InputError(
            f"{type(module).__name__} cannot be copied: it keeps tensors that its forward computed, expected none; "
            "detach() what forward stores, and use torch.nn.utils.parametrizations for weight_norm."
        ) from error
    return moved(found, device)


def moved(module: Module, device: Any) -> Module:
    """Move a module to a device, or say that it cannot be used; None leaves it where it is."""
    check_module(module)
    if device is not None and (isinstance(device, bool) or not isinstance(device, (str, int, torch.device))):
        raise refuse("device", device, "the name or number of a device, such as 'cpu'")
    try:
        return module if device is None else module.to(device)
    except (RuntimeError, AssertionError) as error:  # torch built without CUDA asserts
        raise InputError(f"device {device!r} cannot be used ({error}); expected one that torch has here.") from error


def is_batch_norm(part: Module) -> bool:
    """Tell whether a layer is batch normalisation of any kind."""
    return isinstance(part, torch.nn.modules.batchnorm._BatchNorm)


def mixes_rows(module: Module) -> bool:
    """Tell whether a row's score depends on its batch: batch normalisation in training, or without statistics."""
    return any(is_batch_norm(part) and (part.training or part.running_mean is None) for part in module.modules())


def is_hooked(part: Module) -> bool:
    """Tell whether something listens to a module or changes what it does."""
    return any(getattr(part, hooks, None) for hooks in HOOKS)


def check_optimizer(optimizer: Any, parameters: list[Tensor]) -> None:
    """Refuse what is not an optimiser, one that evaluates the loss itself, and one that lacks some parameters."""
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


def step_length(optimizer: Optimizer, scaled: bool) -> float:
    """Return how far a step goes per unit of gradient, in the metric of `inverse_sizes` if there is one."""
    group = optimizer.param_groups[0]
    divides = "betas" in group or "alpha" in group or "lr_decay" in group
    ratio = (1.0 if scaled else FIRST) if divides else 1.0 / (1.0 - group.get("momentum", 0.0))
    return max(ratio * float(group["lr"]), SHORTEST)


def inverse_sizes(optimizer: Optimizer, parameters: list[Tensor], runs: int) -> Tensor | None:
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
