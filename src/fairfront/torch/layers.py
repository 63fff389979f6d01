"""Linear layers: all cell gradients from one joint pass, because a layer's gradient is a sum over rows.

The gradient of a linear layer's weight is delta^T a, with a what went in and delta the derivative by what came out.
One backward pass gives delta of all rows; the rows of every cell are then multiplied by themselves, which together
costs what the ordinary gradient does. It serves modules whose trainable parameters all belong to ``nn.Linear`` layers
that see each row once (heard by a `Listener`), and stacks of chains.

A `Chain` is linear layers with element-wise functions between, the commonest network, for one run or a stack of R. Runs
go through together: the first layer is one matrix product of all runs' weights with the rows they share, the others are
products by run. Weights stay out of the graph; only what leaves each layer is differentiated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .backend import Module, Tensor, is_hooked, torch

Ints = NDArray[np.intp]
ELEMENTWISE = ("ReLU", "LeakyReLU", "ELU", "SELU", "GELU", "SiLU", "Tanh", "Sigmoid", "Softplus", "Identity", "Dropout")


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


class Listener:
    """Hears what goes into and comes out of layers while a module runs, each in ``calls`` by its place in the list."""

    def __init__(self, layers: list[Module]) -> None:
        self.layers = layers
        self.calls: list[list[tuple[Tensor, Tensor, int]]] = [[] for _ in layers]

    def __enter__(self) -> Listener:
        self._hooks = [
            layer.register_forward_hook(
                lambda _, given, out, heard=heard: heard.append((given[0].detach(), out, out._version))
            )
            for layer, heard in zip(self.layers, self.calls, strict=True)
        ]
        return self

    def __exit__(self, *_: object) -> None:
        for hook in self._hooks:
            hook.remove()

    def passages(self, n: int, places: dict[int, int]) -> list[Passage] | None:
        """Return what was heard, or None unless every layer saw all n rows once and its output was left as it was."""
        found = []
        for layer, calls in zip(self.layers, self.calls, strict=True):
            if len(calls) != 1:
                return None
            a, z, version = calls[0]
            if a.dim() != 2 or len(a) != n or not z.requires_grad or z._version != version:
                return None
            found.append(Passage(a, z, places.get(id(layer.weight)), places.get(id(layer.bias)), layer.out_features))
        return found


def linear_layers(module: Module, parameters: list[Tensor]) -> list[Module] | None:
    """Return the layers that hold all trainable parameters, or None if other parts hold some or share them.

    Layers with hooks are not plain layers: a hook may change the output, or make the weight of other parameters.
    """
    wanted = {id(parameter) for parameter in parameters}
    found = [part for part in module.modules() if any(id(p) in wanted for p in part.parameters(recurse=False))]
    if any(not _is_linear(part) or is_hooked(part) for part in found):
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


@dataclass(frozen=True, eq=False)
class Chain:
    """Parts in their order, each with what its parameters' names begin with, and where these start in a run's."""

    parts: list[tuple[Module, str]]
    places: dict[str, int]

    @classmethod
    def of(cls, module: Module, places: dict[str, int]) -> Chain | None:
        """Return the chain that a module is, or None if it is anything else or not all of it is trained."""
        parts = _parts(module, "")
        if not parts or not _is_linear(parts[0][0]):
            return None
        names = [f"{prefix}{name}" for part, prefix in parts for name, _ in part.named_parameters()]
        return cls(parts, places) if sorted(names) == sorted(places) else None

    def run(self, X: Tensor, values: dict[str, Tensor]) -> Tape:
        """Send rows X (n, i) through R runs whose parameters have a leading axis of runs."""
        a, passages = X, []
        for part, prefix in self.parts:
            if not _is_linear(part):
                a = part(a)
                continue
            weight, bias = f"{prefix}weight", f"{prefix}bias"
            W, b = values[weight].detach(), values[bias].detach() if bias in values else None
            z = _outputs(a, W, b)
            passages.append(Passage(a.detach(), z, self.places[weight], self.places.get(bias), W.shape[1]))
            apart = a.dim() == 2 and len(W) > 1  # a single run stays flat, which is cheaper
            a = z.view(len(z), *W.shape[:2]).transpose(0, 1) if apart else z
        return Tape(a if a.dim() == 3 else a[None], passages)


def _outputs(a: Tensor, W: Tensor, b: Tensor | None) -> Tensor:
    """Return the outputs (R, n, o) of a later layer, or (n, R o) of the first, whose input all runs share.

    The first is one product for all runs, and the graph begins there.
    """
    if a.dim() == 3:
        transposed = W.transpose(1, 2)
        return torch.bmm(a, transposed) if b is None else torch.baddbmm(b[:, None], a, transposed)
    flat = W.reshape(-1, W.shape[2]).t()
    z = a @ flat if b is None else torch.addmm(b.reshape(-1), a, flat)
    return z.requires_grad_(True)


def _is_linear(part: Module) -> bool:
    return type(part) is torch.nn.Linear


def _parts(module: Module, prefix: str) -> list[tuple[Module, str]] | None:
    """Return the parts of a module, or None if it is not a chain or something listens to its parts."""
    if is_hooked(module):
        return None
    if _is_linear(module):
        return [(module, prefix)]
    if type(module) in [getattr(torch.nn, name) for name in ELEMENTWISE]:
        return None if getattr(module, "inplace", False) else [(module, prefix)]
    if type(module) is not torch.nn.Sequential:
        return None
    found = []
    for name, part in module._modules.items():  # named_children leaves out what comes twice
        inside = _parts(part, f"{prefix}{name}.")
        if inside is None:
            return None
        found.extend(inside)
    return found


def cell_gradients(tape: Tape, weights: Tensor, sizes: Ints, G: Tensor, keep: bool) -> None:
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
