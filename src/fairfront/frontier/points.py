"""What is known of a frontier: one table of its points, and the facts of what it was made from."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import FairfrontWarning, InputError
from ..objectives import GAPS, LOSSES, NOTIONS, Algebra, Array, Attribute, Groups, Objectives, Question, Task
from ..objectives.groups import FEWEST
from ..solvers import Newton, Status
from ..solvers.base import Path
from ..validation import Registry
from .models import Places, task_content, task_of

ARRAYS = ("objectives", "gaps", "signed_gaps", "preferences", "kkt", "certified", "multipliers", "ids")
"""Fields with one row per point; ``status`` has one too, and is a tuple."""
UNNAMED = f"(a group of fewer than {FEWEST} rows)"
DECISION = "decision"
"""The surrogate of models that were judged and not trained here: their gaps are those of decisions."""
UNITS = {"loss": "loss gap", "rate": "smooth rate gap", DECISION: "rate gap"}
REGISTRIES: dict[str, Registry[Any]] = {"notion": NOTIONS, "loss": LOSSES, "gap": GAPS}
SETTINGS: dict[str, type] = {"groups": Groups, "newton": Newton}
Named = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, eq=False)
class Points:
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

    def __len__(self) -> int:
        return len(self.objectives)

    @property
    def loss(self) -> Array:
        return np.asarray(self.objectives[:, 0])

    def take(self, places: Places) -> Points:
        rows = np.asarray(places, dtype=np.intp)
        some = {name: getattr(self, name)[rows] for name in ARRAYS}
        return replace(self, status=tuple(self.status[i] for i in rows), **some)

    def concat(self, other: Points) -> Points:
        """The other's points get new ids; multipliers go where theirs are not alike."""
        parts = [self, replace(other, ids=self.ids.max() + 1 + np.arange(len(other)))]
        if self.multipliers.shape[1] != other.multipliers.shape[1]:
            parts = [replace(part, multipliers=np.zeros((len(part), 0))) for part in parts]
        joined: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in ARRAYS}
        return replace(self, status=(*self.status, *other.status), **joined)


def multipliers_of(algebra: Algebra, pairs: Array) -> dict[str, Any]:
    """Per pair for two groups; for more those are not unique, but their sums over a group are."""
    assert algebra.signs is not None
    if (np.abs(algebra.signs).sum(axis=1) <= 1).all():
        return {"multipliers": pairs, "multiplier_names": algebra.names[1:]}
    return {"multipliers": pairs @ algebra.signs.T, "multiplier_names": algebra.mean_names}


@dataclass(frozen=True)
class Facts:
    """What a frontier was made from, in words and names; no rows, labels or counts of small groups.

    ``sensitive`` maps each attribute to its groups, the reference last; ``left_out`` names the groups that
    were too small for the gaps, ``unnamed`` those of them with so few rows that no output names them,
    ``missing`` the attributes that some rows lack (those count in the loss alone);
    ``largest`` names the attributes whose reference is their largest group because none was named;
    ``unit`` is that of ``Frontier.gaps``, and ``measured_on`` says which rows losses and gaps are of;
    ``question``, ``newton`` and ``path`` are the settings that lay out the same problem and solve it again;
    ``heuristic`` says that weights of some fits were negative; ``proxies`` are the attributes whose groups were given
    as probabilities.
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
    newton: Newton = field(default_factory=Newton, repr=False)
    path: Path = "worst_gap"
    used_for: str = "training weights and evaluation; predictions need no sensitive feature"
    measured_on: str = "training"
    heuristic: bool = False
    proxies: tuple[str, ...] = ()
    unnamed: Named = field(default=(), repr=False)

    @classmethod
    def of(cls, objectives: Objectives, solver: Any, path: Path = "worst_gap") -> Facts:
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
            unit=UNITS[question.surrogate],
            missing=tuple(a.name for a in attributes if a.n_missing),
            favourable_was_given=objectives.favourable_was_given,
            question=question,
            newton=solver if isinstance(solver, Newton) else Newton(),
            path=path,
            **cls.of_groups(attributes),
        )

    @classmethod
    def of_groups(cls, attributes: Sequence[Attribute]) -> dict[str, Any]:
        out = [(a.name, a.left_out) for a in attributes if a.left_out]
        few = [(name, tuple(level for level, n in levels if n < FEWEST)) for name, levels in out]
        return {
            "sensitive": tuple((a.name, a.levels) for a in attributes),
            "left_out": tuple((name, tuple(level for level, _ in levels)) for name, levels in out),
            "unnamed": tuple((name, levels) for name, levels in few if levels),
            "largest": tuple(a.name for a in attributes if a.largest),
            "proxies": tuple(a.name for a in attributes if a.is_proxy),
        }

    @property
    def trained(self) -> bool:
        return self.surrogate != DECISION

    @property
    def told_left_out(self) -> Named:
        """As outputs name them."""
        few = dict(self.unnamed)
        return tuple(
            (name, tuple(UNNAMED if level in few.get(name, ()) else level for level in levels))
            for name, levels in self.left_out
        )

    @property
    def loss_name(self) -> str:
        """Of candidates the error or the mean squared error of their evaluation."""
        return "loss" if self.trained else self.loss

    @property
    def gap_column(self) -> str:
        """That of the worst training gap over all notions."""
        return self.unit.replace(" ", "_")

    @property
    def gap_columns(self) -> tuple[str, ...]:
        """``loss_gap`` or ``smooth_rate_gap``, one per notion."""
        name = self.gap_column
        return (name,) if len(self.notions) == 1 else tuple(f"{notion}.{name}" for notion in self.notions)

    def to_content(self) -> dict[str, Any]:
        """Return facts for JSON, without names of very small groups; warn where an own class keeps the question out.

        Settings are found again by name in the registries; one of a user's own class has no name to be found by: then
        the question stays out, and with it what solves points again.
        """
        special = ("task", "left_out", "unnamed", "question", "newton")
        asked = {} if self.question is None else _parameters(self.question)
        try:
            kept = {name: _content(value) for name, value in asked.items()}, _content(self.newton)
        except LookupError as error:
            warnings.warn(
                f"{error.args[0]} is not registered, so the settings are not saved: refine and stability will not be "
                "available after loading; register it to keep them.",
                FairfrontWarning,
                stacklevel=2,
            )
            kept = {}, _content(Newton())
        return {
            "task": task_content(self.task),
            "left_out": self.told_left_out,
            "question": kept[0],
            "newton": kept[1],
            "plain": {name: value for name, value in _parameters(self).items() if name not in special},
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Facts:
        plain = {name: _tuples(value) for name, value in content["plain"].items()}
        unknown = set(plain) - {each.name for each in fields(cls)}
        if unknown:
            raise InputError(f"facts have {min(unknown)!r}, which this version does not know; upgrade fairfront.")
        asked = {name: _of_content(value) for name, value in content["question"].items()}
        return cls(
            task=task_of(content["task"]),
            left_out=_tuples(content["left_out"]),
            question=Question(**asked) if asked else None,
            newton=_of_content(content["newton"]),
            **plain,
        )


def _parameters(value: Any) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in fields(value) if each.init}


def _content(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return {"are": [_content(each) for each in value]}
    name = getattr(value, "name", "")
    for kind, registry in REGISTRIES.items():
        if name in registry and type(value) is registry[name]:
            return {"is": kind, "name": name, "with": _parameters(value)}
    for kind, known in SETTINGS.items():
        if type(value) is known:
            return {"is": kind, "with": _parameters(value)}
    if value is None or isinstance(value, (str, int, float, np.generic)):
        return {"value": value}
    raise LookupError(type(value).__name__)


def _of_content(content: Mapping[str, Any]) -> Any:
    if "are" in content:
        return tuple(_of_content(each) for each in content["are"])
    if "is" not in content:
        return content["value"]
    kind = content["is"]
    if kind in SETTINGS:
        return SETTINGS[kind](**content["with"])
    if kind not in REGISTRIES:
        raise InputError(f"a setting is a {kind!r}, which this version does not know; upgrade fairfront.")
    return REGISTRIES[kind][content["name"]](**content["with"])


def _tuples(value: Any) -> Any:
    return tuple(_tuples(each) for each in value) if isinstance(value, list) else value
