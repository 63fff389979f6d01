"""Modules: what of them is trained, whether their rows are independent, and copies of them."""

from __future__ import annotations

import copy
from typing import Any

from ..exceptions import InputError
from ..validation import refuse
from .backend import Module, Tensor, torch

HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def trainable(module: Module) -> dict[str, Tensor]:
    """Return the parameters that training may change, by name, or say that there are none."""
    check_module(module)
    found = {name: value for name, value in module.named_parameters() if value.requires_grad}
    if not found:
        raise InputError(
            f"{type(module).__name__} has no parameter that takes a gradient, expected at least one; call "
            "requires_grad_(True) on what is to be trained."
        )
    check_devices(module)
    return found


def check_module(module: Any) -> None:
    """Refuse what is not a module."""
    if not isinstance(module, torch.nn.Module):
        raise InputError(f"module is a {type(module).__name__}, expected an nn.Module that gives scores.")


def check_devices(module: Module) -> None:
    """Refuse modules on several devices, or on the one that holds no numbers."""
    check_module(module)
    devices = sorted({str(value.device) for value in module.parameters()})
    if len(devices) > 1:
        raise InputError(
            f"{type(module).__name__} has parameters on several devices ({', '.join(devices)}), expected one; "
            "move it with module.to(device)."
        )
    if devices == ["meta"]:
        raise InputError(f"{type(module).__name__} is on meta, where weights have no values; make it on a device.")


def first_names(module: Module) -> dict[str, str]:
    """Return under which name `trainable` has each parameter; parts that share one have it under several."""
    known: dict[int, str] = {}
    every = module.named_parameters(remove_duplicate=False)
    return {name: known.setdefault(id(value), name) for name, value in every}


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
    """Tell whether a row's score depends on its batch: batch normalisation in training, or without running figures."""
    return any(is_batch_norm(part) and (part.training or part.running_mean is None) for part in module.modules())


def is_hooked(part: Module) -> bool:
    """Tell whether something listens to a module or changes what it does."""
    return any(getattr(part, hooks, None) for hooks in HOOKS)
