"""The algebra: from cell values to objectives, everything linear in the cells but the gap function.

    loss = p.L          p holds the shares of the cells on the training loss, and the ridge on the last cell
    z    = B L - b      signed gaps
    h    = [loss, phi(z)]           the paper's objective vector
    dh   = A G,  A = [p ; diag(phi'(z)) B]

The last cell is the penalty |w|^2 / 2 (intercepts excepted), so that the ridge is linear in the cells too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from .cells import Atoms, Cells, find_atoms, merge
from .gaps import Gap
from .groups import Attribute
from .labels import Array, Task
from .notions import Comparison, Notion, Surrogate
from .surrogates import Quantity


@dataclass(frozen=True)
class Algebra:
    """Loss row, contrasts and gap function. Shapes: L (R, k), z (R, q), h (R, m), A (R, m, k), m = 1 + q."""

    p: Array
    B: Array
    b: Array
    two_sided: NDArray[np.bool_]
    gap: Gap
    names: tuple[str, ...]
    notions: tuple[str, ...] = ("objectives",)
    notion_of: NDArray[np.intp] | None = None

    @property
    def m(self) -> int:
        """Return the number of objectives."""
        return 1 + len(self.b)

    def loss(self, L: Array) -> Array:
        """Return the training loss with its ridge, (R,)."""
        return np.asarray(L @ self.p)

    def gaps(self, L: Array) -> Array:
        """Return the signed gaps z, (R, q)."""
        return np.asarray(L @ self.B.T - self.b)

    def _effective(self, z: Array) -> Array:
        """Return z, with the harmless side of one-sided gaps set to 0 when phi is even."""
        return np.where(self.two_sided, z, np.maximum(z, 0.0)) if self.gap.even else z

    def objectives(self, L: Array) -> Array:
        """Return the objective vectors h, (R, m)."""
        phi = self.gap.value(self._effective(self.gaps(L)))
        return np.column_stack([self.loss(L), phi])

    def jacobian(self, L: Array) -> Array:
        """Return A with dh/dw = A G, (R, m, k)."""
        slope = self.gap.slope(self._effective(self.gaps(L)))
        fair = slope[:, :, None] * self.B
        return np.concatenate([np.broadcast_to(self.p, (len(L), 1, len(self.p))), fair], axis=1)

    def violation(self, z: Array) -> Array:
        """Return |z|, or max(z, 0) where only one side counts, (R, q)."""
        return np.where(self.two_sided, np.abs(z), np.maximum(z, 0.0))

    def worst(self, L: Array) -> Array:
        """Return the worst gap of each notion, (R, notions)."""
        size = self.violation(self.gaps(L))
        if self.notion_of is None:
            return np.asarray(size.max(axis=1, keepdims=True))
        return np.stack([size[:, self.notion_of == i].max(axis=1) for i in range(len(self.notions))], axis=1)


@dataclass(frozen=True)
class Layout:
    """Where each average lives: sorted rows (``cells``) and, per quantity, the index in L of each cell (-1: none)."""

    cells: Cells
    quantities: tuple[tuple[Quantity, NDArray[np.intp]], ...]
    k: int


@dataclass(frozen=True)
class _Row:
    """One contrast: +1 on the first event's average and -1 on the second's (if any)."""

    plus: int
    minus: int | None
    name: str
    notion: int
    two_sided: bool
    floor: float


def build(
    task: Task,
    labels: NDArray[np.intp],
    attributes: tuple[Attribute, ...],
    notions: tuple[Notion, ...],
    gap: Gap,
    surrogate: Surrogate,
    ridge: float,
    sample_weight: Array | None = None,
) -> tuple[Layout, Algebra]:
    """Lay out the cells that the notions need and the algebra on them."""
    for notion in notions:
        notion.check(task, surrogate)
        if not gap.even and not notion.two_sided:
            raise InputError(
                f"gap {gap.name!r} would reward a larger value of {notion.name!r}, which counts on one side only; "
                "use gap='squared'."
            )
    atoms = find_atoms(labels, attributes, sample_weight)
    quantities: list[Quantity] = []
    masks: list[NDArray[np.bool_]] = []
    rows: list[_Row] = []
    for index, notion in enumerate(notions):
        for place, attribute in enumerate(attributes):
            named = [notion.name] * (len(notions) > 1) + [attribute.name] * (len(attributes) > 1)
            prefix = "".join(f"{part}: " for part in named)
            for comparison in notion.comparisons(task, surrogate):
                first = len(masks)
                masks += _events(atoms, place, attribute, comparison, notion, task)
                quantities += [comparison.quantity] * len(attribute.levels)
                rows += _contrasts(first, attribute, comparison, notion, index, prefix, gap)
    cells, into = merge(atoms, np.column_stack(masks), sample_weight)
    layout = _layout(cells, into, quantities, masks)
    return layout, _algebra(layout, into, quantities, masks, rows, notions, gap, ridge)


def _events(
    atoms: Atoms, place: int, attribute: Attribute, comparison: Comparison, notion: Notion, task: Task
) -> list[NDArray[np.bool_]]:
    """Return one mask of atoms per group, or say which group has no such rows."""
    masks = [atoms.belongs(place, level, comparison.labels) for level in range(len(attribute.levels))]
    counts = [float(atoms.weights[mask].sum()) for mask in masks]
    if min(counts) <= 0.0:
        empty = ", ".join(f"{lv!r}" for lv, c in zip(attribute.levels, counts, strict=True) if c <= 0.0)
        found = ", ".join(f"{lv} {c:g}" for lv, c in zip(attribute.levels, counts, strict=True))
        which = "" if comparison.labels is None else f" with {comparison.words}"
        raise InputError(
            f"notion {notion.name!r} needs rows{which} in every group of {attribute.name!r}, "
            f"found none in {empty} (weight per group: {found}); merge groups, or leave small ones out "
            "with groups=Groups(min_size=...)."
        )
    return masks


def _contrasts(
    first: int,
    attribute: Attribute,
    comparison: Comparison,
    notion: Notion,
    index: int,
    prefix: str,
    gap: Gap,
) -> list[_Row]:
    """Return the contrasts of one comparison: all pairs (group minus reference), or each group by itself."""
    levels = attribute.levels
    suffix = f" | {comparison.words}" if comparison.words else ""
    common = (index, notion.two_sided, notion.floor)
    if comparison.contrast == "each":
        return [_Row(first + i, None, f"{prefix}{lv}{suffix}", *common) for i, lv in enumerate(levels)]
    pairs = [(i, j) for i in range(len(levels)) for j in range(i + 1, len(levels))]
    if not gap.even:
        pairs = [pair for i, j in pairs for pair in ((i, j), (j, i))]
    return [_Row(first + i, first + j, f"{prefix}{levels[i]} - {levels[j]}{suffix}", *common) for i, j in pairs]


def _layout(cells: Cells, into: NDArray[np.intp], quantities: list[Quantity], masks: list[NDArray[np.bool_]]) -> Layout:
    """Give every (quantity, cell) that is needed its index in L; the training loss needs all cells."""
    own = Quantity("loss")
    used = {own: np.ones(cells.count, dtype=bool)}
    for quantity, mask in zip(quantities, masks, strict=True):
        used.setdefault(quantity, np.zeros(cells.count, dtype=bool))[into[mask]] = True
    placed = []
    k = 0
    for quantity, need in used.items():
        where = np.full(cells.count, -1, dtype=np.intp)
        where[need] = np.arange(k, k + int(need.sum()))
        k += int(need.sum())
        placed.append((quantity, where))
    return Layout(cells, tuple(placed), k + 1)


def _algebra(
    layout: Layout,
    into: NDArray[np.intp],
    quantities: list[Quantity],
    masks: list[NDArray[np.bool_]],
    rows: list[_Row],
    notions: tuple[Notion, ...],
    gap: Gap,
    ridge: float,
) -> Algebra:
    """Write the loss row and the contrasts in terms of the cells."""
    weight = layout.cells.weight
    where = dict(layout.quantities)
    p = np.zeros(layout.k)
    p[where[Quantity("loss")]] = weight / weight.sum()
    p[-1] = ridge
    means = np.zeros((len(masks), layout.k))
    for mean, quantity, mask in zip(means, quantities, masks, strict=True):
        inside = np.unique(into[mask])
        mean[where[quantity][inside]] = weight[inside] / weight[inside].sum()
    B = np.array([means[r.plus] - (means[r.minus] if r.minus is not None else 0.0) for r in rows])
    return Algebra(
        p=p,
        B=B,
        b=np.array([r.floor for r in rows]),
        two_sided=np.array([r.two_sided for r in rows]),
        gap=gap,
        names=("loss", *(r.name for r in rows)),
        notions=tuple(n.name for n in notions),
        notion_of=np.array([r.notion for r in rows], dtype=np.intp),
    )
