"""What is known of a frontier: one table of its points, and the facts of what it was made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..measures import Evaluation
from ..measures.cutoffs import Operating
from ..measures.figures import Column, figure_of
from ..objectives import (
    NOTIONS,
    RATE_OF,
    Algebra,
    Array,
    Attribute,
    Objectives,
    Question,
    Task,
    kinds_of,
    proxy_sentences,
    rates_of,
)
from ..pareto import nondominated
from ..records import Record
from ..solvers import Status
from ..validation import shown

ARRAYS = ("objectives", "gaps", "signed_gaps", "preferences", "kkt", "certified", "multipliers", "ids")
"""Fields with one row per point; ``status`` has one too, and is a tuple."""
DECISION = "decision"
"""The surrogate of models that were judged and not trained here: their gaps are those of decisions."""
UNITS = {"loss": "loss gap", "rate": "smooth rate gap", DECISION: "rate gap"}
Named = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, eq=False, repr=False)
class Points(Record):
    """What is known of N points, one row each: objectives (N, m), worst gap per notion, signed gaps per pair.

    ``preferences`` (N, m) and ``kkt`` (N,) are NaN where there are none, ``multipliers`` (N, 0) likewise.
    """

    ids: NDArray[np.intp]
    objectives: Array
    gaps: Array
    signed_gaps: Array
    status: tuple[Status, ...]
    preferences: Array
    kkt: Array
    certified: NDArray[np.bool_]
    multipliers: Array
    objective_names: tuple[str, ...]
    multiplier_names: tuple[str, ...] = ()

    @classmethod
    def of_gaps(cls, algebra: Algebra, loss: Array, z: Array, status: Status, **known: Any) -> Points:
        """Return points of losses (N,) and signed gaps (N, q) that were measured, all of one status."""
        sizes = algebra.violation(z)
        assert algebra.notion_of is not None
        worst = [sizes[:, algebra.notion_of == i].max(axis=1) for i in range(len(algebra.notions))]
        phi = algebra.gap.value(np.where(algebra.two_sided, z, np.maximum(z, 0.0)))
        objectives = np.column_stack([loss, phi])
        return cls.new(objectives, np.stack(worst, axis=1), z, algebra.names, (status,) * len(z), **known)

    @classmethod
    def new(
        cls,
        objectives: Array,
        gaps: Array,
        signed_gaps: Array,
        objective_names: tuple[str, ...],
        status: tuple[Status, ...],
        **known: Any,
    ) -> Points:
        """Ids start at 0; what is not ``known`` of the points says so."""
        N = len(objectives)
        unknown = {
            "ids": np.arange(N),
            "preferences": np.full(objectives.shape, np.nan),
            "kkt": np.full(N, np.nan),
            "certified": np.zeros(N, dtype=bool),
            "multipliers": np.zeros((N, 0)),
        }
        given = {"objectives": objectives, "gaps": gaps, "signed_gaps": signed_gaps, "status": status}
        return cls(**{**unknown, **given, **known}, objective_names=objective_names)

    @classmethod
    def from_values(cls, algebra: Algebra, L: Array, status: tuple[Status, ...], **known: Any) -> Points:
        return cls.new(algebra.objectives(L), algebra.worst(L), algebra.gaps(L), algebra.names, status, **known)

    @classmethod
    def of_record(cls, record: Evaluation, task: Task, notions: tuple[str, ...]) -> Points:
        """Objectives are the error of models that were judged and, per notion, the worst gap of its rates."""
        best, gaps = "mse" if task.kind == "regression" else "error", []
        known = [name for name in (*NOTIONS, *RATE_OF) if task.kind in kinds_of(name)]
        for notion in notions:
            if notion not in known:
                named = f"one of {', '.join(known)} for {task.kind} labels"
                raise InputError(f"notion is {shown(notion)}, expected {named}.")
            wanted = [f"{rate}_gap" for rate in rates_of((notion,), task)]
            found = [values for name, values in record.columns.items() if Column.of(name).kind in wanted]
            gaps.append(np.fmax.reduce(np.stack(found), axis=0))
        worst = np.column_stack(gaps)
        axes = np.column_stack([record.columns[best], worst])
        efficient = nondominated(np.where(np.isnan(axes), np.inf, axes))
        status = tuple(Status.GIVEN if good else Status.DOMINATED for good in efficient)
        return cls.new(axes, worst, worst, (best, *notions), status)

    def __len__(self) -> int:
        return len(self.objectives)

    @property
    def loss(self) -> Array:
        return np.asarray(self.objectives[:, 0])


def _column(name: str, doc: str) -> Any:
    return property(attrgetter(f"points.{name}"), doc=doc)


class PointColumns:
    """The columns of the table of points as attributes of a frontier."""

    points: Points
    ids: NDArray[np.intp] = _column("ids", "Stable names of the points, (N,).")
    loss: Array = _column("loss", "Training loss with its ridge, (N,).")
    objectives: Array = _column("objectives", "The paper's vector, (N, m): loss with ridge, then phi of every pair.")
    objective_names: tuple[str, ...] = _column("objective_names", "Names of the objectives, (m,).")
    gaps: Array = _column("gaps", "Worst gap per notion in training, (N, notions), in ``facts.unit``: no rate gaps.")
    signed_gaps: Array = _column("signed_gaps", "The gap of every pair of groups with its sign, (N, m - 1).")
    status: tuple[Status, ...] = _column("status", "Why each point stopped where it is.")
    preferences: Array = _column("preferences", "Preferences that led to the points, (N, m), NaN where none did.")
    kkt: Array = _column("kkt", "KKT residual of points solved by Newton, (N,), NaN for others.")
    certified: NDArray[np.bool_] = _column("certified", "Which points are known to be the global optimum at their gap.")
    multipliers: Array = _column(
        "multipliers",
        "How much the training loss would fall if the gap were allowed to grow, per unit of gap, signed, (N, ...): per "
        "pair for two groups and per group for more. They are not prices in accuracy.",
    )
    multiplier_names: tuple[str, ...] = _column("multiplier_names", "Pairs or groups of the columns of multipliers.")


def multipliers_of(algebra: Algebra, pairs: Array) -> dict[str, Any]:
    """Per pair for two groups; for more those are not unique, but their sums over a group are."""
    assert algebra.signs is not None
    if (np.abs(algebra.signs).sum(axis=1) <= 1).all():
        return {"multipliers": pairs, "multiplier_names": algebra.names[1:]}
    return {"multipliers": pairs @ algebra.signs.T, "multiplier_names": algebra.mean_names}


def _sentence(name: str, task: Task) -> str:
    """Say what a notion, or a metric, compares."""
    return NOTIONS[name]().sentence(task) if name in NOTIONS else f"Groups are compared by {figure_of(name).heading}."


def unit_of(question: Question) -> str:
    """Return the unit of gaps in training; that of notions with different ones has no name."""
    found = {notion.unit or UNITS[question.surrogate] for notion in question.notions}
    return found.pop() if len(found) == 1 else "gap"


@dataclass(frozen=True, repr=False)
class Facts(Record):
    """What a frontier was made from, in words and names; no rows or labels.

    ``sensitive`` maps each attribute to its groups, the reference last; ``left_out`` names the groups that
    were too small for the gaps, ``missing`` the attributes that some rows lack (those count in the loss alone);
    ``largest`` names the attributes whose reference is their largest group because none was named;
    ``unit`` is that of ``Frontier.gaps``, and ``measured_on`` says which rows losses and gaps are of;
    ``question`` has the settings that lay out the same problem;
    ``heuristic`` says that weights of some fits were negative; ``rule`` is the operating point of models that have it
    inside, in words, and ``inside`` as it was asked for; ``proxies`` are the attributes whose groups were given as
    probabilities.
    """

    task: Task
    notions: tuple[str, ...]
    sentences: tuple[str, ...]
    surrogate: str
    loss: str
    gap: str
    ridge: float
    sensitive: Named
    left_out: Named
    solver: str
    unit: str
    missing: tuple[str, ...] = ()
    favourable_was_given: bool = True
    largest: tuple[str, ...] = ()
    question: Question | None = field(default=None, repr=False)
    used_for: str = "training weights and evaluation; predictions do not need it"
    measured_on: str = "training"
    heuristic: bool = False
    rule: str = ""
    inside: Mapping[str, Any] | None = field(default=None, repr=False)
    proxies: tuple[str, ...] = ()

    @property
    def operating(self) -> Operating | None:
        """How models decide that have their operating point inside."""
        return None if self.inside is None else Operating(**self.inside)

    @classmethod
    def of(cls, objectives: Objectives, solver: Any) -> Facts:
        question, attributes = objectives.question, objectives.attributes
        assert question.ridge is not None
        return cls(
            task=objectives.task,
            notions=objectives.algebra.notions,
            sentences=objectives.sentences(),
            surrogate=question.surrogate,
            loss=question.loss.name,
            gap=objectives.algebra.gap.name,
            ridge=question.ridge,
            solver=repr(solver),
            unit=unit_of(question),
            missing=tuple(a.name for a in attributes if a.n_missing),
            favourable_was_given=objectives.favourable_was_given,
            question=question,
            **cls.of_groups(attributes),
        )

    @classmethod
    def of_record(
        cls, record: Evaluation, task: Task, notions: tuple[str, ...], attributes: Sequence[Attribute], **known: Any
    ) -> Facts:
        """Of models that were judged; ``known`` are further fields."""
        groups = cls.of_groups(attributes)
        return cls(
            task=task,
            notions=notions,
            sentences=(*(_sentence(name, task) for name in notions), *proxy_sentences(groups["proxies"])),
            surrogate=DECISION,
            loss="mse" if task.kind == "regression" else "error",
            gap="absolute",
            ridge=0.0,
            unit="value gap" if task.kind == "regression" else UNITS[DECISION],
            measured_on=record.name,
            **groups,
            **{"solver": "given by the user", "used_for": "evaluation; nothing was trained here", **known},
        )

    @classmethod
    def of_groups(cls, attributes: Sequence[Attribute]) -> dict[str, Any]:
        out = [(a.name, a.left_out) for a in attributes if a.left_out]
        return {
            "sensitive": tuple((a.name, a.levels) for a in attributes),
            "left_out": tuple((name, tuple(level for level, _ in levels)) for name, levels in out),
            "largest": tuple(a.name for a in attributes if a.largest),
            "proxies": tuple(a.name for a in attributes if a.is_proxy),
        }

    @property
    def trained(self) -> bool:
        return self.surrogate != DECISION

    @property
    def loss_name(self) -> str:
        """Of candidates the error or the mean squared error of their evaluation, of rules their error or cost."""
        return self.loss if self.rule or not self.trained else "loss"

    @property
    def gap_column(self) -> str:
        """That of the worst training gap over all notions."""
        return self.unit.replace(" ", "_")

    @property
    def gap_columns(self) -> tuple[str, ...]:
        """``loss_gap`` or ``smooth_rate_gap``, one per notion."""
        name = self.gap_column
        return (name,) if len(self.notions) == 1 else tuple(f"{notion}.{name}" for notion in self.notions)
