"""Drivers: how much of the gap between the scores of two groups each column carries, and how well it tells the group.

A linear score is a sum over columns, so its gap among the rows that a rate compares is exactly the sum over columns of
coefficient times difference of group means. Other scores are walked from a random person of the one group to one of the
other, column by column in random order (and back in the reverse order): the mean steps are Shapley values of the gap,
by sampling. They add up too, but lead through combinations of columns that nobody has.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from ..exceptions import InputError
from ..frontier.candidates import scores_of
from ..frontier.explanation import linear_score, reasons_of
from ..objectives import Array, Task
from ..objectives.people import FEWEST, STEP
from ..tables import Column
from ..tables.strength import tells_class
from ..validation.inputs import check_matrix, take_rows
from .dossier_layout import Part
from .estimates import Answers, Estimate, by_person, mean, shares_behind
from .sections import Search, Section

WALKS, CELLS = 400, 4_000_000
"""Pairs of people that are walked between, and most entries of the matrix that a model scores for it."""
SHOWN = 15
EXACT = "exact: coefficient times difference of group means, in the unit of scores (log-odds, of logistic regression)"
SAMPLED = (
    "approximate: Shapley values by sampling pairs of people and orders of columns, in the unit of the score that the "
    "model decides by"
)
LEVELS = 20
"""Most values of a column whose people are counted value by value."""


def linear_drivers(
    X: Any, coef: Array, names: Sequence[str], weight: Array, sides: tuple[NDArray[np.bool_], NDArray[np.bool_]]
) -> dict[str, Estimate]:
    """Return, by column, the part of the difference of mean scores of two sets of rows; they add up to it."""
    said = reasons_of(X, coef, 0.0, np.zeros(len(coef)), names, k=1, side="for").contributions
    one, two = sides
    return {
        name: mean(said[:, j], one, weight).less(mean(said[:, j], two, weight))
        for j, name in enumerate(dict.fromkeys(names))
    }


def count_steps(
    X: Any, coef: Array, names: Sequence[str], sides: tuple[NDArray[np.bool_], NDArray[np.bool_]]
) -> dict[str, float]:
    """Return what five people make of a column's part, for columns of a few values which few people of a side have.

    A mean of such a column is a count; beside the coefficients, more digits would give it away.
    """
    said = reasons_of(X, coef, 0.0, np.zeros(len(coef)), names, k=1, side="for").contributions
    found, fewest = {}, min(int(side.sum()) for side in sides)
    for j, name in enumerate(dict.fromkeys(names)):
        values, place = np.unique(said[:, j], return_inverse=True)
        counts = np.stack([np.bincount(place[side], minlength=len(values)) for side in sides])
        if 1 < len(values) <= LEVELS and ((counts > 0) & (counts < FEWEST)).any():
            found[name] = float(STEP / fewest * np.ptp(values))
    return found


def sampled_drivers(
    score: Callable[[Array], Array],
    X: Array,
    names: Sequence[str],
    weight: Array,
    sides: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    seed: int,
    walks: int = WALKS,
) -> dict[str, Estimate]:
    """Return Shapley values of the difference of mean scores of two sets of rows, by column.

    Every pair of rows is walked in one order of columns and in its reverse; the influence is that of pairs.
    """
    random, columns = np.random.default_rng(seed), tuple(dict.fromkeys(names))
    C, place = len(columns), np.array([columns.index(name) for name in names])
    walks = max(2, min(walks, CELLS // (2 * (C + 1) * len(names))))
    one, two = (
        X[random.choice(len(X), size=walks, p=np.where(side, weight, 0.0) / weight[side].sum())] for side in sides
    )
    order = random.permuted(np.tile(np.arange(C), (walks, 1)), axis=1)
    ways = np.stack([order, order[:, ::-1]], axis=1)  # (walks, 2, C)
    rank = np.argsort(ways, axis=2)[:, :, None, place]  # of every column of X: the step at which it moves
    moved = rank < np.arange(C + 1)[:, None]
    paths = np.where(moved, one[:, None, None], two[:, None, None])
    steps = np.diff(score(paths.reshape(-1, len(names))).reshape(walks, 2, C + 1), axis=2)
    found = np.take_along_axis(steps, np.argsort(ways, axis=2), axis=2).mean(axis=1)
    centre = found.mean(axis=0)
    return {name: Estimate(float(centre[j]), (found[:, j] - centre[j]) / walks) for j, name in enumerate(columns)}


def score_of(model: Any, task: Task) -> Callable[[Array], Array]:
    """Return the score for the favourable label that a model decides by, as a function of rows."""
    sign = 1.0 if task.favourable == 1 else -1.0
    method = getattr(model, "response_method", None)

    def score(X: Array) -> Array:
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # names of columns: a matrix has none
            if not isinstance(method, str) or method == "auto":
                return np.asarray(sign * scores_of(model, X, task, "model")[0][0])
            found = np.asarray(getattr(model.estimator_, method)(X))
        return np.asarray(sign * (found if found.ndim == 1 else found[:, 1]))

    return score


def proxy_strength(X: Any, codes: NDArray[np.intp], names: Sequence[str], seed: int) -> dict[str, float]:
    """Return how well each column tells the two groups (codes 0 and 1; -1 neither): AUC on rows it did not learn from.

    Indicators of one column are its levels; of other columns with several, the one that tells most counts.
    """
    halves = np.random.default_rng(seed).random(len(codes)) < 0.5
    found = dict.fromkeys(names, 0.5)
    for name in found:
        own = _dense(X[:, [j for j, each in enumerate(names) if each == name]])
        if own.shape[1] > 1 and np.isin(own, (0.0, 1.0)).all():
            levels = np.where(own.any(axis=1), own.argmax(axis=1), own.shape[1])
            columns = [Column.of_codes(levels.astype(np.int32), map(str, range(own.shape[1] + 1)))]
        else:
            columns = [Column(each) for each in own.T]
        found[name] = max(tells_class(each, codes, halves)[0] for each in columns)
    return found


def _dense(X: Any) -> Array:
    return np.asarray(X.todense() if sp.issparse(X) else X, dtype=np.float64)


class Drivers(Section):
    """What carries the score gap of the incumbent, where its model is known, and of the model that is shown."""

    name = "drivers"

    def find(self, search: Search) -> Mapping[str, Any]:
        try:
            X = check_matrix(take_rows(search.data.X, search.outcome.judge))
        except InputError:
            return {"drivers": []}
        models: list[tuple[str, Any, Answers]] = []
        if search.incumbent.model is not None:
            models.append(("incumbent", search.incumbent.model, search.outcome.incumbent.take(search.outcome.judge)))
        if search.shown is not None:
            shown = search.outcome.candidates[search.shown - 1]
            models.append((f"id {search.shown}", shown.build(), shown.answers))
        found = [_driven(search, X, place, *each) for place in range(len(search.wanted.improve)) for each in models]
        return {"drivers": [each for each in found if each is not None]}

    def parts(self, record: Mapping[str, Any]) -> Iterator[Part]:
        for each in record["drivers"]:
            one, two = each["groups"]
            told = (
                f"Mean score of {one!r} less that of {two!r} ({each['attribute']}) among the rows that "
                f"{each['gap']} compares, judge rows: {each['total']:+.3g}. What columns carry is "
                f"{each['way']}. AUC says how well a column alone tells the two groups, on rows it did not learn from; "
                "0.5 is not at all. Where few people of a group have a value, parts are in steps of five people."
            )
            heads = ["column", "carries", "standard error", "AUC for the group"]
            rows = [
                [line["column"], f"{line['carries']:+.3g}", f"{line['error']:.2g}", f"{line['auc']:.3f}"]
                for line in each["columns"][:SHOWN]
            ]
            more = len(each["columns"]) - SHOWN
            texts = [told, f"{more} more columns carry less; dossier.json has them."] if more > 0 else [told]
            yield Part(f"What carries {each['gap']}: {each['model']}", texts, heads, rows)


def _driven(search: Search, X: Any, place: int, name: str, model: Any, said: Answers) -> dict[str, Any] | None:
    """Return the drivers of one gap; None of groups of few people, and of models that cannot score a matrix."""
    data, pair = search.data, search.outcome.pairs[place]
    which, a, b, rate = pair
    rows = data.sample.take(search.outcome.judge)
    attribute = rows.attributes[which]
    assert attribute.codes is not None
    whole = np.logical_or.reduce([whole for _, whole in shares_behind(rate, rows, said)])
    one, two = (whole & (attribute.codes == group) for group in (a, b))
    if min(one.sum(), two.sum()) < FEWEST or not (hasattr(model, "predict") or callable(model)):
        return None
    known = data.names, rows.weight, (one, two)
    try:
        coef, _ = linear_score(getattr(model, "estimator_", model), data.task.favourable_label)
        found, way, steps = linear_drivers(X, coef, *known), EXACT, count_steps(X, coef, data.names, (one, two))
        found = {column: by_person(each, rows) for column, each in found.items()}
    except InputError:
        try:
            found, way = sampled_drivers(score_of(model, data.task), _dense(X), *known, search.seed), SAMPLED
            steps = {}
        except (TypeError, ValueError, AttributeError, KeyError):  # a model of other columns than numbers
            return None
    codes = np.where(attribute.codes == a, 1, np.where(attribute.codes == b, 0, -1)).astype(np.intp)
    tells = proxy_strength(X, codes, data.names, search.seed)
    told = {column: told_part(each, steps.get(column, 0.0)) for column, each in found.items()}
    order = sorted(found, key=lambda each: -abs(told[each][0]))
    near = STEP / (2.0 * min(int((codes == k).sum()) for k in (0, 1)))  # what five people make of an AUC
    return {
        "gap": search.wanted.improve[place].at(pair).name,
        "model": name,
        "attribute": attribute.name,
        "groups": [attribute.levels[a], attribute.levels[b]],
        "way": way,
        "total": _short(sum(value for value, _ in told.values())),
        "columns": [
            {
                "column": each,
                "carries": told[each][0],
                "error": told[each][1],
                "auc": round(0.5 + near * np.rint((tells[each] - 0.5) / near) if each in steps else tells[each], 3),
            }
            for each in order
        ],
    }


def told_part(each: Estimate, step: float) -> tuple[float, float]:
    """Return a part and its standard error; in steps of five people where few are behind it."""
    if step == 0.0:
        return _short(each.value), _short(each.error)
    return _short(step * np.rint(each.value / step)), _short(step * np.ceil(each.error / step))


def _short(value: float) -> float:
    return float(f"{value:.3g}") + 0.0  # no minus before 0
