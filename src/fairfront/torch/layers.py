"""Linear layers: all cell gradients from one joint pass, because a layer's gradient is a sum over rows.

The gradient of a linear layer's weight is delta^T a, with a what went in and delta the derivative by what came out.
One backward pass gives delta of all rows; the rows of every cell are then multiplied by themselves, which together
costs what the ordinary gradient does. It serves modules whose trainable parameters all belong to ``nn.Linear`` layers
that see each row once, and stacks of such modules (`chains`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .backend import Module, Tensor, torch
from .modules import is_hooked

Ints = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Passage:
    """One layer's part of a pass over n rows, for R runs.

    a           what went in: (n, i) if all runs share it, else (R, n, i)
    z           what came out: (n, R o) where the input is shared, else (R, n, o)
    weight, bias    where the parameters start among all of a run's parameters; None if not trained
    outputs     o, the number of outputs
    """

    a: Tensor
    z: Tensor
    weight: int | None
    bias: int | None
    outputs: int


@dataclass(frozen=True, eq=False)
class Tape:
    """A pass that was recorded: scores (R, n, K), and every layer's part in it."""

    scores: Tensor
    passages: list[Passage]


@dataclass(frozen=True, eq=False)
class Listener:
    """Hears what goes into and comes out of layers while a module runs."""

    layers: list[Module]
    seen: dict[int, list[tuple[Tensor, Tensor, int]]] = field(default_factory=dict)

    def note(self, layer: Module, given: tuple[Tensor, ...], out: Tensor) -> None:
        """Keep one call of a layer, and the version of its output."""
        self.seen.setdefault(id(layer), []).append((given[0].detach(), out, out._version))

    def passages(self, n: int, places: dict[int, int]) -> list[Passage] | None:
        """Return what was heard, or None unless every layer saw all rows once and its output was left as it was."""
        calls = [self.seen.get(id(layer), []) for layer in self.layers]
        if not all(len(call) == 1 and _untouched(*call[0], n) for call in calls):
            return None
        return [
            Passage(
                call[0][0], call[0][1], places.get(id(layer.weight)), places.get(id(layer.bias)), layer.out_features
            )
            for layer, call in zip(self.layers, calls, strict=True)
        ]


def _untouched(given: Tensor, out: Tensor, version: int, n: int) -> bool:
    """Tell whether a layer saw n rows, and its output is part of the graph and was not written over."""
    return given.dim() == 2 and len(given) == n and out.requires_grad and out._version == version


@contextmanager
def listening(layers: list[Module]) -> Iterator[Listener]:
    """Yield a listener to these layers."""
    listener = Listener(layers)
    hooks = [layer.register_forward_hook(listener.note) for layer in layers]
    try:
        yield listener
    finally:
        for hook in hooks:
            hook.remove()


def linear_layers(module: Module, parameters: list[Tensor]) -> list[Module] | None:
    """Return the layers that hold all trainable parameters, or None if other parts hold some or share them.

    Layers with hooks are no plain layers: a hook may change the output, or make the weight of other parameters.
    """
    wanted = {id(parameter) for parameter in parameters}
    found = [part for part in module.modules() if any(id(p) in wanted for p in part.parameters(recurse=False))]
    if any(type(part) is not torch.nn.Linear or is_hooked(part) for part in found):
        return None
    owned = [id(p) for part in found for p in part.parameters(recurse=False) if id(p) in wanted]
    return found if sorted(owned) == sorted(wanted) else None


def used_once(scores: Tensor, parameters: list[Tensor]) -> bool:
    """Tell whether no parameter comes twice in the graph of the scores, as a weight does that forward reads itself."""
    wanted, seen, waiting = {id(p) for p in parameters}, set(), [scores.grad_fn]
    met: set[int] = set()
    while waiting:
        for node, _ in waiting.pop().next_functions:
            own = id(getattr(node, "variable", None))
            if own in wanted:
                if own in met:
                    return False
                met.add(own)
            elif node is not None and node not in seen:
                seen.add(node)
                waiting.append(node)
    return True


def spread(tape: Tape, weights: Tensor, sizes: Ints, G: Tensor, keep: bool) -> None:
    """Write the gradients of weights * scores, summed over every cell's rows, into G (R, c, P).

    ``weights`` is (R, n, K), ``sizes`` (c,) how many consecutive rows each cell has; ``keep`` tells whether the pass
    will be needed again.
    """
    outputs = [part.z for part in tape.passages]
    deltas = torch.autograd.grad(tape.scores, outputs, weights, retain_graph=keep, allow_unused=True)
    counts, write = sizes.tolist(), _one_run if len(G) == 1 else _many_runs
    member = np.repeat(np.eye(len(counts), dtype=np.float32), sizes, axis=1)
    inside = torch.as_tensor(member, dtype=weights.dtype, device=weights.device)
    for part, delta in zip(tape.passages, deltas, strict=True):
        write(part, torch.zeros_like(part.z) if delta is None else delta, counts, inside, G)


def _one_run(part: Passage, delta: Tensor, counts: list[int], inside: Tensor, G: Tensor) -> None:
    """Write one layer's cell gradients of a single run, each product straight to its place."""
    a, d, o, rows = part.a.reshape(part.a.shape[-2:]), delta.reshape(-1, part.outputs), part.outputs, G[0]
    if part.bias is not None:
        torch.mm(inside, d, out=rows[:, part.bias : part.bias + o])
    if part.weight is None:
        return
    spots = rows[:, part.weight : part.weight + o * a.shape[1]]
    if o == 1:  # all cells are one product
        torch.mm(inside * d.t(), a, out=spots)
        return
    for spot, mine, its in zip(spots.view(len(counts), o, -1).unbind(), d.split(counts), a.split(counts), strict=True):
        torch.mm(mine.t(), its, out=spot)


def _many_runs(part: Passage, delta: Tensor, counts: list[int], inside: Tensor, G: Tensor) -> None:
    """Write one layer's cell gradients of a stack of runs."""
    a, o, shared = part.a, part.outputs, part.a.dim() == 2
    if part.bias is not None:
        sums = inside @ delta
        found = sums.view(len(counts), -1, o).transpose(0, 1) if shared else sums
        G[:, :, part.bias : part.bias + o] = found
    if part.weight is None:
        return
    spots = G[:, :, part.weight : part.weight + o * a.shape[-1]].unbind(1)
    along = 0 if shared else 1
    for spot, mine, its in zip(spots, delta.split(counts, along), a.split(counts, along), strict=True):
        found = mine.t() @ its if shared else torch.bmm(mine.transpose(1, 2), its)
        spot.copy_(found.view(spot.shape))
