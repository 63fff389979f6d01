"""Frontiers of boosted trees against what else people do: python -m benchmarks.boosting [--quick] [--seeds 10].

Results go to benchmarks/results/boosting.json after every method, so that a run can be resumed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

from .boosting_data import RACE, SETTINGS, figures, split
from .boosting_methods import METHODS, RACE_METHODS, Counted, learner
from .report import table, write_section

FILE = Path(__file__).resolve().parent / "results" / "boosting.json"
CAPS = (0.01, 0.02, 0.05)
OURS = "fairfront, rate gap"
SLOW = ("GridSearch 100", "ExponentiatedGradient")


def chosen(held: np.ndarray, test: np.ndarray, cap: float) -> list[float]:
    """Return test error, test gap and validation gap of the smallest validation error with a gap of at most cap."""
    allowed = held[:, 1] <= max(cap, held[:, 1].min())
    best = np.flatnonzero(allowed)[np.argmin(held[allowed, 0])]
    return [float(test[best, 0]), float(test[best, 1]), float(held[best, 1])]


def store(results: dict[str, Any], file: Path) -> None:
    """Write what is known so far."""
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_text(json.dumps(results, indent=1))


def run(seeds: int, quick: bool, file: Path) -> dict[str, Any]:
    """Fill in what is missing in the file: setting, seed, method."""
    results: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    for name in [n for n in SETTINGS if not quick or n in ("COMPAS, race", "German credit, age")]:
        methods = RACE_METHODS if name == RACE else METHODS
        for seed in range(seeds):
            data = split(name, seed, 2000 if quick else None)
            for method, function in methods.items():
                key = f"{name}/{seed}/{method}"
                if key in results or (quick and method in SLOW):
                    continue
                before = Counted.calls
                found = function(data, learner(seed, quick), seed)
                fits = Counted.calls - before
                held, test = figures(found.validation, data.validation), figures(found.test, data.test)
                results[key] = {
                    "seconds": found.seconds,
                    "fits": fits,
                    "candidates": len(held),
                    "chosen": {str(cap): chosen(held, test, cap) for cap in CAPS},
                }
                store(results, file)
                print(key, f"{found.seconds:.0f} s, {fits} fits", results[key]["chosen"][str(CAPS[1])], flush=True)
    return results


def values(results: dict[str, Any], name: str, method: str, cap: float) -> np.ndarray:
    """Return (test error, test gap, validation gap) over the seeds, (S, 3)."""
    rows = [
        r["chosen"][str(cap)] for key, r in results.items() if key.startswith(f"{name}/") and key.endswith(f"/{method}")
    ]
    return np.array(rows).reshape(-1, 3)


def interval(difference: np.ndarray) -> str:
    """Return the mean of paired differences with its 95 % interval."""
    n = len(difference)
    if n < 2:
        return f"{difference.mean():+.4f}"
    half = float(student.ppf(0.975, n - 1)) * difference.std(ddof=1) / np.sqrt(n)
    return f"{difference.mean():+.4f} ({difference.mean() - half:+.4f} to {difference.mean() + half:+.4f})"


def cost(results: dict[str, Any], name: str, method: str) -> tuple[float, float]:
    """Return median seconds and fits over the seeds."""
    rows = [r for key, r in results.items() if key.startswith(f"{name}/") and key.endswith(f"/{method}")]
    return float(np.median([r["seconds"] for r in rows])), float(np.median([r["fits"] for r in rows]))


def rows_of(results: dict[str, Any], name: str, methods: list[str], cap: float) -> list[list[object]]:
    ours, (mine, _) = values(results, name, OURS, cap), cost(results, name, OURS)
    lines: list[list[object]] = []
    for method in methods:
        found = values(results, name, method, cap)
        if not len(found):
            continue
        seconds, fits = cost(results, name, method)
        same = method == OURS or len(found) != len(ours)
        lines.append(
            [
                name,
                method,
                f"{found[:, 0].mean():.4f}",
                f"{found[:, 1].mean():.3f}",
                "" if same else interval(ours[:, 0] - found[:, 0]),
                "" if same else interval(ours[:, 1] - found[:, 1]),
                f"{seconds / mine:.2f}",
                f"{fits:.0f}",
            ]
        )
    return lines


HEAD = ["data", "method", "test error", "test gap", "error: ours minus it", "gap: ours minus it", "time ratio", "fits"]


def verdicts(results: dict[str, Any]) -> str:
    """Say in one sentence each where the other method is surely better in error or in gap."""
    said = []
    for name in SETTINGS:
        for method in METHODS:
            for cap in CAPS:
                ours, found = values(results, name, OURS, cap), values(results, name, method, cap)
                if method in (OURS, "plain") or len(found) < 3 or len(found) != len(ours):
                    continue
                for place, what in ((0, "test error"), (1, "test gap")):
                    difference = ours[:, place] - found[:, place]
                    half = student.ppf(0.975, len(ours) - 1) * difference.std(ddof=1) / np.sqrt(len(ours))
                    if difference.mean() - half > 0:
                        said.append(f"{name}, cap {cap:g}: {method} has the smaller {what} by {difference.mean():.4f}.")
    return "\n".join(f"- {sentence}" for sentence in said) or "- nowhere, at 95 % per comparison."


def report(results: dict[str, Any], seeds: int, command: str) -> None:
    usual = [m for m in METHODS if m != "group thresholds"]
    parts = [
        f"HistGradientBoosting, equal opportunity, sensitive columns not in X, {seeds} random splits (60/20/20), chosen on "
        "validation: the smallest error with a TPR gap of at most the cap, else the smallest gap; figures are those of the "
        f"test rows. Intervals are 95 % of the paired mean of '{OURS}' minus the other. Fits count every call of the "
        "learner: 12 weightings are 36 fits of two thirds of the rows to measure and 12 to keep. Errors and gaps of "
        "ExponentiatedGradient are those expected of its random decisions."
    ]
    for cap in CAPS:
        lines = [line for name in SETTINGS if name != RACE for line in rows_of(results, name, usual, cap)]
        parts.append(f"### Gap of at most {cap:g} on validation\n\n" + table(HEAD, lines))
    after = [
        line for name in SETTINGS if name != RACE for line in rows_of(results, name, [OURS, "group thresholds"], 0.02)
    ]
    parts.append(
        "### Against cut-offs per group, which need the group at prediction (cap 0.02)\n\n" + table(HEAD, after)
    )
    race = rows_of(results, RACE, list(RACE_METHODS), 0.05)
    if race:
        parts.append(
            "### Race, five groups: 10 weightings are at most 40 fits (cap 0.05 on the worst gap)\n\n"
            + table(HEAD, race)
        )
    parts.append("### Where we lose\n\n" + verdicts(results))
    write_section("Frontiers of boosted trees", command, "\n\n".join(parts))


def main(seeds: int = 10, quick: bool = False) -> None:
    file = FILE.with_name("boosting_quick.json") if quick else FILE
    count = min(seeds, 2) if quick else seeds
    results = run(count, quick, file)
    if not quick:
        report(results, count, "python -m benchmarks.boosting")
        return
    for cap in CAPS:
        print(table(HEAD, [line for name in SETTINGS for line in rows_of(results, name, list(METHODS), cap)]))
    print(verdicts(results))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seeds", type=int, default=10)
    asked = parser.parse_args()
    main(asked.seeds, asked.quick)
