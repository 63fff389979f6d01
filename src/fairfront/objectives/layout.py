"""Layout: which averages of cells the notions compare, what they make of them, and the algebra on them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from .cells import Atoms, Cells, Ints, find_atoms, merged
from .comparisons import Comparison, Notion, Part
from .curves import Curve, Figures
from .gaps import Algebra, Gap
from .groups import Attribute, counts_in_words
from .losses import Array, Task
from .surrogates import Quantity

if TYPE_CHECKING:
    from .question import Question

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Average:
    """One average that a notion compares: a quantity over some cells, as a share of these or of the cells ``of``."""

    quantity: Quantity
    cells: Ints
    name: str
    labels: tuple[int, ...] | None = None
    of: Ints | None = None


@dataclass(frozen=True)
class Figure:
    """What contrasts compare: a curve of some averages, or one average itself."""

    curve: Curve | None
    averages: tuple[int, ...]
    name: str


@dataclass(frozen=True)
class Contrast:
    """One gap: the first figure minus the second (if any)."""

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
    quantities: tuple[tuple[Quantity, Ints], ...]
    k: int
    averages: tuple[Average, ...]
    contrasts: tuple[Contrast, ...]
    notions: tuple[str, ...]
    figures: tuple[Figure, ...] = ()

    def algebra(self, gap: Gap, ridge: float) -> Algebra:
        weight, where = self.cells.weight, dict(self.quantities)
        p = np.zeros(self.k)
        p[where[Quantity("loss")]] = weight / weight.sum()
        p[-1] = ridge
        means = np.zeros((len(self.averages), self.k))
        for mean, average in zip(means, self.averages, strict=True):
            inside = weight[average.cells]
            whole = inside if average.of is None else weight[average.of]
            mean[where[average.quantity][average.cells]] = inside / max(float(whole.sum()), 1e-300)
        signs = np.zeros((len(self.figures), len(self.contrasts)))
        for j, contrast in enumerate(self.contrasts):
            signs[contrast.plus, j] = 1.0
            if contrast.minus is not None:
                signs[contrast.minus, j] = -1.0
        bent = any(figure.curve is not None for figure in self.figures)
        return Algebra(
            p=p,
            B=np.full((len(self.contrasts), self.k), np.nan) if bent else signs.T @ means,
            b=np.array([c.floor for c in self.contrasts]),
            two_sided=np.array([c.two_sided for c in self.contrasts]),
            gap=gap,
            names=("loss", *(c.name for c in self.contrasts)),
            notions=self.notions,
            notion_of=np.array([c.notion for c in self.contrasts], dtype=np.intp),
            means=means,
            signs=signs,
            mean_names=tuple(figure.name for figure in self.figures),
            psi=Figures(tuple((f.curve, np.array(f.averages)) for f in self.figures)) if bent else None,
        )


def build(
    question: Question, task: Task, labels: Ints, attributes: tuple[Attribute, ...], sample_weight: Array | None = None
) -> tuple[Layout, Algebra]:
    """Lay out what a question asks, whose ridge is known, of rows with these labels and groups."""
    notions, gap, surrogate = question.notions, question.gap, question.surrogate
    for notion in notions:
        notion.check(task, surrogate)
        if not gap.even and not notion.two_sided:
            raise InputError(
                f"gap {gap.name!r} would reward a larger value of {notion.name!r}, which counts on one side only; "
                "use gap='squared'."
            )
    plan = _Plan(find_atoms(labels, attributes, sample_weight), gap.even)
    for index, notion in enumerate(notions):
        for place, attribute in enumerate(attributes):
            named = [notion.name] * (len(notions) > 1) + [attribute.name] * (len(attributes) > 1)
            prefix = "".join(f"{part}: " for part in named)
            for comparison in notion.comparisons(task, surrogate):
                plan.compare(comparison, notion, index, place, attribute, prefix)
    masks = [mask for inside, _, of in plan.averages for mask in (inside, of) if mask is not None]
    cells, into = merged(plan.atoms, np.column_stack(masks), sample_weight)
    placed = tuple(
        Average(part.quantity, np.unique(into[inside]), name, part.labels, None if of is None else np.unique(into[of]))
        for (inside, (part, name), of) in plan.averages
    )
    quantities, k = _place(cells.count, placed)
    known = (tuple(plan.contrasts), tuple(notion.name for notion in notions), tuple(plan.figures))
    layout = Layout(cells, quantities, k, placed, *known)
    return layout, layout.algebra(gap, question.ridge or 0.0)


class _Plan:
    """Averages (masks of atoms), figures and contrasts, as one comparison after the other asks for them."""

    def __init__(self, atoms: Atoms, even: bool) -> None:
        self.atoms, self.even = atoms, even
        self.averages: list[tuple[Mask, tuple[Part, str], Mask | None]] = []
        self.figures: list[Figure] = []
        self.contrasts: list[Contrast] = []

    def compare(
        self, comparison: Comparison, notion: Notion, index: int, place: int, attribute: Attribute, prefix: str
    ) -> None:
        levels, curve, kind = attribute.levels, comparison.curve, comparison.contrast
        suffix = f" | {comparison.words}" if comparison.words else ""
        names = [f"{prefix}{level}{suffix}" for level in levels]
        parts = comparison.parts or (Part(comparison.quantity, comparison.labels),)
        of_level = [self._averages(part, place, names) for part in parts]
        for part, averages in zip(parts, of_level, strict=True):
            weights = [float(self.atoms.weights[self.averages[a][0]].sum()) for a in averages]
            _check_weights(weights, attribute, part, comparison.words, notion)
        first = len(self.figures)
        if kind != "crossed":
            columns = zip(*of_level, strict=True)
            self.figures += [Figure(curve, of, name) for of, name in zip(columns, names, strict=True)]
        for i, j in _pairs(len(levels), kind == "each", self.even and kind != "both orders"):
            plus, minus = first + i, None if j is None else first + j
            if kind == "crossed" and j is not None:
                plus, minus = (self._crossed(curve, parts, of_level, levels, *pair) for pair in ((i, j), (j, i)))
            words = levels[i] if j is None else f"{levels[i]} - {levels[j]}"
            known = (f"{prefix}{words}{suffix}", index, notion.two_sided, notion.floor)
            self.contrasts.append(Contrast(plus, minus, *known))

    def _averages(self, part: Part, place: int, names: list[str]) -> list[int]:
        """Add the average of each level, or one of all levels that is the same for each."""
        atoms, first = self.atoms, len(self.averages)
        every = atoms.belongs(place, None, part.labels)
        for level, name in enumerate(names if part.whose != "everyone" else names[:1]):
            inside = every if part.whose == "everyone" else atoms.belongs(place, level, part.labels)
            self.averages.append((inside, (part, name), atoms.belongs(place, level, None) if part.joint else None))
        return [first + level * (part.whose != "everyone") for level in range(len(names))]

    def _crossed(
        self, curve: Curve | None, parts: tuple[Part, ...], of_level: list[list[int]], levels: Any, i: int, j: int
    ) -> int:
        """Add a figure of one group against another."""
        of = (a[j if part.whose == "other" else i] for part, a in zip(parts, of_level, strict=True))
        self.figures.append(Figure(curve, tuple(of), f"{levels[i]} above {levels[j]}"))
        return len(self.figures) - 1


def _check_weights(weights: list[float], attribute: Attribute, part: Part, words: str, notion: Notion) -> None:
    if min(weights) <= 0.0:
        empty = ", ".join(f"{level!r}" for level, w in zip(attribute.levels, weights, strict=True) if w <= 0.0)
        found = ", ".join(counts_in_words(attribute.levels, weights))
        which = "" if part.labels is None else f" with {words}" if words else " of every label"
        raise InputError(
            f"notion {notion.name!r} needs rows{which} in every group of {attribute.name!r}, "
            f"found none in {empty} (weight per group: {found}); merge groups, or leave small ones out "
            f"with {spelled('min_size', 'groups=Groups(min_size=...)')}."
        )


def _pairs(n: int, each: bool, even: bool) -> list[tuple[int, int | None]]:
    """Each of n groups by itself, or all pairs, in both orders where phi is not even."""
    if each:
        return [(i, None) for i in range(n)]
    return [pair for i, j in combinations(range(n), 2) for pair in ((i, j), (j, i))[: 1 if even else 2]]


def _place(count: int, averages: tuple[Average, ...]) -> tuple[tuple[tuple[Quantity, Ints], ...], int]:
    """Give every (quantity, cell) that is needed its index in L; the training loss needs all cells."""
    used = {Quantity("loss"): np.ones(count, dtype=bool)}
    for average in averages:
        used.setdefault(average.quantity, np.zeros(count, dtype=bool))[average.cells] = True
    placed, k = [], 0
    for quantity, need in used.items():
        where = np.full(count, -1, dtype=np.intp)
        where[need] = np.arange(k, k + int(need.sum()))
        k += int(need.sum())
        placed.append((quantity, where))
    return tuple(placed), k + 1
