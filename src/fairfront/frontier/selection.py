"""Selection: rules that turn a wish into one point of a frontier, or say what came nearest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import InputError
from ..measures.figures import larger_is_better
from ..objectives import Array
from ..validation import check_preferences

if TYPE_CHECKING:
    from .frontier import Frontier

Column = Callable[[str], Array]


def chosen_place(
    front: Frontier,
    rules: Mapping[str, Any],
    within: Mapping[str, float] | None,
    on: str | None,
    confidence: float | None,
) -> int:
    """Return the row of the point that the one rule given picks."""
    if within is not None and rules["least"] is None:
        raise InputError("within says how much worse than the best the least may be; it goes with least=...")
    for rates in (rules["at_most"], within):
        if rates is not None and not isinstance(rates, Mapping):
            raise InputError(f"expected a mapping such as {{'tpr_gap': 0.02}}, found {rates!r}.")
    rule = one_rule(rules)
    if rule == "id":
        return front.place(rules["id"])
    solved = front.solved
    if rule == "knee":
        found = knee(front.loss[solved], front.gaps[solved].max(axis=1))
    elif rule == "preference":
        pi = check_preferences(rules["preference"], front.objective_names)
        found = nearest_preference(front.objectives[solved], pi[0])
    else:
        found = by_rates(front, rules["at_most"], rules["least"], within, on, confidence)
    return int(solved[found])


def plain_place(front: Frontier) -> int:
    """Return the row of plain training: the one without multipliers, else that of the smallest loss.

    Losses of weighted fits of a learner are those of held-out rows, where plain training need not be the best.
    """
    free = np.flatnonzero(~np.any(front.multipliers, axis=1)) if front.multipliers.size else np.array([], dtype=int)
    places = free if len(free) else np.arange(len(front))
    return int(places[np.argmin(front.loss[places])])


def knee(loss: Array, gap: Array) -> int:
    """Return the point farthest below the chord between the two ends, both axes scaled to [0, 1]."""
    x, y = _scaled(gap), _scaled(loss)
    return int(np.argmin(x + y))


def _scaled(values: Array) -> Array:
    span = float(values.max() - values.min())
    return (values - values.min()) / span if span > 0 else np.zeros_like(values)


def nearest_preference(objectives: Array, pi: Array) -> int:
    """Return the point with the smallest largest pi_i h_i (weighted Chebyshev)."""
    return int(np.argmin((objectives * pi).max(axis=1)))


def by_rates(
    front: Frontier,
    at_most: Mapping[str, float] | None,
    least: str | None,
    within: Mapping[str, float] | None,
    on: str | None,
    confidence: float | None,
) -> int:
    """Return the point that a rule on columns picks; caps and gaps are upper ends, tolerances plain differences."""

    def vouched(name: str) -> Array:
        return front.column(name, on, confidence)[front.solved]

    def plain(name: str) -> Array:
        return front.column(name, on)[front.solved]

    for name in (*(at_most or {}), *(within or {}), *([least] if least else [])):
        if larger_is_better(name):
            raise InputError(f"{name} is better when larger, expected a column where smaller is better, such as error.")
    if least is not None:
        return smallest(vouched, plain, least, within or {})
    assert at_most is not None
    judged = front.column_names(on) if front.evaluations else ()
    best = next((name for name in ("error", "mse") if name in judged), "loss")
    return capped(front, vouched, at_most, plain(best), on, confidence)


def capped(
    front: Frontier, column: Column, caps: Mapping[str, float], best: Array, on: str | None, confidence: float | None
) -> int:
    """Return the point with the smallest ``best`` among those whose columns are within their caps."""
    allowed = np.ones(len(best), dtype=bool)
    for name, cap in caps.items():
        allowed &= _finite(column(name), name) <= cap
    if not allowed.any():
        raise InputError(_nothing(front, column, caps, on, confidence))
    return int(np.flatnonzero(allowed)[np.argmin(best[allowed])])


def smallest(vouched: Column, plain: Column, name: str, within: Mapping[str, float]) -> int:
    """Return the smallest ``name`` among points at most ``within`` above the smallest of those columns."""
    allowed = np.ones(len(plain(name)), dtype=bool)
    for other, tolerance in within.items():
        values = _finite(plain(other), other)
        allowed &= values <= values.min() + tolerance
    values = np.where(allowed, _finite(vouched(name), name), np.inf)
    return int(np.argmin(values))


def _finite(values: Array, name: str) -> Array:
    if np.isnan(values).all():
        raise InputError(f"{name} is not defined on these data for any point: a group has no rows that it needs.")
    return np.where(np.isnan(values), np.inf, values)


def _nothing(
    front: Frontier, column: Column, caps: Mapping[str, float], on: str | None, confidence: float | None
) -> str:
    """Say that nothing meets the caps, which point comes nearest, and what these rows could vouch for at best."""
    over = sum(np.maximum(_finite(column(n), n) - c, 0.0) for n, c in caps.items())
    place = int(np.argmin(over))
    asked = ", ".join(f"{n} <= {c:g}" for n, c in caps.items())
    found = ", ".join(f"{n} = {column(n)[place]:.4g}" for n in caps)
    surely = "" if confidence is None else f" at {confidence:.0%} confidence"
    least = [text for n in caps if (text := front.least_claim(n, on, confidence))]
    return (
        f"no point has {asked}{surely}; the nearest is id {front.ids[front.solved[place]]} with {found}; "
        + "".join(f"{text}; " for text in least)
        + "allow more, evaluate on more rows, trace further, or take gaps as observed with confidence=None (0)."
    )


def one_rule(rules: Mapping[str, Any]) -> str:
    """Return the name of the single rule that was given."""
    given = [name for name, value in rules.items() if value is not None and value is not False]
    if len(given) != 1:
        raise InputError(f"select takes exactly one rule of {', '.join(rules)}, found {', '.join(given) or 'none'}.")
    return given[0]
