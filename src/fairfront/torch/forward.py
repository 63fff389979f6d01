"""The forward pass: from a module and rows to scores, for one module or for R stacked ones, checked on the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..objectives import Array
from ..validation import refuse, refuse_misread, shape_of
from .backend import Module, Tensor, torch, trainable
from .layers import Chain, Listener, Tape, linear_layers, used_once

CHUNK = 8192
"""Rows that go through a module at once where no gradient needs them all."""


def as_inputs(X: Any, dtype: Any = None, device: Any = None) -> Any:
    """Return rows as a tensor, or a tuple of them for modules with several inputs; floats get the module's dtype."""
    if isinstance(X, (tuple, list)) and len(X) and hasattr(X[0], "shape"):
        return tuple(as_inputs(part, dtype, device) for part in X)
    if not isinstance(X, torch.Tensor):
        refuse_misread(X, "X")
        shape = shape_of(X, "X")
        array = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
        if array.dtype.kind not in "biuf":
            raise InputError(
                f"X has entries of type {array.dtype}, expected numbers or tensors; encode categories first."
            )
        if not shape:
            raise refuse("X", X, "rows of numbers, or tensors")
        X = torch.as_tensor(np.ascontiguousarray(array))
    return X.to(device=device, dtype=dtype if X.is_floating_point() else None)


def inputs_of(module: Module, X: Any, n: int | None = None) -> Any:
    """Return rows on the device of a module and in its precision, as many as there are labels if that is known."""
    first = next(module.parameters())
    inputs = as_inputs(X, first.dtype, first.device)
    if n is not None and n_rows(inputs) != n:
        raise InputError(f"X has {n_rows(inputs)} rows, expected {n}, as many as there are labels.")
    return inputs


def parts_of(inputs: Any) -> tuple[Tensor, ...]:
    """Return all inputs of a module, which takes one tensor or several."""
    return inputs if isinstance(inputs, tuple) else (inputs,)


def n_rows(inputs: Any) -> int:
    """Return the number of rows."""
    return int(parts_of(inputs)[0].shape[0])


def take(inputs: Any, rows: Any) -> Any:
    """Return some rows: a slice, or indices."""
    if isinstance(inputs, tuple):
        return tuple(take(part, rows) for part in inputs)
    if isinstance(rows, slice):
        return inputs[rows]
    return inputs.index_select(0, torch.as_tensor(rows, device=inputs.device))


def chunks(inputs: Any) -> Iterator[Any]:
    """Yield all rows, some at a time."""
    for start in range(0, n_rows(inputs), CHUNK):
        yield take(inputs, slice(start, start + CHUNK))


def called(module: Module, inputs: Any) -> Any:
    """Return what a module gives, or say that it cannot take these inputs."""
    try:
        return module(*parts_of(inputs))
    except (RuntimeError, TypeError, IndexError) as error:
        raise InputError(
            f"{type(module).__name__} cannot take X ({error}); expected inputs as its forward wants them, numbers as "
            f"floats of {next(module.parameters()).dtype}."
        ) from error


def module_scores(module: Module, X: Any, n_scores: int) -> Array:
    """Return the scores (K, n) of a module on rows of any kind that it takes."""
    name, found = type(module).__name__, []
    with torch.no_grad():
        for part in chunks(inputs_of(module, X)):
            scores = shaped(called(module, part), n_rows(part), n_scores, name)
            found.append(as_array(scores[None], name)[0])
    return np.concatenate(found, axis=1)


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


def as_array(scores: Tensor, name: str = "the module") -> Array:
    """Return scores (R, n, K) as float64 (R, K, n), refusing those that are not finite."""
    found = np.asarray(scores.detach().transpose(1, 2).to("cpu", torch.float64).numpy())
    if not np.isfinite(found.sum()) and not np.isfinite(found).all():  # the sum is cheaper, and may overflow
        bad = int((~np.isfinite(found)).any(axis=(0, 1)).sum())
        raise InputError(
            f"{name} gives NaN or infinite scores in {bad} of {found.shape[2]} rows, expected finite numbers; lower "
            "the learning rate, scale the inputs, or look for missing values in them."
        )
    return found


class Scorer:
    """Scores (R, n, K) of R runs that depend on ``parameters``.

    Without ``stacked`` it is the module itself, one run with its own parameters. Those of a stack, R copies of the
    module as one, have a leading axis of runs; the rest of the module is shared.
    """

    def __init__(self, module: Module, n_scores: int, stacked: dict[str, Tensor] | None = None) -> None:
        known = trainable(module) if stacked is None else stacked
        self.module, self.n_scores, self.stacked = module, n_scores, stacked is not None
        self.names, self.parameters = list(known), list(known.values())
        self.runs = len(self.parameters[0]) if self.stacked else 1
        self.sizes = [int(p.numel()) // self.runs for p in self.parameters]
        self.size = sum(self.sizes)
        starts = dict(zip(self.names, np.cumsum([0, *self.sizes]).tolist(), strict=False))
        self.chain = Chain.of(module, starts)
        apart = self.stacked or self.chain is not None
        self.layers = None if apart else linear_layers(module, self.parameters)
        self.places = {id(p): starts[name] for name, p in known.items()}
        self.checked = False

    def scores(self, inputs: Any) -> Tensor:
        """Return the scores of these inputs, (R, n, K)."""
        given = parts_of(inputs)
        self._check_device(given)
        if self.stacked:
            return self._shaped(self._stack_scores(given), n_rows(inputs))
        return shaped(self.module(*given), n_rows(inputs), self.n_scores, type(self.module).__name__)[None]

    def _shaped(self, found: Tensor, n: int) -> Tensor:
        return shaped(found, n, self.n_scores, type(self.module).__name__, self.runs)

    def _stack_scores(self, given: tuple[Tensor, ...]) -> Tensor:
        """Return the scores of one vectorised forward pass, or a plain one for a single run."""

        def forward(values: dict[str, Tensor]) -> Tensor:
            return torch.func.functional_call(self.module, values, given)

        values = dict(zip(self.names, self.parameters, strict=True))
        if self.runs == 1:
            return forward({name: value[0] for name, value in values.items()})[None]
        return torch.vmap(forward, randomness="different")(values)

    def tape(self, inputs: Any) -> Tape | None:
        """Return a recorded pass of these inputs, or None if something in the module stands against it."""
        if self.chain is not None and not isinstance(inputs, tuple) and inputs.dim() == 2:
            self._check_device((inputs,))
            values = self.parameters if self.stacked else [value[None] for value in self.parameters]
            tape = self.chain.run(inputs, dict(zip(self.names, values, strict=True)))
            self._shaped(tape.scores, len(inputs))
            return tape
        if self.layers is None:
            return None
        with Listener(self.layers) as heard:
            scores = self.scores(inputs)
        passages = heard.passages(n_rows(inputs), self.places)
        if passages is None or not scores.requires_grad:
            return None
        if not self.checked and not used_once(scores, self.parameters):
            self.layers = None
            return None
        self.checked = True
        return Tape(scores, passages)

    def split(self, flat: Tensor) -> list[Tensor]:
        """Return gradients (R, P) as those of every parameter."""
        return [part.view(p.shape) for p, part in zip(self.parameters, flat.split(self.sizes, dim=1), strict=True)]

    def penalised(self) -> list[Tensor]:
        """Return the parameters as (R, p) that the penalty counts: matrices and filters; biases are zeros."""
        flat = [p.detach().reshape(self.runs, -1) for p in self.parameters]
        wide = [p.dim() - self.stacked >= 2 for p in self.parameters]
        return [each if counts else torch.zeros_like(each) for each, counts in zip(flat, wide, strict=True)]

    def penalty(self) -> Array:
        """Return |w|^2 / 2 over matrices and filters, (R,)."""
        squares = [(each.double() ** 2).sum(dim=1) for each in self.penalised()]
        return np.asarray(0.5 * sum(squares).cpu().numpy())

    def _check_device(self, given: tuple[Tensor, ...]) -> None:
        device = self.parameters[0].device
        for part in given:
            if part.device != device:
                raise InputError(
                    f"the inputs are on {part.device} and {type(self.module).__name__} on {device}, expected one "
                    "device; move the inputs with X.to(device), or the module."
                )
