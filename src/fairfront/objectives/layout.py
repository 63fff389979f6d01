"""Layout: which averages of cells the notions compare, and the algebra on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..exceptions import InputError
from .cells import Cells, Ints, merged
from .gaps import Algebra, Gap
from .groups import Attribute
from .losses import Array, Task
from .plan import Contrast, Plan
from .strata import Strata
from .surrogates import Quantity

if TYPE_CHECKING:
    from .question import Question


@dataclass(frozen=True)
class Average:
    """One average that a notion compares: a quantity over some cells."""

    quantity: Quantity
    cells: Ints
    name: str
    labels: tuple[int, ...] | None = None


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
    notes: tuple[str, ...] = ()

    def algebra(self, gap: Gap, ridge: float) -> Algebra:
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
            for average_of, weight_of in contrast.terms:
                signs[average_of, j] += weight_of
        return Algebra(
            p=p,
            B=signs.T @ means,
            b=np.array([c.floor for c in self.contrasts], dtype=np.float64),
            two_sided=np.array([c.two_sided for c in self.contrasts], dtype=bool),
            gap=gap,
            names=("loss", *(c.name for c in self.contrasts)),
            notions=self.notions,
            notion_of=np.array([c.notion for c in self.contrasts], dtype=np.intp),
            means=means,
            signs=signs,
            mean_names=tuple(average.name for average in self.averages),
        )


def build(
    question: Question,
    task: Task,
    labels: Ints,
    attributes: tuple[Attribute, ...],
    sample_weight: Array | None = None,
    strata: Strata | None = None,
) -> tuple[Layout, Algebra]:
    """Lay out what a question asks, whose ridge is known, of rows with these labels and groups.

    With ``strata``, groups are compared inside each of them.
    """
    notions, gap, surrogate = question.notions, question.gap, question.surrogate
    for notion in notions:
        notion.check(task, surrogate)
        if not gap.even and not notion.two_sided:
            raise InputError(
                f"gap {gap.name!r} would reward a larger value of {notion.name!r}, which counts on one side only; "
                "use gap='squared'."
            )
    plan = Plan(labels, attributes, sample_weight, gap.even, strata, question.groups)
    for index, notion in enumerate(notions):
        for place, attribute in enumerate(attributes):
            named = [notion.name] * (len(notions) > 1) + [attribute.name] * (len(attributes) > 1)
            prefix = "".join(f"{part}: " for part in named)
            for comparison in notion.comparisons(task, surrogate):
                plan.compare(comparison, notion, index, place, attribute, prefix)
    everyone = [np.ones(len(plan.atoms.weights), dtype=bool)] * (not plan.averages)
    masks = everyone + [planned.inside for planned in plan.averages]
    cells, into = merged(plan.atoms, np.column_stack(masks), sample_weight)
    placed = tuple(
        Average(planned.quantity, np.unique(into[planned.inside]), planned.name, planned.labels)
        for planned in plan.averages
    )
    quantities, k = _place(cells.count, placed)
    known = (tuple(plan.contrasts), tuple(notion.name for notion in notions))
    layout = Layout(cells, quantities, k, placed, *known, plan.notes())
    return layout, layout.algebra(gap, question.ridge or 0.0)


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
