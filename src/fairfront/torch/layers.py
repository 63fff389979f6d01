"""Linear layers: all cell gradients from one joint pass, because a layer's gradient is a sum over rows.

The gradient of a linear layer's weight is delta^T a, with a what went in and delta the derivative by what came out.
One backward pass gives delta of all rows; the rows of every cell are then multiplied by themselves, which together
costs what the ordinary gradient does. It serves modules whose trainable parameters all belong to ``nn.Linear`` layers
that see each row once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from .backend import Module, Tensor, torch


@dataclass(frozen=True, eq=False)
class Tape:
    """What went into and came out of every layer, in the order of the layers."""

    layers: list[Module]
    seen: dict[int, list[tuple[Tensor, Tensor, int]]] = field(default_factory=dict)

    def note(self, layer: Module, given: tuple[Tensor, ...], out: Tensor) -> None:
        """Keep one call of a layer, and the version of its output."""
        self.seen.setdefault(id(layer), []).append((given[0].detach(), out, out._version))

    def usable(self, n: int) -> bool:
        """Tell whether every layer saw all rows once and nothing changed its output in place afterwards."""
        calls = [self.seen.get(id(layer), []) for layer in self.layers]
        return all(
            len(call) == 1 and call[0][0].dim() == 2 and len(call[0][0]) == n and call[0][1]._version == call[0][2]
            for call in calls
        )

    @property
    def inputs(self) -> list[Tensor]:
        """Return what went into the layers."""
        return [self.seen[id(layer)][0][0] for layer in self.layers]

    @property
    def outputs(self) -> list[Tensor]:
        """Return what came out of the layers."""
        return [self.seen[id(layer)][0][1] for layer in self.layers]


@contextmanager
def taped(layers: list[Module]) -> Iterator[Tape]:
    """Yield a tape that listens to these layers."""
    tape = Tape(layers)
    hooks = [layer.register_forward_hook(tape.note) for layer in layers]
    try:
        yield tape
    finally:
        for hook in hooks:
            hook.remove()


def linear_layers(module: Module, parameters: list[Tensor]) -> list[Module] | None:
    """Return the layers that hold all trainable parameters, or None if other parts hold some or share them."""
    wanted = {id(parameter) for parameter in parameters}
    found = [part for part in module.modules() if any(id(p) in wanted for p in part.parameters(recurse=False))]
    if any(type(part) is not torch.nn.Linear for part in found):
        return None
    owned = [id(p) for part in found for p in part.parameters(recurse=False) if id(p) in wanted]
    return found if sorted(owned) == sorted(wanted) else None


def spread(tape: Tape, deltas: tuple[Tensor, ...], sizes: list[int], places: dict[int, int], rows: Tensor) -> None:
    """Write the gradients of consecutive cells into flat rows (cells, P), every parameter at its place."""
    ones = [torch.ones((1, size), dtype=rows.dtype) for size in sizes]
    member = torch.block_diag(*ones).to(rows.device)
    for layer, a, delta in zip(tape.layers, tape.inputs, deltas, strict=True):
        if id(layer.weight) in places:
            start = places[id(layer.weight)]
            parts = zip(delta.split(sizes), a.split(sizes), strict=True)
            found = torch.stack([torch.mm(mine.t(), its) for mine, its in parts])
            rows[:, start : start + layer.weight.numel()] = found.view(len(sizes), -1)
        if layer.bias is not None and id(layer.bias) in places:
            start = places[id(layer.bias)]
            rows[:, start : start + layer.bias.numel()] = member @ delta
