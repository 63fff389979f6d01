"""Linear layers: all cell gradients from one joint pass, because a layer's gradient is a sum over rows.

The gradient of a linear layer's weight is delta^T a, with a what went in and delta the derivative by what came out.
One backward pass gives delta of all rows; the rows of every cell are then multiplied by themselves, which together
costs what the ordinary gradient does. It serves modules whose trainable parameters all belong to ``nn.Linear`` layers
that see each row once (`heard`), and stacks of chains.

A chain is linear layers with element-wise functions between, the commonest network, for one run or a stack of R. Runs
go through together: the first layer is one matrix product of all runs' weights with the rows they share, the others are
products by run. Weights stay out of the graph; only what leaves each layer is differentiated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Array
from .modules import Inputs, Module, Tensor, shaped, torch, trainable

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


@contextmanager
def heard(layers: list[Module]) -> Iterator[list[list[tuple[Tensor, Tensor, int]]]]:
    """Yield what goes into and comes out of each layer, and its version, call by call, while a module runs."""
    calls: list[list[tuple[Tensor, Tensor, int]]] = [[] for _ in layers]
    hooks = [
        layer.register_forward_hook(lambda _, given, out, own=own: own.append((given[0].detach(), out, out._version)))
        for layer, own in zip(layers, calls, strict=True)
    ]
    try:
        yield calls
    finally:
        for hook in hooks:
            hook.remove()


def _is_hooked(part: Module) -> bool:
    kinds = ("forward", "forward_pre", "backward", "backward_pre")
    return any(getattr(part, f"_{kind}_hooks", None) for kind in kinds)


def _linear_layers(module: Module, parameters: list[Tensor]) -> list[Module] | None:
    """Return the layers that hold all trainable parameters, or None if other parts hold some or share them.

    Layers with hooks are not plain layers: a hook may change the output, or make the weight of other parameters.
    """
    wanted = {id(parameter) for parameter in parameters}
    found = [part for part in module.modules() if any(id(p) in wanted for p in part.parameters(recurse=False))]
    if any(type(part) is not torch.nn.Linear or _is_hooked(part) for part in found):
        return None
    owned = [id(p) for part in found for p in part.parameters(recurse=False) if id(p) in wanted]
    return found if sorted(owned) == sorted(wanted) else None


def _used_once(scores: Tensor, parameters: list[Tensor]) -> bool:
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


def _chain(module: Module, names: Iterable[str]) -> list[tuple[Module, str]] | None:
    """Return the parts of a chain in their order, each with what its parameters' names begin with.

    None if the module is anything else than a chain, or not all of it is trained.
    """
    parts = _parts(module, "")
    if not parts or type(parts[0][0]) is not torch.nn.Linear:
        return None
    held = [f"{prefix}{name}" for part, prefix in parts for name, _ in part.named_parameters()]
    return parts if sorted(held) == sorted(names) else None


def _parts(module: Module, prefix: str) -> list[tuple[Module, str]] | None:
    """Return None if the module is not a chain or something listens to its parts."""
    if _is_hooked(module):
        return None
    if type(module) in [getattr(torch.nn, name) for name in ("Linear", *ELEMENTWISE)]:
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
    through = [part.z for part in tape.passages]
    deltas = torch.autograd.grad(tape.scores, through, weights, retain_graph=keep, allow_unused=True)
    counts, single = sizes.tolist(), len(G) == 1
    member = np.repeat(np.eye(len(counts), dtype=np.float32), sizes, axis=1)
    inside = torch.as_tensor(member, dtype=weights.dtype, device=weights.device)
    for part, found in zip(tape.passages, deltas, strict=True):
        delta = torch.zeros_like(part.z) if found is None else found
        a, o, shared, along = part.a, part.outputs, part.a.dim() == 2, part.a.dim() - 2
        if part.bias is not None:
            into = G[:, :, part.bias : part.bias + o]
            if single:
                torch.mm(inside, delta, out=into[0])
            else:
                sums = inside @ delta
                into.copy_(sums.view(len(counts), -1, o).transpose(0, 1) if shared else sums)
        if part.weight is None:
            continue
        spots = G[:, :, part.weight : part.weight + o * a.shape[-1]]
        if single and o == 1:  # all cells are one product
            torch.mm(inside * delta.t(), a, out=spots[0])
            continue
        for spot, mine, its in zip(spots.unbind(1), delta.split(counts, along), a.split(counts, along), strict=True):
            if single:
                torch.mm(mine.t(), its, out=spot.view(o, -1))
            else:
                spot.copy_((mine.t() @ its if shared else torch.bmm(mine.transpose(1, 2), its)).view(spot.shape))


class Scorer:
    """Scores (R, n, K) of R runs that depend on ``parameters``.

    Without ``stacked`` it is the module itself, one run with its own parameters. Those of a stack, R copies of the
    module as one, have a leading axis of runs; the rest of the module is shared.
    """

    def __init__(self, module: Module, n_scores: int, stacked: dict[str, Tensor] | None = None) -> None:
        known = trainable(module) if stacked is None else stacked
        self.module, self.n_scores, self.stacked = module, n_scores, stacked is not None
        self.known, self.parameters = known, list(known.values())
        self.runs = len(self.parameters[0]) if self.stacked else 1
        self.sizes = [int(p.numel()) // self.runs for p in self.parameters]
        self.size = sum(self.sizes)
        self.starts = dict(zip(known, np.cumsum([0, *self.sizes]).tolist(), strict=False))
        self.chain = _chain(module, known)
        apart = self.stacked or self.chain is not None
        self.layers = None if apart else _linear_layers(module, self.parameters)
        self.places = {id(p): self.starts[name] for name, p in known.items()}
        self.checked = False

    def scores(self, inputs: Inputs) -> Tensor:
        """Return (R, n, K), of one vectorised forward pass if there are several runs."""
        self._check_device(inputs)

        def forward(values: dict[str, Tensor]) -> Tensor:
            return torch.func.functional_call(self.module, values, inputs)

        if not self.stacked:
            found = self.module(*inputs)
        elif self.runs == 1:
            found = forward({name: value[0] for name, value in self.known.items()})
        else:
            found = torch.vmap(forward, randomness="different")(self.known)
            return shaped(found, len(inputs[0]), self.n_scores, type(self.module).__name__, self.runs)
        return shaped(found, len(inputs[0]), self.n_scores, type(self.module).__name__)[None]

    def tape(self, inputs: Inputs) -> Tape | None:
        """Return None if something in the module stands against recording."""
        if self.chain is not None and len(inputs) == 1 and inputs[0].dim() == 2:
            self._check_device(inputs)
            tape = self._through(self.chain, inputs[0])
            shaped(tape.scores, len(inputs[0]), self.n_scores, type(self.module).__name__, self.runs)
            return tape
        if self.layers is None:
            return None
        with heard(self.layers) as calls:
            scores = self.scores(inputs)
        passages = []
        for layer, own in zip(self.layers, calls, strict=True):
            if len(own) != 1:  # every layer has to see all rows once, and its output to be left as it was
                return None
            a, z, version = own[0]
            if a.dim() != 2 or len(a) != len(inputs[0]) or not z.requires_grad or z._version != version:
                return None
            places = self.places.get(id(layer.weight)), self.places.get(id(layer.bias))
            passages.append(Passage(a, z, *places, layer.out_features))
        if not scores.requires_grad:
            return None
        if not self.checked and not _used_once(scores, self.parameters):
            self.layers = None
            return None
        self.checked = True
        return Tape(scores, passages)

    def _through(self, chain: list[tuple[Module, str]], X: Tensor) -> Tape:
        """Send rows X (n, i) through the parts of a chain, all runs together."""
        stack = {name: (value if self.stacked else value[None]).detach() for name, value in self.known.items()}
        a, passages = X, []
        for part, prefix in chain:
            if type(part) is not torch.nn.Linear:
                a = part(a)
                continue
            weight, bias = f"{prefix}weight", f"{prefix}bias"
            W, b = stack[weight], stack.get(bias)
            if a.dim() == 3:
                z = torch.bmm(a, W.transpose(1, 2)) if b is None else torch.baddbmm(b[:, None], a, W.transpose(1, 2))
            else:  # the first layer, whose input all runs share, is one product; the graph begins there
                flat = W.reshape(-1, W.shape[2]).t()
                z = (a @ flat if b is None else torch.addmm(b.reshape(-1), a, flat)).requires_grad_(True)
            passages.append(Passage(a.detach(), z, self.starts[weight], self.starts.get(bias), W.shape[1]))
            apart = a.dim() == 2 and len(W) > 1  # a single run stays flat, which is cheaper
            a = z.view(len(z), *W.shape[:2]).transpose(0, 1) if apart else z
        return Tape(a if a.dim() == 3 else a[None], passages)

    def split(self, flat: Tensor) -> list[Tensor]:
        return [part.view(p.shape) for p, part in zip(self.parameters, flat.split(self.sizes, dim=1), strict=True)]

    def penalised(self) -> list[Tensor]:
        """Return the parameters as (R, p) that the penalty counts: matrices and filters; biases are zeros."""
        counts = [p.detach() if p.dim() - self.stacked >= 2 else torch.zeros_like(p) for p in self.parameters]
        return [each.reshape(self.runs, -1) for each in counts]

    def penalty(self) -> Array:
        """Return |w|^2 / 2 over matrices and filters, (R,)."""
        squares = [(each.double() ** 2).sum(dim=1) for each in self.penalised()]
        return np.asarray(0.5 * sum(squares).cpu().numpy())

    def _check_device(self, given: Inputs) -> None:
        device = self.parameters[0].device
        for part in given:
            if part.device != device:
                raise InputError(
                    f"the inputs are on {part.device} and {type(self.module).__name__} on {device}, expected one "
                    "device; move the inputs with X.to(device), or the module."
                )
