"""Several ridges in one frontier: at every gap the points of the ridge whose held-out error is smallest there.

A ridge that is right for plain training is too small at a small gap: closing a gap between training rows fits them
more closely. Paths of all ridges are traced on one sorted copy of the rows, each plain fit from the last one's. A point
stays where, at its own held-out gap, no other path has a smaller held-out error; between two points errors are
interpolated. Paths are compared by errors, never by their gaps, so that no gap is chosen for being small by luck.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..objectives import Array, rates_of
from ..problems import LinearProblem
from ..solvers import Status
from ..validation import check_positive, refuse
from .frontier import Frontier
from .held_out import HELD_OUT, HeldOut
from .linear_models import LinearModels

MOST_RIDGES = 20


def as_ridges(ridge: Any) -> tuple[float, ...] | None:
    """Return several ridges in ascending order, None where one was given, or none."""
    if not isinstance(ridge, (list, tuple, np.ndarray)):
        return None
    expected = f"a number, or 2 to {MOST_RIDGES} different ones above 0"
    given = ridge.ravel().tolist() if isinstance(ridge, np.ndarray) else ridge
    if len(given) > MOST_RIDGES:
        raise refuse("ridge", ridge, expected)
    found = sorted({check_positive(each, "ridge") for each in given})
    if len(found) < 2:
        raise refuse("ridge", ridge, expected)
    return tuple(found)


def read_ridge(given: Any) -> Any:
    """Return one ridge, or several as numbers, of what a person wrote: "0.01", or "0.01,0.1"."""
    if not isinstance(given, str):
        return tuple(given) if isinstance(given, (list, np.ndarray)) else given
    try:
        found = tuple(float(part) for part in given.split(","))
    except ValueError:
        raise refuse("ridge", given, "a number of at least 0, or several above 0, such as 0.001,0.01") from None
    return found[0] if len(found) == 1 else found


def trace_ridges(
    problem: LinearProblem,
    ridges: Sequence[float],
    held: HeldOut | None,
    trace: Callable[[LinearProblem, HeldOut], Frontier],
) -> Frontier:
    """Trace a problem with every ridge and join what stays; ``trace`` traces one and judges its points."""
    if held is None:
        raise InputError(
            "several ridges are compared by held-out errors, found held_out=False; leave it out, or give one ridge."
        )
    fronts, scores, ways, begin = [], [], list[tuple[str, int]](), None
    for ridge in ridges:
        kept: list[tuple[Array, str, int]] = []
        front = trace(problem.with_ridge(ridge, begin), replace(held, asked=True, kept=kept))
        fronts.append(front)
        scores.append(kept[0][0])
        ways.append(kept[0][1:])
        begin = problem.narrowed(front.models.weights[front.plain][None])[0]
    return held.joined(*_joined(fronts, scores), *ways[0])


def _joined(fronts: Sequence[Frontier], scores: Sequence[Array]) -> tuple[Frontier, Array]:
    """Return the frontier of all points that stay, from the plain one on, and their held-out scores."""
    curves = [_curve(front) for front in fronts]
    chosen: list[tuple[float, int, int]] = []
    for which, (level, error) in enumerate(curves):
        for place, here in enumerate(level):
            others = [_at(*curve, here) for other, curve in enumerate(curves) if other != which]
            own = _at(level, error, here)
            if not any(each < own or (each == own and other < which) for other, each in enumerate(others)):
                chosen.append((-float(here), which, place))
    plain = min(range(len(fronts)), key=lambda which: curves[which][1][fronts[which].plain])
    widest = -float(curves[plain][0][fronts[plain].plain])
    inside = [(at, which, place) for at, which, place in chosen if at > widest]
    order = [(widest, plain, fronts[plain].plain), *sorted(inside)]
    starts = np.cumsum([0, *map(len, fronts)])
    rows = [int(starts[which]) + place for _, which, place in order]
    models, points = fronts[0].models, fronts[0].points
    assert isinstance(models, LinearModels)
    for front in fronts[1:]:
        assert isinstance(front.models, LinearModels)
        models, points = models.concat(front.models), points.concat(front.points)
    points = replace(points.take(rows), ids=np.arange(len(rows)))
    first = fronts[0].facts
    facts = replace(first, sentences=(*first.sentences, _said(fronts, [which for _, which, _ in order])))
    return Frontier(models.take(rows), points, facts), np.concatenate(scores)[rows]


def _said(fronts: Sequence[Frontier], used: Sequence[int]) -> str:
    named = [f"{front.facts.ridge:.3g}" for front in fronts]
    taken = ", ".join(named[which] for which in sorted(set(used)))
    return (
        f"Ridges {', '.join(named)} were traced; at every gap the points are those of the ridge with the smallest "
        f"held-out error there ({taken}). Held-out errors of what was chosen by them are somewhat too small."
    )


def _curve(front: Frontier) -> tuple[Array, Array]:
    """Return held-out gaps and errors along a path, (N,) each; past zero gaps count as below it."""
    record, task = front.evaluations[HELD_OUT], front.facts.task
    names = [f"{rate}_gap" for rate in rates_of(front.facts.notions, task)]
    gaps = [record.figure(name) for name in names if record.parts(name)]
    if not gaps:
        raise InputError(
            f"several ridges are compared at held-out gaps of {' and '.join(names)}, found none; give one ridge."
        )
    past = np.array([status is Status.PAST for status in front.status])
    gap = np.fmax.reduce(np.stack(gaps), axis=0)
    return np.where(past, -gap, gap), np.asarray(record.columns["mse" if task.kind == "regression" else "error"])


def _at(level: Array, error: Array, here: float) -> float:
    """Return the error where a path first comes to a gap, interpolated; infinite where it never does."""
    below = np.flatnonzero(level <= here)
    if not len(below):
        return np.inf
    k = int(below[0])
    if k == 0:
        return float(error[0])
    share = (level[k - 1] - here) / (level[k - 1] - level[k])
    return float(error[k - 1] + share * (error[k] - error[k - 1]))
