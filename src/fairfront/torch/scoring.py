"""Scoring: from a module and rows to scores, for one module or for R stacked ones, checked on the way."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..validation import refuse, refuse_misread, shape_of
from .backend import Module, Tensor, torch
from .chains import Chain
from .layers import Tape, linear_layers, listening, used_once
from .modules import trainable


class Scorer(Protocol):
    """Gives scores (R, n, K) of R runs that depend on ``parameters``."""

    runs: int
    parameters: list[Tensor]
    stacked: bool

    def scores(self, inputs: Any) -> Tensor:
        """Return the scores of these inputs."""
        ...

    def tape(self, inputs: Any) -> Tape | None:
        """Return a recorded pass of these inputs, or None if the module is not made of linear layers."""
        ...


def as_inputs(X: Any, dtype: Any = None, device: Any = None) -> Any:
    """Return rows as a tensor, or a tuple of them for modules with several inputs; floats get the module's dtype."""
    if isinstance(X, (tuple, list)) and len(X) and hasattr(X[0], "shape"):
        return tuple(as_inputs(part, dtype, device) for part in X)
    found = X if isinstance(X, torch.Tensor) else torch.as_tensor(_plain(X))
    return found.to(device=device, dtype=dtype if found.is_floating_point() else None)


def _plain(X: Any) -> NDArray[Any]:
    refuse_misread(X, "X")
    shape = shape_of(X, "X")
    array = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    if array.dtype.kind not in "biuf":
        raise InputError(f"X has entries of type {array.dtype}, expected numbers or tensors; encode categories first.")
    if not shape:
        raise refuse("X", X, "rows of numbers, or tensors")
    return np.ascontiguousarray(array)


def n_rows(inputs: Any) -> int:
    """Return the number of rows."""
    return int((inputs[0] if isinstance(inputs, tuple) else inputs).shape[0])


def take(inputs: Any, rows: Any) -> Any:
    """Return some rows: a slice, or indices."""
    if isinstance(inputs, tuple):
        return tuple(take(part, rows) for part in inputs)
    if isinstance(rows, slice):
        return inputs[rows]
    return inputs.index_select(0, torch.as_tensor(rows, device=inputs.device))


def shaped(found: Any, n: int, n_scores: int, name: str, runs: int | None = None) -> Tensor:
    """Return a module's output as (n, K), or (R, n, K) of R runs, refusing any other shape."""
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
            f"{'' if n_scores == 1 else ' and class (or label)'}; change its last layer."
        )
    return found


class ModuleScorer:
    """The module itself, one run; gradients are those of its own parameters."""

    stacked = False

    def __init__(self, module: Module, n_scores: int) -> None:
        self.module, self.n_scores, self.runs = module, n_scores, 1
        known = trainable(module)
        self.names, self.parameters = list(known), list(known.values())
        self.chain = Chain.of(module, self.names)
        self.layers = linear_layers(module, self.parameters) if self.chain is None else None
        self.checked = False
        starts = np.cumsum([0, *(p.numel() for p in self.parameters)])
        self.places = {id(p): int(start) for p, start in zip(self.parameters, starts[:-1], strict=True)}

    def scores(self, inputs: Any) -> Tensor:
        """Return the scores (1, n, K)."""
        found = call(self.module, inputs, self.parameters[0].device)
        return shaped(found, n_rows(inputs), self.n_scores, type(self.module).__name__)[None]

    def tape(self, inputs: Any) -> Tape | None:
        """Return the pass with its linear layers' parts, if nothing in the module stands against it."""
        if self.chain is not None:
            values = {name: value[None] for name, value in zip(self.names, self.parameters, strict=True)}
            return chain_tape(self.chain, self.module, inputs, values, self.n_scores)
        if self.layers is None:
            return None
        with listening(self.layers) as heard:
            scores = self.scores(inputs)
        passages = heard.passages(n_rows(inputs), self.places)
        if passages is None or not scores.requires_grad:
            return None
        if not self.checked and not used_once(scores, self.parameters):
            self.layers = None
            return None
        self.checked = True
        return Tape(scores, passages)


class StackScorer:
    """R copies of a module as one: ``stacked`` parameters have a leading axis of runs, the rest is shared."""

    stacked = True

    def __init__(self, module: Module, n_scores: int, stacked: dict[str, Tensor]) -> None:
        self.module, self.n_scores = module, n_scores
        self.names, self.parameters = list(stacked), list(stacked.values())
        self.runs = len(self.parameters[0])
        self.chain = Chain.of(module, self.names)

    def scores(self, inputs: Any) -> Tensor:
        """Return the scores (R, n, K) in one vectorised forward pass, or a plain one for a single run."""
        given = inputs if isinstance(inputs, tuple) else (inputs,)
        check_device(self.module, given, self.parameters[0].device)

        def forward(values: dict[str, Tensor]) -> Tensor:
            return torch.func.functional_call(self.module, values, given)

        values = dict(zip(self.names, self.parameters, strict=True))
        if self.runs == 1:
            found = forward({name: value[0] for name, value in values.items()})[None]
        else:
            found = torch.vmap(forward, randomness="different")(values)
        return shaped(found, n_rows(inputs), self.n_scores, type(self.module).__name__, self.runs)

    def tape(self, inputs: Any) -> Tape | None:
        """Return the pass of all runs if the module is a chain of linear layers."""
        values = dict(zip(self.names, self.parameters, strict=True))
        return None if self.chain is None else chain_tape(self.chain, self.module, inputs, values, self.n_scores)


def chain_tape(chain: Chain, module: Module, inputs: Any, values: dict[str, Tensor], n_scores: int) -> Tape | None:
    """Return a pass through a chain, or None for inputs of another kind than rows of numbers."""
    if isinstance(inputs, tuple) or inputs.dim() != 2:
        return None
    first = next(iter(values.values()))
    check_device(module, (inputs,), first.device)
    tape = chain.run(inputs, values)
    shaped(tape.scores, len(inputs), n_scores, type(module).__name__, len(first))
    return tape


def check_device(module: Module, given: tuple[Tensor, ...], device: Any) -> None:
    """Refuse inputs that are on another device than the module's parameters."""
    for part in given:
        if part.device != device:
            raise InputError(
                f"the inputs are on {part.device} and {type(module).__name__} on {device}, expected one device; move "
                "the inputs with X.to(device), or the module."
            )


def call(module: Module, inputs: Any, device: Any) -> Any:
    """Call a module on one tensor or a tuple of them, all on its device."""
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    check_device(module, given, device)
    return module(*given)


def as_array(scores: Tensor, name: str) -> NDArray[np.float64]:
    """Return scores (R, n, K) as float64 (R, K, n), refusing those that are not finite."""
    found = np.asarray(scores.detach().transpose(1, 2).to("cpu", torch.float64).numpy())
    if not np.isfinite(found.sum()) and not np.isfinite(found).all():  # the sum is cheaper, and may overflow
        bad = int((~np.isfinite(found)).any(axis=(0, 1)).sum())
        raise InputError(
            f"{name} gives NaN or infinite scores in {bad} of {found.shape[2]} rows, expected finite numbers; lower "
            "the learning rate, scale the inputs, or look for missing values in them."
        )
    return found
