"""Operating points: from scores to decisions by one cut-off per model, the same for every group.

A cut-off may be fixed, may follow from the share of people to be decided favourably, or from what the two kinds of
mistakes cost. Many models at once: scores are (N, n) and cut-offs (N,).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exceptions import InputError, spelled
from ..objectives import Array
from ..records import Record
from ..validation import check_choice, check_number, check_positive, check_share, refuse
from ..validation.inputs import as_numbers
from .counts import blocks, row_weight

Side = Literal["above", "below"]
NONE_GIVEN = "no operating point was given"
TIED = 1e-12
"""Scores of models that differ by less, relative to the largest, are tied: products of matrices round differently."""


@dataclass(frozen=True)
class Operating:
    """How scores become decisions; at most one of the first three is given."""

    cutoff: float | None = None
    approval_rate: float | None = None
    costs: Mapping[str, float] | None = None
    side: Side | None = None

    @property
    def asked(self) -> str | None:
        """Return the name of the way that was asked for, None for the default."""
        given = [name for name in ("cutoff", "approval_rate", "costs") if getattr(self, name) is not None]
        if len(given) > 1:
            raise InputError(
                f"{' and '.join(map(spelled, given))} were given, expected one way to turn scores into decisions."
            )
        return given[0] if given else None

    @property
    def words(self) -> str:
        """Say the rule without the cut-offs that follow from it."""
        if self.approval_rate is not None:
            return f"approval rate {self.approval_rate:g}"
        if self.costs is not None:
            false_positive, false_negative = check_costs(self.costs)
            return f"least cost, a false positive {false_positive:g} and a false negative {false_negative:g}"
        return NONE_GIVEN if self.cutoff is None else f"cut-off {self.cutoff:g}"

    def check(self, *, probability: bool = False) -> Operating:
        """Refuse values that no rows could make sense of, of scores or of probabilities; put costs in one order."""
        if self.asked == "cutoff" and not 0.0 <= one_number(self.cutoff) <= 1.0 and probability:
            raise refuse("cutoff", self.cutoff, "a probability of the favourable label, from 0 to 1")
        if self.asked == "approval_rate" and _check_rate(self.approval_rate) in (0.0, 1.0):
            raise InputError(
                f"{spelled('approval_rate')} is {self.approval_rate:g}, expected a share between 0 and 1; every row "
                "would get the same decision."
            )
        if self.costs is None:
            return self
        false_positive, false_negative = check_costs(self.costs)
        return replace(self, costs={"false_positive": false_positive, "false_negative": false_negative})

    def refuse(self, found: str) -> None:
        """Refuse any way to a cut-off where nothing is cut."""
        if self.asked is not None:
            raise InputError(f"{spelled(self.asked)} is for scores of two classes, found {found}; leave it out.")

    def place(
        self,
        scores: Array,
        good: NDArray[np.bool_],
        weight: Array | None,
        side: Side = "above",
        *,
        between: bool = True,
    ) -> Array:
        """Return the cut-off of each model on these rows, (N,); scores are (N, n).

        A cut-off that follows from the rows lies midway between two scores, so that a model decides these rows alike
        wherever its scores are computed; without ``between`` it is a score that occurs.
        """
        if self.approval_rate is not None:
            return cutoffs_for_rate(scores, self.approval_rate, weight, side, between=between)
        if self.costs is not None:
            return cutoffs_for_costs(scores, good, self.costs, weight, side, between=between)
        found, low, high = one_number(self.cutoff), scores.min(), scores.max()
        if not low <= found <= high:
            raise InputError(
                f"{spelled('cutoff')} is {found:g}, expected one within the scores, which run from {low:g} to "
                f"{high:g}; every row would get the same decision."
            )
        return np.full(len(scores), found)

    def place_apart(
        self, scores: Array, good: NDArray[np.bool_], weight: Array | None, fold: NDArray[np.intp], side: Side
    ) -> Array:
        """Return the cut-offs (F, N) that each of F folds, (n,) from 0 on, is decided by: placed on the other rows."""
        found = np.empty((int(fold.max()) + 1, len(scores)))
        for model, each in enumerate(scores):
            order = np.argsort(-each, kind="stable")  # sorted rows are sorted again in no time
            for f, placed in enumerate(found):
                rest = order[fold[order] != f]
                part = None if weight is None else weight[rest]
                placed[model] = self.place(each[None, rest], good[rest], part, side)[0]
        return found

    def find(self, scores: Array, good: NDArray[np.bool_], side: Side, weight: Array | None) -> tuple[float, str]:
        """Return the cut-off of one model on these rows, (n,), and in words where it comes from."""
        if self.asked is not None:
            cutoff = float(self.place(scores[None], good, weight, side, between=False)[0])
            if self.approval_rate is not None:
                return cutoff, f"the cut-off nearest to an approval rate of {self.approval_rate:g}"
            return cutoff, "the cut-off given" if self.costs is None else "the cut-off of least cost"
        low, high = scores.min(), scores.max()
        ways = f"give {spelled('cutoff=, approval_rate= or costs=')}."
        if low < 0.0 or high > 1.0:
            raise InputError(
                f"scores run from {low:g} to {high:g} and are not probabilities (0 to 1), expected a cut-off; {ways}"
            )
        if not low <= 0.5 <= high:
            raise InputError(
                f"scores run from {low:g} to {high:g}, so that the default cut-off 0.5 would decide every row alike, "
                f"expected another; {ways}"
            )
        return 0.5, "the default for probabilities"


@dataclass(frozen=True, eq=False, repr=False)
class OperatingPoint(Record):
    """The cut-off of each of N models, (N,), the rule that it follows from, and the rows that it was placed on.

    Cut-offs are on the probability of the favourable label where ``probability`` (N,) says that a model gives one,
    else on the score that speaks for it. A response at or above the cut-off is decided favourably; ``side`` is "below"
    for scores given by a person that speak for the other label.
    """

    rule: Operating
    cutoffs: Array
    probability: NDArray[np.bool_]
    placed_on: str
    side: Side = "above"

    def favoured(self, responses: Array) -> NDArray[np.bool_]:
        return decide(responses, self.cutoffs, self.side)

    def take(self, places: Any) -> OperatingPoint:
        return replace(self, cutoffs=self.cutoffs[places], probability=self.probability[places])

    @property
    def words(self) -> str:
        if self.rule.asked == "cutoff":
            return f"{self.rule.words} for every model"
        return f"{self.rule.words}; one cut-off per model, placed on {self.placed_on}"


def one_number(cutoff: Any) -> float:
    found = as_numbers(cutoff, "cutoff", "expected one number")
    if found.ndim:
        raise InputError(f"cutoff has shape {found.shape}, expected one number: the same for every group.")
    return check_number(cutoff, "cutoff")


def decide(scores: ArrayLike, cutoffs: ArrayLike, side: Side = "above") -> NDArray[np.bool_]:
    """Return who is decided favourably: scores at or above the cut-off, or below it; shapes (N, n) and (N,)."""
    values, limit = np.asarray(scores), np.asarray(cutoffs, dtype=np.float64)[..., None]
    return np.asarray(values >= limit if check_side(side) == "above" else values < limit)


def _check_rate(approval_rate: Any) -> float:
    return check_share(approval_rate, "approval_rate", of=" of people", one=True)


def cutoffs_for_rate(
    scores: ArrayLike,
    approval_rate: float,
    sample_weight: ArrayLike | None = None,
    side: Side = "above",
    *,
    between: bool = False,
) -> Array:
    """Return the cut-off of each model, (N,), whose share of favourable decisions is nearest to a rate.

    Rows with equal scores are decided alike, so the share may differ from the rate asked for; of two that are
    equally near the smaller share is taken. The cut-off is a score that occurs, or, with ``between``, lies midway
    between two of them.
    """
    _check_rate(approval_rate)

    def distance(approved: Array) -> Array:
        return np.asarray(np.abs(approved[0] - approval_rate * approved[0][:, -1:]))

    return _best(scores, sample_weight, [1.0], side, distance, between)


def cutoffs_for_costs(
    scores: ArrayLike,
    is_favourable: ArrayLike,
    costs: Mapping[str, float],
    sample_weight: ArrayLike | None = None,
    side: Side = "above",
    *,
    between: bool = False,
) -> Array:
    """Return the cut-off of each model, (N,), with the least total cost of mistakes on these rows.

    ``costs`` has the cost of a ``false_positive`` (a favourable decision for a row with another label) and of a
    ``false_negative`` (the reverse). The cost at a cut-off chosen on the same rows is smaller than it will be on
    others.
    """
    false_positive, false_negative = check_costs(costs)
    good = np.asarray(is_favourable, dtype=bool)

    def cost(approved: Array) -> Array:
        right, wrong = approved
        return np.asarray(false_positive * wrong + false_negative * (right[:, -1:] - right))

    return _best(scores, sample_weight, [good, ~good], side, cost, between)


def check_side(side: Any) -> Side:
    return "above" if check_choice(side, "favourable_side", get_args(Side)) == "above" else "below"


def check_costs(costs: Mapping[str, float]) -> tuple[float, float]:
    """Return the costs of a false positive and of a false negative."""
    names = ("false_positive", "false_negative")
    if not isinstance(costs, Mapping) or set(costs) != set(names):
        raise refuse("costs", costs, f"a mapping with {names[0]!r} and {names[1]!r}")
    found = [check_positive(costs[name], f"costs[{name!r}]", zero=True) for name in names]
    if not any(found):
        raise InputError(f"{spelled('costs')} are both 0, expected at least one above 0.")
    return found[0], found[1]


def _best(
    scores: ArrayLike, sample_weight: ArrayLike | None, sides: Sequence[Any], side: Side, judged: Any, between: bool
) -> Array:
    """Return the cut-off at which ``judged`` of the approved weights (q, N, n + 1) of q ``sides`` is least."""
    values = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    weight = row_weight(sample_weight, values.shape[1])
    weights = np.stack([weight * rows for rows in sides])
    sign = 1.0 if check_side(side) == "above" else -1.0
    found = [_best_of(sign * values[part], weights, judged, between) for part in blocks(*values.shape)]
    cutoffs = sign * np.concatenate([np.empty(0), *found])
    return cutoffs if side == "above" or between else np.nextafter(cutoffs, np.inf)


def _best_of(values: Array, weights: Array, judged: Any, between: bool) -> Array:
    """Approve 0, 1, ... n rows from the highest score on; only the last row of a tie is a place to stop."""
    order = np.argsort(-values, axis=1, kind="stable")
    ranked = np.take_along_axis(values, order, axis=1)
    approved = np.zeros((len(weights), len(values), values.shape[1] + 1))
    np.cumsum(weights[:, order], axis=2, out=approved[:, :, 1:])
    near = TIED * np.abs(ranked[:, [0, -1]]).max(axis=1, keepdims=True) if between else np.zeros((len(values), 1))
    whole = np.ones((len(values), values.shape[1] + 1), dtype=bool)
    whole[:, 1:-1] = ranked[:, :-1] - ranked[:, 1:] > near
    last = np.argmin(np.where(whole, judged(approved), np.inf), axis=1)
    if not between:
        nobody = np.nextafter(ranked[:, 0], np.inf)
        return np.where(last == 0, nobody, ranked[np.arange(len(values)), last - 1])
    room = np.maximum(near, np.finfo(np.float64).tiny)
    fenced = np.concatenate([ranked[:, :1] + room, ranked, ranked[:, -1:] - room], axis=1)
    place = np.arange(len(values))
    return np.asarray(0.5 * (fenced[place, last] + fenced[place, last + 1]))


def as_costs(given: Any) -> tuple[float, float] | None:
    if given is None or isinstance(given, Mapping):
        return None if given is None else check_costs(given)
    try:
        one, other = (float(part) for part in (given.split(",") if isinstance(given, str) else given))
    except (TypeError, ValueError):
        raise InputError(
            f"{spelled('costs')} is {given!r}, expected two numbers: of a false positive and of a false negative, such "
            "as 5,1."
        ) from None
    return check_costs({"false_positive": one, "false_negative": other})
