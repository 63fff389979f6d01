"""COMPAS person by person: five folds, every person judged once, by rules chosen without that person.

Splits that share rows need wide intervals; here rows are judged once, so people are independent given the rules. The
interval is then about these five rules of a method, not about what other training rows would have given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from . import cases, judge
from .cases import Rows
from .peers import PEERS
from .peers.base import Fitting
from .report import Section, Table

METHODS = ("fairfront_rates", "fairfront_overshoot", "fairlearn_grid_search", "bias_score")
FOLDS, SEED, POINTS = 5, 40, 50
TOLD = (
    "COMPAS by race in five folds (seed 40): rules are trained on three folds, chosen on a fourth (least error within the "
    "cap, else the smallest gap) and judged on the fifth, in turn, so that every person is judged once. Errors and signed "
    "gaps of true positive rates are over all {n} people, with standard errors. Differences are paired by person, "
    "corrected for {count} comparisons, and hold for these rules: what other training rows would have given is not in "
    "them."
)


@dataclass(frozen=True)
class Judged:
    """Decisions of one method about every person, (n,), and in how many folds the cap was kept."""

    approve: np.ndarray
    met: int


def folds(case: str = "compas") -> list[cases.Split]:
    """Return the five splits of a case, features scaled on training rows; every row is in one test part."""
    data, group = cases.loaded(case), cases.CASES[case].group
    y, favourable = cases.labels_of(data)
    groups = np.unique(np.asarray(data.columns[group]).astype(str), return_inverse=True)[1].astype(np.intp)
    fold = np.random.default_rng(SEED).permutation(len(y)) % FOLDS
    found = []
    for test in range(FOLDS):
        held = (test + 1) % FOLDS
        train = (fold != test) & (fold != held)
        whole = Rows(data.matrix("one_hot", fit_on=np.flatnonzero(train))[0], y, groups, favourable)
        found.append(cases.Split(whole.take(train), whole.take(fold == held), whole.take(fold == test)))
    return found


def decided(splits: list[cases.Split], method: str, cap: float) -> Judged:
    """Fit, choose and judge in turn."""
    approve, met = [], 0
    for split in splits:
        fitting = Fitting(split.train, split.validation, (), POINTS, SEED)
        candidates = PEERS[method].fit(fitting)
        figures = judge.judged(candidates, fitting.validation)
        best = judge.chosen(figures, cap)
        met += bool(figures.gap[best] <= cap)
        approve.append(candidates.approve(split.test.X, split.test.groups)[best])
    return Judged(np.concatenate(approve), met)


def compared(cap: float = 0.02) -> Section:
    """Return errors, gaps and paired differences to rules in rates."""
    splits = folds()
    found = {method: decided(splits, method, cap) for method in METHODS}
    good = np.concatenate([split.test.good for split in splits])
    groups = np.concatenate([split.test.groups for split in splits])
    wrong = {method: np.where(good, 1.0 - one.approve, one.approve) for method, one in found.items()}
    table, mine, count = [], wrong[METHODS[0]], len(METHODS) - 1
    for method, one in found.items():
        cells = [one.approve[good & (groups == g)] for g in range(2)]
        gap = cells[0].mean() - cells[1].mean()
        noise = np.sqrt(sum(cell.var(ddof=1) / len(cell) for cell in cells))
        apart = wrong[method] - mine
        width = norm.ppf(1.0 - 0.025 / count) * apart.std(ddof=1) / np.sqrt(len(apart))
        said = f"{apart.mean():+.4f} ({apart.mean() - width:+.4f} to {apart.mean() + width:+.4f})"
        row = [PEERS[method].name, f"{wrong[method].mean():.4f}", f"{gap:+.3f} ({noise:.3f})", f"{one.met}/{FOLDS}"]
        table.append([*row, "" if method == METHODS[0] else said])
    head = ["method", f"error at cap {cap:g}", "signed gap (standard error)", "met", "difference"]
    told = TOLD.format(n=len(good), count=count)
    return Section("rates", "Rates: COMPAS, every person judged once", [told, Table(head, table)])
