"""Size and power of the improvability test on drawn people, kept run by run so that it goes on where it stopped."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

import fairfront as ff
from fairfront.measures import auc

from .report import RESULTS, Section, Table

RUNS = RESULTS / "improvability-runs.json"
BETA = np.array([1.2, 0.8, -0.5, 0.3])
PROXY = 0.5  # standard deviation of the noise with which a column tells the group
LARGE = 2_000_000
LEVEL = 0.05
MAIN = "power_.03_10000"


@dataclass(frozen=True)
class Setting:
    """A law of people and an incumbent; ``exists`` says whether a fairer alternative does."""

    title: str
    draw: Callable[[int, np.random.Generator], tuple[np.ndarray, ...]]
    n: int
    tolerance: float
    exists: bool
    runs: int = 1000
    rival: float = 0.0
    """Weight of the proxy in a candidate that is handed in, in the place of the linear family."""
    noise: float = 0.0
    """Standard deviation of noise in such a candidate, and of other noise in the incumbent."""


def drawn(
    n: int, random: np.random.Generator, shift: float, weight: float, share: float = 0.5
) -> tuple[np.ndarray, ...]:
    """Return features, labels, groups (``share`` is that of "a") and the incumbent's scores.

    Columns are four that the label depends on, the first of which has a mean that is ``shift`` higher in one group, and
    one that tells the group and nothing else of the label. The incumbent knows the best score and adds ``weight`` times
    the last column.
    """
    group = random.integers(0, 2, n) if share == 0.5 else (random.random(n) < share).astype(int)
    X = random.normal(size=(n, 5))
    X[:, 0] += shift * (group - 0.5)
    X[:, 4] = group - 0.5 + PROXY * X[:, 4]
    best = X[:, :4] @ BETA
    y = (random.random(n) < expit(best)).astype(int)
    return X, y, np.where(group == 1, "a", "b"), best + weight * X[:, 4]


def gap_of(y: np.ndarray, group: np.ndarray, score: np.ndarray, rate: float = 0.5) -> float:
    """Return the TPR gap at an approval rate."""
    approved = score >= np.quantile(score, 1.0 - rate)
    return abs(float(approved[(group == "a") & (y == 1)].mean() - approved[(group == "b") & (y == 1)].mean()))


@cache
def law(base: float, gain: float) -> tuple[float, float]:
    """Return shift and weight at which the best score has the TPR gap ``base`` and the incumbent ``base + gain``."""

    def gap(shift: float, weight: float) -> float:
        _, y, group, score = drawn(LARGE, np.random.default_rng(0), shift, weight)
        return gap_of(y, group, score)

    shift = float(brentq(lambda x: gap(x, 0.0) - base, 0.0, 2.0, xtol=1e-3)) if base else 0.0
    weight = float(brentq(lambda x: gap(shift, x) - base - gain, 0.0, 2.0, xtol=1e-3)) if gain else 0.0
    return shift, weight


def _setting(base: float, gain: float, n: int, tolerance: float, runs: int = 1000) -> Setting:
    title = f"gap {base + gain:g}, best score {base:g}" if gain else f"gap {base:g}, incumbent is the best score"
    return Setting(title, lambda n, r: drawn(n, r, *law(base, gain)), n, tolerance, gain > 0, runs)


SETTINGS = {
    "none_better": _setting(0.1, 0.0, 4000, 0.0),
    "power_.03_10000": _setting(0.07, 0.03, 10_000, 0.01),
    "no_gap": _setting(0.0, 0.0, 4000, 0.005),
    "boundary": Setting(
        "gap 0.1; the one candidate has less, and loses exactly the tolerance in AUC",
        lambda n, r: drawn(n, r, *law(0.1, 0.0)),
        4000,
        -1.0,
        False,
        rival=-0.35,
    ),
    "small_group": Setting(
        "gap 0.1, incumbent is the best score; one group has 5 % of the rows",
        lambda n, r: drawn(n, r, *law(0.1, 0.0), share=0.05),
        2000,
        0.005,
        False,
    ),
    "small_group_boundary": Setting(
        "one group has 5 % of the rows; the one candidate is the best score with other noise than the incumbent",
        lambda n, r: drawn(n, r, *law(0.1, 0.0), share=0.05),
        2000,
        0.05,
        False,
        noise=0.5,
    ),
    "power_.03_5000": _setting(0.07, 0.03, 5000, 0.01, 400),
    "power_.03_2500": _setting(0.07, 0.03, 2500, 0.01, 400),
    "power_.02_10000": _setting(0.07, 0.02, 10_000, 0.01, 400),
    "power_.03_tolerance_.001": _setting(0.07, 0.03, 10_000, 0.001, 400),
    "power_to_zero_10000": _setting(0.0, 0.03, 10_000, 0.01, 400),
    "power_to_zero_.05": _setting(0.0, 0.05, 10_000, 0.01, 400),
    "power_to_zero_.1": _setting(0.0, 0.10, 10_000, 0.01, 400),
}


@cache
def loss_of(rival: float) -> float:
    """Return by how much the AUC of the rival is below the best score's, where that has a gap of 0.1."""
    X, y, _, score = drawn(2 * LARGE, np.random.default_rng(1), *law(0.1, 0.0))
    best, other = auc(np.stack([score, score + rival * X[:, 4]]), y)
    return float(best - other)


def one(setting: Setting, run: int, n_splits: int = 20) -> float:
    """Return the p-value of one draw of people."""
    random = np.random.default_rng([22, run])
    X, y, group, score = setting.draw(setting.n, random)
    rival = None
    if setting.rival or setting.noise:
        mine, other = setting.noise * random.normal(size=(2, len(score)))
        rival, score = {"rival": score + setting.rival * X[:, 4] + mine}, score + other
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ff.alternatives(
            X,
            y,
            sensitive_features={"group": group},
            incumbent=score,
            approval_rate=0.5,
            keep={"auc": setting.tolerance if setting.tolerance >= 0 else loss_of(setting.rival)},
            families="linear" if rival is None else "candidates",
            candidates=rival,
            n_splits=n_splits,
            limit=False,
            random_state=run,
            progress=False,
        )
    return found.p_value


def go_on(names: list[str], most: int) -> None:
    """Make at most so many further runs of each setting, and keep them."""
    for name in names:
        done: dict[str, list[float]] = json.loads(RUNS.read_text()) if RUNS.exists() else {}
        p, setting = done.get(name, []), SETTINGS[name]
        for run in range(len(p), min(setting.runs, len(p) + most)):
            p.append(round(one(setting, run), 5))
            if run % 20 == 19 or run == setting.runs - 1:
                kept = json.loads(RUNS.read_text()) if RUNS.exists() else {}
                RUNS.write_text(json.dumps({**kept, name: p}, indent=0) + "\n")


def sections(quick: bool) -> list[Section]:
    """Return size and power of what has been run."""
    if quick:
        return [Section("alternatives", "Quick", [str(one(SETTINGS["no_gap"], 0, 3))])]
    go_on(list(SETTINGS), 1000)
    return drawn_sections()


def drawn_sections() -> list[Section]:
    """Return the tables of stored runs."""
    done: dict[str, Any] = json.loads(RUNS.read_text())
    rows = []
    for name, setting in SETTINGS.items():
        p = np.array(done.get(name, []))
        if not len(p):
            continue
        share = float((p <= LEVEL).mean())
        error = np.sqrt(max(share * (1 - share), LEVEL * (1 - LEVEL) if not setting.exists else 0.0) / len(p))
        kind = "power" if setting.exists else "size"
        told = setting.tolerance if setting.tolerance >= 0 else "what it loses"
        rows.append([setting.title, setting.n, told, len(p), kind, f"{share:.3f}", f"{error:.3f}"])
    head = ["people", "rows", "AUC tolerance", "runs", "what", f"share of runs with p <= {LEVEL}", "standard error"]
    size = [np.array(done[name]) <= LEVEL for name, each in SETTINGS.items() if name in done and not each.exists]
    false = np.concatenate(size)
    power = [
        f"{float(row[5]):.1%} ({row[3]} runs)" for row in rows if row[0] == SETTINGS[MAIN].title and row[1] == 10_000
    ]
    text = (
        "Linear family, 20 splits, two equal groups unless said otherwise, base rate one half, approval rate one half. Size is the share of false "
        "claims where no alternative exists, power that of claims where one does. Twice the median is a cautious way to "
        "join splits: sizes are far below the level. 1 000 runs of the first settings are meant and 400 of the others; "
        "the table says how many there are."
    )
    said = f"False claims of the improvability test: {false.sum()} of {len(false)} runs where no alternative exists ({len(size)} settings)."
    if power:
        said += f" A gain of .03 at equal AUC, tolerance .01, 10 000 rows, is shown in {power[0]}."
    return [Section("alternatives", "The improvability test: size and power", [text, Table(head, rows)], said)]


if __name__ == "__main__":  # some runs of some settings, which the benchmark then draws
    go_on(sys.argv[2:] or list(SETTINGS), int(sys.argv[1]))
