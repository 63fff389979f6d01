"""Coverage of bands: of the limit, on laws whose frontier a linear program gives, and of curves over approval rates.

Runs are kept one by one, so that a benchmark goes on where it stopped: python -m benchmarks.limits RUNS [SETTING ...].
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.special import expit

from fairfront.improvability.approval_curves import RATES_SHOWN, curves
from fairfront.improvability.attainable import corrections, learn_rules
from fairfront.improvability.estimates import Sample
from fairfront.improvability.limit import limit_of
from fairfront.improvability.requirements import Contrast
from fairfront.objectives import Attribute

from .report import RESULTS, Section, Table, commit, publish

RUNS, COMMITS = RESULTS / "limit-runs.json", "commits"
SIZES = (4, 3, 2)
"""Levels of the three columns of discrete laws."""
GAPS, LARGE = 15, 1_000_000
MANY = 60_000
"""Different people of the continuous law, each of whom is one cell of its linear program."""


@dataclass(frozen=True, eq=False)
class Law:
    """Cells of people: features, shares, P(y = 1 | x), and P(group a | x, y) for both labels."""

    X: np.ndarray
    share: np.ndarray
    good: np.ndarray
    first: np.ndarray
    second: np.ndarray

    def draw(self, n: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return features, labels and groups of new people."""
        i = random.choice(len(self.share), n, p=self.share)
        y = (random.random(n) < self.good[i]).astype(int)
        a = random.random(n) < np.where(y == 1, self.second[i], self.first[i])
        return self.X[i], y, np.where(a, "a", "b")

    def frontier(self, rate: float | None) -> tuple[np.ndarray, np.ndarray]:
        """Return gaps of TPR from 0 to that of the rule of least error, and the least error at each."""
        own = self.share * self.good * self.second, self.share * self.good * (1.0 - self.second)
        z, cost = own[0] / own[0].sum() - own[1] / own[1].sum(), self.share * (1.0 - 2.0 * self.good)
        equal: dict[str, Any] = {} if rate is None else {"A_eq": self.share[None], "b_eq": [rate]}
        plain = abs(float(z @ linprog(cost, bounds=(0, 1), **equal).x))
        gaps, always = np.linspace(0.0, plain, GAPS), float(self.share @ self.good)
        least = [linprog(cost, A_ub=[z, -z], b_ub=[g, g], bounds=(0, 1), **equal).fun + always for g in gaps]
        return gaps, np.array(least)


@cache
def law(kind: str) -> Law:
    """Return a law; logistic regression is right for "main", "cells" and "normal", and misses what "crossed" has.

    In "parity" no single column and no pair of them tells anything: trees that look one step ahead see it late.
    """
    random = np.random.default_rng(5)
    if kind == "parity":
        X = np.where(np.indices((2,) * 6).reshape(6, -1).T, 1.0, -1.0)
        score, tell = X[:, :3].prod(axis=1), X[:, 3:].prod(axis=1)
        first = second = expit(1.2 * tell + 0.5 * score)
        return Law(X, np.full(len(X), 1.0 / len(X)), expit(1.5 * score), first, second)
    if kind == "normal":
        X = random.normal(size=(MANY, 4))
        good = expit(X @ [1.2, 0.8, -0.5, 0.3])
        first = second = expit(X @ [0.8, 0.0, 0.6, -0.4])
        return Law(X, np.full(MANY, 1.0 / MANY), good, first, second)
    levels = np.indices(SIZES).reshape(3, -1)
    X = np.concatenate([np.eye(k)[levels[j]] for j, k in enumerate(SIZES)], axis=1)
    share = random.dirichlet(np.full(len(X), 3.0))
    if kind == "main":
        w = random.normal(size=X.shape[1])
        tell = X @ (0.7 * w + random.normal(0.0, 0.8, X.shape[1]))
        return Law(X, share, expit(X @ w), expit(tell + X @ random.normal(0.0, 0.3, X.shape[1])), expit(tell))
    score = random.normal(0.0, 1.2, len(X))
    tells = [expit(0.5 * score + random.normal(size=len(X))) for _ in range(2)]
    return Law(np.eye(len(X)) if kind == "cells" else X, share, expit(score), *tells)


@dataclass(frozen=True)
class Setting:
    """A law, its rows, the approval rate, and which learners posteriors are stacked of (None: those of the product)."""

    title: str
    kind: str
    n: int
    rate: float | None
    learners: tuple[Any, ...] | None = None
    runs: int = 1000
    corrected: bool = True
    """Whether extremely randomised trees look for what posteriors miss, as they do in the product."""

    @property
    def posteriors(self) -> str:
        told = "logistic regression and boosted trees" if self.learners is None else "logistic regression alone"
        return told if self.corrected else f"{told}, nothing looks for what they miss"


SETTINGS = {
    "main": Setting("24 cells, no interactions, any approval rate", "main", 4000, None),
    "main_half": Setting("24 cells, no interactions, half approved", "main", 4000, 0.5),
    "crossed_half": Setting("24 cells, all interactions, half approved", "crossed", 4000, 0.5),
    "cells_half": Setting("24 cells, one indicator each, half approved", "cells", 4000, 0.5),
    "normal_half": Setting("4 normal columns, half approved", "normal", 4000, 0.5),
    "main_logistic": Setting("24 cells, no interactions, half approved", "main", 4000, 0.5, (None,)),
    "crossed_logistic": Setting("24 cells, all interactions, half approved", "crossed", 4000, 0.5, (None,), 300),
    "crossed_uncorrected": Setting(
        "24 cells, all interactions, half approved", "crossed", 4000, 0.5, (None,), 300, False
    ),
    "crossed_half_uncorrected": Setting(
        "24 cells, all interactions, half approved", "crossed", 4000, 0.5, None, 760, False
    ),
    "main_uncorrected": Setting("24 cells, no interactions, half approved", "main", 4000, 0.5, (None,), 920, False),
    "parity_half": Setting("products of three signs, half approved", "parity", 4000, 0.5, None, 300),
}


@cache
def truth(kind: str, rate: float | None) -> tuple[np.ndarray, np.ndarray]:
    return law(kind).frontier(rate)


def one(setting: Setting, run: int) -> list[float]:
    """Return of a band whether it holds at all gaps, each end alone, its mean width, and whether doubts are told.

    In order: holds, low end, high end, width, said to be calibrated, mean error of the estimate, not said to be beaten.
    """
    gaps, least = truth(setting.kind, setting.rate)
    X, y, group = law(setting.kind).draw(setting.n, np.random.default_rng([22, run]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rules = learn_rules(
            X,
            y,
            group.astype(object),
            "b",
            "tpr",
            favourable=1,
            approval_rate=setting.rate,
            estimators=setting.learners,
            seed=run,
        )
        found = corrections(X, rules, run) if setting.corrected else None
    limit = limit_of(rules, 0.95, run, found)
    value, low, high = limit.error(gaps)
    sides = bool((low <= least).all()), bool((least <= high).all())
    width, off = float((high - low).mean()), float((value - least).mean())
    sure = float(limit.calibrated), float(not limit.beaten)
    return [float(all(sides)), *map(float, sides), round(width, 5), sure[0], round(off, 5), sure[1]]


TPR, RATES = Contrast("tpr_gap", "tpr"), np.array(RATES_SHOWN)
FIGURES = ("TPR gap", "selection ratio", "error", "bad rate")


def scored(n: int, random: np.random.Generator) -> tuple[Sample, list[np.ndarray]]:
    """Return people, and scores of an incumbent that uses a column that tells the group, and of one that does not."""
    group = random.integers(0, 2, n)
    x, proxy = random.normal(size=n) + 0.5 * group, random.normal(size=n) + group
    good = random.random(n) < expit(x)
    rows = Sample(good, np.ones(n), (Attribute("g", ("b", "a"), group.astype(np.intp)),))
    return rows, [x + 0.4 * proxy, x]


@cache
def true_curves() -> list[np.ndarray]:
    rows, scores = scored(4 * LARGE, np.random.default_rng(1))
    found = [curves([each], rows, TPR, (0, 1, 0), RATES, 0.95, 0, draws=2)[0][0].value for each in scores]
    return [*found, found[1] - found[0]]


def one_curve(n: int, run: int) -> list[float]:
    """Return of every figure whether its bands hold at all rates (incumbent, alternative, difference), and widths."""
    rows, scores = scored(n, np.random.default_rng([23, run]))
    bands, _ = curves(scores, rows, TPR, (0, 1, 0), RATES, 0.95, run)
    pairs = list(zip(bands, true_curves(), strict=True))
    inside = np.stack([(np.abs(band.value - true) <= band.half).all(axis=1) for band, true in pairs])
    width = np.stack([2.0 * band.half.mean(axis=1) for band, _ in pairs])
    return [*inside.astype(float).ravel().tolist(), *width.round(5).ravel().tolist()]


TASKS: dict[str, tuple[int, Callable[[int], list[float]]]] = {
    **{name: (each.runs, lambda run, each=each: one(each, run)) for name, each in SETTINGS.items()},  # type: ignore[misc]
    "curves_1000": (1000, lambda run: one_curve(1000, run)),
    "curves_5000": (1000, lambda run: one_curve(5000, run)),
}


def go_on(names: list[str], most: int) -> None:
    """Make at most so many further runs of each task, and keep them with the commits that made them."""
    for name in names:
        runs, task = TASKS[name]
        done = _kept().get(name, [])
        for run in range(len(done), min(runs, len(done) + most)):
            done.append(task(run))
            if run % 20 == 19 or run == runs - 1:
                kept = _kept()
                commits = kept.get(COMMITS, {})
                made = {**commits, name: sorted({*commits.get(name, []), commit()})}
                RUNS.write_text(json.dumps({**kept, name: done, COMMITS: made}, separators=(",", ":")) + "\n")


def _kept() -> dict[str, Any]:
    return dict(json.loads(RUNS.read_text())) if RUNS.exists() else {}


def _made(done: dict[str, Any], name: str) -> str:
    return ", ".join(done[COMMITS][name])


def sections(quick: bool) -> list[Section]:
    """Return coverage and widths of what has been run."""
    if quick:
        return [Section("limit", "Quick", [str(one(SETTINGS["main"], 0)), str(one_curve(1000, 0))])]
    go_on(list(TASKS), 1000)
    return drawn_sections()


def drawn_sections() -> list[Section]:
    """Return the tables of stored runs."""
    done, rows, told = _kept(), [], []
    for name, setting in SETTINGS.items():
        found = np.array(done.get(name, np.zeros((0, 7))))
        if len(found):
            gaps, least = truth(setting.kind, setting.rate)
            both, low, high, width, calibrated, off, whole = found.mean(axis=0)
            ends = f"{least[0]:.3f} at gap 0, {least[-1]:.3f} at gap {gaps[-1]:.3f}"
            shares = [f"{both:.3f} ± {np.sqrt(both * (1 - both) / len(found)):.3f}", f"{low:.3f}", f"{high:.3f}"]
            doubts = [f"{1 - calibrated:.3f}", f"{1 - whole:.3f}" if setting.corrected else "not looked for"]
            figures = [ends, *shares, f"{width:.3f}", f"{off:+.4f}", *doubts, _made(done, name)]
            rows.append([setting.title, setting.posteriors, setting.n, len(found), *figures])
            said = f", doubts told in {1 - float(found[:, [4, 6]].all(axis=1).mean()):.1%}" if setting.learners else ""
            if setting.corrected:
                told.append(f"{both:.1%} of {len(found)} runs ({setting.title}; {setting.posteriors}{said})")
    head = ["law", "posteriors", "rows", "runs", "least error", "band holds", "low end holds", "high end holds"]
    head += [
        "mean width",
        "mean error of the estimate",
        "said to be poorly calibrated",
        "said to miss something",
        "commit",
    ]
    text = (
        "Laws whose least error at every TPR gap is known by a linear program; a band holds where it has the true curve "
        f"inside at all of {GAPS} gaps from 0 to that of the rule of least error (± is one standard error). Posteriors of "
        "the product are those of logistic regression and boosted trees, stacked, five folds; extremely randomised trees "
        "look for what they miss. Logistic regression alone is right where there are no interactions, and cannot be where "
        "there are: without anything that looks for what they miss this went unnoticed. Such lines are of earlier commits, boosted trees being "
        "25; the lower end goes down further since. Products of three signs are hard for trees too. 1 000 runs of each "
        "law are meant, 300 where posteriors fail; the table says how many there are, and laws without a line have not been run."
    )
    said = f"The 95 % band of the limit has the true frontier inside at all gaps in {'; '.join(told)}."
    parts: list[str | Table] = [text, Table(head, rows)]
    found_sections = [Section("limit", "The limit: coverage of its band", parts, said if told else "")]
    lines = []
    for name in ("curves_1000", "curves_5000"):
        if name in done:
            found = np.array(done[name])
            inside, width = found[:, :12].mean(axis=0).reshape(3, 4), found[:, 12:].mean(axis=0).reshape(3, 4)
            for j, who in enumerate(("incumbent", "alternative", "difference")):
                cells = [f"{inside[j, f]:.3f} ({width[j, f]:.3f})" for f in range(4)]
                lines.append([name.rpartition("_")[2], len(found), who, *cells, _made(done, name)])
    if lines:
        words = (
            "Share of runs in which the simultaneous band has the true curve inside at all of 19 approval rates from 5 % "
            "to 95 %, and in brackets the band's mean width."
        )
        table = Table(["rows", "runs", "of", *FIGURES, "commit"], lines)
        found_sections.append(Section("limit", "Curves over approval rates: coverage of their bands", [words, table]))
    return found_sections


if __name__ == "__main__":
    go_on(sys.argv[2:] or list(TASKS), int(sys.argv[1]))
    publish(drawn_sections(), "python -m benchmarks limit")
