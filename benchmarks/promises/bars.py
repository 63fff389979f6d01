"""Bars of the page of promises: figures that were set beforehand, each beside what runs measure and its error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..report import Table
from .populations import DATA, TITLES
from .repetitions import PROMISED, results, splits_of

RMS = {"adult": 0.012, "compas": 0.017, "oulad": 0.015, "german": 0.037}
DELIVERED = {"adult": 0.012, "compas": 0.017, "oulad": 0.016, "german": 0.024}
DEARER = {"compas": 0.004}  # how much more error a choice on all rows may have
POSSIBLE = {"adult": 1.0, "oulad": 1.0, "compas": 0.86, "loans": 0.89}
SMALLEST = {"adult": 0.032, "compas": 0.043, "oulad": 0.034, "german": 0.079}
RATIO = (0.85, 1.05)
TESTED = {"adult": 0.020, "compas": 0.016, "oulad": 0.024, "german": 0.015}
PROTOTYPE = {"adult": 30, "oulad": 30, "compas": 110, "german": 120, "loans": 140}
PROTOTYPE_SPLITS = {"adult": 70, "compas": 60, "oulad": 40, "german": 100}
"""Runs and splits that bars were measured on, which makes them uncertain themselves."""
SHARE, BROKEN, FEWEST = 0.10, 0.05, 20
"""A figure within a tenth of its bar, or two standard errors, meets it; the largest share of broken promises, and
the fewest runs that are set beside bars."""


class Found(NamedTuple):
    """A figure and its standard error."""

    value: float
    error: float


def mean(values: Any) -> Found:
    some = np.array(values, dtype=np.float64)
    return Found(float(some.mean()), float(some.std(ddof=1) / np.sqrt(len(some))) if len(some) > 1 else np.nan)


def root(squares: Any) -> Found:
    """Return the root of a mean, with the error that its squares give it."""
    value, error = mean(squares)
    return Found(float(np.sqrt(value)), error / (2.0 * float(np.sqrt(value))))


def verdict(found: Found, bar: float, most: bool = True) -> str:
    sign = 1.0 if most else -1.0
    over = sign * (found.value - bar)
    if over <= 0.0:
        return "met"
    near = [f"within {SHARE:.0%}"] * (over <= SHARE * bar) + ["within 2 standard errors"] * (over <= 2.0 * found.error)
    return " and ".join(near) or "missed"


def _row(
    case: str, runs: int, what: str, bar: float, found: Found, most: bool = True, measured: int = 0
) -> list[object]:
    """Set a figure beside its bar; one that was itself measured, in so many runs, has an error of its own too."""
    told = f"at {'most' if most else 'least'} {bar:g}"
    both = found.error * np.sqrt(1.0 + runs / measured) if measured else 0.0
    apart = f"{(found.value - bar) / both:+.1f}" if both else ""
    return [TITLES[case], runs, what, told, f"{found.value:.4f} ± {found.error:.4f}", verdict(found, bar, most), apart]


def _rows(case: str) -> Iterator[list[object]]:
    """Take what is judged on all rows; the error is compared over the runs that also have a validation part."""
    runs = results(case, "linear")
    held, both = [each["held_out"] for each in runs], [each for each in runs if "before" in each]
    n, before = len(runs), PROTOTYPE[case]

    def of(take: Callable[[Any], Any]) -> list[Any]:
        return [take(each) for each in held]

    if case in RMS:
        rms, se = root(of(lambda each: each["rms"])), root(of(lambda each: each["se"]))
        yield _row(case, n, "rms error of a gap", RMS[case], rms, measured=before)
        ratio = Found(rms.value / se.value, rms.error / se.value)
        least, most = RATIO
        side = (most, True) if ratio.value > 0.5 * (least + most) else (least, False)
        yield _row(case, n, "rms error / standard error", side[0], ratio, side[1])
        yield _row(
            case,
            n,
            "asked 0.02: true gap",
            DELIVERED[case],
            mean(of(lambda each: each["asked 0.02"][0])),
            measured=before,
        )
        if len(both) > 1:
            more = mean([each["held_out"]["asked 0.02"][1] - each["before"]["asked 0.02"][1] for each in both])
            yield _row(case, len(both), "asked 0.02: error, less that before", DEARER.get(case, 0.0), more)
        yield _row(case, n, "smallest end", SMALLEST[case], mean(of(lambda each: each["least"][0])), measured=before)
    if case in POSSIBLE:
        made = mean(of(lambda each: each["promise 0.05"] is not None))
        yield _row(case, n, "promise of 0.05 possible", POSSIBLE[case], made, most=False, measured=before)
    broken = {u: mean(of(lambda each, u=u: (each[f"promise {u}"] or [0.0])[0] > u)) for u in PROMISED}
    worst = max(broken, key=lambda u: broken[u].value)
    yield _row(case, n, f"promises broken, worst at u = {worst:g}", BROKEN, broken[worst])
    timed = [each for each in runs if "trace" in each]
    if len(timed) > 1:
        share = float(sum(each["seconds"] for each in timed) / sum(each["trace"] for each in timed)) - 1.0
        each = mean([run["seconds"] / run["trace"] - 1.0 for run in timed])
        yield _row(case, len(timed), "time of held-out figures / trace", 1.0, Found(share, each.error))


def _tested(case: str) -> list[object]:
    """Take the debiased rms of test gaps over splits; its error is that of the squares, which may be below 0."""
    some = np.array([each["held_out 0.02"] for each in splits_of(case)])
    square = mean(some[:, 0] ** 2 - some[:, 2])
    value, most = (float(np.sqrt(max(0.0, each))) for each in (square.value, square.value + 2.0 * square.error))
    what = "asked 0.02: debiased rms of real test gaps"
    return _row(
        case, len(some), what, TESTED[case], Found(value, 0.5 * (most - value)), measured=PROTOTYPE_SPLITS[case]
    )


def bars() -> Table:
    """Return every bar with what was measured."""
    head = ["population", "runs", "figure", "bar", "measured", "verdict", "apart, in standard errors of both"]
    rows = [row for case in DATA if len(results(case, "linear")) >= FEWEST for row in _rows(case)]
    return Table(head, [*rows, *(_tested(case) for case in TESTED if len(splits_of(case)) >= FEWEST)])


def foreseen() -> Table:
    """Return how often 0.05 could be promised by other walks of three groups."""
    some = [each["held_out"] for each in results("loans", "linear")]
    rows: list[list[object]] = []
    for u in PROMISED:
        made = [each[f"promise {u}"] is not None for each in some]
        known, looked = ([end <= u for end in ends] for ends in zip(
            *((each["foreseen"], each["least"][0]) for each in some), strict=True
        ))  # fmt: skip
        rows.append(
            [
                f"{u:g}",
                len(some),
                *(f"{found.value:.3f} ± {found.error:.3f}" for found in map(mean, (made, known, looked))),
            ]
        )
    return Table(
        ["u", "runs", "two fixed starts", "the best point, known beforehand", "the point that looks best (not valid)"],
        rows,
    )
