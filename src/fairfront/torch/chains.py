"""Chains: linear layers with element-wise functions between, the commonest network, for one run or a stack of R.

Runs go through together: the first layer is one matrix product of all runs' weights with the rows they share, the
others are products by run. Weights stay out of the graph; only what leaves each layer is differentiated (`layers`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .backend import Module, Tensor, torch
from .layers import Passage, Tape
from .modules import is_hooked

ELEMENTWISE = ("ReLU", "LeakyReLU", "ELU", "SELU", "GELU", "SiLU", "Tanh", "Sigmoid", "Softplus", "Identity", "Dropout")


@dataclass(frozen=True, eq=False)
class Link:
    """One part of a chain: a linear layer by the names of its parameters, or an element-wise module."""

    part: Module
    weight: str = ""
    bias: str = ""


@dataclass(frozen=True, eq=False)
class Chain:
    """Links in their order, and where each parameter starts among all of a run's parameters."""

    links: tuple[Link, ...]
    places: dict[str, int]

    @classmethod
    def of(cls, module: Module, names: list[str]) -> Chain | None:
        """Return the chain that a module is, or None if it is anything else or not all of it is trained."""
        links = _links(module, "")
        if links is None or not links or not links[0].weight:
            return None
        values = dict(module.named_parameters())
        wanted = [name for link in links for name in (link.weight, link.bias) if name]
        if sorted(wanted) != sorted(names) or any(name not in values for name in wanted):
            return None
        starts, first = {}, 0
        for name in names:
            starts[name] = first
            first += int(values[name].numel())
        return cls(links, starts)

    def run(self, X: Tensor, values: dict[str, Tensor]) -> Tape:
        """Send rows X (n, i) through R runs whose parameters have a leading axis of runs."""
        a, passages = X, []
        for link in self.links:
            if not link.weight:
                a = link.part(a)
                continue
            W = values[link.weight].detach()
            b = values[link.bias].detach() if link.bias else None
            z = _later(a, W, b) if a.dim() == 3 else _first(a, W, b)
            passages.append(Passage(a.detach(), z, self.places[link.weight], self.places.get(link.bias), W.shape[1]))
            apart = a.dim() == 2 and len(W) > 1  # a single run stays flat, which is cheaper
            a = z.view(len(z), *W.shape[:2]).transpose(0, 1) if apart else z
        return Tape(a if a.dim() == 3 else a[None], passages)


def _first(X: Tensor, W: Tensor, b: Tensor | None) -> Tensor:
    """Return the output (n, R o) of a layer whose input is shared: one product for all runs.

    Differentiation begins here.
    """
    flat = W.reshape(-1, W.shape[2]).t()
    z = X @ flat if b is None else torch.addmm(b.reshape(-1), X, flat)
    return z.requires_grad_(True)


def _later(a: Tensor, W: Tensor, b: Tensor | None) -> Tensor:
    """Return a later layer's output (R, n, o)."""
    transposed = W.transpose(1, 2)
    return torch.bmm(a, transposed) if b is None else torch.baddbmm(b[:, None], a, transposed)


def _links(module: Module, prefix: str) -> tuple[Link, ...] | None:
    """Return the links of a module, or None if it is no chain or something listens to its parts."""
    if is_hooked(module):
        return None
    kind: Any = type(module)
    if kind is torch.nn.Linear:
        return (Link(module, f"{prefix}weight", f"{prefix}bias" if module.bias is not None else ""),)
    if kind in _elementwise():
        return None if getattr(module, "inplace", False) else (Link(module),)
    if kind is not torch.nn.Sequential:
        return None
    found: list[Link] = []
    for name, part in module._modules.items():  # named_children leaves out what comes twice
        inside = _links(part, f"{prefix}{name}.")
        if inside is None:
            return None
        found.extend(inside)
    return tuple(found)


def _elementwise() -> tuple[Any, ...]:
    return tuple(getattr(torch.nn, name) for name in ELEMENTWISE)
