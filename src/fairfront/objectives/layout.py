"""Layout: which cells and averages the notions need, and the algebra written on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from .algebra import Algebra
from .cells import Atoms, Cells, find_atoms, merge
from .gaps import Gap
from .groups import Attribute
from .labels import Array, Task
from .notions import Comparison, Notion, Surrogate
from .small_counts import counts_in_words
from .surrogates import Quantity


@dataclass(frozen=True)
class Average:
    """One average that a notion compares: a quantity over some cells."""

    quantity: Quantity
    cells: NDArray[np.intp]
    name: str
    labels: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Contrast:
    """One gap: the first average minus the second (if any)."""

    plus: int
    minus: int | None
    name: str
    notion: int
    two_sided: bool
    floor: float


@dataclass(frozen=True)
class Layout:
    """Where each average lives: sorted rows (``cells``) and, per quantity, the index in L of each cell (-1: none).

    The averages and contrasts are kept, so that the algebra can be written anew for other row weights.
    """

    cells: Cells
    quantities: tuple[tuple[Quantity, NDArray[np.intp]], ...]
    k: int
    averages: tuple[Average, ...]
    contrasts: tuple[Contrast, ...]
    notions: tuple[str, ...]

    def algebra(self, gap: Gap, ridge: float) -> Algebra:
        """Write the loss row and the contrasts in terms of the cells."""
        weight, where = self.cells.weight, dict(self.quantities)
        p = np.zeros(self.k)
        p[where[Quantity("loss")]] = weight / weight.sum()
        p[-1] = ridge
        means = np.zeros((len(self.averages), self.k))
        for mean, average in zip(means, self.averages, strict=True):
            inside = weight[average.cells]
            mean[where[average.quantity][average.cells]] = inside / max(float(inside.sum()), 1e-300)
        signs = np.zeros((len(self.averages), len(self.contrasts)))
        for j, contrast in enumerate(self.contrasts):
            signs[contrast.plus, j] = 1.0
            if contrast.minus is not None:
                signs[contrast.minus, j] = -1.0
        return Algebra(
            p=p,
            B=signs.T @ means,
            b=np.array([c.floor for c in self.contrasts]),
            two_sided=np.array([c.two_sided for c in self.contrasts]),
            gap=gap,
            names=("loss", *(c.name for c in self.contrasts)),
            notions=self.notions,
            notion_of=np.array([c.notion for c in self.contrasts], dtype=np.intp),
            means=means,
            signs=signs,
            mean_names=tuple(average.name for average in self.averages),
        )


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
    names: list[str] = []
    given: list[tuple[int, ...] | None] = []
    rows: list[Contrast] = []
    for index, notion in enumerate(notions):
        for place, attribute in enumerate(attributes):
            named = [notion.name] * (len(notions) > 1) + [attribute.name] * (len(attributes) > 1)
            prefix = "".join(f"{part}: " for part in named)
            for comparison in notion.comparisons(task, surrogate):
                first = len(masks)
                masks += _events(atoms, place, attribute, comparison, notion, task)
                quantities += [comparison.quantity] * len(attribute.levels)
                suffix = f" | {comparison.words}" if comparison.words else ""
                names += [f"{prefix}{level}{suffix}" for level in attribute.levels]
                given += [comparison.labels] * len(attribute.levels)
                rows += _contrasts(first, attribute, comparison, notion, index, prefix, gap)
    cells, into = merge(atoms, np.column_stack(masks), sample_weight)
    inside = [np.unique(into[mask]) for mask in masks]
    averages = tuple(map(Average, quantities, inside, names, given))
    placed, k = _place(cells, averages)
    layout = Layout(cells, placed, k, averages, tuple(rows), tuple(notion.name for notion in notions))
    return layout, layout.algebra(gap, ridge)


def _events(
    atoms: Atoms, place: int, attribute: Attribute, comparison: Comparison, notion: Notion, task: Task
) -> list[NDArray[np.bool_]]:
    """Return one mask of atoms per group, or say which group has no such rows."""
    masks = [atoms.belongs(place, level, comparison.labels) for level in range(len(attribute.levels))]
    counts = [float(atoms.weights[mask].sum()) for mask in masks]
    if min(counts) <= 0.0:
        empty = ", ".join(f"{lv!r}" for lv, c in zip(attribute.levels, counts, strict=True) if c <= 0.0)
        found = ", ".join(counts_in_words(attribute.levels, counts))
        which = "" if comparison.labels is None else f" with {comparison.words}"
        raise InputError(
            f"notion {notion.name!r} needs rows{which} in every group of {attribute.name!r}, "
            f"found none in {empty} (weight per group: {found}); merge groups, or leave small ones out "
            f"with {spelled('min_size', 'groups=Groups(min_size=...)')}."
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
) -> list[Contrast]:
    """Return the contrasts of one comparison: all pairs (group minus reference), or each group by itself."""
    levels = attribute.levels
    suffix = f" | {comparison.words}" if comparison.words else ""
    common = (index, notion.two_sided, notion.floor)
    if comparison.contrast == "each":
        return [Contrast(first + i, None, f"{prefix}{lv}{suffix}", *common) for i, lv in enumerate(levels)]
    pairs = [(i, j) for i in range(len(levels)) for j in range(i + 1, len(levels))]
    if not gap.even:
        pairs = [pair for i, j in pairs for pair in ((i, j), (j, i))]
    return [Contrast(first + i, first + j, f"{prefix}{levels[i]} - {levels[j]}{suffix}", *common) for i, j in pairs]


def _place(cells: Cells, averages: tuple[Average, ...]) -> tuple[tuple[tuple[Quantity, NDArray[np.intp]], ...], int]:
    """Give every (quantity, cell) that is needed its index in L; the training loss needs all cells."""
    used = {Quantity("loss"): np.ones(cells.count, dtype=bool)}
    for average in averages:
        used.setdefault(average.quantity, np.zeros(cells.count, dtype=bool))[average.cells] = True
    placed = []
    k = 0
    for quantity, need in used.items():
        where = np.full(cells.count, -1, dtype=np.intp)
        where[need] = np.arange(k, k + int(need.sum()))
        k += int(need.sum())
        placed.append((quantity, where))
    return tuple(placed), k + 1
