"""Is a certified point ever beaten? Random problems over all scales against an independent optimum at scale 1.

One line of JSON per problem goes to a log, so that thousands can be done in pieces: numbers that are in the log
already are not done again.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import fairfront as ff

from .optimum import Capped
from .problems import Draw, draw_problem
from .tally import Tally

LOWER = 1e-6
"""A certified point is beaten by a loss that is lower by more than this share of it."""
WITHIN = 1e-9
"""How far beyond the stated gap SLSQP may end; what is lower there has to be lower within the gap as well."""
FLOOR = 1e-3
"""A smallest gap is untrue where none is possible and this share of the largest is left."""
COUNTED = ("points", "certified", "reached", "beaten", "misstated", "without_optimum", "untrue_floors")


def judged(seed: int) -> dict[str, Any]:
    """Trace one problem, compare its points, and return what was found."""
    draw = draw_problem(seed)
    known: dict[str, Any] = {"seed": seed, "shape": draw.shape, "loss": draw.loss, "notion": draw.notion}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            front = draw.traced()
        except ff.InputError as refused:
            return known | {"refused": str(refused)}
        except Exception as error:
            return known | {"error": f"{type(error).__name__}: {error}"}
        return known | _compared(draw, front)


def _compared(draw: Draw, front: ff.Frontier) -> dict[str, Any]:
    found: dict[str, Any] = dict.fromkeys(COUNTED, 0) | {"points": len(front), "lines": []}
    numbers = (front.objectives, front.gaps, front.models.coef, front.models.intercept)
    if not all(np.isfinite(values).all() for values in numbers):
        return found | {"error": "a number of the frontier is not finite"}
    problem, rng = Capped(draw), np.random.default_rng(draw.seed)
    separable = problem.separable() if draw.ridge == 0.0 else "no"
    plain = problem.least(np.zeros(problem.size))
    floor = FLOOR * max(float(front.gaps.max()) / draw.gap_unit, problem.null)
    for place in range(len(front)):
        loss, cap = front.loss[place] / draw.loss_unit, front.gaps[place, 0] / draw.gap_unit
        theta = draw.at_scale_one(front, place)
        said = f"point {place}, loss {loss:.9g}, gap {cap:.3g}"
        slack = LOWER * max(abs(loss), 1e-4 * problem.null)
        lost = 10 * problem.null * draw.rounding(front, place)  # in the users' units; a certificate allows for little
        slack += min(lost, 2 * slack) if front.certified[place] else lost
        off = max(abs(problem.loss(theta)[0] - loss), abs(problem.gap(theta) - cap)) - 10 * slack
        if off > 0.0:
            found["misstated"] += 1
            found["lines"].append(f"{said}: loss {problem.loss(theta)[0]:.9g}, gap {problem.gap(theta):.3g} recomputed")
        if front.status[place] is ff.Status.FLOOR and _zero_is_fair(draw) and cap > floor:
            found["untrue_floors"] += 1
            found["lines"].append(f"{said}: said to be the smallest gap, coefficients of 0 have none")
        if not front.certified[place]:
            continue
        found["certified"] += 1
        if _unbounded(draw, separable, place):
            found["without_optimum"] += 1
            found["lines"].append(f"{said}: certified although labels are separable and the ridge is 0")
            continue
        best, reached = _best(problem, plain, theta, cap, loss, slack, rng)
        found["reached"] += reached
        if best < loss - slack:
            found["beaten"] += 1
            found["lines"].append(f"{said}: {best:.9g} is possible at this gap")
    return found


def _unbounded(draw: Draw, separable: str, place: int) -> bool:
    """Tell whether larger coefficients are always better, so that there is no optimum.

    Losses on the own labels all go to 0 together, and so do their gaps; what demographic parity compares grows.
    """
    return separable != "no" and (place == 0 or (separable == "yes" and draw.notion != "demographic_parity"))


def _zero_is_fair(draw: Draw) -> bool:
    """Tell whether coefficients and intercepts of 0 have no gap: all scores, and losses on a label, are then equal."""
    return draw.kind != "regression" and draw.notion != "group_loss"


def _best(
    problem: Capped,
    plain: np.ndarray,
    theta: np.ndarray,
    cap: float,
    loss: float,
    slack: float,
    rng: np.random.Generator,
) -> tuple[float, bool]:
    """Return the least loss within the cap, and whether a start that knows nothing of fairfront's point reached it."""
    room = WITHIN * max(1.0, problem.null)
    own = [plain, 0.1 * plain, plain + rng.normal(size=len(plain)), np.zeros(len(plain))]
    best, reached = np.inf, False
    if problem.gap(problem.theta(plain)) <= cap + room:
        best, own = problem.loss(problem.theta(plain))[0], []
        reached = bool(best <= loss + slack)
    for known, start in [(True, problem.place(theta)), *((False, start) for start in own)]:
        value, gap = problem.capped(start, cap)
        if not gap <= cap + room or not np.isfinite(value):
            continue
        reached = reached or bool(not known and value <= loss + slack)
        if value < loss - slack and gap > cap:  # near the floor a loss may fall with the last bits of a cap
            value, gap = problem.capped(start, cap - 2.0 * room)
            value = value if gap <= cap else np.inf
        best = min(best, value)
    return best, reached


def logged(path: Path | None) -> dict[int, dict[str, Any]]:
    """Return what a log holds, by number of the problem."""
    if path is None or not path.exists():
        return {}
    return {found["seed"]: found for found in map(json.loads, path.read_text().splitlines())}


def results(count: int, log: Path | None, minutes: float) -> Iterator[dict[str, Any]]:
    """Yield the problems from 0 to count, those of the log first; stop when the minutes are over."""
    known, until = logged(log), time.monotonic() + 60.0 * minutes
    yield from (known[seed] for seed in sorted(known) if seed < count)
    for seed in (seed for seed in range(count) if seed not in known):
        if time.monotonic() > until:
            return
        found = judged(seed)
        if log is not None:
            with log.open("a") as file:
                file.write(json.dumps(found) + "\n")
        yield found


def run(count: int, log: Path | None = None, minutes: float = np.inf) -> list[Tally]:
    """Judge so many problems; a problem survives if none of its certificates, figures and statuses is false."""
    tally = Tally("problems over all scales: certificates against an independent optimum")
    for found in results(count, log, minutes):
        wrong = found.get("lines", []) + [found[key] for key in ("error",) if key in found]
        failure = f"problem {found['seed']} ({found['shape']}, {found['loss']}, {found['notion']}): {'; '.join(wrong)}"
        counted = {name: found[name] for name in COUNTED if name in found}
        counted |= {"refused": "refused" in found, "errors": "error" in found}
        tally.note(failure if wrong else None, **counted)
    return [tally]


if __name__ == "__main__":
    import sys

    for number in sys.argv[1:]:
        print(json.dumps(judged(int(number)), indent=1))
