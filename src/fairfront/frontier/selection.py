"""Selection: rules that turn a wish into one point of a frontier, or say what came nearest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from ..measures import Evaluation
from ..measures.claims import trivial
from ..measures.figures import Column, larger_is_better
from ..measures.promises import expected, has_ends, together
from ..measures.sequence import claims, reach
from ..objectives import Array
from ..solvers import Status
from ..validation import (
    check_choice,
    check_confidence,
    check_flag,
    check_mapping,
    check_number,
    check_positive,
    check_text,
    refuse,
)
from ..validation.inputs import check_preferences
from .nearest import Places, nothing_found, training_columns

if TYPE_CHECKING:
    from .frontier_figures import FrontierFigures

NEITHER = frozenset({"approval_rate"})
"""Columns of which neither larger nor smaller values are better: they can be bounded from both sides."""
ALONE = ("id", "preference", "knee")
START = 1 / 8
"""Share of the plain training gap at which the first of two walks starts; fixed on other populations than reported."""
OPPOSITE = {"at_most": "at_least", "at_least": "at_most", "least": "most", "most": "least"}


@dataclass(frozen=True)
class Rule:
    """What is wished for; ``id``, ``preference`` and ``knee`` stand alone.

    ``at_most``, ``at_least`` and ``within`` say which points are allowed, together if several are given, and ``least``
    or ``most`` which of them is best: by default the smallest error in the evaluation ``on``. Bounds hold with
    ``confidence`` for whichever point is taken: ends of single points are taken in the order of the frontier, from two
    points that no rate chooses up to the first that fails (`measures.sequence`). What is least or most is the end that
    holds for all points at once. Without a confidence both are of expected gaps. Tolerances are differences
    of observed figures. But for ``id`` and ``preference``, points that are marked as trivial are passed over.
    """

    id: int | None = None
    at_most: Mapping[str, float] | None = None
    at_least: Mapping[str, float] | None = None
    least: str | None = None
    most: str | None = None
    within: Mapping[str, float] | None = None
    preference: Any = None
    knee: bool = False
    on: str | None = None
    confidence: float | None = 0.95

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Rule:
        for name in given:
            check_choice(name, "rule", [each.name for each in fields(cls)])
        return cls(**given)

    def __post_init__(self) -> None:
        check_flag(self.knee, "knee")
        given = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in ("on", "confidence")}
        given = {name: value for name, value in given.items() if value is not None and (name != "knee" or value)}
        for name, value in given.items():
            if name in ("least", "most") and not check_text(value, name, "the name of a column"):
                raise refuse(name, value, "the name of a column")
            if name in ("at_most", "at_least", "within") and not check_mapping(value, name, "{'tpr_gap': 0.02}"):
                raise refuse(name, value, "at least one column, such as {'tpr_gap': 0.02}")
            for column, bound in value.items() if isinstance(value, Mapping) else ():
                check_number(bound, f"{spelled(name)} of {column}")
                if name == "within":
                    check_positive(bound, f"{spelled(name)} of {column}", zero=True)
        if list(given) == ["within"]:
            raise InputError(
                "within says how much worse than the best another column may be; it goes with least=..., most=..., "
                "at_most=... or at_least=..."
            )
        if not given or (len(given) > 1 and set(ALONE) & set(given)) or {"least", "most"} <= set(given):
            raise InputError(
                f"select takes exactly one rule of {', '.join(ALONE)}, or of columns (at_most, at_least, within, and "
                f"one of least and most); found {', '.join(given) or 'none'}."
            )
        if self.confidence is not None:
            check_confidence(self.confidence)

    def place(self, front: FrontierFigures) -> int:
        if self.on is not None:
            front.record(self.on)
        if self.id is not None:
            return front.place(self.id)
        if self.preference is not None:  # the smallest largest pi_i h_i (weighted Chebyshev)
            pi = check_preferences(self.preference, front.objective_names)[0]
            return int(front.solved[np.argmin((front.objectives[front.solved] * pi).max(axis=1))])
        among = usable(front, self.on)
        if self.knee:  # farthest below the chord between the two ends
            return int(among[np.argmin(_scaled(front.gaps[among].max(axis=1)) + _scaled(front.loss[among]))])
        return self._by_columns(front, among)

    def _by_columns(self, front: FrontierFigures, among: Places) -> int:
        self._check_directions()
        known = front.judged(self.on).columns if front.evaluations else ()
        usual = next((name for name in ("error", "mse") if name in known), "loss")
        allowed = self.allowed(front)[among]
        if not allowed.any():
            raise InputError(nothing_found(self, front, among))
        for name, tolerance in (self.within or {}).items():
            values = _finite((-1.0 if larger_is_better(name) else 1.0) * self.column(front, name)[among], name)
            allowed &= values <= values.min() + tolerance
        if not allowed.any():
            listed = ", ".join(f"{name} within {value:g} of the best" for name, value in (self.within or {}).items())
            raise InputError(f"no point that meets the bounds has {listed}; allow more.")
        asked = self.least or self.most
        best = self._best(front, asked)[among] if asked else self.column(front, usual)[among]
        values = _finite(-best if self.most else best, asked or usual)
        seen = (self.column(front, asked or usual) * (-1.0 if self.most else 1.0))[among]
        order = np.lexsort((np.nan_to_num(seen[allowed], nan=np.inf), values[allowed]))  # of equal ends as observed
        return int(among[np.flatnonzero(allowed)[order[0]]])

    def _best(self, front: FrontierFigures, name: str) -> Array:
        if self.confidence is None and front.evaluations and front.judged(self.on).parts(name):
            return expected(front.judged(self.on), name)
        return self.column(front, name, self.confidence)

    def column(self, front: FrontierFigures, name: str, confidence: float | None = None) -> Array:
        """Return a column of the evaluation that is chosen on, or of training."""
        if name in training_columns(front) or not front.evaluations:
            return front.column(name)
        record = front.judged(self.on)
        return record.figure(name) if confidence is None else together(record, name, confidence)

    def allowed(self, front: FrontierFigures) -> NDArray[np.bool_]:
        """Tell which points meet all bounds, (N,), as far as the evaluation's rows can tell."""
        met = np.ones(len(front), dtype=bool)
        for name, bound, sign in self.bounds():
            met &= self.values(front, name, sign) - sign * bound <= 0.0
        return met

    def bounds(self) -> list[tuple[str, float, float]]:
        """With 1 for a largest value that is allowed and -1 for a smallest."""
        largest, smallest = (self.at_most or {}).items(), (self.at_least or {}).items()
        return [*((name, bound, 1.0) for name, bound in largest), *((name, bound, -1.0) for name, bound in smallest)]

    def values(self, front: FrontierFigures, name: str, sign: float) -> Array:
        """Return what a bound is put on: the smallest that each point is passed at, its own end where it is on no walk.

        Ends of candidates, which lie on no path, hold for all of them at once.
        """
        if name in training_columns(front) or not front.evaluations:
            return _finite(sign * front.column(name), name)
        record = front.judged(self.on)
        if Column.of(name).kind in NEITHER:
            values = record.figure(name)
        elif self.confidence is None:
            values = expected(record, name)
        elif front.facts.trained:
            alone = sum(has_ends(record, each) for each, *_ in self.bounds()) == 1
            values = promised(front, record, name, self.confidence, alone)
        else:
            values = together(record, name, self.confidence)
        return _finite(sign * values, name)

    def _check_directions(self) -> None:
        """Refuse an upper bound, or the least, of what is better when larger, and the other way round."""
        for name, other in OPPOSITE.items():
            given, wanted = getattr(self, name) or (), name in ("at_least", "most")
            for column in (given,) if isinstance(given, str) else given:
                if Column.of(column).kind not in NEITHER and larger_is_better(column) is not wanted:
                    better = "smaller" if wanted else "larger"
                    raise InputError(
                        f"{spelled(name)} has {column}, which is better when {better}, expected a column of the other "
                        f"kind; use {spelled(other)} for it."
                    )
        for column in self.within or ():
            if Column.of(column).kind in NEITHER:
                instead = f"{spelled('at_most')} or {spelled('at_least')}"
                raise InputError(f"{spelled('within')} has {column}, which has no best value; use {instead}.")


def walk(front: FrontierFigures) -> Places:
    """Return the finished points from the largest gap to the smallest and on past zero; the others are left out.

    Points of learners and of rules stand in the order of their multipliers, whatever was measured of them.
    """
    places = front.solved
    if all(front.status[i] in (Status.WEIGHTED, Status.POSTERIOR) for i in places):
        return np.asarray(places)
    past = np.array([front.status[i] is Status.PAST for i in places])
    gap = front.gaps[places].max(axis=1)
    return np.asarray(places[np.lexsort((front.loss[places], np.where(past, gap, -gap)))])


def starts(front: FrontierFigures, path: Places) -> tuple[int, ...]:
    """Return where walks of many claims start on a path: at an eighth of the plain training gap, and at none of it.

    Gaps of learners and of rules are measured, so that theirs start at three quarters of the path and at its end.
    """
    last = len(path) - 1
    if all(front.status[i] in (Status.WEIGHTED, Status.POSTERIOR) for i in path):
        return (3 * last // 4, last)
    past = np.array([front.status[i] is Status.PAST for i in path])
    gap = np.where(past, np.inf, front.gaps[path].max(axis=1))
    wanted = START * float(front.gaps[front.solved].max())
    return int(np.argmin(np.abs(gap - wanted))), int(np.argmin(gap))


def promised(front: FrontierFigures, record: Evaluation, name: str, confidence: float, alone: bool = True) -> Array:
    """Return the smallest bound (largest, of a ratio) on a column that each point of a trace is passed at, (N,).

    ``alone`` says that no other column is bounded with it. Of figures without ends, and of points that no rule takes,
    it is their own.
    """
    values = record.figure(name, confidence)
    if not has_ends(record, name):
        return values
    path, sign, values = walk(front), -1.0 if larger_is_better(name) else 1.0, values.copy()
    path = path[np.isin(path, telling(front, record))]
    ends = sign * claims(record, name, confidence)[path]
    values[path] = sign * reach(ends, () if alone and ends.shape[1] <= 2 else starts(front, path))
    return values


def usable(front: FrontierFigures, on: str | None) -> Places:
    """Return the rows that rules choose among: solved points that are not trivial, or all solved where all are."""
    return telling(front, front.judged(on)) if front.evaluations else front.solved


def telling(front: FrontierFigures, record: Evaluation) -> Places:
    """Return the rows that are `usable` by an evaluation."""
    solved = front.solved
    found = solved[~trivial(record, front.facts.task, front.facts.operating)[solved]]
    return found if len(found) else solved


def plain_place(front: FrontierFigures) -> int:
    """Return the row of plain training: the one without multipliers, else that of the smallest loss.

    Losses of weighted fits of a learner are those of held-out rows, where plain training need not be the best.
    """
    free = np.flatnonzero(~np.any(front.multipliers, axis=1)) if front.multipliers.size else np.array([], dtype=int)
    places = free if len(free) else np.arange(len(front))
    return int(places[np.argmin(front.loss[places])])


def _scaled(values: Array) -> Array:
    span = float(values.max() - values.min())
    return (values - values.min()) / span if span > 0 else np.zeros_like(values)


def _finite(values: Array, name: str) -> Array:
    if np.isnan(values).all():
        raise InputError(f"{name} is not defined on these data for any point: a group has no rows that it needs.")
    return np.where(np.isnan(values), np.inf, values)
