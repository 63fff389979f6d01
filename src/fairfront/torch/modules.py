"""PyTorch itself, the only place that imports it, and its modules: checked, copied, moved and called on rows."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from ..exceptions import InputError, require
from ..objectives import Array
from ..validation import check_callable, refuse
from ..validation.inputs import refuse_misread, shape_of

Tensor: TypeAlias = Any
Module: TypeAlias = Any
Optimizer: TypeAlias = Any
Inputs: TypeAlias = tuple[Any, ...]
"""Rows, as a tensor for each input of a module."""
MakeOptimizer: TypeAlias = Callable[[Any], Any]
"""From parameters to an optimiser of them."""

torch: Any = require("torch", "torch", "fairfront.torch")

CHUNK = 8192
"""Rows that go through a module at once where no gradient needs them all."""


def safetensors() -> Any:
    return require("safetensors.torch", "torch", "writing or reading weights of modules")


def check_module(module: Any) -> None:
    if not isinstance(module, torch.nn.Module):
        raise InputError(f"module is a {type(module).__name__}, expected an nn.Module that gives scores.")


def check_devices(module: Any) -> None:
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
    check_devices(module)
    found = {name: value for name, value in module.named_parameters() if value.requires_grad}
    if not found:
        raise InputError(
            f"{type(module).__name__} has no parameter that takes a gradient, expected at least one; call "
            "requires_grad_(True) on what is to be trained."
        )
    return found


def copied(module: Module, device: Any = None) -> Module:
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
    check_module(module)
    if device is not None and (isinstance(device, bool) or not isinstance(device, (str, int, torch.device))):
        raise refuse("device", device, "the name or number of a device, such as 'cpu'")
    try:
        return module if device is None else module.to(device)
    except (RuntimeError, AssertionError) as error:  # torch built without CUDA asserts
        raise InputError(f"device {device!r} cannot be used ({error}); expected one that torch has here.") from error


def is_batch_norm(part: Module) -> bool:
    return isinstance(part, torch.nn.modules.batchnorm._BatchNorm)


def mixes_rows(module: Module) -> bool:
    """Tell whether a row's score depends on its batch: batch normalisation in training, or without statistics."""
    return any(is_batch_norm(part) and (part.training or part.running_mean is None) for part in module.modules())


def as_inputs(X: Any, dtype: Any = None, device: Any = None) -> Inputs:
    """Return a tensor for each input of a module; floats get the module's dtype."""
    if isinstance(X, (tuple, list)) and len(X) and hasattr(X[0], "shape"):
        return tuple(each for part in X for each in as_inputs(part, dtype, device))
    if not isinstance(X, torch.Tensor):
        refuse_misread(X)
        shape = shape_of(X, "X")
        array = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
        if array.dtype.kind not in "biuf":
            raise InputError(
                f"X has entries of type {array.dtype}, expected numbers or tensors; encode categories first."
            )
        if not shape:
            raise refuse("X", X, "rows of numbers, or tensors")
        X = torch.as_tensor(np.ascontiguousarray(array))
    return (X.to(device=device, dtype=dtype if X.is_floating_point() else None),)


def inputs_of(module: Module, X: Any, n: int | None = None) -> Inputs:
    """Check that there are n rows, as many as labels, if that is known."""
    first = next(module.parameters())
    inputs = as_inputs(X, first.dtype, first.device)
    if n is not None and len(inputs[0]) != n:
        raise InputError(f"X has {len(inputs[0])} rows, expected {n}, as many as there are labels.")
    return inputs


def take(inputs: Inputs, rows: Any) -> Inputs:
    if isinstance(rows, slice):
        return tuple(part[rows] for part in inputs)
    return tuple(part.index_select(0, torch.as_tensor(rows, device=part.device)) for part in inputs)


def chunks(inputs: Inputs) -> Iterator[Inputs]:
    for start in range(0, len(inputs[0]), CHUNK):
        yield take(inputs, slice(start, start + CHUNK))


def called(module: Module, inputs: Inputs) -> Any:
    try:
        return module(*inputs)
    except (RuntimeError, TypeError, IndexError) as error:
        raise InputError(
            f"{type(module).__name__} cannot take X ({error}); expected inputs as its forward wants them, numbers as "
            f"floats of {next(module.parameters()).dtype}."
        ) from error


def module_scores(module: Module, X: Any, n_scores: int) -> Array:
    """Return (K, n)."""
    name, found = type(module).__name__, []
    with torch.no_grad():
        for part in chunks(inputs_of(module, X)):
            scores = shaped(called(module, part), len(part[0]), n_scores, name)
            found.append(as_array(scores[None], name)[0])
    return np.concatenate(found, axis=1)


def shaped(found: Any, n: int, n_scores: int, name: str, runs: int | None = None) -> Tensor:
    """Return (n, K), or (R, n, K) of R runs."""
    lead = () if runs is None else (runs,)
    shape = tuple(getattr(found, "shape", ()))
    if n_scores == 1 and shape == (*lead, n):
        return found[..., None]
    if n_scores == n == 1 and shape == lead and hasattr(found, "shape"):  # squeeze() takes the only row's axis too
        return found[..., None, None]
    if shape != (*lead, n, n_scores):
        expected = f"({n},) or ({n}, 1)" if n_scores == 1 else f"({n}, {n_scores})"
        got = f"the shape {shape[len(lead) :]}" if hasattr(found, "shape") else f"a {type(found).__name__}"
        raise InputError(
            f"{name} gives {got} for {n} rows, expected {expected}: one score per row"
            f"{'' if n_scores == 1 else ' and class'}; change its last layer."
        )
    return found


def as_array(scores: Tensor, name: str = "the module") -> Array:
    """Return scores (R, n, K) as float64 (R, K, n)."""
    found = np.asarray(scores.detach().transpose(1, 2).to("cpu", torch.float64).numpy())
    if not np.isfinite(found.sum()) and not np.isfinite(found).all():  # the sum is cheaper, and may overflow
        bad = int((~np.isfinite(found)).any(axis=(0, 1)).sum())
        raise InputError(
            f"{name} gives NaN or infinite scores in {bad} of {found.shape[2]} rows, expected finite numbers; lower "
            "the learning rate, scale the inputs, or look for missing values in them."
        )
    return found


def tried_inputs(module: Module, X: Any, n: int, n_scores: int) -> Inputs:
    """Return X as the module takes it, after two rows went through a copy: errors come before training, not in it.

    Modules that keep what forward computed can be copied only before it ran, so the copy is copied again.
    """
    trainable(module)
    inputs = inputs_of(module, X, n)
    trial, two = copied(module).eval(), take(inputs, slice(0, 2))
    module_scores(trial, two, n_scores)
    called(trial, two)
    copied(trial)
    return inputs


def optimizer_maker(given: Any, lr: float) -> MakeOptimizer:
    if given is None:
        return lambda parameters: torch.optim.Adam(parameters, lr=lr)
    expected = "a function of the parameters that makes an optimiser, such as lambda p: torch.optim.SGD(p, lr=0.1)"
    make: MakeOptimizer = check_callable(given, "optimizer", expected)
    return make
