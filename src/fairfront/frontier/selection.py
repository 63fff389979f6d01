"""Selection: rules that turn a wish into one point of a frontier, or say what came nearest; and some of its points."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import FairfrontWarning, InputError, spelled
from ..measures.claims import trivial, worst_pair
from ..measures.disclosure import NOTABLE
from ..measures.figures import MORE, Column, larger_is_better
from ..measures.intervals import bonferroni, worst_gap_floor
from ..measures.notion_figures import SCORES
from ..objectives import Array
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

if TYPE_CHECKING:
    from .frontier import Frontier
    from .frontier_columns import FrontierColumns

GAPS = tuple(f"{rate}_gap" for rate in ("tpr", "fpr", "selection", "error", "recall", "precision", *MORE, *SCORES))
"""Gaps of shares, which have intervals."""
Places = NDArray[np.intp]
NEITHER = frozenset({"approval_rate"})
"""Columns of which neither larger nor smaller values are better: they can be bounded from both sides."""
ALONE = ("id", "preference", "knee")
OPPOSITE = {"at_most": "at_least", "at_least": "at_most", "least": "most", "most": "least"}


@dataclass(frozen=True)
class Rule:
    """What is wished for; ``id``, ``preference`` and ``knee`` stand alone.

    ``at_most``, ``at_least`` and ``within`` say which points are allowed, together if several are given, and ``least``
    or ``most`` which of them is best: by default the smallest error. Bounds and what is best are the ends of intervals
    that have to hold with ``confidence`` in the evaluation ``on``, tolerances plain differences. But for ``id`` and
    ``preference``, points that are marked as trivial are passed over.
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

    def place(self, front: FrontierColumns) -> int:
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

    def _by_columns(self, front: FrontierColumns, among: Places) -> int:
        self._check_directions()
        known = front.column_names(self.on) if front.evaluations else ()
        usual = next((name for name in ("error", "mse") if name in known), "loss")
        allowed = np.ones(len(among), dtype=bool)
        for name, bound, sign in self._bounds():
            allowed &= self._values(front, name, sign, among) <= sign * bound
        if not allowed.any():
            raise InputError(self._nothing(front, among))
        for name, tolerance in (self.within or {}).items():
            values = _finite((-1.0 if larger_is_better(name) else 1.0) * front.column(name, self.on)[among], name)
            allowed &= values <= values.min() + tolerance
        if not allowed.any():
            listed = ", ".join(f"{name} within {value:g} of the best" for name, value in (self.within or {}).items())
            raise InputError(f"no point that meets the bounds has {listed}; allow more.")
        self._warn_of_rounding(front, among[allowed])
        asked = self.least or self.most
        best = front.column(asked or usual, self.on, self.confidence if asked else None)[among]
        values = _finite(-best if self.most else best, asked or usual)
        seen = (front.column(asked or usual, self.on) * (-1.0 if self.most else 1.0))[among]
        order = np.lexsort((np.nan_to_num(seen[allowed], nan=np.inf), values[allowed]))  # of equal ends as observed
        return int(among[np.flatnonzero(allowed)[order[0]]])

    def _warn_of_rounding(self, front: FrontierColumns, among: Places) -> None:
        """Say by how much observed figures of rounded counts may be off, where a rule rests on them."""
        asked = [*(self.at_most or {}), *(self.at_least or {}), *filter(None, (self.least, self.most))]
        if self.confidence is not None or not front.evaluations:
            return
        record = front.record(self.on)
        off = {name: float(np.nanmax(record.rounding(name)[among])) for name in asked if record.parts(name)}
        told = [f"{name} by up to {far:.2g}" for name, far in off.items() if far > NOTABLE]
        if told:
            said = f"the rule rests on rounded counts of {record.name}: exact figures may differ ({', '.join(told)})."
            warnings.warn(said, FairfrontWarning, stacklevel=5)

    def _bounds(self) -> list[tuple[str, float, float]]:
        """With 1 for a largest value that is allowed and -1 for a smallest."""
        largest, smallest = (self.at_most or {}).items(), (self.at_least or {}).items()
        return [*((name, bound, 1.0) for name, bound in largest), *((name, bound, -1.0) for name, bound in smallest)]

    def _values(self, front: FrontierColumns, name: str, sign: float, among: Any = slice(None)) -> Array:
        values = front.column(name, self.on, self.confidence)
        if self.confidence is not None and Column.of(name).kind in NEITHER:
            span = front.record(self.on).range(name)
            values = span.high if sign > 0 else span.low
        return _finite(sign * values[among], name)

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

    def _nothing(self, front: FrontierColumns, among: Places) -> str:
        """Say that nothing meets the bounds, which point comes nearest, and what these rows could support at best."""
        over, bounds = np.zeros(len(front)), self._bounds()
        for name, bound, sign in bounds:
            over += np.maximum(self._values(front, name, sign) - sign * bound, 0.0)
        place = int(among[np.argmin(over[among])])
        asked = ", ".join(f"{n} {'<=' if s > 0 else '>='} {b:g}" for n, b, s in bounds)
        found = ", ".join(f"{n} = {front.column(n, self.on, self.confidence)[place]:.4g}" for n, _, _ in bounds)
        surely = "" if self.confidence is None else f" at {self.confidence:.0%} confidence"
        said = [f"no point has {asked}{surely}", f"the nearest is id {front.ids[place]} with {found}"]
        idle = [i for i in front.solved if over[i] < over[place] and i not in among]
        for some, what in (
            ([i for i in idle if over[i] == 0], "would"),
            ([i for i in idle if over[i] > 0], "comes nearer"),
        ):
            if some:
                named = ", ".join(str(front.ids[i]) for i in some)
                said.append(
                    f"id {named} {what}, but gives nearly everyone the same decision, or is no better than chance"
                )
        claims = (self._least_claim(front, name, among) for name, _, _ in bounds)
        said += [text for text in claims if text]
        observed = (
            "" if self.confidence is None else f", or take gaps as observed with {spelled('confidence=None (0)')}"
        )
        return "; ".join([*said, f"allow more, evaluate on more rows or trace further{observed}."])

    def _least_claim(self, front: FrontierColumns, name: str, among: Places) -> str:
        """Say the smallest gap that the evaluation's rows could demonstrate at the rates of some points."""
        record, confidence = front.record(self.on), self.confidence
        if confidence is None or Column.of(name).kind not in GAPS:
            return ""
        parts = record.parts(name)
        sure = bonferroni(confidence, len(parts))
        floors = np.stack([record.figure(part, sure, worst_gap_floor) for part in parts])
        floor = np.fmax.reduce(floors)
        if np.isnan(floor[among]).all():
            return ""
        place = int(among[np.nanargmin(floor[among])])
        pair = worst_pair(record, parts[int(np.nanargmax(floors[:, place]))], place, front.facts.task)
        assert pair is not None
        few = f"{pair.fewest[0]:.0f} and {pair.fewest[1]:.0f} people{pair.label}"
        unit = 10.0 ** (np.floor(np.log10(max(floor[place], 1e-12))) - 1)
        down = np.floor(floor[place] / unit + 1e-9) * unit  # towards 0, so that no upper end is below what is told
        return f"with {few} in the smallest groups, no gap below about {down:.2g} can be demonstrated"


def usable(front: FrontierColumns, on: str | None) -> Places:
    """Return the rows that rules choose among: solved points that are not trivial, or all solved where all are."""
    solved = front.solved
    if not front.evaluations:
        return solved
    found = solved[~trivial(front.record(on), front.facts.task)[solved]]
    return found if len(found) else solved


def plain_place(front: FrontierColumns) -> int:
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


def subset(front: Frontier, ids: Sequence[int]) -> Frontier:
    """Return a frontier of the points with these ids, in their order on the frontier; ids stay."""
    places = sorted({front.place(id) for id in ids})
    evaluations = {name: record.take(places) for name, record in front.evaluations.items()}
    models, points = front.models.take(places), front.points.take(places)
    return replace(front, models=models, points=points, evaluations=evaluations)
