"""Sums where the rows are: what a pass adds up over one partition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...objectives import Array
from ..pieces import Piece
from ..threads import one_thread
from .parts import loose
from .spooling import Spooled

Ask = Callable[[Piece], tuple[Array, ...] | Array]
"""A pass: what to add up over a piece."""


def added(ask: Ask, *part: Any) -> tuple[Array, ...]:
    """Add up over one part: a piece, a spooled one, or features, side and plan; in one thread."""
    with one_thread():
        piece = loose(*part) if len(part) > 1 else part[0]
        found = ask(piece.mapped() if isinstance(piece, Spooled) else piece)
    return found if isinstance(found, tuple) else (found,)


def bent_diagonal(piece: Piece, measures: Any, factors: Any, W: Array) -> tuple[Array, ...]:
    """Return the diagonal of a Hessian that is never formed."""
    return (piece.diagonal(piece.curvatures(measures, factors, W), len(W)),)


def bent_product(piece: Piece, measures: Any, factors: Any, W: Array, V: Array) -> tuple[Array, ...]:
    """Return the product of rows V with a Hessian that is never formed; its curvatures are found anew."""
    return (piece.bent(piece.curvatures(measures, factors, W), V, len(W)),)
