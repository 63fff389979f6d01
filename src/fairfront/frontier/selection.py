"""Selection: rules that turn a wish into one point of a frontier, or say what came nearest; and some of its points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from ..measures import Evaluation
from ..measures.evaluation import trivial
from ..measures.figures import Column, larger_is_better
from ..objectives import Array
from ..validation import (
    check_confidence,
    check_flag,
    check_mapping,
    check_number,
    check_positive,
    check_preferences,
    check_text,
    refuse,
)

if TYPE_CHECKING:
    from .frontier import Frontier

Places = NDArray[np.intp]
NEITHER = frozenset({"approval_rate"})
"""Columns of which neither larger nor smaller values are better: they can be bounded from both sides."""


def chosen_place(
    front: Frontier,
    *,
    id: int | None = None,
    at_most: Mapping[str, float] | None = None,
    at_least: Mapping[str, float] | None = None,
    least: str | None = None,
    most: str | None = None,
    within: Mapping[str, float] | None = None,
    preference: Any = None,
    knee: bool = False,
    on: str | None = None,
    confidence: float | None = 0.95,
) -> int:
    """Return the row of the point that a rule picks.

    ``id``, ``preference`` and ``knee`` stand alone. ``at_most``, ``at_least`` and ``within`` say which points are
    allowed, together if several are given, and ``least`` or ``most`` which of them is best: by default the smallest
    error. But for ``id`` and ``preference``, points that are marked as trivial are passed over.
    """
    rules: dict[str, Any] = {"id": id, "at_most": at_most, "at_least": at_least, "least": least, "most": most}
    rules |= {"within": within, "preference": preference, "knee": knee}
    rule = one_rule(rules)
    if confidence is not None:
        check_confidence(confidence)
    if on is not None:
        front.record(on)
    if id is not None:
        return front.place(id)
    if rule == "preference":
        pi = check_preferences(preference, front.objective_names)
        return int(front.solved[nearest_preference(front.objectives[front.solved], pi[0])])
    among = usable(front, on)
    if rule == "knee":
        return int(among[knee_of(front.loss[among], front.gaps[among].max(axis=1))])
    return by_columns(front, rules, among, on, confidence)


def usable(front: Frontier, on: str | None) -> Places:
    """Return the rows that rules choose among: solved points that are not trivial, or all solved where all are."""
    solved = front.solved
    if not front.evaluations:
        return solved
    found = solved[~trivial(front.record(on), front.facts.task)[solved]]
    return found if len(found) else solved


def plain_place(front: Frontier) -> int:
    """Return the row of plain training: the one without multipliers, else that of the smallest loss.

    Losses of weighted fits of a learner are those of held-out rows, where plain training need not be the best.
    """
    free = np.flatnonzero(~np.any(front.multipliers, axis=1)) if front.multipliers.size else np.array([], dtype=int)
    places = free if len(free) else np.arange(len(front))
    return int(places[np.argmin(front.loss[places])])


def knee_of(loss: Array, gap: Array) -> int:
    """Return the point farthest below the chord between the two ends, both axes scaled to [0, 1]."""
    x, y = _scaled(gap), _scaled(loss)
    return int(np.argmin(x + y))


def _scaled(values: Array) -> Array:
    span = float(values.max() - values.min())
    return (values - values.min()) / span if span > 0 else np.zeros_like(values)


def nearest_preference(objectives: Array, pi: Array) -> int:
    """Return the point with the smallest largest pi_i h_i (weighted Chebyshev)."""
    return int(np.argmin((objectives * pi).max(axis=1)))


def by_columns(
    front: Frontier, rules: Mapping[str, Any], among: Places, on: str | None, confidence: float | None
) -> int:
    """Return the point that a rule on columns picks.

    Bounds and what is best are the ends of intervals that have to hold, tolerances plain differences.
    """
    _check_directions(rules)
    known = front.column_names(on) if front.evaluations else ()
    best = rules["least"] or rules["most"] or next((name for name in ("error", "mse") if name in known), "loss")
    asked = rules["least"] or rules["most"]
    allowed = np.ones(len(among), dtype=bool)
    for name, bound, sign in _bounds(rules):
        allowed &= _finite(sign * front.column(name, on, confidence)[among], name) <= sign * bound
    if not allowed.any():
        raise InputError(_nothing(front, list(_bounds(rules)), among, on, confidence))
    for name, tolerance in (rules["within"] or {}).items():
        sign = -1.0 if larger_is_better(name) else 1.0
        values = _finite(sign * front.column(name, on)[among], name)
        allowed &= values <= values.min() + tolerance
    if not allowed.any():
        listed = ", ".join(f"{name} within {value:g} of the best" for name, value in rules["within"].items())
        raise InputError(f"no point that meets the bounds has {listed}; allow more.")
    sign = -1.0 if rules["most"] else 1.0
    values = _finite(sign * front.column(best, on, confidence if asked else None)[among], best)
    return int(among[np.flatnonzero(allowed)[np.argmin(values[allowed])]])


def _bounds(rules: Mapping[str, Any]) -> Iterator[tuple[str, float, float]]:
    """Return bounds with 1 for a largest value that is allowed and -1 for a smallest."""
    yield from ((name, bound, 1.0) for name, bound in (rules["at_most"] or {}).items())
    yield from ((name, bound, -1.0) for name, bound in (rules["at_least"] or {}).items())


def _check_directions(rules: Mapping[str, Any]) -> None:
    """Refuse an upper bound, or the least, of what is better when larger, and the other way round."""
    for name, other, wanted in (
        ("at_most", "at_least", False),
        ("at_least", "at_most", True),
        ("least", "most", False),
        ("most", "least", True),
    ):
        given = rules[name] or ()
        for column in (given,) if isinstance(given, str) else given:
            if Column.of(column).kind not in NEITHER and larger_is_better(column) is not wanted:
                better = "smaller" if wanted else "larger"
                raise InputError(
                    f"{spelled(name)} has {column}, which is better when {better}, expected a column of the other "
                    f"kind; use {spelled(other)} for it."
                )
    for column in rules["within"] or ():
        if Column.of(column).kind in NEITHER:
            instead = f"{spelled('at_most')} or {spelled('at_least')}"
            raise InputError(f"{spelled('within')} has {column}, which has no best value; use {instead}.")


def _finite(values: Array, name: str) -> Array:
    """Return values to be kept small, those that are not defined as infinite."""
    if np.isnan(values).all():
        raise InputError(f"{name} is not defined on these data for any point: a group has no rows that it needs.")
    return np.where(np.isnan(values), np.inf, values)


def _nothing(
    front: Frontier,
    bounds: list[tuple[str, float, float]],
    among: Places,
    on: str | None,
    confidence: float | None,
) -> str:
    """Say that nothing meets the bounds, which point comes nearest, and what these rows could support at best."""
    over = np.zeros(len(front))
    for name, bound, sign in bounds:
        over += np.maximum(_finite(sign * front.column(name, on, confidence), name) - sign * bound, 0.0)
    place = int(among[np.argmin(over[among])])
    asked = ", ".join(f"{n} {'<=' if s > 0 else '>='} {b:g}" for n, b, s in bounds)
    found = ", ".join(f"{n} = {front.column(n, on, confidence)[place]:.4g}" for n, _, _ in bounds)
    surely = "" if confidence is None else f" at {confidence:.0%} confidence"
    least = [text for n, _, _ in bounds if (text := front.least_claim(n, on, confidence, among))]
    idle = [int(i) for i in front.solved if over[i] < over[place] and i not in among]
    observed = "" if confidence is None else f", or take gaps as observed with {spelled('confidence=None (0)')}"
    return (
        f"no point has {asked}{surely}; the nearest is id {front.ids[place]} with {found}; "
        + "".join(_passed_over(front, idle, over))
        + "".join(f"{text}; " for text in least)
        + f"allow more, evaluate on more rows or trace further{observed}."
    )


def _passed_over(front: Frontier, idle: list[int], over: Array) -> Iterator[str]:
    """Say which trivial points meet the bounds, and which come nearer to them than the one that is named."""
    for some, what in (
        ([i for i in idle if over[i] == 0], "would"),
        ([i for i in idle if over[i] > 0], "comes nearer"),
    ):
        if some:
            named = ", ".join(str(front.ids[i]) for i in some)
            yield f"id {named} {what}, but decides nearly everyone alike or no better than chance; "


def _check_kinds(rules: Mapping[str, Any]) -> None:
    """Refuse rules of which a part is not of the kind that it has to be."""
    check_flag(rules["knee"], "knee")
    for name in ("least", "most"):
        if rules[name] is not None and not check_text(rules[name], name, "the name of a column"):
            raise refuse(name, rules[name], "the name of a column")
    for name in ("at_most", "at_least", "within"):
        if rules[name] is None:
            continue
        if not check_mapping(rules[name], name, "{'tpr_gap': 0.02}"):
            raise refuse(name, rules[name], "at least one column, such as {'tpr_gap': 0.02}")
        for column, value in rules[name].items():
            check_number(value, f"{spelled(name)} of {column}")
            if name == "within":
                check_positive(value, f"{spelled(name)} of {column}", zero=True)


ALONE = ("id", "preference", "knee")


def one_rule(rules: Mapping[str, Any]) -> str:
    """Return the name of the rule that was given; rules on columns go together and are called "columns"."""
    _check_kinds(rules)
    given = [name for name, value in rules.items() if value is not None and value is not False]
    alone = [name for name in given if name in ALONE]
    if given == ["within"]:
        raise InputError(
            "within says how much worse than the best another column may be; it goes with least=..., most=..., "
            "at_most=... or at_least=..."
        )
    if not given or (alone and len(given) > 1) or {"least", "most"} <= set(given):
        raise InputError(
            f"select takes exactly one rule of {', '.join(ALONE)}, or of columns (at_most, at_least, within, and one "
            f"of least and most); found {', '.join(given) or 'none'}."
        )
    return alone[0] if alone else "columns"


def subset(front: Frontier, ids: Sequence[int]) -> Frontier:
    """Return a frontier of the points with these ids, in their order on the frontier; ids stay."""
    places = sorted({front.place(id) for id in ids})
    return replace(
        front,
        models=front.models.take(places),
        points=front.points.take(places),
        evaluations={name: _taken(record, places) for name, record in front.evaluations.items()},
    )


def _taken(record: Evaluation, places: list[int]) -> Evaluation:
    """Return the judgement of some of the models; what belongs to groups alone stays."""
    return replace(
        record,
        columns={name: values[places] for name, values in record.columns.items()},
        signed={name: values[places] for name, values in record.signed.items()},
        groups={name: _rates(rates, places) for name, rates in record.groups.items()},
        operating=None if record.operating is None else record.operating.take(places),
        alike=None if record.alike is None else record.alike[places],
    )


def _rates(rates: Any, places: list[int]) -> Any:
    stored = {each.name for each in fields(rates)}
    return replace(rates, **{name: getattr(rates, name)[places] for name in rates.names if name in stored})
